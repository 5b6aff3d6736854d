"""Classes that checks build in place of the submission's class."""

import submission
import torch


class AnExplanationDrawsNothing(submission.MultiHeadAttention):
    def silent_and_explained(self, x):
        state = torch.get_rng_state()
        silent = self(x)
        torch.set_rng_state(state)
        explained = self(x, verbose=True)
        have_a_difference = all(isinstance(each, torch.Tensor) for each in (explained, silent))
        return explained - silent if have_a_difference else explained
