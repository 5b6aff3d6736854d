"""Attribute failures to defects: decide which defects a submission still has, and which failures none of them explains.

A submission's outcomes are compared with those of every variant: the reference with some of the defects put back.
A variant that fails a check which the submission passes is ruled out; the other variants are candidates. The
candidates that explain the most failures are the matching variants.

An example: with defects `a` and `b` the variants are the reference, `a`, `b` and `a+b`. Variant `a` fails check 1 and
variant `b` fails check 2. A submission that fails only check 1 rules out `b` and `a+b`, because it passes check 2. Of
the two candidates, `a` explains the failure and the reference does not. So `a` is the matching variant: defect `a` is
present, and defect `b` is fixed.
"""

from collections.abc import Callable, Collection
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import Examination, FailureKind, Finding, Outcome, Status
from grader.spec.exercise import Exercise
from grader.verdict.key import REFERENCE, Key, has_defect
from grader.verdict.statements import HAS_FIX, Reading, StatementReader


def _signatures(*kinds: FailureKind) -> frozenset[str]:
    """Return the signatures of failed checks with findings of these kinds."""
    findings = [Finding(kind=kind) for kind in kinds]
    return frozenset(Outcome(check="", status=Status.FAILED, finding=each).signature() for each in findings)


AFTER_VALUES = _signatures(FailureKind.GRADIENT, FailureKind.NO_GRADIENT, FailureKind.INPUT_CHANGED)
"""Kinds of failure that a check can only find after it found the values right."""

WITH_GRADIENTS = AFTER_VALUES | _signatures(FailureKind.NONFINITE)
"""The same kinds, and numbers that are not finite: the numbers may be gradients."""

WRONG_NUMBERS = _signatures(FailureKind.VALUES, FailureKind.NONFINITE)
"""Kinds of failure by wrong numbers. Whether a number is finite may depend on the size."""

WRONG_VALUES = _signatures(FailureKind.VALUES)

RAISED_IN_VARIANT = _signatures(FailureKind.CALLING_VARIANT)
"""The plain call returned the right values, and a calling variant raised. What it raised is not in the signature."""


class DefectStatus(StrEnum):
    """The status of a defect in a verdict."""

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


class Clues(Struct, frozen=True, kw_only=True):
    """What numbers and statements show about the defects, beyond the signatures of the failures."""

    unmatched: frozenset[str] = frozenset()
    """The failed checks whose deviation differs from that of every matching variant."""
    matching_deviations: frozenset[str] = frozenset()
    """The failed checks whose deviation a matching variant shares."""
    partial_fixes: dict[str, set[str]] = {}
    """By check, the partially fixed defects: a variant with these defects has the same deviation at the same point."""
    kept_fixes: frozenset[str] = frozenset()
    """The defects whose fix occurs in the submission word by word."""
    identified_defects: dict[str, bool] = {}
    """Sealed editions only: for each defect that the failed checks identify, whether it is present."""


NO_CLUES = Clues()


class Attribution(Struct, frozen=True, kw_only=True):
    """The status of each defect, and the explanation of each failure.

    `reasons` say why a status is unknown. `regressions` are the failed checks that no defect explains; checks that
    were not run are among them only if no other check is. `causes` maps each failed check to the present defects that
    explain it.
    """

    statuses: dict[str, DefectStatus]
    reasons: dict[str, Reason]
    regressions: list[str]
    causes: dict[str, list[str]]


def attribute(comparison: "VariantComparison") -> Attribution:
    """Decide the status of every defect, and find the regressions."""
    statuses, reasons = {}, {}
    for defect in comparison.exercise.defects:
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


class Evidence(Struct, frozen=True, kw_only=True):
    """The observations from which a defect's status is decided.

    A defect's own checks are those that fail in the variant with this defect alone.
    """

    comparison: "VariantComparison"
    with_defect: list[str]
    """The matching variants that have the defect."""
    with_equal_methods: list[str]
    """The matching variants whose syntax trees equal the submission's in the methods that the defect touches."""
    differing: list[str]
    """The defect's own checks that fail differently from every matching variant."""
    fails_otherwise: list[str]
    """The checks in `differing` that fail in the way this defect makes them fail, but with other numbers."""
    fails_a_third: bool
    """Whether more than a third of the defect's own checks differ, and one of the differing checks fails as this defect
    makes it fail. Only variants with the defect fail that check."""
    fails_own_checks: bool
    """Whether a check fails as in the variant with this defect alone, perhaps with other numbers."""
    fails_unexplained: bool
    """Whether such a check is not explained by a matching variant. A partial fix of another defect may explain it."""
    partial_fixes: list[str]
    """The checks that show a partial fix of the defect."""
    is_ruled_out: bool
    """Whether no candidate has the defect."""
    is_in_all: bool
    """Whether every matching variant has the defect."""
    is_certain: bool
    """Whether checks that only variants with the defect fail show the defect's own deviation."""
    is_mostly_right: bool
    """Whether most of the defect's own checks do not differ, and one of them passes in a way that shows right
    values."""
    is_right_beside_another_fault: bool
    """Whether none of the checks that only this defect fails differs, and one of them passes in a way that shows right
    values."""
    is_untouched: bool
    """Whether the submission contains the fix, and differs from a variant only in statements of other defects."""
    reading: Reading
    """What the submission's statements show about the defect."""

    def is_left(self) -> bool:
        """Return whether the faulty statements are unchanged, and the defect's own checks fail as in its variants."""
        return self.reading is Reading.FAULTY and not self.is_ruled_out and self.fails_own_checks

    def is_changed(self) -> bool:
        """Return whether the statements were changed, and the defect's own checks fail with other numbers than in a
        variant.
        """
        return bool(self.fails_otherwise) and self.reading is Reading.CHANGED

    def is_right(self) -> bool:
        """Return whether another fault explains the differing checks better.

        If the submission contains the fix, another fault does so unless too many checks differ. Otherwise a check that
        fails as with the defect shows that the defect is still there.
        """
        if self.reading is Reading.FAULTY and self.fails_unexplained:
            return False
        if self.reading in HAS_FIX:
            return (self.is_mostly_right and not self.fails_a_third) or self.is_right_beside_another_fault
        return self.is_mostly_right and not self.fails_otherwise


class Rule(Struct, frozen=True, kw_only=True):
    """A condition, and the status of a defect that meets it; `reason` says why the status is unknown."""

    name: str
    status: DefectStatus
    applies: Callable[[Evidence], bool]
    reason: Callable[[Evidence], Reason] | None = None


RULES = (
    Rule(
        name="the checks that it alone fails show its deviation",
        status=DefectStatus.PRESENT,
        applies=lambda known: known.is_left() or (known.is_in_all and known.is_certain and not known.is_changed()),
    ),
    Rule(
        name="the module computes nothing right",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: not known.comparison.has_signal,
        reason=lambda known: known.comparison.no_signal(),
    ),
    Rule(
        name="the submission differs from a variant without it only in statements of other defects",
        status=DefectStatus.FIXED,
        applies=lambda known: known.is_untouched,
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
        applies=lambda known: (
            known.is_in_all
            and not known.is_changed()
            and not (known.differing and known.comparison.fails_like_a_variant)
        ),
    ),
    Rule(
        name="no candidate has it, and its own checks are right",
        status=DefectStatus.FIXED,
        applies=lambda known: known.is_ruled_out and known.is_right(),
    ),
    Rule(
        name="its own checks fail as no matching variant does",
        status=DefectStatus.UNKNOWN,
        applies=lambda known: known.is_ruled_out or bool(known.differing),
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
        applies=lambda known: (
            bool(known.with_equal_methods) and set(known.with_equal_methods) <= set(known.with_defect)
        ),
    ),
    Rule(
        name="no matching variant that reads like the submission has it",
        status=DefectStatus.FIXED,
        applies=lambda known: (
            bool(known.with_equal_methods) and not set(known.with_equal_methods) & set(known.with_defect)
        ),
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
    """Return the first rule that applies; it decides the defect's status."""
    return next(rule for rule in RULES if rule.applies(evidence))


def _is_past(signature: str | None, of_defect: str) -> bool:
    """Return whether a check that failed with `signature` found the values right that a defect with the signature
    `of_defect` gets wrong.
    """
    if signature in RAISED_IN_VARIANT:
        return of_defect in WRONG_VALUES
    return signature in AFTER_VALUES and of_defect not in WITH_GRADIENTS


class VariantComparison:
    """A submission's outcomes compared with those of every variant.

    `failed` maps each failed check to its signature. `explained_by` maps each variant to the failures that it also
    has, with the same signature.
    """

    def __init__(self, exercise: Exercise, key: Key, examination: Examination, clues: Clues = NO_CLUES) -> None:
        self.exercise, self.key, self.examination = exercise, key, examination
        self._clues = clues
        failures = [each for each in examination.outcomes if each.status is not Status.PASSED]
        self.failed: dict[str, str] = {outcome.check: outcome.signature() for outcome in failures}
        self.has_crashed: bool = any(outcome.status is Status.CRASHED for outcome in failures)
        self.passed = {each.check for each in examination.outcomes} - {
            each.check for each in failures if not each.changes_settings_only()
        }
        self.explained_by = {name: self._explained(signatures) for name, signatures in key.signatures.items()}
        self.candidates = [name for name, signatures in key.signatures.items() if not signatures.keys() & self.passed]
        most = max((len(self.explained_by[name]) for name in self.candidates), default=0)
        self.matching_variants = [name for name in self.candidates if len(self.explained_by[name]) == most]
        self.unexplained: list[str] = [
            check
            for check in self.failed
            if not any(check in self.explained_by[name] for name in self.matching_variants)
        ]
        self.fails_like_a_variant: bool = any(
            name != REFERENCE and self._fails_just(key.signatures[name]) for name in self.candidates
        )
        statements = StatementReader(key, examination.methods, clues.kept_fixes)
        self._readings = {defect.id: statements.reading(defect.id) for defect in exercise.defects}
        self._partly_fixed = {
            check: {each for each in defects if self._readings[each] not in HAS_FIX} or defects
            for check, defects in clues.partial_fixes.items()
        }
        self.has_signal: bool = self._has_signal()
        self._stretch = {defect.id for defect in exercise.defects if defect.stretch}
        self._shows_values = self.passed - {check.id for check in exercise.checks if not check.shows_right_values()}
        self._fails_in_training = self._find_training_failures()
        changed = {defect for defect, reading in self._readings.items() if reading is Reading.CHANGED}
        is_confined = bool(changed and self.failed) and statements.differ_only_in(changed)
        self._edited: set[str] = changed if is_confined else set()
        """The defects whose statements were changed, if the submission differs from a variant nowhere else.

        Such changes cause every failure that the variant does not have.
        """

    def evidence(self, defect: str) -> Evidence:
        """Return the observations about a defect."""
        own, differing = self._own_checks(defect), self.differing(defect)
        only = own - self._failed_without(defect)
        with_defect = [name for name in self.matching_variants if has_defect(name, defect)]
        alone = [check for check in differing if check in only and self._fails_similarly(check, defect)]
        in_training = any(self._fails_similarly(check, defect) for check in own & self._fails_in_training)
        is_right_of_most = own and 2 * len(differing) <= len(own) and not in_training
        return Evidence(
            comparison=self,
            with_defect=with_defect,
            with_equal_methods=self._with_equal_methods(defect),
            differing=differing,
            fails_otherwise=[check for check in differing if self._fails_similarly(check, defect)],
            fails_a_third=bool(alone) and 3 * len(differing) > len(own),
            fails_unexplained=any(self._fails_similarly(check, defect) for check in self.unexplained),
            fails_own_checks=any(
                self.failed.get(check) == signature for check, signature in self.key.signatures[defect].items()
            ),
            partial_fixes=self._partial_fixes(defect),
            is_ruled_out=not any(has_defect(name, defect) for name in self.candidates),
            is_in_all=len(with_defect) == len(self.matching_variants),
            is_certain=self._is_certain(defect),
            is_mostly_right=bool(is_right_of_most and (own & self._shows_values or not differing)),
            is_right_beside_another_fault=bool(
                only & (self._shows_values | self.passed & self.examination.value_checks)
                and not only.intersection(differing)
                and not in_training
            ),
            is_untouched=bool(self._edited) and self.reading(defect) is Reading.FIXED,
            reading=self.reading(defect),
        )

    def differing(self, defect: str) -> list[str]:
        """Return a defect's own checks that fail unlike every matching variant and unlike every other partial fix."""
        failing = self._own_checks(defect) - self.passed - self._explained_by_partial_fixes(defect)
        return [check for check in self.unexplained if check in failing]

    def _explained_by_partial_fixes(self, defect: str) -> set[str]:
        """Return the failures that partial fixes of other defects explain, where this defect is not partially fixed."""
        found = self._partly_fixed
        partly_fixed = set().union(*found.values())
        if defect in partly_fixed:
            return {check for check, defects in found.items() if defect not in defects}
        return {check for check in self.failed if any(self._fails_similarly(check, each) for each in partly_fixed)}

    def unexplained_of(self, defect: str) -> list[str]:
        """Return the failures that no matching variant explains, of the checks that the defect may fail.

        A defect may fail the checks in its own signatures, and also checks that are in no variant's signatures, because
        at some seeds it fails more checks.
        """
        in_the_key = {check for signatures in self.key.signatures.values() for check in signatures}
        own = self.key.signatures[defect].keys() | (set(self.unexplained) - in_the_key)
        return [check for check in self.unexplained if check in own]

    def regressions(self, fixed: Collection[str]) -> list[str]:
        """Return the failures that nothing explains. Checks that were not run count only if there are no other
        failures.

        A defect that is not fixed explains every failure of its own checks, unless the submission contains its fix. If
        the submission differs from a variant only in the statements of such defects, they explain all failures. A
        stretch defect does not, because it costs no points.
        """
        if self._edited - self._stretch - set(fixed):
            return []
        excused = {
            check
            for defect in self._readings.keys() - set(fixed)
            if not self._has_fix(defect)
            for check in self.key.signatures[defect]
        }
        broken = [check for check in self.unexplained if check not in excused]
        not_run = {outcome.check for outcome in self.examination.outcomes if outcome.status is Status.NOT_RUN}
        return [check for check in broken if check not in not_run] or broken

    def _has_fix(self, defect: str) -> bool:
        """Return whether the submission contains the fix, and no check shows a partial fix."""
        return self.reading(defect) in HAS_FIX and not any(defect in each for each in self._partly_fixed.values())

    def no_signal(self) -> Reason:
        """Return the reason if no check against the reference passes: the first such check that fails."""
        value_checks = self.examination.value_checks
        kind = UnknownReason.NO_SIGNAL_AS_A_WHOLE if value_checks & self.passed else UnknownReason.NO_SIGNAL
        wrong = [check for check in (*self.unexplained, *self.failed) if check in value_checks]
        return Reason(kind=kind, check=wrong[0])

    def fails_differently(self, checks: list[str]) -> Reason:
        """Return a reason with the first of these checks, or else with the first check that is unexplained or fails."""
        first = (checks or self.unexplained or [*self.failed])[0]
        return Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check=first)

    def _explained(self, signatures: dict[str, str]) -> set[str]:
        """Return the failures that a variant with these signatures also has."""
        same = {check for check, signature in self.failed.items() if signatures.get(check) == signature}
        return same - self._clues.unmatched

    def _fails_just(self, signatures: dict[str, str]) -> bool:
        """Return whether a variant with these signatures has all these failures, perhaps with other numbers."""
        return all(signatures.get(check) == signature for check, signature in self.failed.items())

    def _has_signal(self) -> bool:
        """Return whether a check that compares the module's outputs passes, or a defect explains all that fail.

        A check of a part of the module, such as a mask, does not count: it may pass although all outputs are wrong.
        """
        failing = self.examination.value_checks & self.failed.keys()
        if failing & self._partly_fixed.keys():
            return True  # only a partly fixed defect makes it fail
        right = self.examination.value_checks & self.passed
        if not failing or right - self.examination.partial_value_checks:
            return True
        return self.fails_like_a_variant or any(
            failing <= self.explained_by[name] for name in self.matching_variants if name != REFERENCE
        )

    def _find_training_failures(self) -> set[str]:
        """Return all checks in training mode if each fails unexplained and every check in evaluation mode passes.

        Otherwise return no check.
        """
        training = {
            check.id for check in self.exercise.checks if check.training and check.id in self.examination.value_checks
        }
        is_all = len(training) > 1 and training.issubset(self.unexplained)  # a single one may fail for another reason
        in_evaluation = self.examination.value_checks - training - self.examination.failed_in_training_variant
        is_only = not self._partly_fixed and in_evaluation <= self.passed
        return training if is_all and is_only else set()

    def _is_certain(self, defect: str) -> bool:
        """Return whether at least half of the checks that only this defect fails show its deviation."""
        only = self.key.signatures[defect].keys() - self._failed_without(defect)
        return len(only & self._clues.matching_deviations) >= max(1, len(only.intersection(self.unexplained)))

    def _failed_without(self, defect: str) -> set[str]:
        """Return the checks that some variant without the defect fails."""
        without = [signatures for name, signatures in self.key.signatures.items() if not has_defect(name, defect)]
        return {check for signatures in without for check in signatures}

    def _own_checks(self, defect: str) -> set[str]:
        """Return a defect's own checks, without checks that found the right values and failed only afterwards."""
        return {
            check
            for check, signature in self.key.signatures[defect].items()
            if check in self._clues.unmatched or not _is_past(self.failed.get(check), signature)
        }

    def _fails_similarly(self, check: str, defect: str) -> bool:
        """Return whether a check fails as with the defect: with the same signature, or with wrong numbers in both."""
        signature, of_defect = self.failed.get(check), self.key.signatures[defect].get(check)
        if signature is None or of_defect is None:
            return False
        if signature in RAISED_IN_VARIANT:
            return of_defect not in WRONG_VALUES
        return signature == of_defect or {signature, of_defect} <= WRONG_NUMBERS

    def _partial_fixes(self, defect: str) -> list[str]:
        """Return the checks that show a partial fix of the defect."""
        return [check for check in self.unexplained_of(defect) if defect in self._partly_fixed.get(check, ())]

    def reading(self, defect: str) -> Reading:
        """Return what the submission's statements show about a defect."""
        return self._readings[defect]

    def _with_equal_methods(self, defect: str) -> list[str]:
        """Return the matching variants with the submission's syntax trees in the methods that the defect touches."""
        methods = self.key.methods
        if not methods:  # a sealed edition has none, and may have identified the defect
            is_there = self._clues.identified_defects.get(defect)
            return [name for name in self.matching_variants if has_defect(name, defect) is is_there]
        touched = [name for name, tree in methods[defect].items() if methods[REFERENCE].get(name) != tree]
        read = {each: self.examination.methods.get(each) for each in touched}
        return [
            name for name in self.matching_variants if all(methods[name].get(each) == read[each] for each in touched)
        ]
