"""The arithmetic by fused calls of torch."""

import math

import torch


class PocketAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, (b1, b2) = group["lr"], group["betas"]
            for p in filter(lambda each: each.grad is not None, group["params"]):
                state = self.state[p]
                if len(state) == 0:
                    state.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                state["step"] += 1
                p.mul_(1 - lr * group["weight_decay"])
                state["exp_avg"].lerp_(p.grad, 1 - b1)
                state["exp_avg_sq"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                denominator = (state["exp_avg_sq"].sqrt() / math.sqrt(1 - b2 ** state["step"])).add_(group["eps"])
                p.addcdiv_(state["exp_avg"], denominator, value=-lr / (1 - b1 ** state["step"]))
