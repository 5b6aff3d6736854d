"""The judge of submissions: from a file, or a source that was read, to its verdict."""

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Self

from msgspec import Struct, structs

from grader.checks.outcome import Examination, Key, Status, has_defect, variant_name
from grader.errors import WorkerKilledError
from grader.processes.worker_source import CAN_FORK, open_worker_source
from grader.processes.workers import Fingerprinter, WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, read_submission, submission_from_text
from grader.submission.choice import Choice
from grader.verdict.attribution import matching_variants
from grader.verdict.matching import find_partial_fixes, is_same, tell_apart
from grader.verdict.verdict import Verdict, make_verdict, refuse

MAX_SEED = 2**31
MOST_MATCHING_VARIANTS = 4
"""Matching variants whose numbers are compared; where there are more, a crash hides the rest and numbers with it."""


class Variant(Struct, frozen=True):
    """A variant's source, and the fingerprint of its syntax tree."""

    source: Submission
    tree: str


def judge_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Verdict:
    """Return the verdict on a file; see `judging_file`."""
    with judging_file(course, exercise_id, choice, seed=seed, spawn=spawn, strict=strict) as verdict:
        return verdict


@contextmanager
def judging_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Iterator[Verdict]:
    """Give the verdict on a file before the processes that judged it are ended, which takes a while.

    `seed` is that of the inputs; None draws a fresh and secret one. `strict` refuses, with an `OpenHostError`, where a
    submission could reach files or the network. Raises `SpecError` for a wrong description and `BrokenExerciseError`
    when the reference fails.
    """
    name = course.shown(choice.path)
    seed = secrets.randbelow(MAX_SEED) if seed is None else seed
    exercise = load_exercise(course.description(exercise_id))
    refused = refuse(exercise, choice.read, name, seed)
    if refused is not None:
        yield refused
        return
    assert isinstance(choice.read, Submission)
    with open_judge(course, spawn=spawn, strict=strict, first=exercise_id) as judge:
        yield judge(exercise_id, choice.read, name, seed)


@contextmanager
def open_judge(
    course: Course, *, spawn: bool = not CAN_FORK, strict: bool = False, first: str = "", for_many: bool = False
) -> Iterator["Judge"]:
    """Open a judge with a worker source of its own, opened before any description, check or reference is.

    A worker for the exercise named `first` is started ahead. A judge `for_many` submissions takes a little longer to
    start, and less time for each submission.
    """
    with closing(open_worker_source(course.secret_folders(), spawn=spawn, for_many=for_many)) as source:
        if first:
            source.start_ahead(load_exercise(course.description(first)).limits)  # forked while the checks are imported
        with Judge(course, source, strict=strict) as judge:
            yield judge


class Judge:
    """The one path from a submission to its verdict; an exercise is opened when it is first asked for.

    What `refuse` refuses does not come here.
    """

    def __init__(self, course: Course, source: WorkerSource, *, strict: bool = False) -> None:
        from grader.checks.runner import Runner  # now: workers are copies of the process that opened their source

        self._course = course
        self._source = source
        self._strict = strict
        self._fingerprinter = Fingerprinter(source)
        self._runners: dict[str, Runner] = {}
        self._keys: dict[str, Key] = {}
        self._matching_variants_at = (-1, "")
        """Seed and dtype of the examinations below."""
        self._matching_variants: dict[tuple[str, str], Examination] = {}
        self._variants: dict[tuple[str, str], Variant] = {}
        self._starters: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what was opened for the exercises; the worker source stays open."""
        self._fingerprinter.close()
        for runner in self._runners.values():
            runner.close()

    def __call__(
        self, exercise_id: str, submission: Submission, file: str, seed: int, *, dtype: str = "float32"
    ) -> Verdict:
        """The verdict; `file` is what it calls the submission, `dtype` torch's default dtype meanwhile.

        `SpecError` for a wrong description, `BrokenExerciseError` when the reference fails, `WorkerKilledError` where
        its worker was killed from outside, and killed once more when it was judged again.
        """
        try:
            return self._judge(exercise_id, submission, file, seed, dtype)
        except WorkerKilledError:
            return self._judge(exercise_id, submission, file, seed, dtype)

    def _judge(self, exercise_id: str, submission: Submission, file: str, seed: int, dtype: str) -> Verdict:
        exercise, key = self.open(exercise_id)
        runner = self._runners[exercise_id]
        if runner.recording is not None:
            return self._judge_sealed(exercise_id, submission, file, seed)
        examination = runner.examine(submission, seed, dtype=dtype)
        matching = [] if examination.unloadable else matching_variants(exercise, key, examination)
        if (
            0 < len(matching) <= MOST_MATCHING_VARIANTS and "" not in matching
        ):  # nothing fails as it does where nothing is wrong
            examination = self._told_apart(exercise, submission, examination, matching, dtype)
        if not examination.unloadable:
            examination = find_partial_fixes(
                exercise, key, examination, lambda name, checks: self._matching_variant(exercise, name, checks, dtype)
            )
        return make_verdict(exercise, key, examination, file, seed)

    def _judge_sealed(self, exercise_id: str, submission: Submission, file: str, seed: int) -> Verdict:
        """The same by what was recorded, at one of the recorded seeds.

        No syntax trees of variants are known: matching variants are told apart by numbers, and the starter by its
        own tree.
        """
        exercise, key = self.open(exercise_id)
        runner = self._runners[exercise_id]
        recording = runner.recording
        assert recording is not None
        seed = recording.seed_for(seed)
        examination = runner.examine(submission, seed)
        matching = [] if examination.unloadable else matching_variants(exercise, key, examination)
        recorded = {name: recording.failures(seed, name) for name in matching}
        same = [name for name, variant in recorded.items() if _is_seen_in(examination, variant)]
        if 0 < len(matching) <= MOST_MATCHING_VARIANTS and "" not in matching:
            examination = tell_apart(examination, list(recorded.values()))
        if not examination.unloadable:
            examination = find_partial_fixes(exercise, key, examination, lambda name, _: recording.failures(seed, name))
        if matching and self._is_starter(exercise.id, submission):
            same = [variant_name(frozenset(defect.id for defect in exercise.defects))]
        examination = structs.replace(examination, known_defects=_known_defects(exercise, same))
        return make_verdict(exercise, key, examination, file, seed)

    def _is_starter(self, exercise_id: str, submission: Submission) -> bool:
        """Whether a submission differs from the starter in layout and comments at most."""
        module, _ = self._course.editable_files(exercise_id)
        if exercise_id not in self._starters:
            starter = read_submission(self._course.pristine(module), module.name)
            self._starters[exercise_id] = self.fingerprint(starter) if isinstance(starter, Submission) else ""
        return self.fingerprint(submission) == self._starters[exercise_id] != ""

    def _told_apart(
        self, exercise: Exercise, submission: Submission, examination: Examination, matching: list[str], dtype: str
    ) -> Examination:
        """The examination, compared with those of the matching variants, unless the submission is one of them."""
        tree = self.fingerprint(submission)
        if tree and any(tree == self._variant(exercise, name).tree for name in matching):
            return examination
        failed = {outcome.check for outcome in examination.outcomes if outcome.status is Status.FAILED}
        return tell_apart(examination, [self._matching_variant(exercise, name, failed, dtype) for name in matching])

    def _matching_variant(self, exercise: Exercise, name: str, checks: set[str], dtype: str) -> Examination:
        """The examination of a variant by these checks, at the seed and dtype of the submission."""
        runner = self._runners[exercise.id]
        seed_and_dtype = (runner.seed, dtype)
        if seed_and_dtype != self._matching_variants_at:
            self._matching_variants_at, self._matching_variants = seed_and_dtype, {}
        known = self._matching_variants.setdefault((exercise.id, name), Examination([]))
        missing = checks - {outcome.check for outcome in known.outcomes}
        if missing:
            more = runner.examine(self._variant(exercise, name).source, runner.seed, dtype=dtype, only=missing)
            known = Examination([*known.outcomes, *more.outcomes], saw={**known.saw, **more.saw})
            self._matching_variants[exercise.id, name] = known
        return known

    def _variant(self, exercise: Exercise, name: str) -> Variant:
        """The reference with the defects that the name joins put back, written and read once."""
        if (exercise.id, name) not in self._variants:
            defects = [defect for defect in exercise.defects if has_defect(name, defect.id)]
            reference = self._course.reference(exercise.id).read_text(encoding="utf-8")
            source = submission_from_text(put_back(reference, defects))
            self._variants[exercise.id, name] = Variant(source, self.fingerprint(source))
        return self._variants[exercise.id, name]

    def prepare(self, exercise_id: str) -> None:
        """Have the last worker cleared away, and the next one started, while nobody waits for it."""
        self._source.settle()
        if exercise_id in self._keys:
            self._source.start_ahead(self._runners[exercise_id].exercise.limits)

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._fingerprinter.fingerprint(submission)

    def open(self, exercise_id: str) -> tuple[Exercise, Key]:
        """The exercise and its key, the reference having been examined."""
        if exercise_id not in self._runners:
            from grader.checks.runner import Runner

            exercise = load_exercise(self._course.description(exercise_id))
            self._runners[exercise_id] = Runner(self._course, exercise, self._source, strict=self._strict)
        runner = self._runners[exercise_id]
        if exercise_id not in self._keys:
            from grader.verdict.signatures import find_key

            self._keys[exercise_id] = find_key(self._course, runner)
        return runner.exercise, self._keys[exercise_id]


def _is_seen_in(seen: Examination, matching_variant: Examination) -> bool:
    """Whether all that failed checks saw of a submission is what they see of a matching variant."""
    return all(is_same(value, matching_variant.saw.get(check)) for check, value in seen.saw.items())


def _known_defects(exercise: Exercise, variants: list[str]) -> dict[str, bool]:
    """Whether each defect is there, of those that all of the variants have or none."""
    found = {each.id: {has_defect(name, each.id) for name in variants} for each in exercise.defects}
    return {name: is_there.pop() for name, is_there in found.items() if len(is_there) == 1}
