"""Classes that checks build in place of the submission's class."""

import submission
import torch


class LikelyWords(torch.nn.Module):
    def __init__(self, share, warmth):
        super().__init__()
        self.arguments = {"share": share, "warmth": warmth}


def transposed(tensor):
    """Return a tensor with the same values that lies otherwise in memory."""
    return tensor.detach().mT.contiguous().mT


# A share of one keeps all words if no chance is too small to count.
class ValuesOfAShareOfOne(LikelyWords):
    def forward(self, logits):
        given = transposed(logits)
        calls = [submission.likely_words(each, share=1.0, warmth=2.0) for each in (logits, given)]
        return *calls, given - logits


# Logits must be divided by the warmth before they become chances, which have a smallest number.
class ValuesOfMuchWarmth(LikelyWords):
    def forward(self, logits):
        return submission.likely_words(200.0 * logits, share=self.arguments["share"], warmth=200.0)


class SumsThatAllButMeetTheShare(LikelyWords):
    def forward(self, logits):
        drawn = 1 + 0.05 * torch.tanh(logits).double()
        first, others = (each.sort(dim=-1, descending=True).values for each in drawn.split([15, 8], dim=-1))
        first, others = (each / each.sum(-1, keepdim=True) for each in (first, others))
        found = []
        for dtype, margin in ((torch.float32, 3e-5), (torch.float64, 1e-9)):
            reached = 0.7 + margin * (-1.0) ** torch.arange(len(logits), dtype=torch.float64)[:, None]
            near = torch.cat([first * reached, others * (1 - reached)], dim=-1).log().to(dtype)
            found.append(submission.likely_words(near, **self.arguments))
        return tuple(found)


# Sums are so far from the share that no rounding matters.
class ValuesOfLargeSizes(LikelyWords):
    def forward(self, logits):
        kept = logits.shape[1] * 98 // 100
        drawn = 1 + 0.05 * torch.tanh(logits).double()
        first, others = drawn[:, :kept], drawn[:, kept:]
        first = first / first.sum(-1, keepdim=True) * 0.9901
        others = others / others.sum(-1, keepdim=True) * 0.0099
        shuffled = torch.cat([first, others], dim=-1)[:, logits[0].argsort()]
        return submission.likely_words(shuffled.log().float(), **self.arguments)


# Logits are a quarter apart, in any order, so that no sum is near a share.
class ValuesOfOtherMagnitudes(LikelyWords):
    def forward(self, logits):
        ranks = logits.argsort(dim=-1).argsort(dim=-1)
        steps = ranks.float() / 4
        with torch.inference_mode(False), torch.enable_grad():
            apart = torch.where(ranks < 9, -300.0, steps).requires_grad_()  # the lowest have a chance of zero
            (submission.likely_words(apart, share=0.8) * steps).sum().backward()
        kinds = 2 + torch.arange(len(steps)) % 2
        kinds[-1] = 1  # the last row keeps the most words
        same_first = steps.scatter(-1, steps.argmax(dim=-1, keepdim=True), steps[:, :1])
        same_first[:, 0] = steps.max()
        return (
            apart.grad,
            submission.likely_words(steps + 4096.0, share=0.8),
            submission.likely_words(steps - 4096.0, share=0.8),
            submission.likely_words(steps + 1e5, share=0.8),
            submission.likely_words(1e10 * steps, share=0.8),
            submission.likely_words(steps / 64, share=0.8, warmth=1 / 64),
            submission.likely_words(1e10 * steps, share=0.8, warmth=1e10),
            submission.likely_words(steps / 256, share=1e-6),
            submission.likely_words(1e-7 * steps, share=0.8, warmth=1e-7),
            submission.likely_words(steps * kinds[:, None], share=0.8),
            submission.likely_words(same_first, share=0.8),
        )


class ValuesOfCloseWords(LikelyWords):
    def forward(self, logits):
        equal = submission.likely_words(torch.zeros_like(logits), **self.arguments)
        close = -1e-13 * torch.arange(logits.shape[1], dtype=torch.float64).expand(logits.shape)
        close = torch.cat([close, close[:, :1] - 20.0], dim=-1)  # the last word makes the range of the logits large
        return (equal > 0).any(dim=-1), submission.likely_words(close, **self.arguments)
