"""Compare a submission's deviations with variants': whether it fails by the same numbers, not only in kind. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from grader.checks.outcome import Examination, Key, Outcome, Status, has_defect
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus, VariantComparison, rule_of

RELATIVE, ABSOLUTE = 1e-3, 1.0
"""Tolerance for treating two errors as the same fault, in units of the comparison tolerance; rewordings round
differently.
"""

MOST_VARIANTS, MOST_COMPARED = 4, 2
"""The most variants, and checks of each defect, to compare with a submission that is not a variant."""


def compare_deviations(examination: Examination, matching_variants: list[Examination]) -> Examination:
    """Return the examination with the failures marked whose deviation no matching variant shares.

    `matching_variants` are examinations of the variants that fail in the same ways, with the same inputs and weights.
    Not compared: numbers that depend on a module's own first weights, texts, and crashes. The same fault may be written
    in ways that draw, print and crash differently.
    """
    outcomes = [_compare_deviation(outcome, examination, matching_variants) for outcome in examination.outcomes]
    with_numbers = {check for check, value in examination.deviations.items() if not isinstance(value, str)}
    unmatched = {outcome.check for outcome in outcomes if outcome.matches_no_variant}
    return structs.replace(examination, outcomes=outcomes, matching_deviations=frozenset(with_numbers - unmatched))


def _compare_deviation(outcome: Outcome, examination: Examination, matching_variants: list[Examination]) -> Outcome:
    check = outcome.check
    if outcome.status is not Status.FAILED or check not in examination.deviations:
        return outcome
    failing_alike = [
        variant
        for variant in matching_variants
        if any((other.check, other.signature()) == (check, outcome.signature()) for other in variant.outcomes)
    ]
    deviation = examination.deviations[check]
    is_shared = any(is_same(deviation, variant.deviations.get(check)) for variant in failing_alike)
    return structs.replace(outcome, matches_no_variant=not is_shared)


def find_partial_fixes(
    exercise: Exercise, key: Key, examination: Examination, examine: Callable[[str, set[str]], Examination]
) -> Examination:
    """Return the examination with the defects that are fixed on one path only, by the checks that fail on another.

    Such a check is one of the defect's own and shows the deviation of the variant with that defect. `examine` runs some
    checks on a variant.
    """
    comparison = VariantComparison(exercise, key, examination)
    differing = {each.id: comparison.differing(each.id) for each in exercise.defects}
    in_doubt = [
        defect
        for defect, checks in differing.items()
        if checks and rule_of(comparison.evidence(defect)).status is not DefectStatus.PRESENT
    ]
    compared = {
        check for defect in in_doubt for check in differing[defect][:MOST_COMPARED] if check in examination.deviations
    }
    by_size = sorted(key.failure_kinds, key=lambda name: name.count("+"))  # what one explains, it explains alone
    with_defects = [name for name in by_size if any(has_defect(name, defect) for defect in in_doubt)]
    found: dict[str, set[str]] = {}
    for name in with_defects[:MOST_VARIANTS]:
        kinds = key.failure_kinds[name]
        checks = {each for each in compared if comparison.failed[each] == kinds.get(each)}
        deviations = examine(name, checks).deviations if checks else {}
        for check in checks:
            if is_same(examination.deviations[check], deviations.get(check)):
                found[check] = {each for each in in_doubt if has_defect(name, each) and check in differing[each]}
        compared -= found.keys()
    return structs.replace(examination, partial_fixes=found)


def is_same(one: Any, other: Any) -> bool:
    """Whether two deviations are equal but for rounding."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
