"""Phrases that all pages share: the result of a verdict, the names of defects, the next step."""

import difflib
from collections.abc import Collection, Mapping

from rich.text import Text

from grader.checks.outcome import FailureKind, Status, in_words
from grader.report.console import INDENT, Line, marked, printable, printable_line
from grader.report.findings import reason_words
from grader.spec.exercise import Defect, Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import Cause, group_causes, hiding_crash, named_checks
from grader.verdict.verdict import DefectVerdict, Result, Verdict

OPEN_LAYERS = {
    "process": "the examiner's process",
    "filesystem": "the file system",
    "network": "the network",
    "syscalls": "starting processes",
    "memory": "other processes' memory",
}
"""What a protection that is missing leaves open."""

CAUSE_WORDS = {Status.CRASHED: "crash", Status.TIMED_OUT: "hangs", Status.NOT_RUN: "no run"}
"""Words for failures other than wrong values."""

MOST_FINDING_TEXT = 240
MOST_BEFORE_CARET = 80
"""Columns after which a caret would stand on a line of its own."""

SIMILARITY = 0.8
"""How similar a name has to be to the one that is missing to be meant."""

NOT_SHOWN = "nothing below shows it by itself"
"""Beside a defect that is known by all that fails together, or by the submission's text."""


def foot_lines(verdict: Verdict, exercise: Exercise, width: int, *, has_seed: bool = True) -> list[Line]:
    """Return outcome, points, seed and time, and the next step."""
    seed = [f"seed {verdict.seed}"] if verdict.checks and has_seed else []
    run = " · ".join([*seed, f"{verdict.seconds:.2f} s"])
    hint = Text(f"Next: python -m grader hint {verdict.exercise}", "dim")
    word, style, score = result_and_points(verdict, exercise)
    has_room = len(f"{word} · {score} · {run}") <= width
    is_said = verdict.outcome is Result.NOT_GRADABLE  # by the page's first words
    first = Text(score) if is_said else Text.assemble((word, style), f" · {score}")
    result = Text.assemble(first, " · " if has_room else "\n", run)
    return [result, *_next(verdict, exercise, hint)]


def checks_note(verdict: Verdict) -> list[Line]:
    """Return the line on how many checks ran, if the edition has one."""
    is_graded = verdict.outcome is not Result.NOT_GRADABLE
    return [Text(f"{printable(verdict.reason)}.", "dim")] if verdict.reason and is_graded else []


def result_and_points(verdict: Verdict, exercise: Exercise) -> tuple[str, str, str]:
    """What the verdict comes to, the style of a terminal that it is shown in, and the points."""
    extra = sum(defect.points for defect in verdict.defects if defect.stretch)
    score = f"{points(verdict.score)} of {points(verdict.max_score)} points"
    word, style = result_words(verdict)
    if verdict.outcome is Result.FIXED:
        word = exercise.edition.word_for_fixed(word if exercise.defects else "Right")
    return word, style, score + (f", {points(extra)} extra" if extra else "")


def advice_lines(verdict: Verdict) -> list[Line]:
    """What would be better and costs nothing."""
    told = [outcome.advice for outcome in verdict.checks if outcome.advice]
    mark = (f"{'advice':>{INDENT - 2}}  ", "dim")
    return [Text(), *(marked(mark, Text(printable(text, MOST_FINDING_TEXT))) for text in told)] if told else []


def open_layers_lines(verdict: Verdict) -> list[Text]:
    """What is open to submissions on this machine, if anything is."""
    told = open_layers(verdict)
    return [Text(told, "yellow")] if told else []


def open_layers(verdict: Verdict) -> str:
    """One line where this machine could not close something to the submission; empty where all is closed."""
    names = [OPEN_LAYERS[layer] for layer, is_closed in verdict.isolation.items() if not is_closed]
    return f"Open to submissions on this machine: {', '.join(names)}" if names else ""


def result_words(verdict: Verdict) -> tuple[str, str]:
    """What the verdict comes to, and the style of a terminal that it is shown in."""
    if verdict.is_right_so_far():
        return "Nothing wrong is seen here", "bold green"
    return {
        Result.FIXED: ("Fixed", "bold green"),
        Result.NOT_FIXED: ("Not yet", "bold yellow"),
        Result.NOT_GRADABLE: ("Not gradable", "bold red"),
    }[verdict.outcome]


def points(value: float) -> str:
    """Points without a needless dot."""
    return f"{value:g}"


def whys(verdict: Verdict, exercise: Exercise, told: Collection[str], first_seen: Mapping[str, str] = {}) -> list[str]:
    """Why each of the fixed defects that are told of mattered, and which usual tests passed all the same.

    The tests are told once where several defects have the same ones. `first_seen` tells with which sizes a defect
    showed. Of a hunt without defects, what it was about, once it is over.
    """
    numbers = exercise.numbers()
    defects = [defect for defect in exercise.defects if defect.id in told and defect.why]
    defects.sort(key=lambda defect: numbers[defect.id])
    tests = {defect.missed() for defect in defects}
    is_shared = len(defects) > 1 and len(tests) == 1
    lines = []
    for defect in defects:
        parts = [" ".join(defect.why.split())]
        parts += [f"It showed {first_seen[defect.id]}."] if defect.id in first_seen else []
        parts += [f"The usual tests passed: {defect.missed()}."] if defect.missed() and not is_shared else []
        lines.append(f"{called(defect, exercise)}: {' '.join(parts)}")
    if is_shared and all(tests):
        lines.append(f"With each of them the usual tests passed: {tests.pop()}.")
    if verdict.outcome is Result.FIXED and exercise.decoy:
        lines.append(" ".join(exercise.decoy.split()))
    return lines


def what_it_does(verdict: Verdict, exercise: Exercise) -> str:
    """Return the title above the findings."""
    passed = sum(outcome.status is Status.PASSED for outcome in verdict.checks)
    return f"What your {exercise.interface.kind.noun()} does ({passed} of {len(verdict.checks)} checks pass)"


def cause_word(cause: Cause) -> str:
    """Return one word for how a check failed."""
    return CAUSE_WORDS.get(cause.status, "wrong")


def belongs_to(cause: Cause, exercise: Exercise) -> str:
    """Return the numbers of the defects that explain the findings."""
    if cause.is_new:
        return "new: none of the defects does this"
    numbers = sorted(exercise.numbers()[defect] for defect in cause.defects)
    return f"defect {' or '.join(map(str, numbers))}" if numbers else ""


def whose_picture(cause: Cause) -> str:
    """What stands over a picture that is of another check than what is told of the cause."""
    return f'in "{in_words(cause.pictured)}":'


def called(defect: DefectVerdict | Defect, exercise: Exercise) -> str:
    """What students call a defect."""
    return f"defect {exercise.numbers()[defect.id]}"


def line_and_caret(verdict: Verdict) -> tuple[str, str]:
    """The line for which nothing could be graded, and the caret below its place; empty where there is none."""
    at = verdict.unloadable.location if verdict.unloadable else None
    if at is None:
        return "", ""
    before = printable_line(at.text[: at.column - 1])
    caret = f"       │ {' ' * len(before)}^" if 0 < at.column <= MOST_BEFORE_CARET else ""
    return f"  {at.line:>4} │ {printable_line(at.text)}", caret


def note_on(defect: DefectVerdict, exercise: Exercise, verdict: Verdict) -> str:
    """Return the note beside a defect's points: its title, or why its status is unknown."""
    if defect.status is DefectStatus.FIXED:
        title = next(each.title for each in exercise.defects if each.id == defect.id)
        return title if exercise.edition.REVEALS_TITLES else ""
    if defect.status is DefectStatus.PRESENT and not _is_shown(defect, verdict):
        return NOT_SHOWN
    return reason_words(defect.reason) if defect.reason else ""


def _is_shown(defect: DefectVerdict, verdict: Verdict) -> bool:
    """Return whether a finding is about the defect, or a crash hides the others and says so."""
    causes = group_causes(verdict)
    return hiding_crash(causes) is not None or any(defect.id in cause.defects for cause in causes)


def rest(verdict: Verdict, exercise: Exercise) -> tuple[tuple[str, str], str, str, str]:
    """What is said of all that is no defect: a mark with its style, the state, the points, and a note."""
    worth = points(exercise.nothing_else_broke)
    other = "else " if exercise.defects else ""
    if verdict.regressions:
        note = f"new faults, seen in {named_checks(verdict.regressions)}"
        return ("✗", "red"), f"something {other}broke", f"0 of {worth}", note
    if verdict.outcome is Result.FIXED:
        return ("✓", "green"), f"nothing {other}broke", f"{worth} of {worth}", ""
    return ("·", "dim"), "nothing else broke so far", f"0 of {worth}", "counts once every defect is fixed"


def misspelt_name(verdict: Verdict, exercise: Exercise) -> str:
    """Return the class or function that was probably meant where the exercise's own is missing; empty for none."""
    finding = verdict.unloadable
    if finding is None or finding.kind is not FailureKind.ENTRY:
        return ""
    return next(iter(difflib.get_close_matches(exercise.interface.entry(), finding.names_found, 1, SIMILARITY)), "")


def _mending(verdict: Verdict, exercise: Exercise) -> str:
    """What to do about a file that cannot be graded."""
    at = verdict.unloadable.location if verdict.unloadable else None
    if at:
        return f"mend {printable(str(at))}, then python -m grader {verdict.exercise}"
    misspelt = misspelt_name(verdict, exercise)
    if misspelt:
        return f"rename {misspelt} to {exercise.interface.entry()}, then python -m grader {verdict.exercise}"
    return f"python -m grader reset {verdict.exercise} puts the starter back, and keeps a copy of what you have."


def _extras(left: list[DefectVerdict], exercise_id: str) -> list[Line]:
    """What is left to earn once all that counts is fixed."""
    if not left:
        return []
    is_known = any(defect.status is DefectStatus.PRESENT for defect in left)
    told = "An extra is left" if is_known else "Whether an extra is left is not known"
    return [Text(f"{told}: python -m grader hint {exercise_id}", "dim")]


def _next(verdict: Verdict, exercise: Exercise, hint: Text) -> list[Line]:
    """What to do now."""
    left = [defect for defect in verdict.defects if defect.status is not DefectStatus.FIXED]
    if verdict.outcome is Result.NOT_GRADABLE:
        return [Text(f"Next: {_mending(verdict, exercise)}", "dim")]
    if verdict.is_right_so_far():
        return [Text("Next: hand it in; what is not known here is found out then.", "dim")]
    if verdict.outcome is not Result.FIXED and left and exercise.has_hints():
        return [hint]
    if verdict.outcome is not Result.FIXED:
        changed = f"python -m grader diff {verdict.exercise} shows what you changed"
        return [Text(f"Next: {changed}, python -m grader try {verdict.exercise} runs it.", "dim")]
    edition, source = exercise.edition, exercise.source
    next_step = Text(f"Next: {edition.next_step(exercise.id, has_defects=bool(exercise.defects))}", "dim")
    credits_ = edition.credits(source.title, source.url)
    return [*_extras(left, verdict.exercise), next_step, *([Text(credits_, "dim")] if credits_ else [])]
