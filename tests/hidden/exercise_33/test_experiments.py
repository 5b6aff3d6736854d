"""Another loudness, and another first part."""

# T steps, B batch, W width, C classes

from grader.checks.compare import Failure, number

T, B, W, C = 1, 6, 4, 3
WEIGHT = 0  # the place of the first layer's weight in the output
CLOSE = 1e-5


def batch(gaussian):
    return {"x": gaussian(T, B, W), "y": gaussian(T, B, C).argmax(dim=-1)}


def step(subject, like, inputs, **arguments):
    """Return the weight of the first layer after the step, (T, hidden, W), from the weights of `like`."""
    return subject.build({"width": W, "outputs": C, **arguments}, like=like)(**inputs)[WEIGHT]


def difference(one, other):
    return float((one - other).abs().max())


def test_loudness_changes_no_step(subject, reference, gaussian):
    like, inputs = reference(width=W, outputs=C), batch(gaussian)
    loud, quiet = (step(subject, like, inputs, parts=1, longest=0.1, loudness=loudness) for loudness in (1000.0, 1.0))
    if not difference(loud, quiet) < CLOSE:
        raise Failure(
            "loudness",
            "loudness=1000 in place of 1, with parts=1: expected the same step, but the first layer's weight "
            f"differs by up to {number(difference(loud, quiet))}",
            code=f"(outs[0][{WEIGHT}] - outs[1][{WEIGHT}]).abs().max() < {CLOSE:g}",
        )


def test_every_part_moves_the_weights(subject, reference, gaussian):
    like, inputs = reference(width=W, outputs=C), batch(gaussian)
    others = inputs["x"].clone()
    others[:, : B // 2] = gaussian(T, B // 2, W)
    before, after = (step(subject, like, {**inputs, "x": x}, parts=2, longest=1e9) for x in (inputs["x"], others))
    if not difference(before, after) > CLOSE:
        raise Failure(
            "part",
            "other inputs in the first of two parts: expected another step, but the largest change of the first "
            f"layer's weight is {number(difference(before, after))}",
            code=f"(outs[0][{WEIGHT}] - outs[1][{WEIGHT}]).abs().max() > {CLOSE:g}",
        )
