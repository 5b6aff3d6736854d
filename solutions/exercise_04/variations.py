"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ValuesOfSharedInputs(submission.MultiHeadAttention):
    def forward(self, X_q, X_k, X_v):
        call = super().forward
        return call(X_k, X_k, X_k), call(X_k, X_k, X_v), call(X_q, X_k, X_k)


class ValuesOfManyAndWide(submission.MultiHeadAttention):
    def forward(self, X_q, X_k, X_v):
        first, second = super().forward(X_q, X_k, X_v), super().forward(X_k, X_k, X_k)
        are_pairs = isinstance(first, tuple | list) and isinstance(second, tuple | list)
        return (*first, *second) if are_pairs else second


class SizesInTurn(submission.MultiHeadAttention):
    def scaled_in_turn(self, Q, K, V):
        pairs = [self.scaled_dot_product(Q[..., :size], K[..., :size], V) for size in (3, 2, 6)]
        return [each for pair in pairs for each in pair]


class InInferenceMode(submission.MultiHeadAttention):
    def in_inference_mode(self, X_q, X_k, X_v):
        with torch.inference_mode():
            self(X_q, X_k, X_v)
