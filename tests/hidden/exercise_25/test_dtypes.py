"""Every dtype, loud and soft."""

# B batch, T words, W width

import torch

from grader.checks.compare import compare
from grader.checks.tolerances import Tolerance

B, T, W = 2, 3, 8
ROUNDING = {
    "float64": Tolerance(relative=1e-9, absolute=1e-12),
    "float32": Tolerance(relative=1e-5, absolute=1e-7),
    "bfloat16": Tolerance(relative=2e-2, absolute=1e-7),
    "float16": Tolerance(relative=4e-3, absolute=1e-7),
}
LOUDNESS = (1.0, 400.0, 0.01, 5e-4)
EPS = 1e-7


def normed_and_stream(subject, reference, gaussian, loudness):
    """Compare both outputs in every dtype with the reference's in float64."""
    for dtype, tolerance in ROUNDING.items():
        theirs = reference.build({"width": W, "eps": EPS}, dtype="float64")
        ours = subject.build({"width": W, "eps": EPS}, dtype=dtype, like=theirs)
        inputs = {name: (loudness * gaussian(B, T, W)).to(getattr(torch, dtype)) for name in ("x", "residual")}
        stream = inputs["x"] + inputs["residual"]
        zeros = torch.zeros(B, T, W, dtype=torch.float64)
        normed, _ = theirs(x=stream.double(), residual=zeros)
        expected = (normed.to(stream.dtype), stream)
        compare(ours(**inputs), expected, f"in {dtype}, inputs of size {loudness:g}: output", tolerance)


def test_usual_inputs_in_every_dtype(subject, reference, gaussian):
    normed_and_stream(subject, reference, gaussian, LOUDNESS[0])


def test_loud_inputs_in_every_dtype(subject, reference, gaussian):
    normed_and_stream(subject, reference, gaussian, LOUDNESS[1])


def test_soft_inputs_in_every_dtype(subject, reference, gaussian):
    normed_and_stream(subject, reference, gaussian, LOUDNESS[2])


def test_inputs_whose_squares_are_as_small_as_eps(subject, reference, gaussian):
    normed_and_stream(subject, reference, gaussian, LOUDNESS[3])
