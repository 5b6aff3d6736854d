"""Explanations in a sealed edition: locked until a submission's answers open them, then stored."""

from pathlib import Path

import msgspec
from msgspec import Struct, structs

from grader.processes.worker_source import CAN_FORK
from grader.spec.exercise import Exercise, Source, UsualTest
from grader.spec.files import read_cache, write_cache
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

SOLUTION = "solution"
"""The name of the lock on the reference and its source. Other locks have the number of a defect as their name."""


class Explanation(Struct, frozen=True, kw_only=True):
    """The explanation of a defect."""

    title: str
    why: str
    missed_by: list[UsualTest]


class Solution(Struct, frozen=True, kw_only=True):
    """The texts that are revealed once everything is fixed: the source, the decoy and the reference."""

    source: Source
    decoy: str
    reference: str


class Revealed(Struct, frozen=True, kw_only=True):
    """The explanations of an exercise that a student has earned, by the number of the defect."""

    defects: dict[str, Explanation] = {}
    solution: Solution | None = None


def load_explained(
    course: Course,
    exercise_id: str,
    submission: Submission | Unreadable,
    verdict: Verdict,
    *,
    spawn: bool = not CAN_FORK,
) -> Exercise:
    """Load an exercise with the explanations that its student has earned, the verdict's included.

    If the verdict calls a defect fixed that is not explained yet, the submission runs once more. A process that has
    threads must `spawn` its workers. In the full edition everything is explained.
    """
    exercise = load_exercise(course.description(exercise_id))
    if exercise.edition.HAS_REFERENCE or not isinstance(submission, Submission):
        return exercise
    revealed = load_revealed(course, exercise.id)
    wanted = [defect.id for defect in verdict.defects if defect.status is DefectStatus.FIXED]
    wanted = [name for name in wanted if name not in revealed.defects]
    fixes_extras = all(defect.status is DefectStatus.FIXED for defect in verdict.defects)  # the solution shows them
    if verdict.outcome is Result.FIXED and fixes_extras and revealed.solution is None:
        wanted.append(SOLUTION)
    if wanted and course.explanations(exercise.id).is_file():
        revealed = _open_locks(course, exercise, submission, revealed, wanted, spawn=spawn)
    return _explained(exercise, revealed)


def explained_exercise(course: Course, exercise: Exercise) -> Exercise:
    """Return the exercise with the explanations that were earned before."""
    if exercise.edition.HAS_REFERENCE:
        return exercise
    return _explained(exercise, load_revealed(course, exercise.id))


def load_revealed(course: Course, exercise_id: str) -> Revealed:
    """Return the explanations that were earned; none if their file is missing or damaged."""
    try:
        return msgspec.json.decode(read_cache(_path(course, exercise_id)), type=Revealed)
    except (OSError, msgspec.MsgspecError):
        return Revealed()


def has_locked_solution(course: Course, exercise_id: str) -> bool:
    """Return whether the edition has the reference, locked."""
    from grader.student.unlocking import read_locked

    path = course.explanations(exercise_id)
    return path.is_file() and SOLUTION in read_locked(path).locks


def _open_locks(
    course: Course, exercise: Exercise, submission: Submission, revealed: Revealed, wanted: list[str], *, spawn: bool
) -> Revealed:
    """Open the wanted locks that the submission's answers fit, and store their texts."""
    from grader.student.unlocking import open_locks

    texts = open_locks(course, exercise, submission, wanted, spawn=spawn)
    opened = {name: msgspec.json.decode(text, type=Explanation) for name, text in texts.items() if name != SOLUTION}
    solution = texts.get(SOLUTION)
    revealed = Revealed(
        defects=revealed.defects | opened,
        solution=revealed.solution if solution is None else msgspec.json.decode(solution, type=Solution),
    )
    write_cache(_path(course, exercise.id), msgspec.json.format(msgspec.json.encode(revealed), indent=1))
    return revealed


def _explained(exercise: Exercise, revealed: Revealed) -> Exercise:
    """Return the exercise with the revealed texts in place of the placeholders."""
    defects = [
        structs.replace(defect, title=known.title, why=known.why, missed_by=known.missed_by)
        if (known := revealed.defects.get(defect.id))
        else defect
        for defect in exercise.defects
    ]
    exercise = structs.replace(exercise, defects=defects)
    if revealed.solution is None:
        return exercise
    return structs.replace(
        exercise,
        source=revealed.solution.source,
        decoy=revealed.solution.decoy,
        edition=exercise.edition.revealed(),
    )


def _path(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "explained" / f"{exercise_id}.json"
