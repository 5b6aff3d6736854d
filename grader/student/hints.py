"""Choose the next hint for the student's current file, and count the hints given.

Each call goes one step further, for the defect that the first finding is about. `report/hint.py` has the layout.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

import msgspec

from grader.checks.outcome import FailureKind
from grader.errors import UsageError
from grader.report.causes import Cause, group_causes, hiding_crash
from grader.report.check_names import check_names
from grader.report.findings import reason_words, sentence
from grader.report.hint import Hint
from grader.report.next_steps import misspelt_name, undecided
from grader.report.phrases import (
    STATUS_WORDS,
    Shell,
    command,
    near_miss_hint,
    points_with_unit,
    shown_defects,
)
from grader.report.progress import Progress
from grader.spec.exercise import Announcement, Defect, Exercise
from grader.spec.paths import Course
from grader.student.progress import load_progress, save_progress
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict

REMEDIES = {
    (FailureKind.CRASH, "SyntaxError"): (
        "Read that line and the one above it: Python reports an unclosed bracket or quote only on a later line."
    ),
    (FailureKind.CRASH, "IndentationError"): "Compare the spaces before that line with those before its neighbours.",
    (FailureKind.CRASH, "TabError"): (
        "Some lines begin with tabs, others with spaces: let your editor turn all of them into spaces."
    ),
    (FailureKind.ENTRY, ""): "The interface in the exercise's README gives the name that the file must define.",
    (FailureKind.UNREADABLE, ""): (
        "Save the file again, or restore the starter: python -m grader reset {exercise} keeps a copy of your file."
    ),
    (FailureKind.LOAD, ""): (
        "Remove code that runs on import, such as a training loop: only imports and definitions are needed."
    ),
}
"""Remedies for a file that does not run, by the kind and detail of the finding."""

DEFAULT_REMEDY = "Run {file} by itself and fix the first error."
CELL_REMEDY = "Restart the kernel, run the cells up to this one, and fix the first error."


def next_hint(
    course: Course,
    exercise: Exercise,
    verdict: Verdict,
    number: int = 0,
    *,
    only_given: bool = False,
    shell: Shell = Shell.TERMINAL,
) -> Hint:
    """Give one more step for a defect that is not fixed: the one with this `number`, or else the first.

    If the file does not run, or a crash hides everything else, the hint is about that instead. Store how many steps
    were given. `only_given` repeats these and gives no new one. `shell` is where the student types the next command.

    Raise `UsageError` if no defect has this number.
    """
    progress = load_progress(course, exercise.id)
    if verdict.outcome is Result.NOT_GRADABLE:
        return _repair_hint(verdict, exercise, shell)
    if exercise.defects and not exercise.edition.gives_hints():
        return _without_steps(exercise, f"This edition has no hints; ask whoever gave you {exercise.id}.")
    crash = hiding_crash(group_causes(verdict))
    remaining = _remaining(exercise, verdict, crash)
    other = _instead_of_steps(exercise, verdict, crash, remaining, has_number=bool(number), shell=shell)
    if other is not None:
        return other
    defect = _defect_with_number(exercise, verdict, progress, number) if number else remaining[0]
    label, judged = exercise.numbers()[defect.id], _verdict_on(verdict, defect)
    if judged.status is DefectStatus.FIXED:
        message = f"Defect {label} is fixed: {defect.title}."
        return Hint(title=f"{exercise.id} · defect {label}", next_action=message)
    count = _count_step(course, exercise, progress, defect, only_given=only_given)
    worth = [points_with_unit(defect)] if exercise.announces is Announcement.COUNT else []

    listed = [each.id for each in shown_defects(verdict, exercise, progress.listed)]
    others = [exercise.numbers()[each.id] for each in remaining if each.id != defect.id and each.id in listed]
    if count < len(defect.hints):
        next_action = "For the next hint" if count else "No hint has been given yet. For the first hint"
        commands = [command("hint", exercise.id, label, shell=shell)]
    elif others:
        next_action = f"That was the last hint. For defect {others[0]}"
        commands = [command("hint", exercise.id, others[0], shell=shell)]
    else:
        next_action = "That was the last hint. Now it is up to you"
        trial, difference = (command(name, exercise.id, shell=shell) for name in ("try", "diff"))
        commands = [f"{trial} runs your file", f"{difference} shows your change"]
    return Hint(
        title=" · ".join([exercise.id, f"defect {label}", STATUS_WORDS[judged.status], *worth]),
        steps=[" ".join(text.split()) for text in defect.hints[:count]],
        total=len(defect.hints),
        next_action=next_action,
        commands=commands,
        caveat=_near_miss_hint_on(defect, verdict, exercise) or _caveat(judged, exercise),
    )


@contextmanager
def uncounted_on_error(course: Course, exercise_id: str) -> Iterator[None]:
    """Give and show a hint in this block. If it cannot be shown, it does not count as given."""
    before = load_progress(course, exercise_id)
    try:
        yield
    except BaseException:
        given = before.hints_given
        save_progress(
            course, exercise_id, msgspec.structs.replace(load_progress(course, exercise_id), hints_given=given)
        )
        raise


def _without_steps(exercise: Exercise, message: str) -> Hint:
    return Hint(title=exercise.id, next_action=message)


def _instead_of_steps(
    exercise: Exercise,
    verdict: Verdict,
    crash: Cause | None,
    remaining: list[Defect],
    *,
    has_number: bool,
    shell: Shell,
) -> Hint | None:
    """Return a hint that replaces the steps of a defect; None if the steps should be given.

    `has_number` is true if the student named a defect by its number.
    """
    name, is_fixed = exercise.id, verdict.outcome is Result.FIXED
    if verdict.is_right_so_far() and not has_number:
        message = f"The checks here find nothing wrong in {name}: hand it in, and the other checks decide."
        return _without_steps(exercise, message)
    if verdict.awaits_claim():
        return _without_steps(exercise, f"No hint: {undecided(name)}")
    if crash is not None and not crash.defects and not has_number and not is_fixed:
        at = f" ({crash.finding.location})" if crash.finding.location else ""
        step = (
            f"It stops with {sentence(crash.finding)}{at}. Repeat the failed call: {command('try', name, shell=shell)}"
        )
        return Hint(title=f"{name} crashes", steps=[step], total=1)
    if not exercise.defects and is_fixed:
        return _without_steps(exercise, f"Nothing is wrong with {name} as it stands; there is nothing to hint at.")
    if remaining or has_number:
        return None
    if is_fixed:
        return _without_steps(exercise, f"Every defect of {name} is fixed; there is nothing left to hint at.")
    difference = command("diff", name, shell=shell)
    new = f"The starter passes every check that fails now. {difference} shows what you changed."
    return _without_steps(exercise, new)


def _near_miss_hint_on(defect: Defect, verdict: Verdict, exercise: Exercise) -> str:
    """Return the hint of the near miss; empty if the near miss is a wrong fix of another defect.

    A sealed edition does not contain the defect of a near miss, so it gives the hint beside every defect.
    """
    is_on_another = any(
        each.id == verdict.near_miss and each.defect not in ("", defect.id) for each in exercise.near_misses
    )
    return "" if is_on_another else near_miss_hint(verdict, exercise)


def _caveat(judged: DefectVerdict, exercise: Exercise) -> str:
    """Return a warning if the defect may be fixed: its steps were written for the starter."""
    if judged.status is not DefectStatus.UNKNOWN:
        return ""
    reason = f": {reason_words(judged.reason, check_names(exercise))}" if judged.reason else ""
    return f"You may have fixed this bug already; the checks can't tell{reason}."


def _remaining(exercise: Exercise, verdict: Verdict, crash: Cause | None) -> list[Defect]:
    """Return the defects that are not fixed, in the order in which to work on them.

    If a crash hides other defects, the defects that cause the crash come first. Present defects follow, in the order of
    the page.
    """
    numbers = exercise.numbers()
    shown = [defect for cause in group_causes(verdict) for defect in cause.defects]
    crashed = crash.defects if crash else []

    def sort_key(defect: Defect) -> tuple[bool, bool, bool, int, int]:
        is_present = _verdict_on(verdict, defect).status is DefectStatus.PRESENT
        position = shown.index(defect.id) if defect.id in shown else len(shown)
        return defect.id not in crashed, not is_present, defect.stretch, position, numbers[defect.id]

    remaining = [each for each in exercise.defects if _verdict_on(verdict, each).status is not DefectStatus.FIXED]
    return sorted(remaining, key=sort_key)


def _defect_with_number(exercise: Exercise, verdict: Verdict, progress: Progress, number: int) -> Defect:
    """Return the defect with this number; raise `UsageError` if the student cannot know of one.

    Unless the exercise announces the number of defects, students know of those on the page and in earlier hints.
    """
    numbers = exercise.numbers()
    known = {each.id for each in shown_defects(verdict, exercise, progress.listed)} | progress.hints_given.keys()
    found = next((each for each in exercise.defects if numbers[each.id] == number and each.id in known), None)
    if found is None:
        raise UsageError(f"no page or hint has mentioned a defect {number} of {exercise.id} yet; leave the number out")
    return found


def _verdict_on(verdict: Verdict, defect: Defect) -> DefectVerdict:
    return next(each for each in verdict.defects if each.id == defect.id)


def _repair_hint(verdict: Verdict, exercise: Exercise, shell: Shell) -> Hint:
    """Return a hint on how to make a file gradable."""
    finding, misspelt = verdict.unloadable, misspelt_name(verdict, exercise)
    usual = DEFAULT_REMEDY if shell is Shell.TERMINAL else CELL_REMEDY
    remedy = REMEDIES.get((finding.kind, finding.detail), usual) if finding else usual
    remedy = remedy.format(exercise=verdict.exercise, file=PurePath(verdict.file).name)
    if misspelt:
        remedy = f"You probably meant {misspelt}: compare the two names letter by letter."
    reason = re.sub(r"^it ", "The file ", verdict.reason or "")
    step = f"{reason}. {remedy}"
    return Hint(title=f"{verdict.exercise} cannot be graded as it stands", steps=[step], total=1)


def _count_step(course: Course, exercise: Exercise, progress: Progress, defect: Defect, *, only_given: bool) -> int:
    """Return how many steps of the defect the student has, one more than stored unless `only_given`; store it."""
    given = progress.hints_given.get(defect.id, 0)
    if only_given:
        return given
    given = min(given + 1, len(defect.hints))
    hints_given = {**progress.hints_given, defect.id: given}
    save_progress(course, exercise.id, msgspec.structs.replace(progress, hints_given=hints_given))
    return given
