"""Find claims that separate defective code from right code: with them, a student can locate a defect."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

from msgspec import structs

from grader.report.guide import ListedValue
from grader.spec.exercise import Exercise
from grader.spec.fields import shape_of
from grader.student.claim_forms import ValueClaim
from grader.student.evidence import (
    StoredCall,
    answer_claims,
    moved_line,
    source_of,
)
from grader.submission import Submission
from grader.verdict.judge import Judge

FORMS = ("finite", "sums_to_one", "symmetric", "varies")
CLAIMS_IN_A_REQUEST = 40
MAX_INDICES = 2
MAX_ROWS = 2
NOWHERE = 12345.0
"""A number that no value is, so that the evidence is the numbers that it has."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def separating_claims(
    judge: Judge, exercise: Exercise, wrong: Submission, right: Submission, call: StoredCall, values: list[ListedValue]
) -> list[ValueClaim]:
    """Return claims whose answers differ between two submissions in a call: the first that are found.

    `values` are those of the wrong one. A claim that has an answer in only one of them differs too, since the other one
    never makes the value.
    """
    before, after = source_of(wrong), source_of(right)

    def separating(claims: list[ValueClaim]) -> list[ValueClaim]:
        lines = [moved_line(each.line, before, after) if each.line else 0 for each in claims]
        moved = [structs.replace(each, line=line) for each, line in zip(claims, lines, strict=True)]
        ours = [each.is_true for each in answer_claims(judge, exercise.id, wrong, call, claims)]
        theirs = [each.is_true for each in answer_claims(judge, exercise.id, right, call, moved)]
        return [
            claim
            for claim, one, other in zip(claims, ours, theirs, strict=True)
            if one is not other and not (claim.form == "unchanged" and None in (one, other))
        ]

    known = [each for each in values if (last := each.name.split(".")[-1]) in after or last == "returned"]
    for claims in batched_claims(exercise, known):
        if found := separating(claims):
            return found
    tensors = [each for each in known if each.is_tensor() and not each.is_parameter()]
    rows = [(each, index) for each in tensors for index in row_indices(each)]
    questions = [ValueClaim(form="equals", value=each.name, index=index, other=NOWHERE) for each, index in rows]
    answers = answer_claims(judge, exercise.id, wrong, call, questions)
    numbers = [
        ValueClaim(form="equals", value=each.name, index=(*index, place)[: len(each.shape or [])], other=float(number))
        for (each, index), answer in zip(rows, answers, strict=True)
        for place, number in enumerate(answer.evidence.removeprefix("it is ").split(";")[0].split(", "))
        if NUMBER.fullmatch(number)
    ]
    starts = range(0, len(numbers), CLAIMS_IN_A_REQUEST)
    return [claim for start in starts for claim in separating(numbers[start : start + CLAIMS_IN_A_REQUEST])]


def batched_claims(exercise: Exercise, values: Sequence[ListedValue]) -> Iterator[list[ValueClaim]]:
    """Yield lists of claims about the values, simple ones first."""
    claims = claims_about(exercise, values)
    while batch := [*islice(claims, CLAIMS_IN_A_REQUEST)]:
        yield batch


def claims_about(exercise: Exercise, values: Sequence[ListedValue]) -> Iterator[ValueClaim]:
    """Yield claims about the values, simple ones first."""
    made = {each.name: each for each in values if not each.is_parameter()}
    tensors = [each for each in made.values() if each.is_tensor()]
    for each in made.values():
        yield ValueClaim(form="dtype", value=each.name, other=each.type)
        if not each.is_tensor() and each.type != "bool":
            yield ValueClaim(form="equals", value=each.name, other=float(each.described))
    yield from (ValueClaim(form="shape", value=each.name, shape=tuple(each.shape or [])) for each in tensors)
    yield from (ValueClaim(form=form, value=each.name) for form, each in product(FORMS, tensors))
    yield from (ValueClaim(form="no_gradient", value=each.name) for each in values if each.is_parameter())
    for number, one in enumerate(tensors):
        same = [each.name for each in tensors[:number] if each.shape == one.shape]
        yield from (ValueClaim(form="equals", value=one.name, other=other) for other in same)
    for one, other in product(tensors, made.values()):
        lines = (other.line - 1, other.line) if other.line > one.line else ()
        yield from (ValueClaim(form="unchanged", value=one.name, line=line) for line in lines)
    yield from dependences(exercise, tensors)


def dependences(exercise: Exercise, tensors: Sequence[ListedValue]) -> Iterator[ValueClaim]:
    """Yield claims that tensors, or parts of them, depend on inputs, or on parts of these."""
    inputs = {name: shape_of(spec) for name, spec in exercise.interface.inputs.items() if shape_of(spec)}
    yield from (ValueClaim(form="depends", value=each.name, other=name) for each, name in product(tensors, inputs))
    for each, (name, shape) in product(reversed(tensors), inputs.items()):
        for index, other in product(indices(each.shape or []), indices([MAX_INDICES] * len(shape))):
            yield ValueClaim(form="depends", value=each.name, index=index, other=name, other_index=other)


def row_indices(value: ListedValue) -> list[tuple[int, ...]]:
    """Return the indices of the last rows of a tensor."""
    return [*product(*(range(size) for size in (value.shape or [])[:-1]))][-MAX_ROWS:]


def indices(sizes: Sequence[int]) -> list[tuple[int | None, ...]]:
    """Return the index of the first elements along each axis."""
    return [(*[None] * axis, place) for axis, size in enumerate(sizes) for place in range(min(size, MAX_INDICES))]
