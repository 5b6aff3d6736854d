"""A near miss is recognised by its signatures and its numbers; it gets a hint, and no other verdict."""

import torch
from msgspec import structs

from grader.checks.outcome import Examination, FailureKind, Finding, Outcome, Status
from grader.spec.exercise import Defect, Exercise, NearMiss
from grader.spec.properties import ReturnsShapes
from grader.verdict.attribution import Clues, VariantComparison
from grader.verdict.key import Key
from grader.verdict.near_misses import find_near_miss, near_miss_texts
from tests.support.exercises import make_exercise

OFF, OTHERWISE = torch.tensor([0.0, 50.0, 70.0]), torch.tensor([0.0, 50.0, 20.0])
SIGNATURES = {"values": "failed:values"}


def defect(name: str) -> Defect:
    return Defect(id=name, title=name, points=3, was=f"{name} = 1", fix=f"{name} = 2", hints=("a", "b", "c"), why="so")


def near_miss(name: str, of: str) -> NearMiss:
    return NearMiss(id=name, defect=of, was=f"{of} = 2", becomes=f"{of} = 3", hint="Look there.")


EXERCISE = make_exercise(
    "A",
    defects=[defect("mask"), defect("scale")],
    near_misses=[near_miss("other-mask", "mask")],
    nothing_else_broke=4,
    checks=[ReturnsShapes(id="values")],
)
KEY = Key(
    digest="digest",
    signatures={"": {}, "mask": SIGNATURES, "scale": {}, "mask+scale": SIGNATURES},
    methods={},
    near_misses={"other-mask": SIGNATURES, "other-mask+scale": {}},
)


UNMATCHED = Clues(unmatched=frozenset({"values"}))


def examination(deviation: torch.Tensor) -> Examination:
    outcome = Outcome(check="values", status=Status.FAILED, finding=Finding(kind=FailureKind.VALUES))
    return Examination(outcomes=[outcome], deviations={"values": deviation})


def found(submission: Examination, exercise: Exercise = EXERCISE, clues: Clues = UNMATCHED) -> str:
    return find_near_miss(VariantComparison(exercise, KEY, submission, clues), lambda _name, _checks: examination(OFF))


def test_a_submission_with_the_same_failures_and_numbers_is_recognised() -> None:
    assert found(examination(OFF)) == "other-mask"


def test_other_numbers_are_another_fault() -> None:
    assert found(examination(OTHERWISE)) == ""


def test_a_variant_and_a_right_submission_are_no_near_misses() -> None:
    assert found(examination(OFF), clues=Clues()) == ""
    assert found(Examination(outcomes=[Outcome(check="values", status=Status.PASSED)])) == ""


def test_an_edition_without_the_hints_recognises_none() -> None:
    assert found(examination(OFF), structs.replace(EXERCISE, near_misses=[])) == ""


def test_a_near_miss_is_made_beside_every_subset_of_the_few_other_defects() -> None:
    texts = dict(near_miss_texts(EXERCISE, "mask = 2\nscale = 2\n"))
    assert texts == {"other-mask": "mask = 3\nscale = 2\n", "other-mask+scale": "mask = 3\nscale = 1\n"}


def test_a_near_miss_is_made_alone_where_its_fragments_overlap_those_of_a_defect() -> None:
    overlapping = NearMiss(
        id="both", defect="mask", was="mask = 2\nscale = 2", becomes="mask = scale = 3", hint="Look."
    )
    exercise = structs.replace(EXERCISE, near_misses=[overlapping])
    assert dict(near_miss_texts(exercise, "mask = 2\nscale = 2\n")) == {"both": "mask = scale = 3\n"}


def test_of_many_other_defects_only_none_and_all_are_put_beside_a_near_miss() -> None:
    many = [defect(name) for name in ("mask", "scale", "heads", "bias")]
    exercise = structs.replace(EXERCISE, defects=many)
    beside = [subset for _, subset in exercise.near_miss_variants()]
    assert beside == [frozenset(), frozenset({"scale", "heads", "bias"})]
