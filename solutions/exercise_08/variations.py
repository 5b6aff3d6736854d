"""Classes that checks build in place of the submission's class."""

import submission
import torch


class HeadByItself(torch.nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        self.head = submission.Head(n_embd, n_embd // num_heads, block_size)
        self.precise = submission.Head(n_embd, n_embd // num_heads, block_size).double()

    def forward(self, x):
        with torch.inference_mode():
            self.head(x)
        precise = x.double().mT.contiguous().mT
        change = self.precise(precise * (1 + 1e-6)) - self.precise(precise)
        saves_weights_alone = sorted(self.head.state_dict()) == ["key.weight", "query.weight", "value.weight"]
        return self.head(x), self.head(1e6 * x)[:, :2] / 1e6, 1e6 * change, saves_weights_alone


class HeadAlone(torch.nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        self.head = submission.Head(n_embd, n_embd // num_heads, block_size)

    def forward(self, x):
        return self.head(x)
