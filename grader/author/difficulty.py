"""Usual tests, which miss defects: run on the starter, where they pass; and the difficulty that follows from them."""

import ast
import contextlib
import difflib
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from grader.author.derived_files import without_docstring
from grader.author.proof import Step
from grader.checks.compare import Failure
from grader.checks.context import Context
from grader.checks.outcome import Status
from grader.checks.proxies import MisfitError, Subject
from grader.checks.reference import Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.runner import Runner
from grader.checks.session import Session, SubjectError
from grader.checks.size_cases import size_cases_of
from grader.checks.walk import walk
from grader.errors import KitError
from grader.processes.workers import WorkerSource
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import LossFalls, MatchesReference, Property, RepeatsWithASeed, ReturnsShapes
from grader.spec.wrong_fixes import load_wrong_fixes
from grader.submission import submission_from_text

SEED = 7


class Fault(Struct, frozen=True):
    """What makes a fault hard to find, measured on the reference with this fault alone.

    `missed_by` names those of so many usual tests that pass in spite of it; `shows_at` are the smallest sizes at which
    a check fails, empty where that is a check without sizes, and `grown` says how many of them are not the smallest
    there are. Of so many `checks` only some see it (`seen_by`), and where it `raises`, an error leads to it.
    """

    name: str
    missed_by: list[str]
    usual: int
    shows_at: dict[str, int]
    grown: int
    seen_by: int
    checks: int
    raises: bool
    lines: int

    def __str__(self) -> str:
        lines = f"{self.lines} line{'s' * (self.lines != 1)}"
        missed = f"{len(self.missed_by)} of {self.usual} usual tests miss it"
        seen = f"{self.seen_by} of {self.checks} checks see it{', with an error' * self.raises}"
        return f"{self.name}: {missed}, {seen}, it shows {self.shows_from()}, {lines}"

    def shows_from(self) -> str:
        """The smallest sizes at which it shows, in words."""
        if not self.shows_at:
            return "in a test of its own"
        return "from " + as_arguments(self.shows_at)


EASIEST, HARDEST = 1, 5
MISSED_SHARE, NARROW_SHARE, GROWN_SHARE, LINES_SHARE, SILENT_SHARE = 0.35, 0.25, 0.2, 0.1, 0.1
"""How much each fact counts: usual tests that miss it, checks that miss it, sizes that have to grow, lines to change,
and that no error leads to it."""
MOST_GROWN, MOST_LINES = 3, 6
"""From so many on, more make nothing harder."""
LEAST, MOST = 0.15, 0.9
"""Of what these add up to: at the one a hunt is as easy as any, at the other as hard; the course's lie between."""


def difficulty_of(faults: list[Fault]) -> int:
    """From 1, a first hunt, to 5, by what was measured of an exercise's faults."""
    place = (share_hidden(faults) - LEAST) / (MOST - LEAST)
    return EASIEST + round((HARDEST - EASIEST) * min(max(place, 0.0), 1.0))


def share_hidden(faults: list[Fault]) -> float:
    """What the facts add up to: 0 where all is plain to see, 1 where nothing is."""
    missed = statistics.mean(len(fault.missed_by) / max(fault.usual, 1) for fault in faults)
    narrow = statistics.mean(1 - fault.seen_by / max(fault.checks, 1) for fault in faults)
    grown = statistics.mean(min(fault.grown, MOST_GROWN) for fault in faults) / MOST_GROWN
    lines = min(sum(fault.lines for fault in faults) - 1, MOST_LINES) / MOST_LINES
    silent = statistics.mean(not fault.raises for fault in faults)
    seen = MISSED_SHARE * missed + NARROW_SHARE * narrow + GROWN_SHARE * grown
    return seen + LINES_SHARE * lines + SILENT_SHARE * silent


def run_usual_tests(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Each test that a defect is missed by passes with that defect alone, and on the starter; and the difficulty."""
    course = Course(root)
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference(exercise_id).read_text(encoding="utf-8")
    starter = put_back(reference, exercise.defects)
    problems = []
    count = 0
    with tester(source, course, exercise, starter) as fails_starter:
        for defect in exercise.defects:
            with tester(source, course, exercise, put_back(reference, [defect])) as fails_alone:
                for index, usual in enumerate(defect.missed_by):
                    count += 1
                    for what, fails in (("the starter", fails_starter), (f"{defect.id} alone", fails_alone)):
                        seen = fails(usual.test)
                        if seen:
                            named = f"{defect.id}: missed_by[{index}]: {usual.test.id or type(usual.test).__name__}"
                            problems.append(f"{named} does not miss it: with {what}, {seen}; take it out")
    return [Step("usual tests", str(count), problems), difficulty_step(source, course, exercise)]


def difficulty_step(source: WorkerSource, course: Course, exercise: Exercise) -> Step:
    """The measured difficulty, and a warning where the description has another."""
    faults = measure_faults(source, course, exercise)
    if not faults:
        where = course.wrong_fixes(exercise.id).relative_to(course.root)
        return Step(
            "difficulty", warnings=[f"nothing to measure it by; describe wrong fixes of the starter in {where}"]
        )
    measured = difficulty_of(faults)
    facts = "; ".join(map(str, faults))
    warning = f"{exercise.difficulty} is written, and {measured} is measured ({facts}); write difficulty: {measured}"
    return Step("difficulty", str(measured), warnings=[] if measured == exercise.difficulty else [warning])


def measure_faults(source: WorkerSource, course: Course, exercise: Exercise) -> list[Fault]:
    """The facts about each defect that counts; about each wrong mend of a starter that is right."""
    reference = course.reference(exercise.id).read_text(encoding="utf-8")
    texts = {defect.id: put_back(reference, [defect]) for defect in exercise.defects if not defect.stretch}
    if not exercise.defects:
        texts = {fix.name: fix.text for fix in load_wrong_fixes(course, exercise.id)}
    usual = []
    with tester(source, course, exercise, reference) as fails:
        for test in usual_tests(exercise):
            try:
                if not fails(test):
                    usual.append(test)
            except KitError:
                raise
            except Exception:  # noqa: BLE001, S112 - sizes that the reference refuses are no test of it
                continue

    def missed_by(text: str) -> list[str]:
        with tester(source, course, exercise, text) as fails:
            return [test.id for test in usual if not fails(test)]

    with Runner(course, exercise, source) as runner:
        return [
            Fault(
                name,
                missed_by(text),
                len(usual),
                *_how_it_shows(runner, exercise, text),
                lines_between(reference, text),
            )
            for name, text in texts.items()
        ]


def usual_tests(exercise: Exercise) -> Iterator[Property]:
    """What a tutorial tests: shapes, the smallest sizes, one head or a batch of one, a falling loss, a seed twice."""
    smallest, largest = exercise.fixed_sizes[0], exercise.fixed_sizes[-1]
    yield ReturnsShapes(id="shapes", sizes=[largest])
    yield MatchesReference(id="smallest sizes", sizes=[smallest])
    for name in smallest:
        if smallest[name] == 1 < largest[name]:
            yield MatchesReference(id=f"{name}=1", sizes=[{**largest, name: 1}])
    if exercise.interface.kind.is_module:
        yield LossFalls(id="a falling loss", training=True, sizes=[largest])
        yield RepeatsWithASeed(id="the same seed", sizes=[largest])


def lines_between(one: str, other: str) -> int:
    """How many lines have to be changed, added or taken out to make one module of the other, words about it aside."""
    before, after = (ast.unparse(without_docstring(text)).splitlines() for text in (one, other))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def _how_it_shows(runner: Runner, exercise: Exercise, text: str) -> tuple[dict[str, int], int, int, int, bool]:
    """The smallest sizes at which a check fails, how many of them are above the list's smallest; how many checks see
    it, of how many, and whether most of these end in an error.
    """
    smallest = exercise.fixed_sizes[0]
    outcomes = runner.examine(submission_from_text(text), SEED).outcomes
    found = [
        {name: size for name, size in each.finding.at.items() if name in smallest}
        for each in outcomes
        if each.finding is not None and each.finding.at
    ]

    def grown(sizes: dict[str, int]) -> int:
        return sum(size > smallest[name] for name, size in sizes.items())

    first = min(found, key=lambda sizes: (grown(sizes), sum(sizes.values())), default={})
    seen = [each.status for each in outcomes if each.status is not Status.PASSED]
    raises = 2 * seen.count(Status.CRASHED) > len(seen)
    return first, grown(first) if first else MOST_GROWN, len(seen), len(outcomes), raises


@contextlib.contextmanager
def tester(source: WorkerSource, course: Course, exercise: Exercise, text: str) -> Iterator[Callable[[Property], str]]:
    """What tells of each test what it says of a text, nothing where it passes; one worker runs them all."""
    session = Session(source, exercise, submission_from_text(text))

    def failure_of(test: Property) -> str:
        reference = ReferenceCache(Reference(course.reference(exercise.id), exercise.interface))
        session.renew()
        try:
            walk(test, Context(Subject(session), reference, exercise), size_cases_of(test, exercise, SEED))
        except (Failure, SubjectError, MisfitError) as error:
            return str(error)
        return ""

    try:
        yield failure_of
    finally:
        session.close()
