"""Plain numbers: a loop over games, and one over the steps of each."""

import torch


def targets_of(rewards, values, ended, gamma, lam):
    advantage, found = 0.0, []
    for t in range(len(rewards) - 1, -1, -1):
        if ended[t]:
            advantage = rewards[t] - values[t]
        else:
            advantage = rewards[t] + gamma * values[t + 1] - values[t] + gamma * lam * advantage
        found.append(advantage + values[t])
    return torch.stack(found[::-1])


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    rewards, values = rewards.detach(), values.detach()
    columns = zip(rewards.unbind(1), values.unbind(1), ended.unbind(1))
    targets = torch.stack([targets_of(*column, gamma, lam) for column in columns], dim=1)
    return torch.mean((predicted.squeeze(2) - targets) ** 2), targets
