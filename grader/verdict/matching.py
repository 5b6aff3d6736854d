"""Whether a submission fails as a variant does: not only in kind, but by the same numbers. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from grader.checks.outcome import Examination, Key, Outcome, Status, has_defect
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus, VariantComparison, rule_of

RELATIVE, ABSOLUTE = 1e-3, 1.0
"""How far apart faults may lie, in multiples of what is tolerated: in other words the same one is rounded otherwise."""

MOST_HOLDERS, MOST_COMPARED = 4, 2
"""So many variants, and checks of each defect, are compared with what a submission that is not a variant shows."""


def tell_apart(seen: Examination, matching_variants: list[Examination]) -> Examination:
    """The examination, in which a failure is `is_unlike` that no matching variant shares in what was seen.

    A matching variant is what was seen of a variant that fails in the same ways, with the same inputs and weights.
    What a
    check saw of numbers that depend on a module's own first weights, of texts and of crashes is not compared: the same
    fault may be written in ways that draw, say and crash otherwise.
    """
    outcomes = [_told_apart(outcome, seen, matching_variants) for outcome in seen.outcomes]
    numbers = {check for check, saw in seen.saw.items() if not isinstance(saw, str)}  # a name says less
    unlike = {outcome.check for outcome in outcomes if outcome.is_unlike}
    return structs.replace(seen, outcomes=outcomes, recognised=frozenset(numbers - unlike))


def _told_apart(outcome: Outcome, seen: Examination, matching_variants: list[Examination]) -> Outcome:
    check = outcome.check
    if outcome.status is not Status.FAILED or check not in seen.saw:
        return outcome
    alike = [
        each
        for each in matching_variants
        if any((other.check, other.failure_kind()) == (check, outcome.failure_kind()) for other in each.outcomes)
    ]
    is_unlike = not any(is_same(seen.saw[check], each.saw.get(check)) for each in alike)
    return structs.replace(outcome, is_unlike=is_unlike)


def find_partial_fixes(
    exercise: Exercise, key: Key, seen: Examination, examine: Callable[[str, set[str]], Examination]
) -> Examination:
    """The examination, with the defects that are mended on one path only, by the checks that see them on another.

    Such a check is one of the defect's own and sees, number for number, what it sees of the variant with that defect.
    `examine` gives what some checks see of a variant.
    """
    comparison = VariantComparison(exercise, key, seen)
    differing = {each.id: comparison.differing(each.id) for each in exercise.defects}
    in_doubt = [
        defect
        for defect, checks in differing.items()
        if checks and rule_of(comparison.evidence(defect)).status is not DefectStatus.PRESENT
    ]
    compared = {check for defect in in_doubt for check in differing[defect][:MOST_COMPARED] if check in seen.saw}
    by_size = sorted(key.failure_kinds, key=lambda name: name.count("+"))  # what one explains, it explains alone
    holders = [name for name in by_size if any(has_defect(name, defect) for defect in in_doubt)]
    found: dict[str, set[str]] = {}
    for name in holders[:MOST_HOLDERS]:
        kinds = key.failure_kinds[name]
        alike = {each for each in compared if comparison.failed[each] == kinds.get(each)}
        saw = examine(name, alike).saw if alike else {}
        for check in alike:
            if is_same(seen.saw[check], saw.get(check)):
                found[check] = {each for each in in_doubt if has_defect(name, each) and check in differing[each]}
        compared -= found.keys()
    return structs.replace(seen, partial_fixes=found)


def is_same(one: Any, other: Any) -> bool:
    """Whether what two checks saw is equal but for rounding."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
