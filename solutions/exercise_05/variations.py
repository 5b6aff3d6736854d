"""Classes that checks build in place of the submission's class."""

import contextlib
import io

import submission
import torch


class AnExplanationDrawsNothing(submission.MultiHeadAttention):
    def silent_and_explained(self, x):
        state = torch.get_rng_state()
        silent = self(x)
        torch.set_rng_state(state)
        explained = self(x, True)
        have_a_difference = all(isinstance(each, torch.Tensor) for each in (explained, silent))
        return explained - silent if have_a_difference else explained


class SilentAroundARefusal(submission.MultiHeadAttention):
    def silent_around_a_refusal(self, x):
        printed = []
        for words, verbose in ((torch.cat([x, x], dim=1), False), (torch.cat([x, x], dim=1), True), (x, False)):
            with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(RuntimeError, ValueError):
                output = self(words, verbose=verbose)
            printed.append(not verbose and text.getvalue() != "")
        return output, torch.tensor(printed)


class AcceptsNoMoreAfterLoading(submission.MultiHeadAttention):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads):
        super().__init__(input_dim, output_dim, context_length, dropout, num_heads)
        self.sizes = input_dim, output_dim, 2 * context_length, dropout, num_heads, False, False

    def accepts(self, x):
        try:
            self(x)
        except (RuntimeError, ValueError):
            return 0.0
        return 1.0

    def after_loading(self, x):
        too_long = torch.cat([x, x], dim=1)
        before = self.accepts(too_long)
        other = submission.MultiHeadAttention(*self.sizes)
        with contextlib.suppress(RuntimeError):  # another check loads it
            self.load_state_dict(other.state_dict() | dict(self.named_parameters()))
        return self(x), torch.tensor([self.accepts(too_long) - before])
