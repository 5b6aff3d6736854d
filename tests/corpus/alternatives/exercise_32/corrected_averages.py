"""The averages are kept corrected: each step weighs the new value by its share."""

import torch


class PocketAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.move(p, group)

    def move(self, p, group):
        state = self.state[p]
        t = state["t"] = state.get("t", 0) + 1
        shares = [(1 - beta) / (1 - beta**t) for beta in group["betas"]]
        for name, value, share in zip(("mean", "square"), (p.grad, p.grad**2), shares):
            old = state.get(name, torch.zeros_like(p))
            state[name] = old + share * (value - old)
        step = state["mean"] / (state["square"].sqrt() + group["eps"])
        p.copy_(p * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * step)
