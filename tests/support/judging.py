"""Judge many submissions in one process. As in the kit, the nursery is forked before any secret is opened."""

import msgspec

from grader.sandbox.torch_import import import_torch
from grader.spec.exercise import Limits, Seconds
from grader.spec.fragments import make_variant
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, submission_from_text
from grader.verdict.verdict import Result, Verdict
from tests.support.forgetting import forget_descriptions

SEED = 7
AMPLE = Limits(seconds=Seconds(load=60, check=60, total=240))
"""Limits for tests that are not about time, so that a busy machine changes no verdict."""


class Judge:
    """Return the verdict when called with an exercise's id and a source text or submission."""

    def __init__(self, course: Course) -> None:
        forget_descriptions()
        import_torch(for_many=True)
        from grader.processes.worker_source import Forker

        self.course = course
        self.source = Forker()

    def __call__(
        self, exercise_id: str, submission: str | Submission, seed: int = SEED, limits: Limits | None = None
    ) -> Verdict:
        return self.many(exercise_id, [submission], seed, limits)[0]

    def many(
        self, exercise_id: str, submissions: list[str | Submission], seed: int = SEED, limits: Limits | None = None
    ) -> list[Verdict]:
        """Return a verdict for each submission; collect the checks once. `limits` replace the exercise's own."""
        from grader.verdict.judge import Judge as KitsJudge

        exercise = load_exercise(self.course.description(exercise_id))
        with KitsJudge(self.course, self.source) as judge:
            judge.open(exercise_id)
            runner = judge._runners[exercise_id]
            runner.exercise = msgspec.structs.replace(exercise, limits=limits or exercise.limits)
            texts = [submission_from_text(each) if isinstance(each, str) else each for each in submissions]
            verdicts = [judge(exercise_id, each, each.name, seed) for each in texts]
        self.source.settle()
        return verdicts

    def refused(self, exercise_id: str, texts: dict[str, str], seed: int = SEED) -> dict[str, object]:
        """Return the right submissions that do not get full marks, by name, with their findings."""
        verdicts = self.many(exercise_id, list(texts.values()), seed, AMPLE)
        return {
            name: verdict.reason or [outcome for outcome in verdict.checks if outcome.finding]
            for name, verdict in zip(texts, verdicts, strict=True)
            if (verdict.outcome, verdict.score) != (Result.FIXED, verdict.max_score)
        }

    def variant(self, exercise_id: str, subset: frozenset[str]) -> str:
        """Return the variant with these defects."""
        exercise = load_exercise(self.course.description(exercise_id))
        reference = self.course.reference_text(exercise_id)
        return make_variant(reference, exercise, subset)

    def close(self) -> None:
        self.source.close()
