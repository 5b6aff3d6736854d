"""All surprises at once, then one pass backwards."""

import torch


def critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.95):
    with torch.no_grad():
        alive = 1.0 - ended.to(rewards.dtype)
        surprises = rewards + gamma * alive * values[1:] - values[:-1]
        advantages = surprises.clone()
        for t in range(rewards.shape[0] - 2, -1, -1):
            advantages[t] += gamma * lam * alive[t] * advantages[t + 1]
        targets = advantages + values[:-1]
    errors = predicted - targets.unsqueeze(-1)
    return errors.pow(2).mean(), targets
