"""What a critic is taught: generalised advantages over games that end in the middle of a recording."""

import torch


@torch.no_grad()
def generalised_advantages(rewards, values, ended, gamma, lam):
    steps = rewards.shape[0]
    goes_on = (1 - ended).to(rewards.dtype)
    advantages = torch.zeros_like(rewards)
    following = torch.zeros_like(rewards[0])
    for t in reversed(range(steps)):
        alive = goes_on[t]
        surprise = rewards[t] + gamma * values[t + 1] * alive - values[t]
        following = surprise + gamma * lam * alive * following
        advantages[t] = following
    return advantages


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    advantages = generalised_advantages(rewards, values, ended, gamma, lam)
    targets = (advantages + values[: len(advantages)]).detach()

    said = predicted.flatten()
    errors = said - targets.flatten()
    return (errors**2).mean(), targets
