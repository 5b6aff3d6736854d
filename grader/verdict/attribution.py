"""Outcomes read by the key: which defects a submission still has, which failures none of them explains. Pure.

Where variants fail alike, values tell them apart: whether a submission fails as one of them does, not only in kind.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from grader.course.records import Exercise
from grader.examiner.outcome import STATE_CHANGED, Examination, Key, Outcome, Status, in_words
from grader.worker.text import cut

MOST_OF_A_FINDING = 160
"""Characters of a finding that a reason shows."""

AFTER_VALUES = ("failed:gradient", "failed:no-gradient", "failed:input-changed")
"""Kinds of fault that a check looks for once it has seen the right values."""

WITH_GRADIENTS = (*AFTER_VALUES, "failed:nonfinite")
"""Kinds that such a check may see in gradients."""

ELSE_RIGHT = f"{Status.FAILED}:{STATE_CHANGED}"
"""The kind of fault of a check that would have passed."""


class DefectStatus(StrEnum):
    """What is known of a defect."""

    FIXED = "fixed"
    PRESENT = "present"
    UNKNOWN = "unknown"


class Attribution(Struct, frozen=True):
    """What outcomes mean.

    `reasons` tell why a status is unknown, `regressions` are failures that no defect explains (checks that were not run
    only where nothing else failed), and `causes` are the present defects that explain a failed check.
    """

    statuses: dict[str, DefectStatus]
    reasons: dict[str, str]
    regressions: list[str]
    causes: dict[str, list[str]]


def attribute(exercise: Exercise, key: Key, seen: Examination) -> Attribution:
    """Find the variants that behave like the submission, and read the defects off them.

    A variant that fails where the submission passes is ruled out. Of the rest, those that explain the most failures,
    failure_kind for failure_kind, are look-alikes.
    """
    matches = _Matches(exercise, key, seen)
    statuses, reasons = {}, {}
    for defect in exercise.defects:
        statuses[defect.id], reason = matches.read(defect.id)
        if reason:
            reasons[defect.id] = reason
    mended = {name for name, status in statuses.items() if status is DefectStatus.FIXED}
    halfway = matches.mended_in_part()
    broken = [
        check for check in matches.unexplained if check not in halfway and not matches.is_stretch_halfway(check, mended)
    ]
    regressions = [check for check in broken if check not in matches.not_run] or broken
    present = [name for name, status in statuses.items() if status is DefectStatus.PRESENT]
    causes = {
        check: [name for name in present if key.failure_kinds[name].get(check) == failure_kind]
        for check, failure_kind in matches.failed.items()
    }
    return Attribution(statuses, reasons, regressions, causes)


def look_alikes(exercise: Exercise, key: Key, seen: Examination) -> list[str]:
    """The variants that behave like the submission, by the sorts of their failures."""
    return _Matches(exercise, key, seen).alike


class _Matches:
    """The submission's outcomes beside those of every variant."""

    def __init__(self, exercise: Exercise, key: Key, seen: Examination) -> None:
        self.key = key
        self.seen = seen
        self.failed = {
            outcome.check: outcome.failure_kind() for outcome in seen.outcomes if outcome.status is not Status.PASSED
        }
        self.passed = {each.check for each in seen.outcomes if self.failed.get(each.check, ELSE_RIGHT) == ELSE_RIGHT}
        self.not_run = {outcome.check for outcome in seen.outcomes if outcome.status is Status.NOT_RUN}
        self.possible = [
            name for name, failure_kinds in key.failure_kinds.items() if not failure_kinds.keys() & self.passed
        ]
        explained = {name: self._explained(key.failure_kinds[name]) for name in self.possible}
        most = max((len(checks) for checks in explained.values()), default=0)
        self.alike = [name for name in self.possible if len(explained[name]) == most]
        self.unexplained = [check for check in self.failed if not any(check in explained[name] for name in self.alike)]
        self.stretch = {defect.id for defect in exercise.defects if defect.stretch}
        self.findings = {outcome.check: outcome.finding.text for outcome in seen.outcomes if outcome.finding}
        training = {check.id for check in exercise.checks if check.training and check.id in seen.comparing}
        is_off = len(training) > 1 and training.issubset(self.unexplained)  # one alone may fail for what else it tries
        is_off = is_off and not self.seen.shared and seen.comparing - training <= self.passed
        self.off_in_training = training if is_off else set()
        self.telling = self.passed - {check.id for check in exercise.checks if not check.tells_of_values()}
        self.is_halfway = any(self._is_halfway(key.failure_kinds[name]) for name in self.possible if name)
        self.is_living = self._is_living(seen)

    def read(self, defect: str) -> tuple[DefectStatus, str]:
        """A defect's status, and why it is unknown.

        A defect that every look-alike has is present, where that is plainly seen or the module is living: of one that
        computes nothing right no more is known. One that no possible variant has may be fixed.
        """
        holders, otherwise = [name for name in self.alike if _has(name, defect)], self.otherwise(defect)
        is_in_all = len(holders) == len(self.alike)
        if is_in_all and self._is_plainly_seen(defect):
            return DefectStatus.PRESENT, ""
        if not self.is_living:
            return DefectStatus.UNKNOWN, self._nothing_right()
        if in_part := [check for check in otherwise if defect in self.seen.shared.get(check, ())]:
            return DefectStatus.UNKNOWN, f"it is mended in part, still {self._what_fails(in_part)}"
        if is_in_all and not (otherwise and self.is_halfway):
            return DefectStatus.PRESENT, ""
        if not any(_has(name, defect) for name in self.possible):
            return self._read_ruled_out(defect, otherwise)
        if otherwise:
            return DefectStatus.UNKNOWN, self._in_another_way(otherwise)
        if self.unexplained:
            return DefectStatus.UNKNOWN, f"something else hides it, {self._what_fails(self.unexplained)}"
        if not holders:
            return DefectStatus.FIXED, ""
        return self._second_look(defect)

    def _read_ruled_out(self, defect: str, otherwise: list[str]) -> tuple[DefectStatus, str]:
        """Fixed, unless most of its own checks fail for reasons of their own, or all that would show it by values.

        Neither is it where training mode is what the module fails in.
        """
        own = self._in_question(defect)
        is_mostly_right = own and 2 * len(otherwise) <= len(own)
        if is_mostly_right and (own & self.telling or not otherwise) and not own & self.off_in_training:
            return DefectStatus.FIXED, ""
        return DefectStatus.UNKNOWN, self._in_another_way(otherwise or self.unexplained or [*self.failed])

    def otherwise(self, defect: str) -> list[str]:
        """Those of a defect's own checks that fail as no look-alike does."""
        own = self._in_question(defect)
        return [check for check in self.unexplained if check in own and check not in self.passed]

    def mended_in_part(self) -> set[str]:
        """The checks that may fail because a defect is gone from one path only: where one is, all that any fails."""
        seen_by_some = {check for kinds in self.key.failure_kinds.values() for check in kinds}
        return seen_by_some if self.seen.shared else set()

    def is_stretch_halfway(self, check: str, mended: set[str]) -> bool:
        """Whether a stretch defect that is not mended would, left alone, fail the check: halfway costs no more."""
        left = self.stretch - mended
        return any(
            check in failure_kinds and name and left.issuperset(name.split("+"))
            for name, failure_kinds in self.key.failure_kinds.items()
        )

    def _is_plainly_seen(self, defect: str) -> bool:
        """Whether of the checks that nothing else fails some see the numbers of the defect, and no more see others."""
        kinds = self.key.failure_kinds
        only = kinds[defect].keys() - {check for name in kinds if not _has(name, defect) for check in kinds[name]}
        return len(only & self.seen.recognised) >= max(1, len(only.intersection(self.unexplained)))

    def _in_question(self, defect: str) -> set[str]:
        """A defect's own checks, but those that went past where it shows: they saw right values and failed later."""
        return {
            check
            for check, kind in self.key.failure_kinds[defect].items()
            if kind in WITH_GRADIENTS or self.failed.get(check) not in AFTER_VALUES
        }

    def _is_living(self, seen: Examination) -> bool:
        """Whether some check that compares what the module returns passes, or what fails is what a defect fails.

        Parts that are right by themselves show nothing of the module.
        """
        failing = seen.comparing & self.failed.keys()
        right = seen.comparing & self.passed
        if not failing or right - seen.parts:
            return True
        alike = any(failing <= self._explained(self.key.failure_kinds[name]) for name in self.alike if name)
        return alike or self.is_halfway

    def _is_halfway(self, failure_kinds: dict[str, str]) -> bool:
        """Whether just what fails there fails here, in the same ways and by other numbers."""
        return all(failure_kinds.get(check) == kind.replace(OTHERWISE, "") for check, kind in self.failed.items())

    def _nothing_right(self) -> str:
        as_a_whole = " as a whole" if self.seen.comparing & self.passed else ""
        wrong = [check for check in (*self.unexplained, *self.failed) if check in self.seen.comparing]
        return f"no check that compares it{as_a_whole} with a right one passes, {self._what_fails(wrong)}"

    def _in_another_way(self, checks: list[str]) -> str:
        return f"it fails in another way, {self._what_fails(checks)}"

    def _what_fails(self, checks: list[str]) -> str:
        """The first of these checks, and what it saw."""
        text = " ".join(self.findings.get(checks[0], "").split())
        return f"seen in {in_words(checks[0])}: {cut(text, MOST_OF_A_FINDING)}"

    def _explained(self, failure_kinds: dict[str, str]) -> set[str]:
        return {check for check, failure_kind in self.failed.items() if failure_kinds.get(check) == failure_kind}

    def _second_look(self, defect: str) -> tuple[DefectStatus, str]:
        """Tell look-alikes apart by the syntax trees of the methods that the defect touches."""
        methods = self.key.methods
        touched = [name for name, tree in methods[defect].items() if methods[""].get(name) != tree]
        read = {each: self.seen.methods.get(each) for each in touched}
        matching = [name for name in self.alike if all(methods[name].get(each) == read[each] for each in touched)]
        has_defect = {_has(name, defect) for name in matching}
        if has_defect == {True}:
            return DefectStatus.PRESENT, ""
        if has_defect == {False}:
            return DefectStatus.FIXED, ""
        hidden = any(kind.startswith(Status.CRASHED) for kind in self.failed.values())
        return DefectStatus.UNKNOWN, "it cannot be seen behind the crash" if hidden else "no check that ran tells"


def _has(variant: str, defect: str) -> bool:
    return defect in variant.split("+")


RELATIVE, ABSOLUTE = 1e-3, 1.0
"""How far apart faults may lie, in multiples of what is tolerated: in other words the same one is rounded otherwise."""

MOST_HOLDERS, MOST_COMPARED = 4, 2
"""So many variants, and checks of each defect, are compared with what a submission that is not a variant shows."""

OTHERWISE = "otherwise-"
"""Begins the kind of a fault that no look-alike shows with these values."""


def tell_apart(seen: Examination, look_alikes: list[Examination]) -> Examination:
    """The examination, in which a failure that no look-alike shares in what was seen is of a sort of its own.

    A look-alike is what was seen of a variant that fails in the same ways, with the same inputs and weights. What a
    check saw of numbers that depend on a module's own first weights, of texts and of crashes is not compared: the same
    fault may be written in ways that draw, say and crash otherwise.
    """
    outcomes = [_told_apart(outcome, seen, look_alikes) for outcome in seen.outcomes]
    numbers = {check for check, saw in seen.saw.items() if not isinstance(saw, str)}  # a name says less
    told = {each.check for each in outcomes if each.finding and each.finding.kind.startswith(OTHERWISE)}
    return structs.replace(seen, outcomes=outcomes, recognised=frozenset(numbers - told))


def mended_in_part(
    exercise: Exercise, key: Key, seen: Examination, examine: Callable[[str, set[str]], Examination]
) -> Examination:
    """The examination, in which checks share what they saw with defects that are mended on one path only.

    Such a check is one of the defect's own and sees, number for number, what it sees of the variant with that defect.
    `examine` gives what some checks see of a variant.
    """
    matches = _Matches(exercise, key, seen)
    own = {each.id: matches.otherwise(each.id) for each in exercise.defects}
    open_ones = [name for name in own if own[name] and matches.read(name)[0] is not DefectStatus.PRESENT]
    compared = {check for name in open_ones for check in own[name][:MOST_COMPARED] if check in seen.saw}
    holders = sorted(key.failure_kinds, key=lambda name: name.count("+"))  # what one defect explains, it explains alone
    holders = [name for name in holders if any(_has(name, defect) for defect in open_ones)]
    shared: dict[str, set[str]] = {}
    for name in holders[:MOST_HOLDERS]:
        kinds = key.failure_kinds[name]
        alike = {each for each in compared if matches.failed[each].replace(OTHERWISE, "") == kinds.get(each)}
        saw = examine(name, alike).saw if alike else {}
        for check in alike:
            if is_same(seen.saw[check], saw.get(check)):
                shared[check] = {each for each in open_ones if _has(name, each) and check in own[each]}
        compared -= shared.keys()
    return structs.replace(seen, shared=shared)


def _told_apart(outcome: Outcome, seen: Examination, look_alikes: list[Examination]) -> Outcome:
    finding, check = outcome.finding, outcome.check
    if outcome.status is not Status.FAILED or finding is None or check not in seen.saw:
        return outcome
    alike = [
        each
        for each in look_alikes
        if any((other.check, other.failure_kind()) == (check, outcome.failure_kind()) for other in each.outcomes)
    ]
    if any(is_same(seen.saw[check], each.saw.get(check)) for each in alike):
        return outcome
    return structs.replace(outcome, finding=structs.replace(finding, kind=OTHERWISE + finding.kind))


def is_same(one: Any, other: Any) -> bool:
    """Whether what two checks saw is equal but for rounding."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
