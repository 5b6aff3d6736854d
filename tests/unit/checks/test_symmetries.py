"""Properties of invariance: right modules pass, and a module that depends on the change fails."""

import pytest

from grader.author.usual_tests import tester as open_tester
from grader.spec.fields import MadeInput, MaskKind
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import (
    KeepsDtype,
    PaddingChangesNothing,
    PrintsNothing,
    Property,
    SamplesInAnyOrder,
    UnchangedBy,
)
from tests.support.judging import Judge

PADDING = MadeInput(shape=["batch", "words", "words"], mask=MaskKind.PADDING)

CASES = {
    "order": (
        "exercise_24",
        SamplesInAnyOrder(id="order"),
        ("torch.arange(rows.size(1), device=rows.device)", "torch.arange(rows.size(0), device=rows.device)[:, None]"),
        "samples in reversed order, reversed again: output",
    ),
    "parts": (
        "exercise_24",
        SamplesInAnyOrder(id="parts"),
        ("torch.arange(rows.size(1), device=rows.device)", "torch.full((rows.size(1),), rows.size(0))"),
        "samples in two parts, put together again: output",
    ),
    "shift": (
        "exercise_20",
        UnchangedBy(id="shift", instead={"start": 30}),
        ("self.angles(q, start + earlier)", "self.angles(q, 2 * start + earlier)"),
        "with start=30, which should change nothing: output",
    ),
    "shift in short floats": (
        "exercise_20",
        UnchangedBy(id="shift", instead={"start": 1000}, dtype="bfloat16", loudness=4.0),
        ("precision = torch.float64", "precision = z.dtype"),
        "with start=1000, which should change nothing, in bfloat16",
    ),
    "squares in short floats": (
        "exercise_25",
        KeepsDtype(id="squares", dtype="float16", precise=True, loudness=400.0),
        ("mean_square = normed.pow(2)", "mean_square = normed.bfloat16().pow(2)"),
        "in float16, inputs 400 times as large: output 0",
    ),
    "a fill that loud scores reach": (
        "exercise_17",
        KeepsDtype(id="fill", loudness=30000.0),
        ("scores.masked_fill(pos > pos[:, None], -torch.inf)", "scores.masked_fill(pos > pos[:, None], -1e6)"),
        "in float64, inputs 30000 times as large: output",
    ),
    "a word of explanation that sticks": (
        "exercise_05",
        PrintsNothing(id="sticks", after={"verbose": True}),
        ("verbose = verbose or self.verbose", "verbose = self.verbose = verbose or self.verbose"),
        "a call after one with verbose=True: expected nothing on stdout",
    ),
    "padding": (
        "exercise_13",
        PaddingChangesNothing(id="padding", tokens="words", mask="allowed", inputs={"allowed": PADDING}),
        ("allowed = allowed.repeat_interleave(self.heads, dim=0)", "allowed = torch.ones_like(scores) > 0"),
        "padding words after them: output at the first ",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_that_must_not_matter_is_detected_if_it_does(course: Course, judge_text: Judge, name: str) -> None:
    exercise_id, check, (before, after), told = CASES[name]
    reference = course.reference_text(exercise_id)
    assert reference.count(before) == 1
    assert failure_of(course, judge_text, exercise_id, reference, check) == ""
    assert told in failure_of(course, judge_text, exercise_id, reference.replace(before, after), check)


def failure_of(course: Course, judge_text: Judge, exercise_id: str, text: str, check: Property) -> str:
    with open_tester(
        judge_text.source, course, load_exercise(course.description(exercise_id)), text
    ) as failure_of_test:
        return failure_of_test(check)
