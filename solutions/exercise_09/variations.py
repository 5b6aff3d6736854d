"""Classes that checks build in place of the submission's class."""

import submission
import torch


class WithOneValue(submission.ImageAttention):
    def with_one_value(self, x):
        with torch.no_grad():
            rows = self.to_qkv.weight.shape[0] // 3
            self.to_qkv.weight[2 * rows :, 1:] = 0
        passed_on = self(x)
        is_image = isinstance(passed_on, torch.Tensor) and (passed_on.shape, passed_on.dtype) == (x.shape, x.dtype)
        return torch.stack([passed_on, passed_on - x]) if is_image else passed_on
