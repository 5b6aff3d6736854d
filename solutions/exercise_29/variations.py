"""Classes that checks build in place of the submission's class."""

import submission
import torch


class NothingToGuessCostsNothing(torch.nn.Module):
    def forward(self, logits, tokens):
        found = [submission.language_loss(logits, tokens)]
        for each, seen in ((logits, torch.full_like(tokens, -100)), (logits[:, :1], tokens[:, :1])):
            for dtype in (torch.float32, torch.float64):
                for counted in (None, 7):
                    leaf = each.detach().to(dtype, copy=True).requires_grad_()
                    with torch.enable_grad():
                        loss = submission.language_loss(leaf, seen, counted=counted)
                        loss.backward()
                    found.append((loss, torch.zeros_like(leaf) if leaf.grad is None else leaf.grad))
        return found


class ValuesOfTransposedInputs(torch.nn.Module):
    def forward(self, logits, tokens):
        inputs = [each.detach().transpose(0, -1).contiguous().transpose(0, -1) for each in (logits, tokens)]
        found = [submission.language_loss(*inputs), submission.language_loss(*inputs, counted=7)]
        return found + [after - before for after, before in zip(inputs, (logits, tokens), strict=True)]


# If places are left out, a mean may stay the same, but a sum changes.
class ValuesOfLargeSizes(torch.nn.Module):
    def forward(self, logits, tokens):
        present = int((tokens[:, 1:] != -100).sum())
        whole = submission.language_loss(logits, tokens)
        without_gaps = submission.language_loss(logits, tokens.clamp(min=0), counted=1)
        return whole, submission.language_loss(logits, tokens, counted=present), without_gaps
