"""One layer serves windows of all kinds, in any order, at any place and in short floats."""

# B batch, D model size

import torch

from grader.checks.compare import (
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
