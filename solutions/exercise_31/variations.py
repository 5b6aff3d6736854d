"""Classes that checks build in place of the submission's class."""

import submission
import torch


class CriticLoss(torch.nn.Module):
    def __init__(self, gamma, lam):
        super().__init__()
        self.rates = {"gamma": gamma, "lam": lam}


class TargetsAlone(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        return submission.critic_loss(predicted, rewards, values, ended, **self.rates)[1]


class LossOfRightPredictions(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        _, targets = submission.critic_loss(predicted, rewards, values, ended, **self.rates)
        return submission.critic_loss(targets.unsqueeze(-1), rewards, values, ended, **self.rates)[0]


# The check also compares the arguments before and after the calls.
class ValuesOfWholeNumbers(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        found, facts = [], (rewards.detach(), values.detach())
        for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
            own = ended.to(dtype)
            found += [*submission.critic_loss(predicted, *facts, own, **self.rates), own - ended]
        return (*found, *submission.critic_loss(predicted, *facts, 0 * ended, **self.rates))


class ValuesAtTheEndsOfTheRates(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        found = []
        for gamma, lam in ((0.0, 0.9), (0.9, 0.0), (0.0, 0.0), (1.0, 1.0)):
            found += submission.critic_loss(predicted, rewards, values, ended, gamma=gamma, lam=lam)
        huge_later = torch.cat([rewards[:1], 1e15 * rewards[1:]])  # with lam=0, they do not count for the first step
        found.append(submission.critic_loss(predicted, huge_later, values, 0 * ended, lam=0.0)[1][0])
        return tuple(found)


class ValuesOfHugeNumbers(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        loss, targets = submission.critic_loss(1e10 * predicted, 1e10 * rewards, 1e10 * values, ended)
        return loss / 1e20, targets / 1e10


# With rates of 1 nothing is forgotten: each step counts for all steps before it.
class ValuesOfLargeSizes(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        all_games = predicted, rewards, values, 0 * ended
        two_games = [each[:, :2] for each in all_games]
        forgetful = submission.critic_loss(*two_games, gamma=0.5, lam=0.5)
        return (*submission.critic_loss(*all_games, gamma=1.0, lam=1.0), *forgetful)


class ValuesOfManyStepsAndGames(CriticLoss):
    def forward(self, predicted, rewards, values, ended):
        return submission.critic_loss(predicted, rewards, values, ended, gamma=0.99, lam=0.97)
