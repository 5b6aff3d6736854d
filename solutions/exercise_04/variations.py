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
        are_pairs = isinstance(first, tuple) and isinstance(second, tuple)
        return (*first, *second) if are_pairs else second


class InInferenceMode(submission.MultiHeadAttention):
    def in_inference_mode(self, X_q, X_k, X_v):
        with torch.inference_mode():
            self(X_q, X_k, X_v)
