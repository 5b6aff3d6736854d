"""The powers of both betas are kept beside the moments."""

import torch


class PocketAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            a, b = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if "m" not in s:
                    s["m"], s["v"], s["a"], s["b"] = torch.zeros_like(p), torch.zeros_like(p), 1.0, 1.0
                s["a"] *= a
                s["b"] *= b
                s["m"] = a * s["m"] + (1 - a) * p.grad
                s["v"] = b * s["v"] + (1 - b) * p.grad * p.grad
                change = (s["m"] / (1 - s["a"])) / (torch.sqrt(s["v"] / (1 - s["b"])) + group["eps"])
                p.sub_(group["lr"] * (change + group["weight_decay"] * p))
