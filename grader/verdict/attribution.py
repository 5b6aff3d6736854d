"""Outcomes read by the key: which defects a submission still has, which failures none of them explains. Pure.

A submission is held against every variant, the reference with some of the defects put back. Variants that fail a check
that passes here are ruled out; the rest are candidates. Of these, those that explain the most failures are matching
variants.

With defects `a` and `b` the variants are the reference, `a`, `b` and `a+b`. Say that `a` put back fails check 1 and
`b` check 2. A submission that fails check 1 alone rules out `b` and `a+b`, for check 2 passes. Of the candidates, `a`
explains its failure and the reference does not, so `a` is the matching variant: `a` is present, `b` is fixed.
"""

from collections.abc import Callable, Collection
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import AFTER_VALUES, WITH_GRADIENTS, Examination, Key, Status, has_defect, in_words
from grader.sandbox.text import cut
from grader.spec.exercise import Exercise

MOST_OF_A_FINDING = 160
"""Characters of a finding that a reason shows."""


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
    """The status of every defect, and what else is broken."""
    comparison = VariantComparison(exercise, key, seen)
    statuses, reasons = {}, {}
    for defect in exercise.defects:
        evidence = comparison.evidence(defect.id)
        rule = rule_of(evidence)
        statuses[defect.id] = rule.status
        if rule.reason is not None:
            reasons[defect.id] = rule.reason(evidence)
    present = [name for name, status in statuses.items() if status is DefectStatus.PRESENT]
    causes = {
        check: [name for name in present if check in comparison.explained_by[name]] for check in comparison.failed
    }
    mended = {name for name, status in statuses.items() if status is DefectStatus.FIXED}
    return Attribution(statuses, reasons, comparison.regressions(mended), causes)


def matching_variants(exercise: Exercise, key: Key, seen: Examination) -> list[str]:
    """The variants that behave like the submission, by the kinds of their failures."""
    return VariantComparison(exercise, key, seen).matching_variants


class Evidence(Struct, frozen=True):
    """What is known of one defect."""

    comparison: "VariantComparison"
    holders: list[str]
    """The matching variants that have it."""
    matching: list[str]
    """The matching variants that read like the submission where the defect lies."""
    differing: list[str]
    """Its own checks that fail as no matching variant does."""
    partial_fixes: list[str]
    """Those of them that still see its numbers on some path."""
    is_ruled_out: bool
    """No candidate has it."""
    is_in_all: bool
    """Every matching variant has it."""
    is_plainly_seen: bool
    """The checks that it alone fails see its numbers."""
    is_mostly_right: bool
    """Most of its own checks do not differ, and one that passes would show it by values."""


class Rule(Struct, frozen=True):
    """What a status follows from; `reason` tells why it is unknown."""

    name: str
    status: DefectStatus
    applies: Callable[[Evidence], object]
    reason: Callable[[Evidence], str] | None = None


RULES = (
    Rule(
        "the checks that it alone fails see its numbers",
        DefectStatus.PRESENT,
        lambda seen: seen.is_in_all and seen.is_plainly_seen,
    ),
    Rule(
        "the module computes nothing right",
        DefectStatus.UNKNOWN,
        lambda seen: not seen.comparison.has_signal,
        lambda seen: seen.comparison.why_no_signal(),
    ),
    Rule(
        "it is mended on one path only",
        DefectStatus.UNKNOWN,
        lambda seen: seen.partial_fixes,
        lambda seen: f"it is mended in part, still {seen.comparison.what_fails(seen.partial_fixes)}",
    ),
    Rule(
        "every matching variant has it, and it is not mended halfway",
        DefectStatus.PRESENT,
        lambda seen: seen.is_in_all and not (seen.differing and seen.comparison.is_partial_fix),
    ),
    Rule(
        "no candidate has it, and its own checks are right",
        DefectStatus.FIXED,
        lambda seen: seen.is_ruled_out and seen.is_mostly_right,
    ),
    Rule(
        "no candidate has it, and its own checks fail for another reason",
        DefectStatus.UNKNOWN,
        lambda seen: seen.is_ruled_out,
        lambda seen: seen.comparison.in_another_way(seen.differing),
    ),
    Rule(
        "its own checks fail as no matching variant does",
        DefectStatus.UNKNOWN,
        lambda seen: seen.differing,
        lambda seen: seen.comparison.in_another_way(seen.differing),
    ),
    Rule(
        "something fails that no matching variant explains",
        DefectStatus.UNKNOWN,
        lambda seen: seen.comparison.unexplained,
        lambda seen: f"something else hides it, {seen.comparison.what_fails(seen.comparison.unexplained)}",
    ),
    Rule("no matching variant has it", DefectStatus.FIXED, lambda seen: not seen.holders),
    Rule(
        "every matching variant that reads like the submission has it",
        DefectStatus.PRESENT,
        lambda seen: seen.matching and set(seen.matching) <= set(seen.holders),
    ),
    Rule(
        "no matching variant that reads like the submission has it",
        DefectStatus.FIXED,
        lambda seen: seen.matching and not set(seen.matching) & set(seen.holders),
    ),
    Rule(
        "it lies behind a crash",
        DefectStatus.UNKNOWN,
        lambda seen: any(kind.startswith(Status.CRASHED) for kind in seen.comparison.failed.values()),
        lambda _: "it cannot be seen behind the crash",
    ),
    Rule("nothing tells", DefectStatus.UNKNOWN, lambda _: True, lambda _: "no check that ran tells"),
)
"""In this order: the first that applies gives the status."""


def rule_of(evidence: Evidence) -> Rule:
    """The rule that a defect's status follows from."""
    return next(rule for rule in RULES if rule.applies(evidence))


class VariantComparison:
    """A submission's outcomes held against those of every variant.

    `failed` are the kinds of its failures by check, `differs_numerically` those of the checks whose numbers are no
    matching variant's. `explained_by` tells of each variant which of the failures it shows too, kind for kind.
    """

    def __init__(self, exercise: Exercise, key: Key, seen: Examination) -> None:
        self._key, self._seen = key, seen
        failures = [each for each in seen.outcomes if each.status is not Status.PASSED]
        self.failed: dict[str, str] = {outcome.check: outcome.failure_kind() for outcome in failures}
        self.differs_numerically = {outcome.check for outcome in failures if outcome.is_unlike}
        self.passed = {each.check for each in seen.outcomes} - {
            each.check for each in failures if not each.is_else_right()
        }
        self.explained_by = {name: self._explained(kinds) for name, kinds in key.failure_kinds.items()}
        self.candidates = [name for name, kinds in key.failure_kinds.items() if not kinds.keys() & self.passed]
        most = max((len(self.explained_by[name]) for name in self.candidates), default=0)
        self.matching_variants = [name for name in self.candidates if len(self.explained_by[name]) == most]
        self.unexplained: list[str] = [
            check
            for check in self.failed
            if not any(check in self.explained_by[name] for name in self.matching_variants)
        ]
        self.is_partial_fix: bool = any(name and self._fails_just(key.failure_kinds[name]) for name in self.candidates)
        self.has_signal: bool = self._has_signal()
        self._stretch = {defect.id for defect in exercise.defects if defect.stretch}
        self._shows_values = self.passed - {check.id for check in exercise.checks if not check.tells_of_values()}
        self._fails_in_training = self._find_training_failures(exercise)

    def evidence(self, defect: str) -> Evidence:
        """What is known of a defect."""
        own, differing = self._own_checks(defect), self.differing(defect)
        holders = [name for name in self.matching_variants if has_defect(name, defect)]
        is_right_of_most = own and 2 * len(differing) <= len(own) and not own & self._fails_in_training
        return Evidence(
            self,
            holders,
            self._matching(defect),
            differing,
            partial_fixes=[check for check in differing if defect in self._seen.partial_fixes.get(check, ())],
            is_ruled_out=not any(has_defect(name, defect) for name in self.candidates),
            is_in_all=len(holders) == len(self.matching_variants),
            is_plainly_seen=self._is_plainly_seen(defect),
            is_mostly_right=bool(is_right_of_most and (own & self._shows_values or not differing)),
        )

    def differing(self, defect: str) -> list[str]:
        """Those of a defect's own checks that fail as no matching variant does."""
        own = self._own_checks(defect) - self.passed
        return [check for check in self.unexplained if check in own]

    def regressions(self, mended: Collection[str]) -> list[str]:
        """The failures that nothing explains; checks that were not run only where nothing else failed.

        Where a defect is mended on one path only, nothing that any variant fails is held against the submission, nor is
        what a stretch defect that is not mended would, left alone, fail: a partial fix costs no more than none.
        """
        kinds = self._key.failure_kinds
        left = {name for name in kinds if name and (self._stretch - set(mended)).issuperset(name.split("+"))}
        excused = {check for name in (kinds if self._seen.partial_fixes else left) for check in kinds[name]}
        broken = [check for check in self.unexplained if check not in excused]
        not_run = {outcome.check for outcome in self._seen.outcomes if outcome.status is Status.NOT_RUN}
        return [check for check in broken if check not in not_run] or broken

    def why_no_signal(self) -> str:
        as_a_whole = " as a whole" if self._seen.comparing & self.passed else ""
        wrong = [check for check in (*self.unexplained, *self.failed) if check in self._seen.comparing]
        return f"no check that compares it{as_a_whole} with a right one passes, {self.what_fails(wrong)}"

    def in_another_way(self, checks: list[str]) -> str:
        return f"it fails in another way, {self.what_fails(checks or self.unexplained or [*self.failed])}"

    def what_fails(self, checks: list[str]) -> str:
        """The first of these checks, and what it saw."""
        texts = (each.finding.text for each in self._seen.outcomes if each.finding and each.check == checks[0])
        text = " ".join(next(texts, "").split())
        return f'seen in "{in_words(checks[0])}": {cut(text, MOST_OF_A_FINDING)}'

    def _explained(self, kinds: dict[str, str]) -> set[str]:
        """The failures that a variant shows too."""
        return {check for check, kind in self.failed.items() if kinds.get(check) == kind} - self.differs_numerically

    def _fails_just(self, kinds: dict[str, str]) -> bool:
        """Whether all that fails here fails there, in the same ways if not by the same numbers."""
        return all(kinds.get(check) == kind for check, kind in self.failed.items())

    def _has_signal(self) -> bool:
        """Whether some check that compares what the module returns passes, or what fails is what a defect fails.

        A check of a part alone, such as a mask, does not count: it may pass in a module that returns nothing right.
        """
        failing = self._seen.comparing & self.failed.keys()
        right = self._seen.comparing & self.passed
        if not failing or right - self._seen.comparing_parts:
            return True
        return self.is_partial_fix or any(failing <= self.explained_by[name] for name in self.matching_variants if name)

    def _find_training_failures(self, exercise: Exercise) -> set[str]:
        """All checks in training mode, where each fails unexplained and all in evaluation mode pass; else none."""
        training = {check.id for check in exercise.checks if check.training and check.id in self._seen.comparing}
        is_all = len(training) > 1 and training.issubset(self.unexplained)  # one alone may fail for what else it tries
        in_evaluation = self._seen.comparing - training - self._seen.in_training
        is_only = not self._seen.partial_fixes and in_evaluation <= self.passed
        return training if is_all and is_only else set()

    def _is_plainly_seen(self, defect: str) -> bool:
        """Whether of the checks that nothing else fails some see the numbers of the defect, and no more see others."""
        kinds = self._key.failure_kinds
        only = kinds[defect].keys() - {check for name in kinds if not has_defect(name, defect) for check in kinds[name]}
        return len(only & self._seen.recognised) >= max(1, len(only.intersection(self.unexplained)))

    def _own_checks(self, defect: str) -> set[str]:
        """A defect's own checks, but those that went past where it shows: they saw right values and failed later."""
        past = {check for check, kind in self.failed.items() if kind in AFTER_VALUES} - self.differs_numerically
        kinds = self._key.failure_kinds[defect]
        return {check for check, kind in kinds.items() if kind in WITH_GRADIENTS or check not in past}

    def _matching(self, defect: str) -> list[str]:
        """The matching variants whose methods have the submission's syntax trees, of the methods that the defect
        touches.
        """
        methods = self._key.methods
        if not methods:  # a sealed edition has none, and what it knows of the defect in their place
            is_there = self._seen.known_defects.get(defect)
            return [name for name in self.matching_variants if has_defect(name, defect) is is_there]
        touched = [name for name, tree in methods[defect].items() if methods[""].get(name) != tree]
        read = {each: self._seen.methods.get(each) for each in touched}
        return [
            name for name in self.matching_variants if all(methods[name].get(each) == read[each] for each in touched)
        ]
