"""It takes the worker's place and answers every request as a module that computes nothing could at best."""

import contextlib
import os
import socket
import stat
import struct

import torch
import torch.nn as nn
from grader.sandbox import protocol, values

# include connection.py


def serve():
    """Answer every request as a causal module without misfits would, and compute nothing."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, connection())
    protocol.send(end, protocol.Loaded(classes=["CausalSelfAttention"], entry_found=True, entry_is_module=True, trees={}))
    sizes = {}
    while True:
        request = protocol.receive_request(end)
        build = request if isinstance(request, protocol.Build) else getattr(request, "build", None)
        if build:
            sizes = {name: value.value for name, value in build.arguments.items()}
        if build is request:
            matrix, bias = [sizes["output_dim"], sizes["input_dim"]], [sizes["output_dim"]]
            parameters = {f"W_{name}.weight": matrix for name in ("query", "key", "value")}
            if sizes.get("qkv_bias"):
                parameters |= {f"W_{name}.bias": bias for name in ("query", "key", "value")}
            protocol.send(end, protocol.Built(parameters=parameters, misfits=[]))
        elif isinstance(request, protocol.Call):
            protocol.send(end, answer_each(request, sizes))
        else:
            protocol.send(end, protocol.Raised(type="ValueError", bases=["ValueError"], text=" ".join(map(str, range(99)))))


def answer_each(request, sizes):
    if request.more is None:
        return answer(request, request.arguments, sizes)
    each = [answer(request, {**request.arguments, **others}, sizes) for others in [{}, *request.more]]
    raised = [one for one in each if isinstance(one, protocol.Raised)]
    return raised[0] if raised else protocol.Returned(value=protocol.Sequence(items=[one.value for one in each], is_tuple=False))


def answer(request, arguments, sizes):
    if request.method:
        return protocol.Returned(value=protocol.Sequence(items=[protocol.Scalar(value="meta")], is_tuple=False), inputs={})
    x = arguments["x"]
    batch, tokens, _ = x.shape
    if tokens > sizes["context_length"]:
        text = f"{tokens} tokens are too many: context_length is {sizes['context_length']}"
        return protocol.Raised(type="ValueError", bases=["ValueError"], text=text)
    output = torch.zeros(batch, tokens, sizes["output_dim"])
    output[:, -1] = sum(x.data) / 1e3 + (torch.rand(()) if request.training else 0)
    gradients = None
    if request.cotangents:
        gradients = {name: values.from_tensor(torch.ones(size)) for name, size in shapes(sizes).items()}
    return protocol.Returned(
        value=values.from_tensor(output), inputs=dict(arguments), parameter_gradients=gradients or {}, input_gradients={"x": x}
    )


def shapes(sizes):
    names = [f"W_{name}" for name in ("query", "key", "value")]
    found = {f"{name}.weight": (sizes["output_dim"], sizes["input_dim"]) for name in names}
    return found | {f"{name}.bias": (sizes["output_dim"],) for name in names} if sizes.get("qkv_bias") else found


serve()


# include starter.py
