"""Silence in every kind of call, and scaled_dot_product with other numbers of heads."""

# B batch, I queries, J keys, D d_model

import contextlib

from grader.testing import Failure, SubjectRaisedError, compare

B, I, J, D = 6, 3, 5, 12
LOUD = 1000.0
HEADS = ((4, 3), (2, 2), (1, 8), (3, 1))
"""Samples and heads that `scaled_dot_product` is given."""


def vectors(gaussian, size=D):
    return {"X_q": gaussian(B, I, size), "X_k": gaussian(B, J, size), "X_v": gaussian(B, J, size)}


def require_silence(module, given):
    printed = module.printed().strip()
    if printed:
        raise Failure("prints", action=given, expected="nothing on stdout", observed=repr(printed[:60]))


def test_no_call_of_any_kind_prints(subject, gaussian):
    inputs = vectors(gaussian)
    for dtype in ("", "float64"):
        module = subject.build({"d_model": D, "num_heads": 1}, dtype=dtype, variation="InInferenceMode")
        given = {name: value.double() if dtype else value for name, value in inputs.items()}
        loud = {name: LOUD * value for name, value in given.items()}
        with contextlib.suppress(SubjectRaisedError):  # other checks see calls that raise
            module(**given)
            require_silence(module, f"a call in {dtype or 'float32'}")
            module.call("in_inference_mode", **given)
            require_silence(module, f"a call in {dtype or 'float32'} under inference_mode")
            module(**loud)
            require_silence(module, f"a call in {dtype or 'float32'} with numbers around {LOUD:g}")
    module = subject.build({"d_model": D, "num_heads": 1})
    for size in (D, 3):
        module.call("scaled_dot_product", **{n: gaussian(B, 1, J, size) for n in "QKV"})
        require_silence(module, f"scaled_dot_product alone, with vectors of size {size}")


def test_scaled_dot_product_takes_any_number_of_heads(subject, reference, gaussian):
    arguments = {"d_model": 24, "num_heads": 4}
    ours, theirs = subject.build(arguments), reference.build(arguments)
    for samples, heads in HEADS:
        inputs = {
            "Q": gaussian(samples, heads, I, 6),
            "K": gaussian(samples, heads, J, 6),
            "V": gaussian(samples, heads, J, 6),
        }
        item = f"scaled_dot_product alone, {samples} samples and {heads} heads, on a module with 4 heads: output"
        seen = ours.call("scaled_dot_product", **inputs)
        compare(seen, theirs.call("scaled_dot_product", **inputs), item)
