"""Classes that checks build in place of the submission's class."""

import submission


class ValuesOfManyAndWide(submission.CrossAttentionBlock):
    def forward(self, x, memory, memory_mask):
        call = super().forward
        plain = call(x, memory)
        masked = call(x, memory, memory_mask), call(memory, memory, memory_mask), call(x[:, :1], memory, memory_mask)
        return plain, *masked, call(x, memory)
