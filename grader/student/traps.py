"""A student's traps: the empty file, the substitutes for references at home, and the details that a page may show."""

import time
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from grader.report.trap import Details
from grader.spec.files import read_cache, write_cache, write_product
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.explanations import explained_exercise
from grader.student.progress import load_progress, save_progress
from grader.submission import Submission, Unreadable
from grader.submission.choice import choose_file
from grader.trap.implementations import Home
from grader.trap.reading import TEMPLATE
from grader.trap.result import TrapResult
from grader.verdict.verdict import Result, Verdict

MAX_STATES = 50
"""The most judged states of a student's file that are kept for an exercise."""

RUNS_BEFORE_SIZES = 3
"""From this run on, the page gives the sizes at which a defect that is not caught shows."""


class JudgedState(Struct, frozen=True, kw_only=True):
    """A state of a student's file that was judged."""

    source: Submission
    at: float
    passes_all: bool = False
    """Whether every check passed that ran."""


def hand_out_trap(course: Course, exercise_id: str) -> bool:
    """Write the empty trap if there is none. Return whether it was written."""
    path = course.trap(exercise_id)
    if path.exists():
        return False
    write_product(path, TEMPLATE.format(exercise=exercise_id).encode())
    return True


def keep_state(course: Course, read: Submission | Unreadable, verdict: Verdict) -> None:
    """In an edition without references, keep a judged state of the student's file; drop the oldest ones."""
    exercise = load_exercise(course.description(verdict.exercise))
    is_judged = verdict.outcome in (Result.FIXED, Result.NOT_FIXED) and isinstance(read, Submission)
    if exercise.edition.HAS_REFERENCE or not is_judged:
        return
    assert isinstance(read, Submission)
    state = JudgedState(source=read, at=time.time(), passes_all=verdict.passes_every_check())
    folder = _folder(course, verdict.exercise)
    write_cache(folder / f"{read.digest()}.json", msgspec.json.encode(state))
    for path in sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-MAX_STATES]:
        path.unlink(missing_ok=True)


def home_of(course: Course, exercise_id: str) -> Home | None:
    """Return the substitutes for references at home: the student's fix, if it passes every check that runs here."""
    read, states = choose_file(course, exercise_id).read, _states(course, exercise_id)
    right = {each.source.digest() for each in states if each.passes_all}
    if not isinstance(read, Submission) or read.digest() not in right:
        return None
    return Home(own=read, earlier=tuple(each.source for each in states if not each.passes_all))


def details_of(course: Course, result: TrapResult) -> Details:
    """Count a run of the trap, and return the details about defects that its page may show."""
    progress = load_progress(course, result.exercise)
    runs = progress.trap_runs + 1
    save_progress(course, result.exercise, structs.replace(progress, trap_runs=runs))
    exercise = explained_exercise(course, load_exercise(course.description(result.exercise)))
    numbers, fixed = exercise.numbers(), progress.fixed()
    names = {numbers[each.id]: each.title.strip().rstrip(".") for each in exercise.defects if each.id in fixed}
    sizes = {
        number: progress.failing_sizes[defect]
        for defect, number in numbers.items()
        if runs >= RUNS_BEFORE_SIZES and progress.failing_sizes.get(defect)
    }
    return Details(names=names, sizes=sizes)


def _states(course: Course, exercise_id: str) -> list[JudgedState]:
    """Return the states that are kept, the newest first. Invalid files are left out."""
    states = []
    for path in _folder(course, exercise_id).glob("*.json"):
        try:
            states.append(msgspec.json.decode(read_cache(path), type=JudgedState))
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            continue
    return sorted(states, key=lambda each: each.at, reverse=True)


def _folder(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "states" / exercise_id
