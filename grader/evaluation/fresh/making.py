"""Make one hunt: draft it, examine its variants, and keep it only if the checks tell all subsets of defects apart."""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from msgspec import structs

from grader.checks.outcome import Examination, FailureKind, Finding, Status, in_words
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError, KitError, SpecError
from grader.evaluation.fresh.drafts import Candidate, candidates_of, rewritten
from grader.evaluation.fresh.made import Made, Origin
from grader.evaluation.fresh.writing import remove_hunt, write_hunt
from grader.processes.workers import WorkerSource
from grader.report.findings import full_text
from grader.spec.exercise import Defect, Exercise
from grader.spec.fragments import fix_defects, make_variant, put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus, VariantComparison
from grader.verdict.digest import meaning
from grader.verdict.key import Key, variant_name
from grader.verdict.key_making import KEY_SEED, extend_time_limit
from grader.verdict.verdict import Result, make_verdict

SECOND_SEED = 81_423
"""A second seed of inputs. A defect must fail the same checks at both seeds: a hunt must not depend on luck."""

MAX_ATTEMPTS = 60
MAX_CANDIDATES = 10
"""Candidates that an attempt tries before it gives up."""

NUMBERS_OF_DEFECTS = {1: 4, 2: 4, 3: 2}
"""The relative frequency of each number of defects."""

MAX_RUNNERS = 40
"""Runners that are kept with the answers of their references. For the whole course they took 1.2 GB."""

POINTS = 3.0
NOTHING_ELSE_BROKE = 1.0
MAX_SYMPTOMS = 4

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in memory, as Python prints it."""


class Dropped(Exception):  # noqa: N818 - not an error: the next attempt follows
    """A draft was dropped; the message is the reason."""


class Maker:
    """Makes hunts from a course's exercises and writes them into another course.

    The seed determines all hunts, one after the other. `dropped` counts the dropped drafts by the reason.
    """

    def __init__(self, course: Course, target: Course, source: WorkerSource, bases: list[str], seed: int) -> None:
        self.dropped: Counter[str] = Counter()
        self._course = course
        self._target = target
        self._source = source
        self._bases = bases
        self._seed = seed
        self._runners: dict[str, Runner] = {}
        self._known: set[str] = set()
        self._unfit: set[Path] = set()

    def close(self) -> None:
        """Close the runners."""
        for runner in self._runners.values():
            runner.close()

    def make(self, exercise_id: str, number: int) -> Made:
        """Write a hunt that differs from all earlier hunts, and return it; raise `KitError` if no draft can be kept."""
        for attempt in range(MAX_ATTEMPTS):
            draw = random.Random(f"{self._seed}/{number}/{attempt}")  # noqa: S311 - repeatable by its seed
            base = draw.choice(self._bases)
            paths = [self._course.reference(base), *sorted(self._course.alternatives(base).glob("*.py"))]
            path = draw.choice([each for each in paths if each not in self._unfit])
            try:
                made = self._drafted(exercise_id, base, path, draw)
                self._write(made, number, path)
            except Dropped as reason:
                self.dropped[str(reason)] += 1
                continue
            return made
        raise KitError(
            f"no draft of {exercise_id} could be kept in {MAX_ATTEMPTS} attempts; choose another seed, or more "
            "exercises with --from"
        )

    def _write(self, made: Made, number: int, path: Path) -> None:
        """Write a hunt and examine it in its course, also with other inputs; if it fails, remove it and raise."""
        write_hunt(self._course, self._target, made, self._seed, number)
        exercise = load_exercise(self._target.description(made.exercise.id))
        try:
            with Runner(self._target, exercise, self._source) as runner, extend_time_limit(runner):
                texts = (made.reference, made.starter())
                reference, starter = (
                    _failing(runner.examine(submission_from_text(text), SECOND_SEED)) for text in texts
                )
        except BrokenExerciseError:
            reference, starter = None, None
        if reference != {}:
            self._unfit.update({path} - {self._course.reference(made.origin.base)})
        if reference != {} or starter != made.signatures[variant_name(frozenset(each.id for each in exercise.defects))]:
            remove_hunt(self._target, made.exercise.id)
            raise Dropped(
                "the written solution fails its own checks" if reference != {} else "the failures depend on the seed"
            )

    def _drafted(self, exercise_id: str, base: str, path: Path, draw: random.Random) -> Made:
        try:
            reference, rules = rewritten(path.read_text(encoding="utf-8"), draw)
        except (SyntaxError, RecursionError) as error:
            raise Dropped("the rewriting rules failed") from error
        runner = self._runner(base)
        with extend_time_limit(runner):
            return self._tried(exercise_id, runner, reference, draw, Origin(base=base, file=path.name, rules=rules))

    def _tried(self, exercise_id: str, runner: Runner, reference: str, draw: random.Random, origin: Origin) -> Made:
        examined = _Examined(runner, reference)
        if _failing(examined.examination(reference)) != {}:
            raise Dropped("the rewritten solution fails a check")
        wanted = draw.choices(list(NUMBERS_OF_DEFECTS), list(NUMBERS_OF_DEFECTS.values()))[0]
        candidates = _visible_candidates(examined, wanted, draw)
        while True:
            try:
                return self._hunt(exercise_id, runner.exercise, examined, candidates, origin)
            except Dropped:
                if len(candidates) == 1:
                    raise
                candidates = candidates[:-1]  # fewer defects are easier to tell apart

    def _hunt(
        self, exercise_id: str, base: Exercise, examined: "_Examined", candidates: list[Candidate], origin: Origin
    ) -> Made:
        """Return the hunt with these defects; raise `Dropped` unless every subset of them is identified."""
        defects = [
            _defect(candidate, number, examined.alone(candidate)) for number, candidate in enumerate(candidates, 1)
        ]
        exercise = structs.replace(
            base,
            id=exercise_id,
            defects=defects,
            nothing_else_broke=NOTHING_ELSE_BROKE,
            equivalents=[],
            near_misses=[],
            decoy="",
            checks=[structs.replace(check, for_=()) for check in base.checks],
            difficulty=1 + len(defects),
        )
        starter = _starter(examined.reference, defects)
        digest = hashlib.sha256(meaning(starter).encode("utf-8", "surrogatepass")).hexdigest()
        if digest in self._known:
            raise Dropped("another hunt is the same")
        signatures, methods = _identified(examined, exercise)
        self._known.add(digest)
        return Made(
            origin=structs.replace(origin, operators=[candidate.operator for candidate in candidates]),
            reference=examined.reference,
            exercise=exercise,
            signatures=signatures,
            methods=methods,
            symptoms=list(_symptoms(examined.examination(starter))),
        )

    def _runner(self, base: str) -> Runner:
        runner = self._runners.pop(base, None)
        if runner is None:
            runner = Runner(self._course, load_exercise(self._course.description(base)), self._source)
        self._runners[base] = runner  # the last one used comes last
        while len(self._runners) > MAX_RUNNERS:
            self._runners.pop(next(iter(self._runners))).close()
        return runner


class _Examined:
    """The examinations of the variants of one draft."""

    def __init__(self, runner: Runner, reference: str) -> None:
        self.reference = reference
        self._runner = runner
        self._first_check = runner.check_ids()[:1]
        self._known: dict[str, Examination] = {}

    def examination(self, text: str) -> Examination:
        """Examine a text, once."""
        if text not in self._known:
            self._known[text] = self._runner.examine(submission_from_text(text), KEY_SEED)
        return self._known[text]

    def crashes_at_once(self, candidate: Candidate) -> bool:
        """Return whether the first check already crashes. This finds most crashes in a fraction of the time."""
        submission = submission_from_text(self.text(candidate))
        return _failing(self._runner.examine(submission, KEY_SEED, only=self._first_check)) is None

    def fails_at_another_seed(self, candidate: Candidate, failing: dict[str, str]) -> bool:
        """Return whether these checks fail in the same way with other inputs."""
        submission = submission_from_text(self.text(candidate))
        return _failing(self._runner.examine(submission, SECOND_SEED, only=failing)) == failing

    def alone(self, candidate: Candidate) -> Examination:
        """Return the examination of the reference with one candidate."""
        return self.examination(self.text(candidate))

    def text(self, candidate: Candidate) -> str:
        """Return the reference with the candidate put into it."""
        lines = self.reference.split("\n")
        lines[candidate.first : candidate.end] = candidate.was.split("\n")
        return "\n".join(lines)


def _failing(examination: Examination) -> dict[str, str] | None:
    """Return the signatures of failed checks; None if some check neither passed nor failed by a comparison."""
    if examination.unloadable is not None:
        return None
    if any(each.status not in (Status.PASSED, Status.FAILED) for each in examination.outcomes):
        return None
    return {each.check: each.signature() for each in examination.outcomes if each.status is not Status.PASSED}


def _visible_candidates(examined: _Examined, wanted: int, draw: random.Random) -> list[Candidate]:
    """Return at most `wanted` candidates. Each alone fails some check by a value, and no two fail in the same way."""
    found: list[Candidate] = []
    failures: list[dict[str, str]] = []
    tried = 0
    for candidate in candidates_of(examined.reference, draw):
        if tried == MAX_CANDIDATES or len(found) == wanted:
            break
        if any(candidate.meets(other) for other in found):
            continue
        tried += 1
        if examined.crashes_at_once(candidate):
            continue
        failing = _failing(examined.alone(candidate))
        if failing and failing not in failures and examined.fails_at_another_seed(candidate, failing):
            found.append(candidate)
            failures.append(failing)
    if not found:
        raise Dropped("no candidate fails a check")
    return found


def _starter(reference: str, defects: list[Defect]) -> str:
    """Return the starter; raise `Dropped` unless the fragments can be put back and fixed in any combination."""
    try:
        starter = put_back(reference, defects)
        subsets = [part for size in range(1, len(defects)) for part in combinations(defects, size)]
        for subset in subsets:
            put_back(reference, subset)
            fix_defects(starter, subset)
        if fix_defects(starter, defects) != reference:
            raise Dropped("the fragments do not restore the solution")
    except SpecError as error:
        raise Dropped("the fragments do not restore the solution") from error
    return starter


def _identified(examined: _Examined, exercise: Exercise) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return the signatures and the methods of every variant; raise `Dropped` unless each one is identified exactly."""
    signatures: dict[str, dict[str, str]] = {}
    methods: dict[str, dict[str, str]] = {}
    subsets = list(exercise.subsets())
    for subset in subsets:
        examination = examined.examination(make_variant(examined.reference, exercise, subset))
        failing = _failing(examination)
        if failing is None:
            raise Dropped("defects crash together")
        if failing in signatures.values():
            raise Dropped("two subsets of defects look alike")
        signatures[variant_name(subset)] = failing
        methods[variant_name(subset)] = examination.methods
    key = Key(digest="", signatures=signatures, methods=methods)
    for subset in subsets:
        examination = examined.examination(make_variant(examined.reference, exercise, subset))
        verdict = make_verdict(VariantComparison(exercise, key, examination), "", KEY_SEED)
        present = {each.id for each in verdict.defects if each.status is DefectStatus.PRESENT}
        unknown = any(each.status is DefectStatus.UNKNOWN for each in verdict.defects)
        is_right = (verdict.outcome is Result.FIXED) == (not subset)
        if present != subset or unknown or verdict.regressions or not is_right:
            raise Dropped("a subset of defects is not identified")
    return signatures, methods


def _defect(candidate: Candidate, number: int, alone: Examination) -> Defect:
    """Describe a candidate as a defect. Its hints are made from the findings of checks on it alone."""
    first = next(each for each in alone.outcomes if each.finding is not None)
    assert first.finding is not None
    check = in_words(first.check)
    where = f"in {candidate.method}" if candidate.method else "at the top of the file"
    was, fix = (" ".join(text.split()) for text in (candidate.was, candidate.fix))
    return Defect(
        id=f"{re.sub(r'[^a-z0-9]+', '-', candidate.operator.lower())}-{number}",
        title=f"{candidate.operator}, {where}",
        points=POINTS,
        was=candidate.was,
        fix=candidate.fix,
        hints=(
            f"Repeat this observation with a few lines of your own: {_without_place(first.finding)}.",
            f'Print every tensor at the smallest sizes at which "{check}" fails. Which is the first that looks wrong?',
            f"Look {where} for the lines that begin with: {_beginning(candidate.was)}",
        ),
        why=f"The code was: {was} It should be: {fix}",
    )


def _beginning(fragment: str) -> str:
    """Return the first word of each line of a fragment."""
    return ", ".join(dict.fromkeys(line.split()[0].split("(")[0] for line in fragment.split("\n") if line.strip()))


def _symptoms(examination: Examination) -> Iterator[str]:
    """Yield what the checks observed, each kind of failure once, at most a few."""
    sentences: dict[FailureKind, str] = {}
    for outcome in examination.outcomes:
        if outcome.finding is not None and outcome.finding.kind not in sentences:
            sentences[outcome.finding.kind] = _without_place(outcome.finding)
    yield from list(sentences.values())[:MAX_SYMPTOMS]


def _without_place(finding: Finding) -> str:
    """Return a finding in words, without the line of the code and without addresses, which differ in every run."""
    return ADDRESS.sub("", full_text(structs.replace(finding, location=None)))
