"""An optimizer for a small device."""

import torch


class PocketAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["t"] = 0
                    state["m"] = torch.zeros_like(p)
                    state["v"] = torch.zeros_like(p)
                state["t"] += 1
                m, v = state["m"], state["v"]

                g = p.grad + group["weight_decay"] * p
                m.mul_(beta1).add_(g, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(g, g, value=1 - beta2)

                rise_m = 1 - beta1 ** state["t"]
                rise_v = 1 - beta2 ** state["t"]
                size = (v.sqrt() + group["eps"]) / rise_v**0.5
                p -= group["lr"] * (m / rise_m) / size
