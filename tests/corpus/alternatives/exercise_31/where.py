"""Ends by torch.where, a list of advantages, and the library's mean squared error."""

import torch
import torch.nn.functional as F


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    with torch.no_grad():
        zero = torch.zeros_like(rewards[0])
        later, advantages = zero, []
        for t in range(len(rewards) - 1, -1, -1):
            beyond = torch.where(ended[t] == 1, zero, values[t + 1])
            later = torch.where(ended[t] == 1, zero, later)
            later = rewards[t] + gamma * beyond - values[t] + gamma * lam * later
            advantages.insert(0, later)
        targets = torch.stack(advantages) + values[:-1]
    return F.mse_loss(predicted[..., 0], targets), targets
