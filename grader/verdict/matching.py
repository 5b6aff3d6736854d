"""Compare a submission's deviations with those of variants: failures of one kind may differ in values."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import structs

from grader.checks.outcome import Examination, FailureKind, Finding, Outcome, Status
from grader.spec.exercise import Defect, Exercise
from grader.spec.fragments import replace_fragment
from grader.verdict.attribution import AFTER_VALUES, WITH_GRADIENTS, Clues, VariantComparison
from grader.verdict.key import defects_in, variant_name
from grader.verdict.statements import HAS_FIX, Reading

RELATIVE, ABSOLUTE = 1e-3, 1.0
"""Tolerance for treating two errors as the same fault, in units of the comparison tolerance; rewordings round
differently.
"""

MAX_VARIANTS, MAX_COMPARED = 4, 2
"""For a submission that is not a variant: the most variants, and the most checks of each defect, to compare it with."""


TOKEN = re.compile(r"\w+|[^\w\s]")

MEASURED = {FailureKind.LEAK, FailureKind.MIXING, FailureKind.SUM, FailureKind.SUM_NEARLY}
"""Kinds whose findings show a measured number in place of a deviation."""


def compare_deviations(clues: Clues, examination: Examination, matching_variants: list[Examination]) -> Clues:
    """Return the clues with the failures whose deviation a matching variant shares, and with those that none shares.

    `matching_variants` are the examinations of the matching variants with the same inputs and weights. Values that
    depend on a module's own initial weights, texts and crashes are not compared: two versions of one fault may draw
    random numbers, print and crash differently.
    """
    unmatched = {
        outcome.check
        for outcome in examination.outcomes
        if outcome.status is Status.FAILED
        and outcome.check in examination.deviations
        and not _is_shared(outcome, examination, matching_variants)
    }
    with_values = {check for check, value in examination.deviations.items() if not isinstance(value, frozenset)}
    return structs.replace(
        clues, unmatched=frozenset(unmatched), matching_deviations=frozenset(with_values - unmatched)
    )


def _is_shared(outcome: Outcome, examination: Examination, matching_variants: list[Examination]) -> bool:
    """Return whether a variant that fails a check with the same signature has the same deviation."""
    check = outcome.check
    return any(
        is_same(examination.deviations[check], variant.deviations.get(check))
        for variant in matching_variants
        if any((other.check, other.signature()) == (check, outcome.signature()) for other in variant.outcomes)
    )


def find_partial_fixes(
    comparison: VariantComparison, examine: Callable[[str, set[str]], Examination]
) -> dict[str, set[str]]:
    """Return the partially fixed defects, by check.

    A defect is partially fixed if one of its own checks differs from all matching variants, but fails as a variant with
    that defect does at the same point. `examine` takes a variant's name and the checks to run on it, each at the point
    where the submission failed.
    """
    examination, signatures = comparison.examination, comparison.key.signatures
    defects = [defect.id for defect in comparison.exercise.defects]
    uncertain = {defect: checks for defect in defects if (checks := comparison.unexplained_of(defect))}
    failures = {outcome.check: outcome for outcome in examination.outcomes}
    compared = {
        check
        for checks in uncertain.values()
        for check in [each for each in checks if _can_compare(failures[each], examination)][:MAX_COMPARED]
    }
    partial_fixes: dict[str, set[str]] = {}
    for name, defect in _variants_with(uncertain, comparison.matching_variants)[:MAX_VARIANTS]:
        asked = compared.intersection(uncertain[defect])
        variant = examine(name, asked) if asked else Examination(outcomes=[])
        for outcome in variant.outcomes:
            if outcome.check not in asked or not _may_fail_after_values(outcome, signatures[name]):
                continue  # else the submission returned right values there, and the variant does not
            if _fails_equally(failures[outcome.check], examination, outcome, variant, comparison.reading(defect)):
                partial_fixes.setdefault(outcome.check, set()).add(defect)
        if name != defect:
            compared -= partial_fixes.keys()  # more defects explain less precisely
    return partial_fixes


def _variants_with(uncertain: Collection[str], matching_variants: list[str]) -> list[tuple[str, str]]:
    """Return the variants to compare with, each with the uncertain defect that it stands for; single defects first.

    If other defects are present beside a partial fix, the submission fails like the variant with all of these defects.
    """
    names = {name: name for name in uncertain}
    for matching in matching_variants[:1]:
        others = defects_in(matching)
        names |= {variant_name(others | {each}): each for each in uncertain if others and each not in others}
    return [*names.items()]


def _may_fail_after_values(outcome: Outcome, signatures: Mapping[str, str]) -> bool:
    """Return whether a variant with these signatures may fail a check as in this outcome.

    A variant that fails the check by its values cannot fail it by a gradient or a changed input alone.
    """
    return outcome.signature() not in AFTER_VALUES or signatures.get(outcome.check) in WITH_GRADIENTS


def _can_compare(outcome: Outcome, examination: Examination) -> bool:
    """Return whether a failure can be compared: it has numbers, or it is a print, or a crash in some operation."""
    kind = outcome.finding.kind if outcome.finding else None
    is_numeric = outcome.check in examination.deviations or kind in MEASURED
    return is_numeric or kind is FailureKind.PRINTS or outcome.status is Status.CRASHED


def _fails_equally(
    outcome: Outcome,
    examination: Examination,
    other: Outcome,
    others: Examination,
    reading: Reading,
) -> bool:
    """Return whether a variant fails a check like the submission: with the same kind of failure and the same numbers.

    If the submission contains the fix, a crash in the same operation does not count as the same fault. If it contains
    the whole fixed statement, all numbers must agree; otherwise it suffices that the numbers agree wherever the
    submission is wrong. Printed output always counts as the same fault, whatever its text.
    """
    if outcome.signature() != other.signature():
        return False
    if outcome.check in examination.deviations:
        same = is_same_or_fewer if reading is Reading.FIXED else is_part
        return same(examination.deviations[outcome.check], others.deviations.get(outcome.check))
    if outcome.status is Status.CRASHED:
        return reading not in HAS_FIX
    if outcome.finding is None or other.finding is None:
        return outcome.finding is other.finding
    return outcome.finding.kind is FailureKind.PRINTS or _has_same_numbers(outcome.finding, other.finding)


def _has_same_numbers(one: Finding, other: Finding) -> bool:
    """Return whether two findings of one kind show the same numbers at the same place of the same call."""
    numbers, others = (
        (each.calling_variant, each.action, each.item, each.place, each.expected, each.observed, each.message)
        for each in (one, other)
    )
    return numbers == others


def find_kept_fixes(exercise: Exercise, text: str, reference: str) -> frozenset[str]:
    """Return the defects whose fix, but not their faulty code, occurs in a submission's text as in the reference.

    Only the tokens in which fix and faulty code differ are compared, with one more token on each side: the rest of the
    line may have changed.
    """
    submitted, right_text = _in_one_line(_tokens(text)), _in_one_line(_tokens(reference))

    def is_kept(defect: Defect, was: str, fix: str) -> bool:
        faulty, right = _differing_tokens(_tokens(was), _tokens(fix))
        if not faulty:  # the fix only adds tokens, so their surroundings show the faulty code
            variant = replace_fragment(reference, fix, was, defect.id)
            faulty, right = _differing_tokens(_tokens(variant), _tokens(reference), with_context=True)
        has_fix = not right or submitted.count(right) >= right_text.count(right) > 0
        return has_fix and (not faulty or submitted.count(faulty) <= right_text.count(faulty))

    return frozenset(
        defect.id
        for defect in exercise.defects
        if defect.edits() and all(is_kept(defect, was, fix) for was, fix in defect.edits())
    )


def _tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


def _in_one_line(tokens: list[str]) -> str:
    return f" {' '.join(tokens)} "


def _differing_tokens(was: list[str], fix: list[str], *, with_context: bool = False) -> tuple[str, str]:
    """Return the tokens that differ between two fragments, with one more on each side.

    If a fragment has no tokens that differ, its text is empty, or its surroundings if `with_context`.
    """
    shorter = min(len(was), len(fix))
    start = next((index for index in range(shorter) if was[index] != fix[index]), shorter)
    end = next((index for index in range(shorter - start) if was[-1 - index] != fix[-1 - index]), shorter - start)
    first, after = max(0, start - 1), max(0, end - 1)
    differing = (tokens[start : len(tokens) - end] for tokens in (was, fix))
    in_context = (_in_one_line(tokens[first : len(tokens) - after]) for tokens in (was, fix))
    faulty, right = (text if tokens or with_context else "" for tokens, text in zip(differing, in_context, strict=True))
    return faulty, right


def is_part(one: Any, other: Any) -> bool:
    """Return whether a deviation equals another one wherever it is not zero.

    A defect that is fixed for some samples, rows or heads deviates only in the other ones.
    """
    import torch

    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.shape == other.shape):
        return is_same_or_fewer(one, other)
    is_equal = torch.isclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    is_right = one.abs() <= ABSOLUTE
    return bool((is_equal | is_right).all()) and bool((is_equal & ~is_right).any())


def is_same_or_fewer(one: Any, other: Any) -> bool:
    """Return whether two deviations are equal, or one names only items that the other also names."""
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one <= other
    return is_same(one, other)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two deviations are equal apart from rounding."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
