"""Grade one submission, from files to verdict."""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from grader.course.fragments import put_back
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.examiner.outcome import Examination, Finding, Key, Outcome, Status
from grader.submission import Submission, Unreadable, exceeds, read_submission, submission_from_text
from grader.verdict.attribution import look_alikes
from grader.verdict.likeness import tell_apart
from grader.verdict.verdict import Verdict, judge, judge_public, not_gradable

if TYPE_CHECKING:
    from grader.examiner.examiner import Examiner
    from grader.examiner.pytest_session import Examiners

T = TypeVar("T")

MAX_SEED = 2**31
MOST_LOOK_ALIKES = 4
"""Look-alikes whose numbers are compared; where there are more, a crash hides the rest and numbers with it."""

CAN_FORK = sys.platform == "linux"
"""Forking a process that holds torch is safe on Linux; macOS's system libraries forbid it, Windows cannot."""


class Choice(Struct, frozen=True):
    """The file that is graded, and what to say first about it."""

    path: Path
    remark: str = ""


class Variant(Struct, frozen=True):
    """A variant's source, and the fingerprint of its syntax tree."""

    source: Submission
    tree: str


def choose_file(course: Course, exercise_id: str) -> Choice:
    """The module, unless only the notebook was edited; the newer one where both were."""
    module, notebook = course.editable_files(exercise_id)
    edited = [path for path in (module, notebook) if is_edited(course, path)]
    if len(edited) == 1:
        return Choice(edited[0])
    if not edited:
        return Choice(module)
    newer = max(edited, key=lambda path: path.stat().st_mtime_ns)
    return Choice(
        newer, f"Both {module.name} and {notebook.name} were edited; this is about {newer.name}, the newer one."
    )


def is_edited(course: Course, path: Path) -> bool:
    """Whether the code differs from the starter's; a notebook's outputs and a file's line endings do not count."""
    pristine = course.pristine(path)
    if not path.is_file() or not pristine.exists() or path.read_bytes() == pristine.read_bytes():
        return False
    ours, theirs = read_submission(path, path.name), read_submission(pristine, path.name)
    return isinstance(ours, Unreadable) or ours != theirs


def grade(
    course: Course,
    exercise_id: str,
    path: Path,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
    tell: Callable[[Verdict], None] = lambda _verdict: None,
) -> Verdict:
    """The verdict on the file at `path`; `seed` is that of the inputs, fresh and secret where none is given.

    `tell` hears of it before everything is cleared away. `strict` refuses, with an `OpenHostError`, where a submission
    could reach files or the network. Raises `SpecError` for a wrong description and `BrokenExerciseError` when the
    reference fails.
    """
    name = _shown_path(course, path)
    seed = secrets.randbelow(MAX_SEED) if seed is None else seed
    submission = read_submission(path, path.name)
    if isinstance(submission, Unreadable):
        verdict = _ungraded(load_exercise(course.description(exercise_id)), name, seed, submission)
        tell(verdict)
        return verdict

    def body(judge: Judge) -> Verdict:
        verdict = judge(exercise_id, submission, name, seed)
        tell(verdict)
        return verdict

    return with_judge(course, body, spawn=spawn, strict=strict, first=exercise_id)


class Judge:
    """Judges submissions at a examiners; an exercise is opened when it is first asked for."""

    def __init__(self, course: Course, examiners: "Examiners") -> None:
        self._course = course
        self._examiners = examiners
        self._opened: dict[str, tuple[Exercise, Key]] = {}
        self._look_alikes_seen: dict[tuple[str, str, int, str], dict[str, Outcome]] = {}
        self._variants: dict[tuple[str, str], Variant] = {}

    def __call__(
        self, exercise_id: str, submission: Submission, file: str, seed: int, *, dtype: str = "float32"
    ) -> Verdict:
        """The verdict; `dtype` is torch's default dtype where the submission runs.

        `SpecError` for a wrong description, `BrokenExerciseError` when the reference fails.
        """
        exercise, key = self.open(exercise_id)
        too_large = exceeds(submission, exercise.limits.source_bytes)
        if too_large is not None:
            return _ungraded(exercise, file, seed, too_large)
        examiner = self._examiners.examiner(exercise)
        seen = examiner.examine(submission, seed, dtype=dtype)
        if exercise.is_public():
            return judge_public(exercise, seen, file, seed)
        alike = [] if seen.unloadable else look_alikes(exercise, key, seen)
        everything = "+".join(sorted(defect.id for defect in exercise.defects))
        if 0 < len(alike) <= MOST_LOOK_ALIKES and not {"", everything} & {*alike}:  # some are mended and some are not
            seen = self._told_apart(examiner, submission, seen, alike, dtype)
        return judge(exercise, key, seen, file, seed)

    def _told_apart(
        self, examiner: "Examiner", submission: Submission, seen: Examination, alike: list[str], dtype: str
    ) -> Examination:
        """What was seen, compared with what is seen of the look-alikes, unless the submission is one of them."""
        tree = self.fingerprint(submission)
        if tree and any(tree == self._variant(examiner.exercise, name).tree for name in alike):
            return seen
        failed = {outcome.check for outcome in seen.outcomes if outcome.status is Status.FAILED}
        return tell_apart(seen, [self._look_alike(examiner, name, failed, dtype) for name in alike])

    def _look_alike(self, examiner: "Examiner", name: str, checks: set[str], dtype: str) -> Examination:
        """What these checks see of a variant at the seed of the submission."""
        exercise, seed = examiner.exercise, examiner.seed
        self._look_alikes_seen = {
            twin: outcomes for twin, outcomes in self._look_alikes_seen.items() if twin[2:] == (seed, dtype)
        }
        known = self._look_alikes_seen.setdefault((exercise.id, name, seed, dtype), {})
        if not checks <= known.keys():
            seen = examiner.examine(self._variant(exercise, name).source, seed, dtype=dtype, only=checks - known.keys())
            known.update({outcome.check: outcome for outcome in seen.outcomes})
        return Examination([known[check] for check in checks if check in known])

    def _variant(self, exercise: Exercise, name: str) -> Variant:
        """The reference with the defects that the name joins put back, written and read once."""
        if (exercise.id, name) not in self._variants:
            defects = [defect for defect in exercise.defects if defect.id in name.split("+")]
            reference = self._course.reference(exercise.id).read_text(encoding="utf-8")
            source = submission_from_text(put_back(reference, defects))
            self._variants[exercise.id, name] = Variant(source, self.fingerprint(source))
        return self._variants[exercise.id, name]

    def prepare(self, exercise_id: str) -> None:
        """Have the last worker cleared away, and the next one started, while nobody waits for it."""
        self._examiners.source.settle()
        if exercise_id in self._opened:
            exercise, _ = self._opened[exercise_id]
            self._examiners.source.order(exercise.limits)

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._examiners.reader.fingerprint(submission)

    def open(self, exercise_id: str) -> tuple[Exercise, Key]:
        """The exercise and its key, the reference having been examined."""
        if exercise_id not in self._opened:
            from grader.examiner.key import find_key

            exercise = load_exercise(self._course.description(exercise_id))
            examiner = self._examiners.examiner(exercise)
            key = Key("", {}, {}) if exercise.is_public() else find_key(self._course, examiner)
            self._opened[exercise_id] = exercise, key
        return self._opened[exercise_id]


def with_judge(
    course: Course,
    body: Callable[[Judge], T],
    *,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
    first: str = "",
    for_many: bool = False,
) -> T:
    """What `body` returns, given a judge: the nursery is forked before any description, reference or check is opened.

    A worker for the exercise named `first` is started ahead. A judge `for_many` submissions takes a little longer to
    start, and less for each of them.
    """
    from grader.examiner.torch_import import assert_single_thread, import_torch

    import_torch(for_many=for_many)
    from grader.examiner.workers import Nursery, WorkerSource, hide_memory

    hide_memory()
    source: WorkerSource
    if spawn:
        from grader.examiner.spawner import Spawner

        source = Spawner()
    else:
        assert_single_thread()
        source = Nursery()
    try:
        if first:
            source.order(load_exercise(course.description(first)).limits)  # forked while pytest is being imported

        from grader.examiner.pytest_session import with_examiners

        return with_examiners(course, source, lambda examiners: body(Judge(course, examiners)), strict=strict)
    finally:
        source.close()


def _ungraded(exercise: Exercise, name: str, seed: int, why: Unreadable) -> Verdict:
    return not_gradable(exercise, name, seed, Finding("unreadable", why.reason))


def _shown_path(course: Course, path: Path) -> str:
    """The path as verdicts show it: inside the course where it lies there."""
    absolute = path.absolute()
    return str(absolute.relative_to(course.root)) if absolute.is_relative_to(course.root) else str(path)
