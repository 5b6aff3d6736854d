"""Classes that checks build in place of the submission's class."""

import submission
import torch


class SortingLoss(torch.nn.Module):
    def __init__(self, share):
        super().__init__()
        self.share = share


class ValuesOfSureLogits(SortingLoss):
    def forward(self, topics, accept, labels, accepted, elder):
        losses = []
        for size in (750.0, 1e10, 1e30):
            large = [size * each for each in (topics, accept, elder)]
            loss = submission.sorting_loss(large[0], large[1], labels, accepted, large[2], share=self.share)
            losses.append(loss / size)
        given = [each.mT.contiguous().mT if each.dim() > 1 else each for each in (topics, elder)]
        losses.append(submission.sorting_loss(given[0], accept, labels, accepted, given[1], share=0.0))
        return torch.stack(losses), torch.equal(given[0], topics) and torch.equal(given[1], elder)


class GradientsOfSureLogits(SortingLoss):
    def forward(self, topics, accept, labels, accepted, elder):
        with torch.inference_mode(False), torch.enable_grad():
            steps = [200.0 * each.argsort(dim=-1).argsort(dim=-1).sub(1.5) for each in (topics, accept, elder)]
            leaves = [each.requires_grad_() for each in (*steps, accepted.clone())]
            topics, accept, elder, accepted = leaves
            submission.sorting_loss(topics, accept, labels.clone(), accepted, elder, share=self.share).backward()
            return tuple(each.grad for each in leaves)


class ValuesOfLargeSizes(SortingLoss):
    def forward(self, topics, accept, labels, accepted, elder):
        given = (topics, accept, labels, accepted, elder)
        turned = [[each.roll(525 * times, 0) for each in given] for times in range(4)]
        return torch.stack([submission.sorting_loss(*each) for each in turned])  # means of a part can agree once


# The first manuscript is certain and right, so that it costs nothing, and the others still count.
class ValuesBesideACertainManuscript(SortingLoss):
    def forward(self, topics, accept, labels, accepted, elder):
        certain, first = 1e30 * torch.nn.functional.one_hot(labels, topics.shape[1]), torch.arange(len(labels)) == 0
        topics, elder = (torch.where(first[:, None], certain, each) for each in (topics, elder))
        accept, accepted = torch.where(first, 1e30, accept), torch.where(first, 1.0, accepted)
        return submission.sorting_loss(topics, accept, labels, accepted, elder, share=self.share)
