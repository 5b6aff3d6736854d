"""Each advantage is a weighted sum of all later surprises; the weights stand in a matrix for each game."""

import torch


@torch.no_grad()
def make_targets(rewards, values, ended, gamma, lam):
    steps, games = rewards.shape
    alive = ended.logical_not().to(rewards.dtype)
    surprises = rewards + gamma * values[1:] * alive - values[:-1]
    advantages = torch.zeros_like(rewards)
    for start in range(steps):
        weight = torch.ones_like(alive[0])
        for t in range(start, steps):
            advantages[start] += weight * surprises[t]
            weight = weight * gamma * lam * alive[t]
    return advantages + values[:steps]


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    targets = make_targets(rewards, values, ended, gamma, lam)
    said = predicted.reshape(targets.shape)
    return torch.nn.MSELoss()(said, targets), targets
