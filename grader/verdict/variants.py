"""Variants for the judge: made from the reference and examined, or recorded in a sealed edition."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import msgspec
from msgspec import Struct

from grader.checks.outcome import Examination, FailurePoint
from grader.checks.recording import Recording
from grader.checks.runner import Runner
from grader.errors import KitError
from grader.spec.fragments import make_near_miss, put_back
from grader.spec.paths import Course
from grader.submission import Submission, read_submission, submission_from_text
from grader.verdict.key import Key, has_defect, variant_name
from grader.verdict.key_making import find_key
from grader.verdict.matching import find_kept_fixes, is_same

MAX_EXAMINATIONS = 16
"""The most examinations of variants at single points that are kept. Each takes a few megabytes at most."""

Fingerprint = Callable[[Submission], str]
"""Return the same text for sources that differ only in layout and comments; empty without a syntax tree."""


class VariantSource(ABC):
    """The variants of one exercise: the key and the examinations."""

    @abstractmethod
    def key(self) -> Key:
        """Return the exercise's key; raise `BrokenExerciseError` if the reference fails its own checks."""

    @abstractmethod
    def seed_for(self, seed: int) -> int:
        """Return the seed to use for a submission if `seed` was requested."""

    @abstractmethod
    def is_one_of(self, submission: Submission, names: list[str]) -> bool:
        """Return whether the submission has the syntax tree of one of the variants."""

    @abstractmethod
    def examine(self, name: str, checks: set[str], seed: int, dtype: str) -> Examination:
        """Return the examination of a variant by at least these checks."""

    @abstractmethod
    def examine_at(self, name: str, points: dict[str, FailurePoint], seed: int, dtype: str) -> Examination:
        """Return the examination of a variant by these checks, each alone at the point where a submission failed."""

    @abstractmethod
    def examine_ahead(self, names: list[str], seed: int, is_idle: Callable[[], bool]) -> None:
        """Examine variants at a seed, one check after the other. Stop once the process is no longer idle."""

    @abstractmethod
    def kept_fixes(self, submission: Submission) -> frozenset[str]:
        """Return the defects whose fix occurs literally in the submission; none if the edition lacks the fixes."""

    @abstractmethod
    def indistinguishable(
        self, submission: Submission, examination: Examination, names: list[str], seed: int
    ) -> list[str]:
        """Return the variants that the submission may equal; none if syntax trees can distinguish the variants."""


def open_variants(course: Course, runner: Runner, fingerprint: Fingerprint) -> VariantSource:
    """Return the variants of the runner's exercise; the recorded ones if the edition has a recording."""
    if runner.recording is not None:
        return RecordedVariants(course, runner, runner.recording, fingerprint)
    return ExaminedVariants(course, runner, fingerprint)


class _Variant(Struct, frozen=True, kw_only=True):
    """A variant's source, and the fingerprint of its syntax tree."""

    source: Submission
    tree: str


class ExaminedVariants(VariantSource):
    """Variants that are made from the reference and examined when they are needed."""

    def __init__(self, course: Course, runner: Runner, fingerprint: Fingerprint) -> None:
        self._course = course
        self._runner = runner
        self._fingerprint = fingerprint
        self._variants: dict[str, _Variant] = {}
        self._settings = (-1, "")
        """Seed and dtype of the examinations below. Both are kept for all submissions at these settings."""
        self._examinations: dict[str, Examination] = {}
        self._examinations_at: dict[tuple[str, frozenset[tuple[str, FailurePoint]]], Examination] = {}

    def key(self) -> Key:
        return find_key(self._course, self._runner)

    def seed_for(self, seed: int) -> int:
        return seed

    def is_one_of(self, submission: Submission, names: list[str]) -> bool:
        tree = self._fingerprint(submission)
        return bool(tree) and any(tree == self._variant(name).tree for name in names)

    def examine(self, name: str, checks: set[str], seed: int, dtype: str) -> Examination:
        self._begin(seed, dtype)
        known = self._examinations.get(name, Examination(outcomes=[]))
        missing = checks - {outcome.check for outcome in known.outcomes}
        if missing:
            more = self._runner.examine(self._variant(name).source, seed, dtype=dtype, only=missing)
            known = Examination(
                outcomes=[*known.outcomes, *more.outcomes], deviations={**known.deviations, **more.deviations}
            )
            self._examinations[name] = known
        return known

    def examine_at(self, name: str, points: dict[str, FailurePoint], seed: int, dtype: str) -> Examination:
        self._begin(seed, dtype)
        asked = (name, frozenset(points.items()))
        if asked not in self._examinations_at:
            if len(self._examinations_at) >= MAX_EXAMINATIONS:
                self._examinations_at.clear()
            self._examinations_at[asked] = self._runner.examine(
                self._variant(name).source, seed, dtype=dtype, at=points
            )
        return self._examinations_at[asked]

    def examine_ahead(self, names: list[str], seed: int, is_idle: Callable[[], bool]) -> None:
        for name in names:
            for check in self._runner.check_ids():
                if not is_idle():
                    return
                self.examine(name, {check}, seed, "float32")

    def _begin(self, seed: int, dtype: str) -> None:
        """Drop the examinations of other settings."""
        if (seed, dtype) != self._settings:
            self._settings, self._examinations, self._examinations_at = (seed, dtype), {}, {}

    def indistinguishable(
        self, submission: Submission, examination: Examination, names: list[str], seed: int
    ) -> list[str]:
        return []

    def kept_fixes(self, submission: Submission) -> frozenset[str]:
        exercise = self._runner.exercise
        reference = self._course.reference_text(exercise.id)
        text = "\n".join(chunk.text for chunk in submission.chunks)
        return find_kept_fixes(exercise, text, reference)

    def _variant(self, name: str) -> _Variant:
        """Return the reference with the defects of that name put back; also a near miss."""
        if name not in self._variants:
            exercise = self._runner.exercise
            defects = [defect for defect in exercise.defects if has_defect(name, defect.id)]
            near_miss = next((each for each in exercise.near_misses if has_defect(name, each.id)), None)
            reference = self._course.reference_text(exercise.id)
            text = make_near_miss(reference, near_miss, defects) if near_miss else put_back(reference, defects)
            source = submission_from_text(text)
            self._variants[name] = _Variant(source=source, tree=self._fingerprint(source))
        return self._variants[name]


class RecordedVariants(VariantSource):
    """Variants whose failures were recorded when the edition was sealed.

    Only the starter's source is available, so submissions are compared with its syntax tree alone.
    """

    def __init__(self, course: Course, runner: Runner, recording: Recording, fingerprint: Fingerprint) -> None:
        self._course = course
        self._exercise = runner.exercise
        self._recording = recording
        self._fingerprint = fingerprint
        self._starter: str | None = None

    def key(self) -> Key:
        path = self._course.key(self._exercise.id)
        try:
            return msgspec.json.decode(path.read_bytes(), type=Key)
        except (OSError, msgspec.MsgspecError) as error:
            raise KitError(f"{path} is missing or damaged ({error}); download the student edition again") from None

    def seed_for(self, seed: int) -> int:
        return self._recording.seed_for(seed)

    def is_one_of(self, submission: Submission, names: list[str]) -> bool:
        return False

    def examine(self, name: str, checks: set[str], seed: int, dtype: str) -> Examination:
        return self._recording.examination(seed, name)

    def examine_at(self, name: str, points: dict[str, FailurePoint], seed: int, dtype: str) -> Examination:
        return self.examine(name, set(points), seed, dtype)

    def examine_ahead(self, names: list[str], seed: int, is_idle: Callable[[], bool]) -> None:
        """Do nothing: all examinations are recorded."""

    def kept_fixes(self, submission: Submission) -> frozenset[str]:
        return frozenset()

    def indistinguishable(
        self, submission: Submission, examination: Examination, names: list[str], seed: int
    ) -> list[str]:
        if names and self._is_starter(submission):
            return [variant_name(frozenset(defect.id for defect in self._exercise.defects))]
        recorded = {name: self._recording.examination(seed, name).deviations for name in names}
        return [
            name
            for name, deviations in recorded.items()
            if all(is_same(value, deviations.get(check)) for check, value in examination.deviations.items())
        ]

    def _is_starter(self, submission: Submission) -> bool:
        """Return whether the submission differs from the starter only in layout and comments."""
        if self._starter is None:
            module, _ = self._course.editable_files(self._exercise.id)
            starter = read_submission(self._course.pristine(module), module.name)
            self._starter = self._fingerprint(starter) if isinstance(starter, Submission) else ""
        return self._fingerprint(submission) == self._starter != ""
