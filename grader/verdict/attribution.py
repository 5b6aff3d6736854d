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

from grader.checks.outcome import Examination, FailureKind, Finding, Key, Outcome, Status, has_defect
from grader.spec.exercise import Exercise


def _signatures(*kinds: FailureKind) -> frozenset[str]:
    """Return the signatures of failed checks with findings of these kinds."""
    findings = [Finding(kind=kind) for kind in kinds]
    return frozenset(Outcome(check="", status=Status.FAILED, finding=each).signature() for each in findings)


AFTER_VALUES = _signatures(FailureKind.GRADIENT, FailureKind.NO_GRADIENT, FailureKind.INPUT_CHANGED)
"""Failures that a check looks for once the values are right."""

WITH_GRADIENTS = AFTER_VALUES | _signatures(FailureKind.NONFINITE)
"""Failures that such a check may find in gradients."""


class DefectStatus(StrEnum):
    """What is known of a defect."""

    FIXED = "fixed"
    PRESENT = "present"
    UNKNOWN = "unknown"


class UnknownReason(StrEnum):
    """Why the status of a defect is unknown."""

    NO_CHECK_RAN = "no-check-ran"
    NO_SIGNAL = "no-signal"  # no check against the reference passes
    NO_SIGNAL_AS_A_WHOLE = "no-signal-as-a-whole"  # none passes that calls the whole module
    FIXED_IN_PART = "fixed-in-part"
    FAILS_DIFFERENTLY = "fails-differently"  # its checks fail, but not as this defect fails them
    HIDDEN = "hidden"  # by a failure that no variant explains
    BEHIND_CRASH = "behind-crash"
    UNDECIDED = "undecided"  # no check that ran decides
    AT_HAND_IN = "at-hand-in"  # only checks that run at hand-in decide


class Reason(Struct, frozen=True, kw_only=True):
    """Why a status is unknown, and the check that shows it, if one does."""

    kind: UnknownReason
    check: str = ""


class Attribution(Struct, frozen=True, kw_only=True):
    """What outcomes mean.

    `reasons` say why a status is unknown, `regressions` are failures that no defect explains (checks that were not run
    only where nothing else failed), and `causes` are the present defects that explain a failed check.
    """

    statuses: dict[str, DefectStatus]
    reasons: dict[str, Reason]
    regressions: list[str]
    causes: dict[str, list[str]]


def attribute(exercise: Exercise, key: Key, examination: Examination) -> Attribution:
    """Return the status of every defect and the regressions."""
    comparison = VariantComparison(exercise, key, examination)
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
    fixed = {name for name, status in statuses.items() if status is DefectStatus.FIXED}
    regressions = comparison.regressions(fixed)
    return Attribution(statuses=statuses, reasons=reasons, regressions=regressions, causes=causes)


def matching_variants(exercise: Exercise, key: Key, examination: Examination) -> list[str]:
    """Return the variants that behave like the submission, by the signatures of their failures."""
    return VariantComparison(exercise, key, examination).matching_variants


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known of one defect."""

    comparison: "VariantComparison"
    with_defect: list[str]
    """The matching variants that have the defect."""
    reading_alike: list[str]
    """The matching variants whose syntax trees equal the submission's in the methods that the defect touches."""
    differing: list[str]
    """Its own checks that fail as no matching variant does."""
    partial_fixes: list[str]
    """Those of `differing` that show its deviation all the same."""
    is_ruled_out: bool
    """No candidate has it."""
    is_in_all: bool
    """Every matching variant has it."""
    is_certain: bool
    """The checks that it alone fails show its deviation."""
    is_mostly_right: bool
    """Most of its own checks do not differ, and one that passes would show it by values."""


class Rule(Struct, frozen=True, kw_only=True):
    """A condition and the status that follows from it; `reason` says why that is unknown."""

    name: str
    status: DefectStatus
    applies: Callable[[Evidence], bool]
    reason: Callable[[Evidence], Reason] | None = None


RULES = (
    Rule(
        name="the checks that it alone fails show its deviation",
        status=DefectStatus.PRESENT,
        applies=lambda known: known.is_in_all and known.is_certain,
    ),
    Rule(
        name="the module computes nothing right",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: not known.comparison.has_signal,
        reason=lambda known: known.comparison.no_signal(),
    ),
    Rule(
        name="it is fixed on one path only",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: bool(known.partial_fixes),
        reason=lambda known: Reason(kind=UnknownReason.FIXED_IN_PART, check=known.partial_fixes[0]),
    ),
    Rule(
        name="every matching variant has it, and it is not fixed halfway",
        status=DefectStatus.PRESENT,
        applies=lambda known: known.is_in_all and not (known.differing and known.comparison.is_partial_fix),
    ),
    Rule(
        name="no candidate has it, and its own checks are right",
        status=DefectStatus.FIXED,
        applies=lambda known: known.is_ruled_out and known.is_mostly_right,
    ),
    Rule(
        name="no candidate has it, and its own checks fail for another reason",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: known.is_ruled_out,
        reason=lambda known: known.comparison.fails_differently(known.differing),
    ),
    Rule(
        name="its own checks fail as no matching variant does",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: bool(known.differing),
        reason=lambda known: known.comparison.fails_differently(known.differing),
    ),
    Rule(
        name="something fails that no matching variant explains",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: bool(known.comparison.unexplained),
        reason=lambda known: Reason(kind=UnknownReason.HIDDEN, check=known.comparison.unexplained[0]),
    ),
    Rule(
        name="no matching variant has it",
        status=DefectStatus.FIXED,
        applies=lambda known: not known.with_defect,
    ),
    Rule(
        name="every matching variant that reads like the submission has it",
        status=DefectStatus.PRESENT,
        applies=lambda known: bool(known.reading_alike) and set(known.reading_alike) <= set(known.with_defect),
    ),
    Rule(
        name="no matching variant that reads like the submission has it",
        status=DefectStatus.FIXED,
        applies=lambda known: bool(known.reading_alike) and not set(known.reading_alike) & set(known.with_defect),
    ),
    Rule(
        name="it lies behind a crash",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: known.comparison.has_crashed,
        reason=lambda _: Reason(kind=UnknownReason.BEHIND_CRASH),
    ),
    Rule(
        name="no check decides",
        status=DefectStatus.UNKNOWN,
        applies=lambda _: True,
        reason=lambda _: Reason(kind=UnknownReason.UNDECIDED),
    ),
)
"""Rules in order: the first one that applies decides the status."""


def rule_of(evidence: Evidence) -> Rule:
    """Return the rule that a defect's status follows from."""
    return next(rule for rule in RULES if rule.applies(evidence))


class VariantComparison:
    """A submission's outcomes compared with those of every variant.

    `failed` are the signatures of its failures by check, `differs_numerically` the failed checks whose deviation is no
    matching variant's. `explained_by` has for each variant the failures that it shows too, with the same signature.
    """

    def __init__(self, exercise: Exercise, key: Key, examination: Examination) -> None:
        self._key, self._examination = key, examination
        failures = [each for each in examination.outcomes if each.status is not Status.PASSED]
        self.failed: dict[str, str] = {outcome.check: outcome.signature() for outcome in failures}
        self.has_crashed: bool = any(outcome.status is Status.CRASHED for outcome in failures)
        self.differs_numerically = {outcome.check for outcome in failures if outcome.matches_no_variant}
        self.passed = {each.check for each in examination.outcomes} - {
            each.check for each in failures if not each.changes_settings_only()
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
        with_defect = [name for name in self.matching_variants if has_defect(name, defect)]
        is_right_of_most = own and 2 * len(differing) <= len(own) and not own & self._fails_in_training
        return Evidence(
            comparison=self,
            with_defect=with_defect,
            reading_alike=self._reading_alike(defect),
            differing=differing,
            partial_fixes=[check for check in differing if defect in self._examination.partial_fixes.get(check, ())],
            is_ruled_out=not any(has_defect(name, defect) for name in self.candidates),
            is_in_all=len(with_defect) == len(self.matching_variants),
            is_certain=self._is_certain(defect),
            is_mostly_right=bool(is_right_of_most and (own & self._shows_values or not differing)),
        )

    def differing(self, defect: str) -> list[str]:
        """Those of a defect's own checks that fail as no matching variant does."""
        own = self._own_checks(defect) - self.passed
        return [check for check in self.unexplained if check in own]

    def regressions(self, fixed: Collection[str]) -> list[str]:
        """The failures that nothing explains; checks that were not run only where nothing else failed.

        A partial fix never costs more than no fix: failures that some variant, or an unfixed stretch defect, also shows
        are not counted.
        """
        kinds = self._key.failure_kinds
        unfixed = {name for name in kinds if name and (self._stretch - set(fixed)).issuperset(name.split("+"))}
        excused = {check for name in (kinds if self._examination.partial_fixes else unfixed) for check in kinds[name]}
        broken = [check for check in self.unexplained if check not in excused]
        not_run = {outcome.check for outcome in self._examination.outcomes if outcome.status is Status.NOT_RUN}
        return [check for check in broken if check not in not_run] or broken

    def no_signal(self) -> Reason:
        """Return the first check against the reference that fails, where none passes."""
        value_checks = self._examination.value_checks
        kind = UnknownReason.NO_SIGNAL_AS_A_WHOLE if value_checks & self.passed else UnknownReason.NO_SIGNAL
        wrong = [check for check in (*self.unexplained, *self.failed) if check in value_checks]
        return Reason(kind=kind, check=wrong[0])

    def fails_differently(self, checks: list[str]) -> Reason:
        """Return the first of these checks, or else the first that is unexplained or fails."""
        first = (checks or self.unexplained or [*self.failed])[0]
        return Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check=first)

    def _explained(self, kinds: dict[str, str]) -> set[str]:
        """Return the failures that a variant shows too."""
        return {check for check, kind in self.failed.items() if kinds.get(check) == kind} - self.differs_numerically

    def _fails_just(self, kinds: dict[str, str]) -> bool:
        """Whether all that fails here fails there, in the same ways if not by the same numbers."""
        return all(kinds.get(check) == kind for check, kind in self.failed.items())

    def _has_signal(self) -> bool:
        """Whether some check that compares what the module returns passes, or what fails is what a defect fails.

        A check of a part alone, such as a mask, does not count: it may pass in a module that returns nothing right.
        """
        failing = self._examination.value_checks & self.failed.keys()
        right = self._examination.value_checks & self.passed
        if not failing or right - self._examination.partial_value_checks:
            return True
        return self.is_partial_fix or any(failing <= self.explained_by[name] for name in self.matching_variants if name)

    def _find_training_failures(self, exercise: Exercise) -> set[str]:
        """All checks in training mode, where each fails unexplained and all in evaluation mode pass; else none."""
        training = {
            check.id for check in exercise.checks if check.training and check.id in self._examination.value_checks
        }
        is_all = len(training) > 1 and training.issubset(self.unexplained)  # one alone may fail for what else it tries
        in_evaluation = self._examination.value_checks - training - self._examination.failed_in_training_variant
        is_only = not self._examination.partial_fixes and in_evaluation <= self.passed
        return training if is_all and is_only else set()

    def _is_certain(self, defect: str) -> bool:
        """Whether some of the checks that it alone fails show its deviation, and no more of them show another."""
        kinds = self._key.failure_kinds
        only = kinds[defect].keys() - {check for name in kinds if not has_defect(name, defect) for check in kinds[name]}
        return len(only & self._examination.matching_deviations) >= max(1, len(only.intersection(self.unexplained)))

    def _own_checks(self, defect: str) -> set[str]:
        """Return a defect's own checks, without those that got the right values and failed only afterwards."""
        past = {check for check, kind in self.failed.items() if kind in AFTER_VALUES} - self.differs_numerically
        kinds = self._key.failure_kinds[defect]
        return {check for check, kind in kinds.items() if kind in WITH_GRADIENTS or check not in past}

    def _reading_alike(self, defect: str) -> list[str]:
        """The matching variants whose methods have the submission's syntax trees, of the methods that the defect
        touches.
        """
        methods = self._key.methods
        if not methods:  # a sealed edition has none, and may have identified the defect
            is_there = self._examination.identified_defects.get(defect)
            return [name for name in self.matching_variants if has_defect(name, defect) is is_there]
        touched = [name for name, tree in methods[defect].items() if methods[""].get(name) != tree]
        read = {each: self._examination.methods.get(each) for each in touched}
        return [
            name for name in self.matching_variants if all(methods[name].get(each) == read[each] for each in touched)
        ]
