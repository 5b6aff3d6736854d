"""Find checks that would catch the mutants that survive an exercise's checks."""

import ast
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import structs

from grader.author.differential import Beyond, SourceComparison
from grader.author.first_checks import (
    CheckFields,
    check_of_refusal,
    check_of_training,
    checks_of_forward,
    checks_of_other_values,
    compare_values,
)
from grader.author.interface import FoundInterface, find_interface
from grader.author.mutants import OPERATORS, Mutant
from grader.author.parameters import other_values
from grader.author.proof import Survivor
from grader.author.scaffold import render_check
from grader.checks.outcome import Status
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.processes.workers import WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.fields import shape_of
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import AnyProperty, Raises
from grader.submission import submission_from_text

SEED = 7


def advise(source: WorkerSource, root: Path, exercise_id: str, mutants: list[Mutant]) -> list[Survivor]:
    """Return the survivors, each with checks that catch it, or else with its difference from the reference."""
    course = Course(root=root)
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference_text(exercise_id)
    if not _passes(course, exercise, source, reference):
        return [_survivor(mutant, is_comparable=False) for mutant in mutants]
    interface = find_interface(reference, "the reference")
    beyond = Beyond(
        optional_inputs=[each.name for each in interface.forward if not each.is_required],
        arguments=[{each.name: value} for each in interface.constructor for _, value in other_values(each)],
    )
    survivors = []
    with SourceComparison(source, course, exercise) as comparison, ExitStack() as stack:
        trials = _Trials(course, exercise, source, stack)
        for mutant in mutants:
            proposed = missing_checks(reference, exercise, mutant.line, mutant.text)
            checks = [check for check in proposed if trials.catches(check, reference, mutant.text)]
            difference = "" if checks else comparison.first_difference(mutant.text, beyond=beyond)
            lines = "\n".join(map(render_check, checks))
            survivors.append(_survivor(mutant, checks=lines, difference=difference))
    return survivors


def _survivor(mutant: Mutant, *, checks: str = "", difference: str = "", is_comparable: bool = True) -> Survivor:
    return Survivor(
        mutant=mutant,
        advice=OPERATORS[mutant.operator].advice,
        checks=checks,
        difference=difference,
        is_comparable=is_comparable,
    )


class _Trials:
    """Proposed checks, each with a runner if the reference passes it."""

    def __init__(self, course: Course, exercise: Exercise, source: WorkerSource, stack: ExitStack) -> None:
        self._course = course
        self._exercise = exercise
        self._source = source
        self._stack = stack
        self._runners: dict[str, Runner | None] = {}

    def catches(self, check: CheckFields, reference: str, mutant: str) -> bool:
        """Return whether the reference passes a check that the mutant fails."""
        key = render_check(check)
        if key not in self._runners:
            self._runners[key] = self._runner(check, reference)
        runner = self._runners[key]
        return runner is not None and not _passes_all(runner, mutant, [str(check.get("id", check["property"]))])

    def _runner(self, check: CheckFields, reference: str) -> Runner | None:
        try:
            tried = msgspec.convert({"id": check["property"], **check}, AnyProperty)
            alone = structs.replace(self._exercise, checks=[tried])
            runner = self._stack.enter_context(Runner(self._course, alone, self._source))
            return runner if _passes_all(runner, reference, [tried.id]) else None
        except (msgspec.ValidationError, BrokenExerciseError):
            return None


def _passes(course: Course, exercise: Exercise, source: WorkerSource, text: str) -> bool:
    """Return whether a source passes the checks of the description."""
    try:
        with Runner(course, exercise, source) as runner:
            return _passes_all(runner, text, [check.id for check in exercise.checks])
    except BrokenExerciseError:
        return False


def _passes_all(runner: Runner, text: str, checks: list[str]) -> bool:
    outcomes = runner.examine(submission_from_text(text), SEED, stops_at_failure=True, only=checks).outcomes
    passed = [outcome.check for outcome in outcomes if outcome.status is Status.PASSED]
    return {*passed} == {*checks}


def missing_checks(source: str, exercise: Exercise, line: int, mutant: str = "") -> list[CheckFields]:
    """Return checks of everything that the mutant's line depends on and that no check varies yet.

    The line depends on arguments: on all that it and the conditions around it name, or, if the mutant changed defaults,
    on these arguments alone. It may also depend on buffers that training changes.
    """
    interface = find_interface(source, "the reference")
    words = _changed_defaults(interface, mutant) or _words_about(source, line)
    return [
        *_checks_of_constructor(interface, exercise, words),
        *_checks_of_inputs(interface, exercise, words),
        *_checks_of_statistics(interface, exercise),
        *_checks_of_kind(interface, exercise, words),
    ]


def _checks_of_constructor(interface: FoundInterface, exercise: Exercise, words: set[str]) -> Iterator[CheckFields]:
    """Yield checks of other values, defaults and refusals of the constructor's arguments."""
    given = exercise.interface.constructor
    tried = [*given.items(), *(pair for check in exercise.checks for pair in check.constructor.items())]
    for each in interface.constructor:
        if each.name not in words:
            continue
        is_size = isinstance(given.get(each.name), str)  # the size cases vary it
        others = () if is_size else checks_of_other_values(interface, each, given)
        yield from (check for check in others if (each.name, check["constructor"][each.name]) not in tried)
        is_given = each.name in given and not each.is_required
        if is_given and not any(each.name in check.defaults for check in exercise.checks):
            yield {"property": "matches_reference", "id": "values_by_default", "defaults": [each.name]}
        refusals = (check for check in exercise.checks if isinstance(check, Raises))
        if each.refused and not any(each.name in check.constructor for check in refusals):
            yield check_of_refusal(interface.kind, each)


def _checks_of_inputs(interface: FoundInterface, exercise: Exercise, words: set[str]) -> Iterator[CheckFields]:
    """Yield checks of other inputs."""
    given = [pair for check in exercise.checks for pair in check.inputs.items()]
    for check in checks_of_forward(interface):
        if words & check["inputs"].keys() and not any(pair in given for pair in check["inputs"].items()):
            yield check


def _checks_of_statistics(interface: FoundInterface, exercise: Exercise) -> Iterator[CheckFields]:
    """Yield a check of what training leaves in buffers, unless a check looks at it."""
    if interface.learns_statistics() and not any(getattr(each, "evaluates_last", False) for each in exercise.checks):
        shapes = (shape for spec in exercise.interface.inputs.values() if (shape := shape_of(spec)))
        first = next((axis for shape in shapes for axis in shape[:1] if isinstance(axis, str)), "")
        if first:
            yield check_of_training(first)


def _checks_of_kind(interface: FoundInterface, exercise: Exercise, words: set[str]) -> Iterator[CheckFields]:
    """Yield the checks that the kind of subject suggests."""
    own = {name for check in exercise.checks for name in check.constructor}
    for each in interface.own_checks:
        if each.about in words and not own & each.constructor.keys():
            yield compare_values(each.id, constructor=each.constructor)


def _changed_defaults(interface: FoundInterface, mutant: str) -> set[str]:
    """Return the arguments whose defaults a mutant changed."""
    theirs = find_interface(mutant, "the mutant") if mutant else interface
    ours = {each.name: each.default for each in [*interface.constructor, *interface.forward]}
    return {
        each.name
        for each in [*theirs.constructor, *theirs.forward]
        if ours.get(each.name, each.default) != each.default
    }


def _words_about(source: str, line: int) -> set[str]:
    """Return the names in a line and in the conditions around it."""
    lines = source.splitlines()
    text = lines[line - 1] if line <= len(lines) else ""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            part = getattr(node, "test", None) if hasattr(node, "body") else node
            text += f" {ast.unparse(part)}" if part else ""
    return {*re.findall(r"[A-Za-z_]\w*", text)}
