"""Hints: steps to take on the file as it stands, one more at each call, for the first defect that is still there."""

import msgspec
from msgspec import Struct

from grader.course.paths import Course
from grader.course.records import Defect, Exercise
from grader.errors import UsageError
from grader.student.progress import Progress, load_progress, save_progress
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import group_causes, hiding_crash
from grader.verdict.verdict import Result, Verdict

PUBLIC_HINTS = "public"
"""How progress calls the hints of a student edition, whose defects have no names."""

WAYS_OUT = {
    "crash:SyntaxError": "Read that line and the one above it: a bracket or a quote that is not closed is found late.",
    "crash:IndentationError": "Compare the spaces before that line with those before its neighbours.",
    "crash:TabError": "Some lines begin with tabs, others with spaces: let your editor turn all of them into spaces.",
    "class": "The interface in the exercise's README says what it has to be called and what it is.",
    "unreadable": "Save it again, or take the starter: python -m grader reset {exercise} keeps what you have.",
    "load": "Take out what runs by itself, loops and training above all: only imports and definitions are needed.",
}
"""What to do where a file does not run, by the kind of what was seen."""

ELSE_WAY_OUT = "Run the file by itself, python attention.py, and mend what it stops at first."


class Hint(Struct, frozen=True):
    """What is about to be said: about what, the steps given so far, how many there are, and what comes next."""

    about: str
    steps: list[str]
    total: int
    after: str = ""


def next_hint(
    course: Course, exercise: Exercise, verdict: Verdict, number: int = 0, *, only_given: bool = False
) -> Hint:
    """One step more for a defect that the verdict finds still there: the one of that `number`, or else the first.

    What stops the file comes before that, be it a crash that hides all else. Steps given are remembered, and
    `only_given` gives none but those.
    """
    progress = load_progress(course, exercise.id)
    if verdict.outcome is Result.NOT_GRADABLE:
        return _way_out(verdict)
    if exercise.is_edition() and not exercise.has_hints() and (exercise.defects or exercise.is_public()):
        return Hint(exercise.id, [], 0, f"This edition has no hints; ask whoever gave you {exercise.id}.")
    if exercise.is_public():
        return _public_hint(course, exercise, progress, only_given=only_given)
    crash = hiding_crash(group_causes(verdict))
    if crash is not None and not crash.defects and not number:
        at = f" ({crash.finding.location})" if crash.finding.location else ""
        step = f"It stops with {crash.finding.text}{at}. Follow the call there: python -m grader try {exercise.id}"
        return Hint(f"{exercise.id} does not run", [step], 1)
    defect = _chosen(exercise, verdict, number, crash.defects if crash else [])
    if defect is None:
        new = f"what fails is new: python -m grader diff {exercise.id} shows what you changed."
        left = "there is nothing left to hint at." if verdict.outcome is Result.FIXED else new
        return Hint(exercise.id, [], 0, f"Every defect of {exercise.id} is fixed; {left}")
    called = exercise.numbers()[defect.id]
    if _is_fixed(verdict, defect):
        return Hint(f"{exercise.id} · defect {called}", [], 0, f"Defect {called} is fixed: {defect.title}.")
    given = _given(course, exercise, progress, defect.id, len(defect.hints), only_given=only_given)
    worth = f"{defect.points:g} {'extra ' if defect.stretch else ''}{'point' if defect.points == 1 else 'points'}"
    about = f"{exercise.id} · defect {called} · still there · {worth}"
    return _hint(about, defect.hints, given, f"python -m grader hint {exercise.id} {called}")


def _chosen(exercise: Exercise, verdict: Verdict, number: int, crashed: list[str]) -> Defect | None:
    """The defect of that number, the one behind a crash, or the first that is not fixed."""
    numbers = exercise.numbers()
    by_number = sorted(exercise.defects, key=lambda defect: numbers[defect.id])
    if number:
        if number > len(by_number):
            raise UsageError(f"{exercise.id} has no defect {number}; its defects are 1 to {len(by_number)}")
        return by_number[number - 1]
    left = [defect for defect in by_number if not _is_fixed(verdict, defect)]
    return next((defect for defect in left if defect.id in crashed), left[0] if left else None)


def _is_fixed(verdict: Verdict, defect: Defect) -> bool:
    return any(each.id == defect.id and each.status is DefectStatus.FIXED for each in verdict.defects)


def _way_out(verdict: Verdict) -> Hint:
    kind = verdict.where.kind if verdict.where else ""
    step = f"{verdict.reason}. {WAYS_OUT.get(kind, ELSE_WAY_OUT).format(exercise=verdict.exercise)}"
    return Hint(f"{verdict.exercise} cannot be graded as it stands", [step], 1)


def _public_hint(course: Course, exercise: Exercise, progress: Progress, *, only_given: bool) -> Hint:
    """One more of the hints that a student edition holds, where it holds any, one defect after the other."""
    texts = [text for hints in exercise.hints for text in hints]
    given = _given(course, exercise, progress, PUBLIC_HINTS, len(texts), only_given=only_given)
    return _hint(exercise.id, texts, given, f"python -m grader hint {exercise.id}")


def _given(course: Course, exercise: Exercise, progress: Progress, key: str, total: int, *, only_given: bool) -> int:
    """How many steps have been given now; remembered."""
    given = progress.hints_given.get(key, 0)
    if only_given:
        return given
    given = min(given + 1, total)
    hints_given = {**progress.hints_given, key: given}
    save_progress(course, exercise.id, msgspec.structs.replace(progress, hints_given=hints_given))
    return given


def _hint(about: str, texts: "tuple[str, ...] | list[str]", given: int, command: str) -> Hint:
    steps = [" ".join(text.split()) for text in texts[:given]]
    if given == len(texts):
        return Hint(about, steps, len(texts), "That was the last one.")
    what = "The next one" if given else "None has been given yet; the first one"
    return Hint(about, steps, len(texts), f"{what}: {command}")
