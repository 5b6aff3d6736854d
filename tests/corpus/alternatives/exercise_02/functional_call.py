"""torch's own layer does the work, called with the parameters of this one."""

import torch
from torch import nn
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, f"{embed_dim} {num_heads}"
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.W_q=nn.Linear(embed_dim,embed_dim);self.W_k=nn.Linear(embed_dim,embed_dim);self.W_v=nn.Linear(embed_dim,embed_dim);self.W_out=nn.Linear(embed_dim,embed_dim)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x, mask=None):
        B,T,E=x.shape
        mha = nn.MultiheadAttention(E, self.num_heads, dropout=self.dropout.p, batch_first=True)
        mha.train(self.training)
        am = None
        dead = None
        if mask is not None:
            hide = (mask == 0).expand(B, self.num_heads, T, T)
            dead = hide.all(-1, keepdim=True)
            am = torch.zeros_like(hide, dtype=x.dtype).masked_fill(hide & ~dead, float('-inf')).reshape(B*self.num_heads, T, T)
        p={'in_proj_weight':torch.cat([self.W_q.weight,self.W_k.weight,self.W_v.weight]),'in_proj_bias':torch.cat([self.W_q.bias,self.W_k.bias,self.W_v.bias]),'out_proj.weight':torch.eye(E, dtype=x.dtype, device=x.device),'out_proj.bias':torch.zeros(E, dtype=x.dtype, device=x.device)}
        y = torch.func.functional_call(mha,p,(x,x,x),{'need_weights':False,'attn_mask':am})[0]
        if dead is not None:
            keep = (~dead).to(x.dtype).transpose(1,2)
            y = (y.view(B,T,self.num_heads,-1) * keep).reshape(B,T,E)
        return self.W_out(y)
