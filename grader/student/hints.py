"""Hints: steps for the student's current file, one more at each call, for the first defect that is not fixed."""

from pathlib import PurePath

import msgspec

from grader.checks.outcome import FailureKind
from grader.errors import UsageError
from grader.report.findings import reason_words, sentence
from grader.report.phrases import misspelt_name
from grader.report.view import Hint, Progress
from grader.spec.exercise import Defect, Exercise
from grader.spec.paths import Course
from grader.student.progress import load_progress, save_progress
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import Cause, group_causes, hiding_crash
from grader.verdict.verdict import WORDS, DefectVerdict, Result, Verdict

WAYS_OUT = {
    (FailureKind.CRASH, "SyntaxError"): (
        "Read that line and the one above it: a bracket or a quote that is not closed is found late."
    ),
    (FailureKind.CRASH, "IndentationError"): "Compare the spaces before that line with those before its neighbours.",
    (FailureKind.CRASH, "TabError"): (
        "Some lines begin with tabs, others with spaces: let your editor turn all of them into spaces."
    ),
    (FailureKind.ENTRY, ""): "The interface in the exercise's README says what it has to be called and what it is.",
    (FailureKind.UNREADABLE, ""): (
        "Save it again, or take the starter: python -m grader reset {exercise} keeps what you have."
    ),
    (FailureKind.LOAD, ""): (
        "Take out what runs by itself, loops and training above all: only imports and definitions are needed."
    ),
}
"""What to do where a file does not run, by the kind and detail of the finding."""

ELSE_WAY_OUT = "Run {file} by itself, and mend what it stops at first."


def next_hint(
    course: Course, exercise: Exercise, verdict: Verdict, number: int = 0, *, only_given: bool = False
) -> Hint:
    """One step more for a defect that the verdict does not find fixed: the one of that `number`, or else the first.

    What stops the file comes before that, be it a crash that hides all else. Steps given are remembered, and
    `only_given` gives none but those.
    """
    progress = load_progress(course, exercise.id)
    if verdict.outcome is Result.NOT_GRADABLE:
        return _way_out(verdict, exercise)
    if exercise.defects and not exercise.has_hints():
        return Hint(exercise.id, [], 0, f"This edition has no hints; ask whoever gave you {exercise.id}.")
    crash = hiding_crash(group_causes(verdict))
    left = _left(exercise, verdict, crash)
    other = _instead_of_steps(exercise, verdict, crash, left, is_asked=bool(number))
    if other is not None:
        return other
    defect = _of_number(exercise, number) if number else left[0]
    called, judged = exercise.numbers()[defect.id], _verdict_on(verdict, defect)
    if judged.status is DefectStatus.FIXED:
        return Hint(f"{exercise.id} · defect {called}", [], 0, f"Defect {called} is fixed: {defect.title}.")
    given = _given(course, exercise, progress, defect.id, len(defect.hints), only_given=only_given)
    worth = f"{defect.points:g} {'extra ' if defect.stretch else ''}{'point' if defect.points == 1 else 'points'}"
    about = f"{exercise.id} · defect {called} · {WORDS[judged.status]} · {worth}"
    command = f"python -m grader hint {exercise.id}"
    others = [exercise.numbers()[each.id] for each in left if each.id != defect.id]
    last = f"For defect {others[0]}: {command} {others[0]}" if others else f"What follows is yours: {_looks(exercise)}"
    return _hint(about, defect.hints, given, f"{command} {called}", last, _doubt(judged))


def _instead_of_steps(
    exercise: Exercise, verdict: Verdict, crash: Cause | None, left: list[Defect], *, is_asked: bool
) -> Hint | None:
    """What is said where there is no defect to give steps for, or something comes before it; None where there is one.

    `is_asked` tells that one was asked for by its number.
    """
    name, is_fixed = exercise.id, verdict.outcome is Result.FIXED
    if verdict.is_right_so_far() and not is_asked:
        return Hint(name, [], 0, f"Nothing wrong is seen in {name} here: hand it in, and it is found out.")
    if crash is not None and not crash.defects and not is_asked:
        at = f" ({crash.finding.location})" if crash.finding.location else ""
        step = f"It stops with {sentence(crash.finding)}{at}. Follow the call there: python -m grader try {name}"
        return Hint(f"{name} does not run", [step], 1)
    if not exercise.defects and is_fixed:
        return Hint(name, [], 0, f"Nothing is wrong with {name} as it stands; there is nothing to hint at.")
    if left or is_asked:
        return None
    new = f"what fails is new: python -m grader diff {name} shows what you changed."
    done = "there is nothing left to hint at." if is_fixed else new
    fixed = f"Every defect of {name} is fixed; " if exercise.defects else f"{name} had no defect; "
    return Hint(name, [], 0, f"{fixed}{done}")


def _looks(exercise: Exercise) -> str:
    return f"python -m grader try {exercise.id} runs your file, python -m grader diff {exercise.id} shows your change."


def _doubt(judged: DefectVerdict) -> str:
    """What is to be known of steps for a defect that may be gone: they were written for the starter."""
    if judged.status is not DefectStatus.UNKNOWN:
        return ""
    why = f": {reason_words(judged.reason)}" if judged.reason else ""
    return f"Whether your file still has it is not known{why}. You may have mended it already."


def _left(exercise: Exercise, verdict: Verdict, crash: Cause | None) -> list[Defect]:
    """Return the defects that are not fixed: the present ones first, in the order of the page, crashes before all
    others.
    """
    numbers = exercise.numbers()
    told = [defect for cause in group_causes(verdict) for defect in cause.defects]
    crashed = crash.defects if crash else []

    def place(defect: Defect) -> tuple[bool, bool, bool, int, int]:
        is_present = _verdict_on(verdict, defect).status is DefectStatus.PRESENT
        shown = told.index(defect.id) if defect.id in told else len(told)
        return defect.id not in crashed, not is_present, defect.stretch, shown, numbers[defect.id]

    left = [each for each in exercise.defects if _verdict_on(verdict, each).status is not DefectStatus.FIXED]
    return sorted(left, key=place)


def _of_number(exercise: Exercise, number: int) -> Defect:
    numbers = exercise.numbers()
    if number > len(numbers):
        known = f"its defects are 1 to {len(numbers)}" if numbers else "leave the number out"
        raise UsageError(f"{exercise.id} has no defect {number}; {known}")
    return next(defect for defect in exercise.defects if numbers[defect.id] == number)


def _verdict_on(verdict: Verdict, defect: Defect) -> DefectVerdict:
    return next(each for each in verdict.defects if each.id == defect.id)


def _way_out(verdict: Verdict, exercise: Exercise) -> Hint:
    finding, misspelt = verdict.unloadable, misspelt_name(verdict, exercise)
    way = WAYS_OUT.get((finding.kind, finding.detail), ELSE_WAY_OUT) if finding else ELSE_WAY_OUT
    way = way.format(exercise=verdict.exercise, file=PurePath(verdict.file).name)
    if misspelt:
        way = f"{misspelt} is probably it, spelled in another way: compare the two names letter by letter."
    step = f"{verdict.reason}. {way}"
    return Hint(f"{verdict.exercise} cannot be graded as it stands", [step], 1)


def _given(course: Course, exercise: Exercise, progress: Progress, key: str, total: int, *, only_given: bool) -> int:
    """How many steps have been given now; remembered."""
    given = progress.hints_given.get(key, 0)
    if only_given:
        return given
    given = min(given + 1, total)
    hints_given = {**progress.hints_given, key: given}
    save_progress(course, exercise.id, msgspec.structs.replace(progress, hints_given=hints_given))
    return given


def _hint(
    about: str, texts: "tuple[str, ...] | list[str]", given: int, command: str, last: str = "", doubt: str = ""
) -> Hint:
    steps = [" ".join(text.split()) for text in texts[:given]]
    if given == len(texts):
        return Hint(about, steps, len(texts), " ".join(filter(None, ("That was the last one.", last))), doubt)
    what = "The next one" if given else "None has been given yet; the first one"
    return Hint(about, steps, len(texts), f"{what}: {command}", doubt)
