"""What a student can do after a verdict."""

import difflib
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import FailureKind
from grader.report.phrases import GRADE, Shell, capitalized, command
from grader.report.printable import printable
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict

SIMILARITY = 0.8
"""How similar a name must be to the missing one to be suggested as a misspelling."""

CLAIM_ADVICE = "if you are sure that nothing is wrong, make that claim, with the number of the line that looked wrong"
SEARCH = "look for a defect with your own experiments, because passing checks do not settle this hunt"
HAND_IN = "hand it in; the checks at the hand-in decide the rest"


def claim_invitation(exercise_id: str) -> str:
    """Return advice on claiming that nothing is wrong, with the command for a terminal."""
    return f"{CLAIM_ADVICE}: {_claim(exercise_id)}"


def undecided(exercise_id: str) -> str:
    """Return the advice for a file that passes every check before the student has claimed that nothing is wrong."""
    return f"{SEARCH}; {claim_invitation(exercise_id)}"


def _claim(exercise_id: str) -> str:
    return command("claim", exercise_id, "sound --line N")


class Situation(StrEnum):
    """What decides the next step."""

    CANNOT_RUN = "cannot_run"
    RIGHT_SO_FAR = "right_so_far"
    AWAITS_CLAIM = "awaits_claim"
    NEEDS_HINT = "needs_hint"
    NOT_FIXED = "not_fixed"
    """The file is not fixed, and no hint is available."""
    FIXED = "fixed"


def _situation(verdict: Verdict, exercise: Exercise) -> Situation:
    if not verdict.was_checked():
        return Situation.CANNOT_RUN
    if verdict.is_right_so_far():
        return Situation.RIGHT_SO_FAR
    if verdict.awaits_claim():
        return Situation.AWAITS_CLAIM
    if verdict.outcome is Result.FIXED:
        return Situation.FIXED
    return Situation.NEEDS_HINT if _unfixed(verdict) and exercise.edition.gives_hints() else Situation.NOT_FIXED


def _unfixed(verdict: Verdict) -> list[DefectVerdict]:
    return [defect for defect in verdict.defects if defect.status is not DefectStatus.FIXED]


class NextStep(Struct, frozen=True, kw_only=True):
    """What a student can do now. `command` is the command to type or the file to read; it may be empty."""

    text: str
    command: str = ""


NEXT_HUNT = NextStep(text="Choose the next hunt", command="python -m grader")


def next_steps(verdict: Verdict, exercise: Exercise, shell: Shell = Shell.TERMINAL) -> list[NextStep]:
    """Return what a student can do now, the most useful step first."""
    situation = _situation(verdict, exercise)
    if situation is Situation.CANNOT_RUN:
        return [_step_to_run(verdict, exercise, shell)]
    if situation is Situation.RIGHT_SO_FAR:
        return [NextStep(text=capitalized(HAND_IN))]
    if situation is Situation.AWAITS_CLAIM:
        return [
            NextStep(text=capitalized(SEARCH)),
            NextStep(text=capitalized(CLAIM_ADVICE), command=_claim(exercise.id)),
        ]
    if situation is Situation.FIXED:
        return _steps_after_fix(verdict, exercise, shell)
    hint, trial, difference = (command(name, exercise.id, shell=shell) for name in ("hint", "try", "diff"))
    steps = [NextStep(text="Ask for a hint", command=hint)] if situation is Situation.NEEDS_HINT else []
    if shell is Shell.NOTEBOOK:
        repeat = NextStep(text="Repeat the first check that fails", command=trial)
        return [*steps, repeat, NextStep(text="Show what you changed", command=difference)]
    run = NextStep(text="Run your file at the sizes that fail", command=trial)
    return [*steps, run, NextStep(text="Read the story again", command=f"exercises/{exercise.id}/README.md")]


def _steps_after_fix(verdict: Verdict, exercise: Exercise, shell: Shell) -> list[NextStep]:
    """Return the steps after a fix: extras that are left, the solution and the hand-in; in a terminal, another hunt."""
    remaining = _unfixed(verdict)
    is_known = any(defect.status is DefectStatus.PRESENT for defect in remaining)
    extra = "Find the extra bug that is left" if is_known else "Look for an extra bug"
    steps = [NextStep(text=extra, command=command("hint", exercise.id, shell=shell))] if remaining else []
    if exercise.edition.shows_solution() and exercise.defects and shell is Shell.TERMINAL:
        steps.append(NextStep(text="Compare with the reference", command=command("solution", exercise.id)))
    if not exercise.edition.HAS_REFERENCE:
        steps.append(NextStep(text="Hand it in as your course asks"))
    return [*steps, NEXT_HUNT] if shell is Shell.TERMINAL else steps


def origin(verdict: Verdict, exercise: Exercise) -> str:
    """Return a sentence on where the code comes from, once everything is fixed; empty if it stays secret."""
    if _situation(verdict, exercise) is not Situation.FIXED or not exercise.edition.shows_solution():
        return ""
    title, url = exercise.source.title, exercise.source.url
    return f"It comes from {title}{f': {url}' if url else '.'}"  # no dot after an address: terminals would include it


def _step_to_run(verdict: Verdict, exercise: Exercise, shell: Shell) -> NextStep:
    """Return the step that makes a file gradable."""
    repair = _repair(verdict, exercise, shell)
    if repair:
        again = command(GRADE, exercise.id, shell=shell)
        return NextStep(text=f"{capitalized(repair)}, then grade again", command=again)
    return NextStep(text="Restore the starter and keep a copy of your file", command=command("reset", exercise.id))


def _repair(verdict: Verdict, exercise: Exercise, shell: Shell) -> str:
    """Return what to change so that the file can be graded; empty if only the starter helps."""
    at = verdict.unloadable.location if verdict.unloadable else None
    if at:
        return f"fix {printable(str(at))}"
    misspelt = misspelt_name(verdict, exercise)
    if misspelt:
        return f"rename {misspelt} to {exercise.interface.entry()}"
    return "fix the cell and run it" if shell is Shell.NOTEBOOK else ""


def misspelt_name(verdict: Verdict, exercise: Exercise) -> str:
    """Return the name in the file that probably misspells the missing class or function; empty if there is none."""
    finding = verdict.unloadable
    if finding is None or finding.kind is not FailureKind.ENTRY:
        return ""
    return next(iter(difflib.get_close_matches(exercise.interface.entry(), finding.names_found, 1, SIMILARITY)), "")
