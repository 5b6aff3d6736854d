"""One layer serves windows of all kinds, in any order, at any place and in short floats."""

# B batch, D model size

import torch

from grader.checks.compare import (
    FLOAT64,
    Failure,
    compare,
    extreme_numbers,
    number,
    require_dtype,
    require_finite,
    require_shape,
    require_tensor,
)

B, D = 2, 8
ARGUMENTS = {"d_model": D, "n_heads": 2, "base": 50.0}
WINDOWS = [(3, 5, 0), (3, 2, 0), (3, 2, 40), (5, 3, 0), (5, 1, 7), (8, 1, 0), (1, 7, 0), (3, 5, 0)]
FURTHER_ON = (300, 1020, 4090)
"""The last two lie where tables of usual sizes would begin anew within the window."""
SHORT_FLOATS = 0.15
"""bfloat16 rounds at two digits; a wrong angle is off by the size of the values themselves."""
LONG = {"d_model": 48, "n_heads": 6, "base": 3.0}
"""With a small base all pairs turn fast, so that a wrong angle of any of them shows."""
LONG_WINDOWS = [(20, 390, 0), (20, 40, 360)]
MEAN_IN_SHORT_FLOATS = 0.1
"""The mean error of right layers is below 0.025, and that of layers with imprecise angles above 0.2."""
MANY_WINDOWS = [(3, 8, 1), (1, 5, 6), (2, 10, 0), (1, 4, 2)] + [
    (1 + index % 4, 1 + 7 * index % 12, 5 * index % 17) for index in range(56)
]
CONVERTED = """
class Variation(submission.WindowAttention):
    def converted(self, x, past, start):
        self.to(torch.bfloat16)
        self(x.to(torch.bfloat16), past.to(torch.bfloat16), start)
        self.to(torch.float64)
        return self(x.to(torch.float64), past.to(torch.float64), start)
"""


def test_windows_of_all_kinds_one_after_the_other(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    for words, earlier, start in WINDOWS:
        inputs = {"x": gaussian(B, words, D), "past": gaussian(B, earlier, D), "start": start}
        item = f"one layer, windows in turn, now {words} words after {earlier}, start={start}: output"
        compare(ours(**inputs), theirs(**inputs), item)


@extreme_numbers()
def test_places_further_on_in_short_floats(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    x, past = (4.0 * gaussian(B, words, D).to(torch.bfloat16) for words in (3, 6))
    for start in FURTHER_ON:
        new, other = (subject.build(ARGUMENTS, like=theirs, dtype="bfloat16") for _ in range(2))
        near, far = new(x=x, past=past), other(x=x, past=past, start=start)
        for seen in (near, far):
            require_tensor(seen, "output")
            require_shape(seen, list(x.shape), "in bfloat16: output")
            require_dtype(seen, torch.bfloat16, "in bfloat16: output")
            require_finite(seen, "in bfloat16: output")
        if not bool(near.any()):
            raise Failure("dead", "in bfloat16: expected other outputs than zeros, got only zeros")
        apart = float((near.double() - far.double()).abs().max())
        size = float(near.double().abs().max())
        if apart > SHORT_FLOATS * size:
            raise Failure(
                "places",
                f"in bfloat16, start=0 and start={start}: expected equal outputs up to rounding, got outputs of up to "
                f"{number(size)} that differ by up to {number(apart)}",
            )


def test_no_window_of_many_is_taken_for_another(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    inputs = [
        {"x": gaussian(1, words, D), "past": gaussian(1, earlier, D), "start": start}
        for words, earlier, start in MANY_WINDOWS
    ]
    seen, expected = ours.call_each(inputs, grad=False), theirs.call_each(inputs, grad=False)
    for index, (words, earlier, start) in enumerate(MANY_WINDOWS):
        item = f"one layer, window {index + 1} in turn, {words} words after {earlier}, start={start}: output"
        compare(seen[index], expected[index], item)


@extreme_numbers()
def test_long_windows_in_short_floats(subject, reference, gaussian):
    theirs = reference.build(LONG, dtype="bfloat16")
    exact = reference.build(LONG, dtype="float64")
    exact.load_from(theirs)
    for words, earlier, start in LONG_WINDOWS:
        ours = subject.build(LONG, like=theirs, dtype="bfloat16")
        x, past = (4.0 * gaussian(B, length, LONG["d_model"]).to(torch.bfloat16) for length in (words, earlier))
        seen, expected = ours(x=x, past=past, start=start), exact(x=x.double(), past=past.double(), start=start)
        given = f"in bfloat16, {words} words after {earlier}, start={start}"
        require_tensor(seen, f"{given}: output")
        require_shape(seen, list(x.shape), f"{given}: output")
        require_dtype(seen, torch.bfloat16, f"{given}: output")
        require_finite(seen, f"{given}: output")
        size = float(expected.abs().mean())
        apart = float((seen.double() - expected).abs().mean())
        if apart > MEAN_IN_SHORT_FLOATS * size:
            raise Failure(
                "long-window",
                f"{given}: expected the outputs of a layer in float64 up to rounding, got outputs that differ from "
                f"them by {number(apart)} on average; the outputs' average size is {number(size)}",
            )


def test_float64_after_bfloat16_is_precise(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS, probe=CONVERTED, entry="Variation")
    ours = subject.build(ARGUMENTS, like=theirs, probe=CONVERTED, entry="Variation")
    inputs = {"x": gaussian(B, 3, D), "past": gaussian(B, 5, D), "start": 300}
    seen, expected = (module.call("converted", **inputs) for module in (ours, theirs))
    compare(seen, expected, "one layer, called in bfloat16, then converted to float64: output", FLOAT64)
