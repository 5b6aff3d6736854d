"""Decide which tests count and what they catch. Pure functions of the outcomes on all implementations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from grader.sandbox.traps.messages import MAX_TESTS, Cause
from grader.spec.exercise import Exercise
from grader.trap.implementations import Implementation, Role
from grader.trap.result import Caught, Count, DefectResult, Standing, TestResult, TrapResult
from grader.trap.session import BY_ITSELF, Ending, TestOutcome

SUBSETS_POINTS = 1.0
"""The points for catching every subset of the defects."""

NOTHING: Mapping[int, Any] = {}


class Observation(Struct, frozen=True, kw_only=True):
    """The outcomes of all tests on one implementation, at the seeds at which it ran."""

    implementation: Implementation
    outcomes: Sequence[TestOutcome]
    replayed: Sequence[TestOutcome] | None = None
    """The outcomes on recorded replies of the runs that ended by themselves; None if there was no replay."""


def count_tests(
    names: Sequence[str],
    observations: Sequence[Observation],
    *,
    is_time_up: bool,
    stopped: Mapping[int, Standing] = NOTHING,
    seconds: Mapping[int, float] = NOTHING,
) -> list[TestResult]:
    """Return the standing of each test, and what it caught.

    `stopped` has the standings of the tests that did not run on every implementation. `seconds` has the time of each
    test, or the time that it needs if it was too costly.
    """
    undetermined = _undetermined(observations, stopped, is_time_up=is_time_up)
    right = [each for each in observations if each.implementation.role is Role.RIGHT]
    faulty = [each for each in observations if each.implementation.role is not Role.RIGHT]
    results = []
    for number, name in enumerate(names):
        if number >= MAX_TESTS:
            results.append(TestResult(name=name, standing=Standing.TOO_MANY))
            continue
        own = [(each.implementation.number, _of(each.outcomes, number)) for each in right]
        ran = [(place, outcomes) for place, outcomes in own if outcomes]
        failing = [place for place, outcomes in ran if not all(outcome.passed for outcome in outcomes)]
        failed = [outcome for _, outcomes in ran for outcome in outcomes if not outcome.passed]
        standing = _standing(number, ran, failed, undetermined, is_time_up=is_time_up)
        if standing in (Standing.COUNTS, Standing.NOT_RUN) and number in stopped:
            standing = stopped[number]
        worst = max(
            (each.report for each in failed if each.report.difference is not None),
            key=lambda report: report.difference or 0.0,
            default=None,
        )
        telling = (each for each in failed if each.ending not in BY_ITSELF or each.report.cause is Cause.MEMORY)
        shown = next((each.report for each in telling), failed[0].report if failed else None)
        changed = next((each.report.changed for _, outcomes in ran for each in outcomes if each.report.changed), "")
        results.append(
            TestResult(
                name=name,
                standing=standing,
                accepts=len(ran) - len(failing),
                of=len(ran),
                fails_on=tuple(failing),
                reason=shown.reason if shown else "",
                cause=shown.cause if shown else Cause.OTHER,
                line=shown.line if shown else 0,
                by_crash=shown.by_crash if shown else False,
                difference=worst.difference if worst else None,
                tolerance=worst.tolerance if worst else 0.0,
                changed=changed,
                seconds=round(seconds.get(number, 0.0), 1) if is_time_up or standing is Standing.TOO_COSTLY else 0.0,
                catches=sum(_fails_always(each, number) for each in faulty),
                catches_half_fixed=sum(
                    _fails_always(each, number) for each in faulty if each.implementation.role is Role.HALF_MENDED
                ),
            )
        )
    return results


def _standing(
    number: int,
    ran: Sequence[tuple[int, Sequence[TestOutcome]]],
    failed: Sequence[TestOutcome],
    undetermined: Collection[int],
    *,
    is_time_up: bool,
) -> Standing:
    if not ran:
        return Standing.NOT_RUN
    if any(each.ending is Ending.TIMED_OUT for each in failed):
        return Standing.TOO_SLOW
    if any(each.ending is Ending.OVER_LIMIT for each in failed):
        return Standing.OVER_LIMIT
    if any(each.ending is Ending.DIED for each in failed):
        return Standing.ENDED
    if not any(each.calls for _, outcomes in ran for each in outcomes):
        return Standing.FAILS_EARLY if failed else Standing.NEVER_CALLS
    if number in undetermined:
        return Standing.OTHER_CAUSE
    if failed:
        if any(each.report.cause is Cause.MEMORY for each in failed):
            return Standing.TOO_LARGE
        if any(0 < sum(each.passed for each in outcomes) < len(outcomes) for _, outcomes in ran):
            return Standing.SOMETIMES
        is_reference_failing = not any(each.passed for each in ran[0][1])
        return Standing.FAILS_REFERENCE if is_reference_failing else Standing.FAILS_RIGHT
    return Standing.NOT_RUN if is_time_up else Standing.COUNTS


def _of(outcomes: Iterable[TestOutcome], number: int) -> list[TestOutcome]:
    return [each for each in outcomes if each.test == number]


def _undetermined(observations: Sequence[Observation], stopped: Collection[int], *, is_time_up: bool) -> set[int]:
    """Return the tests that have two outcomes after the same transcript, or a different outcome on recorded replies.

    A run that hung or ended its process was not replayed. A replay without an outcome counts as a different one, unless
    the time is up or the test was stopped.
    """
    known: dict[tuple[int, int, str], bool] = {}
    found = set()
    for each in observations:
        for outcome in (*each.outcomes, *(each.replayed or ())):
            key = (outcome.test, outcome.seed, outcome.transcript)
            if known.setdefault(key, outcome.passed) != outcome.passed:
                found.add(outcome.test)
        if each.replayed is None:
            continue
        replayed = {(outcome.test, outcome.seed): outcome for outcome in each.replayed}
        for outcome in each.outcomes:
            if outcome.ending not in BY_ITSELF or outcome.test in stopped:
                continue
            other = replayed.get((outcome.test, outcome.seed))
            if other is None:
                differs = not is_time_up
            else:
                differs = (other.ending, other.transcript) != (outcome.ending, outcome.transcript)
            if differs:
                found.add(outcome.test)
    return found


def _fails_always(observation: Observation, number: int) -> bool:
    """Return whether every run failed. A run that hung or ended its process has no outcome, so it catches nothing."""
    outcomes = _of(observation.outcomes, number)
    return bool(outcomes) and all(each.ending is Ending.FAILED for each in outcomes)


def _fails_sometimes(observation: Observation, number: int) -> bool:
    return any(each.ending is Ending.FAILED for each in _of(observation.outcomes, number))


def _counting(tests: Sequence[TestResult]) -> list[int]:
    """Return the indexes of the tests that count."""
    return [number for number, test in enumerate(tests) if test.standing is Standing.COUNTS]


def count_defects(
    exercise: Exercise, tests: Sequence[TestResult], observations: Sequence[Observation]
) -> list[DefectResult]:
    """Return how each defect is caught when no other is present, without points.

    For a decoy, each wrong fix counts as a defect.
    """
    counting = _counting(tests)
    single = [each for each in observations if each.implementation.role is Role.DEFECTIVE]
    numbers = exercise.numbers()
    stretch = {numbers[defect.id] for defect in exercise.defects if defect.stretch}
    found = []
    for each in sorted(single, key=lambda observation: observation.implementation.number):
        number = each.implementation.number
        always = [test for test in counting if _fails_always(each, test)]
        sometimes = [test for test in counting if _fails_sometimes(each, test)]
        crashes = [all(outcome.report.by_crash for outcome in _of(each.outcomes, test)) for test in always]
        found.append(
            DefectResult(
                number=number,
                stretch=number in stretch,
                caught=Caught.ALWAYS if always else Caught.SOMETIMES if sometimes else Caught.NEVER,
                by=tuple(tests[test].name for test in always),
                sometimes_by=tuple(tests[test].name for test in sometimes if test not in always),
                by_crash=bool(crashes) and all(crashes),
            )
        )
    return found


def count_caught(tests: Sequence[TestResult], observations: Iterable[Observation], roles: Collection[Role]) -> Count:
    """Return how many of the implementations with these roles some counting test catches."""
    counting = _counting(tests)
    wanted = [each for each in observations if each.implementation.role in roles]
    return Count(caught=sum(any(_fails_always(each, test) for test in counting) for each in wanted), of=len(wanted))


def count_with_own_test(tests: Sequence[TestResult], observations: Sequence[Observation]) -> Count:
    """Return how many defects have a test that fails on exactly the implementations with the defect."""
    counting = _counting(tests)
    variants = [each for each in observations if each.implementation.role in (Role.DEFECTIVE, Role.COMBINED)]
    defects = sorted({defect for each in variants for defect in each.implementation.defects})
    fails: Mapping[int, list[bool]] = {test: [_fails_always(each, test) for each in variants] for test in counting}
    have_own_test = [
        any(fails[test] == [defect in each.implementation.defects for each in variants] for test in counting)
        for defect in defects
    ]
    return Count(caught=sum(have_own_test), of=len(defects))


def with_points(result: TrapResult, exercise: Exercise) -> TrapResult:
    """Return the result with the points of this description, which may have changed since the trap was judged."""
    if exercise.defects:
        numbers = exercise.numbers()
        worth = {numbers[defect.id]: defect.points for defect in exercise.defects}
        most = sum(defect.points for defect in exercise.defects if not defect.stretch) + SUBSETS_POINTS
        score = SUBSETS_POINTS if 0 < result.subsets.of == result.subsets.caught else 0.0
    else:
        most, score = exercise.nothing_else_broke, 0.0
        worth = {each.number: most / len(result.defects) for each in result.defects}
    defects = []
    for each in result.defects:
        points = worth.get(each.number, 0.0)
        earned = points if each.caught is Caught.ALWAYS else 0.0
        defects.append(structs.replace(each, points=earned, max_points=points))
    score += sum(each.points for each in defects if not each.stretch)
    extra = sum(each.points for each in defects if each.stretch)
    return structs.replace(result, defects=tuple(defects), score=score, max_score=most, extra=extra)
