"""Targets directly, as a mixture of what the critic said next and the next target."""

import torch


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    values, rewards = values.detach(), rewards.detach()
    discount = gamma * ended.logical_not().to(values.dtype)
    target, targets = values[-1], []
    for t in reversed(range(rewards.size(0))):
        target = rewards[t] + discount[t] * ((1 - lam) * values[t + 1] + lam * target)
        targets.append(target)
    targets = torch.stack(targets[::-1])
    return (predicted.view_as(targets) - targets).square().mean(), targets
