"""A refusal that gives one length of two, which is told as advice."""

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    """Each head attends with its own share of the features; a last layer brings the heads together."""

    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()

        # every head gets an equal share: O = H * D
        assert output_dim % num_heads == 0, "Output dimension must be dividable by head_num"

        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.verbose = verbose

        # I -> O, all heads at once
        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)

        # (C, C), ones above the diagonal
        self.register_buffer("causal_mask", torch.triu(torch.ones(context_length, context_length), diagonal=1), persistent=False)

        self.dropout = nn.Dropout(dropout)

        # mixes what the heads found: O -> O
        self.out_proj = nn.Linear(output_dim, output_dim)

        if verbose:
            print(f"\n=== MultiHeadAttention Initialization ===")
            print(f"    input_dim =", input_dim)
            print(f"    output_dim =", output_dim)
            print(f"    num_heads =", self.num_heads)
            print(f"    head_dim =", self.head_dim)
            print(f"    Generating nn.Linear({input_dim}, {output_dim}) weights for query, key and value")
            print(f"    Generating causal diagonal mask torch.triu(torch.ones({context_length}, {context_length}), diagonal=1) for causal masking of attn_scores")
            print(f"    Generating dropout nn.Dropout({dropout}) for random dropout of attn_weights")
            print(f"    Generating optional nn.Linear({output_dim}, {output_dim}) weights for final context_vector projection")
            print(f"=== End MultiHeadAttention Initialization ===\n")

    def forward(self, x, verbose=False):
        # (B, T, I)
        batch_size, context_length, input_dim = x.shape
        longest = self.causal_mask.shape[0]
        if context_length > longest:
            raise ValueError(f"{context_length} tokens are too many")

        verbose = verbose or self.verbose
        if verbose:
            print(f"\n=== MultiHeadAttention Forward Pass ===")
            print(f"Input shape: {x.shape} (batch_size={batch_size}, context_length={context_length}, input_dim={input_dim})")
            print(f"Config: num_heads={self.num_heads}, head_dim={self.head_dim}, output_dim={self.num_heads * self.head_dim}")
            print(f"\nInput tensor (batch 0 with shape {x[0].shape}):")
            print(f" {x[0]}")

        # (B, T, O) each
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)

        if verbose:
            print(f"\n1. QKV Projection:")
            print(f"   QKV shapes: {queries.shape}")

        # (B, T, O) -> (B, T, H, D)
        queries = queries.view(batch_size, context_length, self.num_heads, self.head_dim)
        keys = keys.view(batch_size, context_length, self.num_heads, self.head_dim)
        values = values.view(batch_size, context_length, self.num_heads, self.head_dim)

        if verbose:
            print(f"\n2. Split into heads:")
            print(f"(batch_size, context_length, output_dim) -> (batch_size, context_length, head_num, head_dim)")
            print(f"   QKV shapes after view: {queries.shape}")

        # (B, T, H, D) -> (B, H, T, D)
        queries = queries.transpose(1, 2)
        keys = keys.transpose(1, 2)
        values = values.transpose(1, 2)

        if verbose:
            print(f"\n3. Transpose for attention computation:")
            print(f"(batch_size, context_length, num_heads, head_dim) -> (batch_size, num_head, context_length, head_dim)")
            print(f"   QKV shapes after transpose: {queries.shape}")

        # (B, H, T, T): every query against every key, head by head
        attn_scores = queries @ keys.transpose(2, 3)

        if verbose:
            print(f"\n4. Attention scores computation:")
            print(f"   attn_scores shape: {attn_scores.shape}")
            print(f"   Scale factor (1/sqrt(head_dim)): {1/keys.shape[-1]**0.5:.4f}")
            print(f"   Raw attention scores for head 0, batch 0:\n{attn_scores[0, 0]}")

        # a key that stands after its query is out of sight
        mask_bool = self.causal_mask.bool()[:context_length, :context_length]
        attn_scores = attn_scores.masked_fill(mask_bool, -torch.inf)

        if verbose:
            print(f"\n5. Causal masking:")
            print(f"   Causal mask:\n{mask_bool}\n")
            print(f"   Then masked_fill True -> -torch.inf\n")
            print(f"   Masked attention scores for head 0, batch 0:\n{attn_scores[0, 0]}")

        # every row becomes weights over the keys
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)

        if verbose:
            print(f"\n6. Softmax attention weights:")
            print(f"   attn_weights shape: {attn_weights.shape}")
            print(f"   Attention weights for head 0, batch 0:\n{attn_weights[0, 0]}\n")
            print(f"   Sum of weights (should be ~1.0): {attn_weights[0, 0].sum(dim=-1)}")

        attn_weights = self.dropout(attn_weights)

        if verbose:
            print(f"\n7. After dropout:")
            print(f"   Attention weights after dropout for head 0, batch 0:\n{attn_weights[0, 0]}")

        # (B, H, T, D) -> (B, T, H, D)
        context_vec = (attn_weights @ values).transpose(1, 2)

        if verbose:
            print(f"\n8. Compute context vectors:")
            print(f"   context_vec shape after attention: {context_vec.shape}")
            print(f"   First context vector (batch 0, token 0, head 0): {context_vec[0, 0, 0]}...")

        # the heads side by side again: (B, T, O)
        context_vec = context_vec.contiguous().view(batch_size, context_length, self.num_heads * self.head_dim)

        if verbose:
            print(f"\n9. Concatenate heads:")
            print(f"   context_vec shape after view: {context_vec.shape}")
            print(f"   First concatenated context vector (batch 0): {context_vec[0]}...")

        context_vec = self.out_proj(context_vec)

        if verbose:
            print(f"\n10. Final output projection:")
            print(f"   Final context_vec shape: {context_vec.shape}")
            print(f"   Final context vector (batch 0): {context_vec[0]}...")
            print(f"=== End MultiHeadAttention Forward Pass ===\n")

        return context_vec
