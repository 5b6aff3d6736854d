"""Judge many submissions in one process, as the kit does for one: the nursery is forked before anything is opened."""

import msgspec

from grader.course import Course
from grader.examiner.torch_import import assert_single_thread, import_torch
from grader.exercise import Limits, load_exercise, put_back
from grader.submission import Submission, submission_from_text
from grader.verdict import Verdict, judge

SEED = 7


class Judge:
    """Called with an exercise's id and a source text or submission, gives the verdict."""

    def __init__(self, course: Course) -> None:
        import_torch()
        assert_single_thread()
        from grader.examiner.workers import Nursery

        self.course = course
        self.source = Nursery()

    def __call__(
        self, exercise_id: str, submission: str | Submission, seed: int = SEED, limits: Limits | None = None
    ) -> Verdict:
        return self.many(exercise_id, [submission], seed, limits)[0]

    def many(
        self, exercise_id: str, submissions: list[str | Submission], seed: int = SEED, limits: Limits | None = None
    ) -> list[Verdict]:
        """One verdict for each submission; the checks are collected once. `limits` replace the exercise's own."""
        from grader.examiner.collecting import with_examiner
        from grader.examiner.examine import Examiner
        from grader.examiner.key import find_key

        exercise = load_exercise(self.course.description(exercise_id))

        def body(examiner: Examiner) -> list[Verdict]:
            key = find_key(self.course, examiner)
            examiner.exercise = msgspec.structs.replace(exercise, limits=limits or exercise.limits)
            verdicts = []
            for each in submissions:
                submission = submission_from_text(each) if isinstance(each, str) else each
                seen = examiner.examine(submission, seed)
                verdicts.append(judge(exercise, key, seen, submission.name, seed))
            return verdicts

        return with_examiner(self.course, exercise, self.source, body)

    def variant(self, exercise_id: str, subset: frozenset[str]) -> str:
        """The reference with these defects put back."""
        exercise = load_exercise(self.course.description(exercise_id))
        reference = self.course.reference(exercise_id).read_text(encoding="utf-8")
        return put_back(reference, [defect for defect in exercise.defects if defect.id in subset])

    def close(self) -> None:
        self.source.close()
