"""Group failed checks by cause. Pages show each cause once, with its most specific finding."""

from math import prod

from msgspec import Struct, structs

from grader.checks.outcome import FailureKind, Finding, Outcome, Picture, Status
from grader.sandbox.calling_variants import Mode
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Verdict

GENERAL_KINDS = {
    FailureKind.VALUES,
    FailureKind.GRADIENT,
    FailureKind.SHAPE,
    FailureKind.DTYPE,
    FailureKind.TYPE,
    FailureKind.NONFINITE,
    FailureKind.NO_TIME,
    FailureKind.TIMEOUT,
}
"""Kinds of failure that one cause shows in many checks, each time at another element."""

MEASURED_KINDS = {FailureKind.LEAK, FailureKind.MIXING}
"""Kinds of failure whose findings show how far an output moved, which differs from check to check."""

LIST_KINDS = {FailureKind.PARAMETERS, FailureKind.STATE}
"""Kinds of failure that list names and shapes. With the same constructor arguments, only the shapes differ."""

SHOWN_LAST = {
    FailureKind.NO_DROPOUT,
    FailureKind.DROPOUT_ELSEWHERE,
    FailureKind.DROPOUT_CHANCE,
    FailureKind.DROPOUT_SHARED,
    FailureKind.DROPOUT_GRADIENT,
    FailureKind.UNCLEAR_REFUSAL,
}
"""Kinds of failure to look into once the values are right."""

OUTNUMBERS = 2
"""A crash hides other findings if the checks that it fails outnumber those of all other causes together by more than
this factor."""


class Cause(Struct, frozen=True, kw_only=True):
    """A group of failed checks with one cause, and the most specific of their findings.

    The finding belongs to the first check. `defects` are the ids of the defects that explain the checks, and `broken`
    are the regressions among the checks. `picture` is the finding's picture, or that of the check named `pictured`.
    """

    finding: Finding
    status: Status
    checks: list[str]
    defects: list[str] = []
    broken: list[str] = []
    picture: Picture | None = None
    pictured: str = ""

    def is_new(self) -> bool:
        """Return whether the finding is a regression."""
        return self.checks[0] in self.broken

    def is_explained(self) -> bool:
        """Return whether the finding is a regression, or due to defects."""
        return bool(self.defects) or self.is_new()


def group_causes(verdict: Verdict) -> list[Cause]:
    """Return the causes of a verdict's failures, in the order in which pages show them.

    Failures that the same defects explain have one cause. Of the other failures, crashes at one line have one cause,
    and so have similar findings.
    """
    groups: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in verdict.checks:
        if outcome.finding is not None:
            key = tuple(verdict.causes.get(outcome.check, [])) or _similarity(outcome.status, outcome.finding)
            groups.setdefault(key, []).append(outcome)
    causes = [_cause(members, verdict) for members in groups.values()]
    return sorted(causes, key=_position)


def _position(cause: Cause) -> tuple[bool | int, ...]:
    """Sort key: the simplest call first, missing errors after values, causes of one defect before ambiguous ones."""
    finding = cause.finding
    refuses = bool(finding.named_sizes)
    return *_simplicity(cause.status, finding), refuses, len(cause.defects) > 1, *_generality(finding), *_size(finding)


def shown_causes(verdict: Verdict) -> list[Cause]:
    """Return the causes to show to students: all, or only the crash that hides the others."""
    causes = group_causes(verdict)
    crash = hiding_crash(causes)
    return causes if crash is None else [crash]


def hiding_crash(causes: list[Cause]) -> Cause | None:
    """Return the crash that hides other findings, if almost every failed check ends in it."""
    crash = next((cause for cause in causes if cause.status is Status.CRASHED), None)
    others = sum(len(cause.checks) for cause in causes if cause is not crash)
    return crash if crash is not None and len(crash.checks) > OUTNUMBERS * others else None


def hides_defects(verdict: Verdict, crash: Cause) -> bool:
    """Return whether there may be other defects behind a crash that hides the other causes."""
    others = [defect for defect in verdict.defects if defect.id not in crash.defects]
    return any(defect.status is not DefectStatus.FIXED for defect in others)


def _cause(members: list[Outcome], verdict: Verdict) -> Cause:
    defects = verdict.causes.get(members[0].check, [])
    same = [each.finding for each in verdict.checks if each.finding and verdict.causes.get(each.check, []) == defects]
    found = [
        (member.status, _without_contradicted_sizes(member.finding, same), member.check)
        for member in members
        if member.finding
    ]
    found.sort(key=lambda each: _rank(each[0], each[1]))
    status, finding, _ = found[0]
    checks = [name for _, _, name in found]
    with_picture = ((each.picture, name if each is not finding else "") for _, each, name in found if each.picture)
    picture, pictured = next(with_picture, (None, ""))
    if finding.sizes is not None and any(map(_knows_right_sizes, (each for _, each, _ in found))):
        finding = structs.replace(finding, sizes=structs.replace(finding.sizes, is_smallest=False))
    return Cause(
        finding=finding,
        status=status,
        checks=checks,
        defects=defects,
        broken=[name for name in checks if name in verdict.regressions],
        picture=picture,
        pictured=pictured,
    )


def _without_contradicted_sizes(finding: Finding, others: list[Finding]) -> Finding:
    """Return the finding. It calls no sizes right if a check with the same cause fails at these or at smaller sizes."""
    sizes = finding.sizes
    if sizes is None or sizes.passed is None or not any(_are_within(each.size_case, sizes.passed) for each in others):
        return finding
    return structs.replace(finding, sizes=structs.replace(sizes, passed=None))


def _are_within(sizes: dict[str, int], limits: dict[str, int]) -> bool:
    return bool(sizes) and all(name in limits and size <= limits[name] for name, size in sizes.items())


def _knows_right_sizes(finding: Finding) -> bool:
    return finding.sizes is not None and finding.sizes.passed is not None


def _similarity(status: Status, finding: Finding) -> tuple[object, ...]:
    """Return a key that is equal for findings with one cause."""
    if finding.location and finding.kind is not FailureKind.TIMEOUT:  # one endless loop is found at any of its lines
        return status, finding.signature(), finding.location
    if finding.kind in GENERAL_KINDS:
        return status, finding.kind
    if finding.kind in LIST_KINDS and not finding.item:
        return (
            status,
            finding.kind,
            finding.calling_variant,
            *sorted(finding.sizes.constructor if finding.sizes else ()),
        )
    if finding.kind in MEASURED_KINDS:
        return status, finding.kind, finding.calling_variant, finding.action, finding.item, finding.place
    return status, finding.signature(), *_statement(finding)


def _statement(finding: Finding) -> tuple[object, ...]:
    """Return the fields that make a finding's sentence, without the number of wrong elements."""
    fields = (finding.message, finding.action, finding.item, finding.place, finding.expected, finding.observed)
    return finding.kind, finding.calling_variant, *fields, *finding.named_sizes.items()


def say_the_same(finding: Finding, other: Finding) -> bool:
    """Return whether two findings have the same sentence; their sizes may differ."""
    extents = [(each.elements_off, each.elements) for each in (finding, other)]
    return extents[0] == extents[1] and _statement(finding) == _statement(other)


def _rank(status: Status, finding: Finding) -> tuple[bool | int, ...]:
    """Sort key: the finding of the simplest call first, then the most specific one, then one that knows right sizes,
    then that of the smallest sizes.
    """
    is_large, *size = _size(finding)
    return *_simplicity(status, finding), *_generality(finding), is_large, not _knows_right_sizes(finding), *size


def _simplicity(status: Status, finding: Finding) -> tuple[bool, ...]:
    """Sort key: crashes first, values before dropout, evaluation before training, plain calls and numbers first."""
    variant = finding.calling_variant
    is_unusual = variant is not None or finding.has_extreme_numbers
    in_training = finding.in_training or (variant is not None and variant.mode is Mode.TRAINING)
    return status is Status.FAILED, finding.kind in SHOWN_LAST, in_training, is_unusual


def _generality(finding: Finding) -> tuple[bool, bool]:
    """Sort key: kinds of failure that point to one cause come before kinds that many causes share."""
    return finding.kind in GENERAL_KINDS, finding.location is None


def _size(finding: Finding) -> tuple[bool, bool, int]:
    """Sort key: checks of large sizes last; findings with sizes before those without; the smallest product first."""
    is_large = finding.sizes is not None and finding.sizes.is_large
    return is_large, not finding.size_case, prod(finding.size_case.values())
