"""The judge of submissions: from a file, or a source that was read, to its verdict."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, structs

from grader.checks.outcome import Examination, Key, Status, has_defect, variant_name
from grader.errors import WorkerKilledError
from grader.processes.worker_source import CAN_FORK, open_worker_source
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, read_submission, submission_from_text
from grader.submission.choice import Choice
from grader.verdict.attribution import matching_variants
from grader.verdict.matching import find_partial_fixes, is_same, tell_apart
from grader.verdict.verdict import Verdict, make_verdict, refuse

if TYPE_CHECKING:
    from grader.checks.examiner import Examiner
    from grader.checks.pytest_session import Examiners
    from grader.checks.recording import Recording

T = TypeVar("T")

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
    tell: Callable[[Verdict], None] = lambda _verdict: None,
) -> Verdict:
    """The verdict on a file; `seed` is that of the inputs, fresh and secret where none is given.

    `tell` hears of it before everything is cleared away. `strict` refuses, with an `OpenHostError`, where a submission
    could reach files or the network. Raises `SpecError` for a wrong description and `BrokenExerciseError` when the
    reference fails.
    """
    name = course.shown(choice.path)
    seed = secrets.randbelow(MAX_SEED) if seed is None else seed
    exercise = load_exercise(course.description(exercise_id))
    verdict = refuse(exercise, choice.read, name, seed)
    if verdict is not None:
        tell(verdict)
        return verdict

    def body(judge: Judge) -> Verdict:
        assert isinstance(choice.read, Submission)
        verdict = judge(exercise_id, choice.read, name, seed)
        tell(verdict)
        return verdict

    return with_judge(course, body, spawn=spawn, strict=strict, first=exercise_id)


class Judge:
    """The one path from a submission to its verdict; an exercise is opened when it is first asked for.

    What `refuse` refuses does not come here.
    """

    def __init__(self, course: Course, examiners: "Examiners") -> None:
        self._course = course
        self._examiners = examiners
        self._opened: dict[str, tuple[Exercise, Key]] = {}
        self._matching_variants_drawn_by = (-1, "")
        self._matching_variants_seen: dict[tuple[str, str], Examination] = {}
        self._variants: dict[tuple[str, str], Variant] = {}
        self._starters: dict[str, str] = {}

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
        examiner = self._examiners.examiner(exercise)
        if examiner.recording is not None:
            return self._judge_sealed(examiner, examiner.recording, submission, file, seed)
        seen = examiner.examine(submission, seed, dtype=dtype)
        alike = [] if seen.unloadable else matching_variants(exercise, key, seen)
        if (
            0 < len(alike) <= MOST_MATCHING_VARIANTS and "" not in alike
        ):  # nothing fails as it does where nothing is wrong
            seen = self._told_apart(examiner, submission, seen, alike, dtype)
        if not seen.unloadable:
            seen = find_partial_fixes(
                exercise, key, seen, lambda name, checks: self._matching_variant(examiner, name, checks, dtype)
            )
        return make_verdict(exercise, key, seen, file, seed)

    def _judge_sealed(
        self, examiner: "Examiner", recording: "Recording", submission: Submission, file: str, seed: int
    ) -> Verdict:
        """The same by what was recorded, at one of the recorded seeds.

        No syntax trees of variants are known: matching variants are told apart by numbers, and the starter by its
        own tree.
        """
        exercise, key = self.open(examiner.exercise.id)
        seed = recording.seed_for(seed)
        seen = examiner.examine(submission, seed)
        alike = [] if seen.unloadable else matching_variants(exercise, key, seen)
        known = {name: recording.variant(seed, name) for name in alike}
        same = [name for name, variant in known.items() if _is_seen_in(seen, variant)]
        if 0 < len(alike) <= MOST_MATCHING_VARIANTS and "" not in alike:
            seen = tell_apart(seen, list(known.values()))
        if not seen.unloadable:
            seen = find_partial_fixes(exercise, key, seen, lambda name, _: recording.variant(seed, name))
        if alike and self._is_starter(exercise.id, submission):
            same = [variant_name(frozenset(defect.id for defect in exercise.defects))]
        seen = structs.replace(seen, known_defects=_known_defects(exercise, same))
        return make_verdict(exercise, key, seen, file, seed)

    def _is_starter(self, exercise_id: str, submission: Submission) -> bool:
        """Whether a submission differs from the starter in layout and comments at most."""
        module, _ = self._course.editable_files(exercise_id)
        if exercise_id not in self._starters:
            starter = read_submission(self._course.pristine(module), module.name)
            self._starters[exercise_id] = self.fingerprint(starter) if isinstance(starter, Submission) else ""
        return self.fingerprint(submission) == self._starters[exercise_id] != ""

    def _told_apart(
        self, examiner: "Examiner", submission: Submission, seen: Examination, alike: list[str], dtype: str
    ) -> Examination:
        """What was seen, compared with what is seen of the matching variants, unless the submission is one of them."""
        tree = self.fingerprint(submission)
        if tree and any(tree == self._variant(examiner.exercise, name).tree for name in alike):
            return seen
        failed = {outcome.check for outcome in seen.outcomes if outcome.status is Status.FAILED}
        return tell_apart(seen, [self._matching_variant(examiner, name, failed, dtype) for name in alike])

    def _matching_variant(self, examiner: "Examiner", name: str, checks: set[str], dtype: str) -> Examination:
        """What these checks see of a variant at the seed and dtype of the submission."""
        exercise, drawn_by = examiner.exercise, (examiner.seed, dtype)
        if drawn_by != self._matching_variants_drawn_by:
            self._matching_variants_drawn_by, self._matching_variants_seen = drawn_by, {}
        known = self._matching_variants_seen.setdefault((exercise.id, name), Examination([]))
        missing = checks - {outcome.check for outcome in known.outcomes}
        if missing:
            seen = examiner.examine(self._variant(exercise, name).source, examiner.seed, dtype=dtype, only=missing)
            known = Examination([*known.outcomes, *seen.outcomes], saw={**known.saw, **seen.saw})
            self._matching_variants_seen[exercise.id, name] = known
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
        self._examiners.source.settle()
        if exercise_id in self._opened:
            exercise, _ = self._opened[exercise_id]
            self._examiners.source.start_ahead(exercise.limits)

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._examiners.fingerprinter.fingerprint(submission)

    def open(self, exercise_id: str) -> tuple[Exercise, Key]:
        """The exercise and its key, the reference having been examined."""
        if exercise_id not in self._opened:
            from grader.verdict.signatures import find_key

            exercise = load_exercise(self._course.description(exercise_id))
            examiner = self._examiners.examiner(exercise)
            self._opened[exercise_id] = exercise, find_key(self._course, examiner)
        return self._opened[exercise_id]


def _is_seen_in(seen: Examination, matching_variant: Examination) -> bool:
    """Whether all that failed checks saw of a submission is what they see of a matching variant."""
    return all(is_same(value, matching_variant.saw.get(check)) for check, value in seen.saw.items())


def _known_defects(exercise: Exercise, variants: list[str]) -> dict[str, bool]:
    """Whether each defect is there, of those that all of the variants have or none."""
    found = {each.id: {has_defect(name, each.id) for name in variants} for each in exercise.defects}
    return {name: is_there.pop() for name, is_there in found.items() if len(is_there) == 1}


def with_judge(
    course: Course,
    body: Callable[[Judge], T],
    *,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
    first: str = "",
    for_many: bool = False,
) -> T:
    """What `body` returns, given a judge; workers come from a source opened before any description, reference or check.

    A worker for the exercise named `first` is started ahead. A judge `for_many` submissions takes a little longer to
    start, and less for each of them.
    """
    source = open_worker_source(course.secret_folders(), spawn=spawn, for_many=for_many)
    try:
        if first:
            source.start_ahead(load_exercise(course.description(first)).limits)  # forked while pytest is being imported

        from grader.checks.pytest_session import with_examiners

        return with_examiners(course, source, lambda examiners: body(Judge(course, examiners)), strict=strict)
    finally:
        source.close()
