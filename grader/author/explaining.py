"""Lock the explanations of a sealed exercise. The keys come from answers that the edition does not contain."""

import msgspec

from grader.checks.runner import Runner, new_reference
from grader.processes.workers import WorkerSource
from grader.spec.fragments import make_variant
from grader.spec.paths import Course
from grader.student.explanations import SOLUTION, Explanation, Solution
from grader.student.locks import Lock, make_lock, numbers_of, steps_of, with_incomplete
from grader.student.mirror import Weights, initial_weights, mirrored_answers
from grader.student.unlocking import WEIGHTS_DTYPE, LockedExplanations
from grader.submission import submission_from_text
from grader.verdict.key_making import KEY_SEED, extend_time_limit

LOCK_SEED = KEY_SEED - 1
"""The seed of the questions. It is never recorded, because recorded seeds count up from `KEY_SEED`."""


def lock_explanations(course: Course, runner: Runner, source: WorkerSource) -> LockedExplanations:
    """Lock each defect's explanation, and the solution.

    A defect that changes no compared value gets no lock: it is explained when the file is handed in.
    """
    exercise = runner.exercise
    text = course.reference_text(exercise.id)
    with extend_time_limit(runner):
        weights = _ask_reference(course, runner, text)
        answers = {
            subset: mirrored_answers(
                runner.exercise, source, submission_from_text(make_variant(text, exercise, subset)), LOCK_SEED, weights
            )
            for subset in exercise.subsets()
        }
    right = numbers_of(answers[frozenset()].tensors)
    steps = steps_of(answers[frozenset()].tensors)
    numbers = {
        subset: with_incomplete(numbers_of(each.tensors), right, each.incomplete) for subset, each in answers.items()
    }
    extras = frozenset(defect.id for defect in exercise.defects if defect.stretch)

    def lock(content: msgspec.Struct, locked_by: frozenset[str]) -> Lock | None:
        """Lock a text so that fixing these defects opens it, if possible whatever other defects are present.

        Otherwise it opens whatever other stretch defects are present.
        """
        wrong = [subset for subset in numbers if subset & locked_by]
        others = [subset for subset in numbers if subset and not subset & locked_by]
        for allowed in (others, [subset for subset in others if subset <= extras]):
            lock = make_lock(
                msgspec.json.encode(content).decode(),
                right,
                steps,
                also_right=[numbers[subset] for subset in allowed],
                wrong=[numbers[subset] for subset in wrong],
            )
            if lock is not None:
                return lock
        return None

    named = exercise.numbers()
    found = {
        str(named[defect.id]): lock(
            Explanation(title=defect.title, why=defect.why, missed_by=defect.missed_by), frozenset([defect.id])
        )
        for defect in exercise.defects
    }
    counted = frozenset(defect.id for defect in exercise.defects) - extras
    if all(found[str(named[defect])] for defect in counted):
        found[SOLUTION] = lock(Solution(source=exercise.source, decoy=exercise.decoy, reference=text), counted)
    locks = {name: each for name, each in found.items() if each is not None}
    return LockedExplanations(seed=LOCK_SEED, weights=weights, locks=locks)


def _ask_reference(course: Course, runner: Runner, text: str) -> Weights:
    """Return the reference's initial weights in the checks that compare values, by size case.

    They are rounded so that they take less room.
    """
    runner.reference = new_reference(course, runner.exercise)
    runner.reference.needs_all_size_cases = True
    checks = [check.id for check in runner.exercise.checks if check.compares_values()]
    runner.examine(submission_from_text(text), LOCK_SEED, only=checks)
    return {
        name: [
            {name: weight.to(WEIGHTS_DTYPE) for name, weight in weights.items()} for weights in initial_weights(asked)
        ]
        for size_cases in runner.reference.questions_and_answers().values()
        for name, asked in size_cases.items()
    }
