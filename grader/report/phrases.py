"""Phrases that all pages share: the result, the labels of defects, why they mattered, the next step."""

import difflib
from collections.abc import Collection, Mapping
from enum import StrEnum

from msgspec import Struct
from rich.text import Text

from grader.checks.outcome import FailureKind, Finding, Status
from grader.report.causes import Cause, group_causes, hides_defects, hiding_crash, shown_causes
from grader.report.check_names import CheckNames, check_name, check_names, listed_checks
from grader.report.console import INDENT, Line, marked, printable, printable_line
from grader.report.findings import reason_words, size_words
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Announcement, Defect, Exercise
from grader.verdict.attribution import DefectStatus, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

OPEN_LAYERS = {
    "process": "the examiner's process",
    "filesystem": "the file system",
    "network": "the network",
    "syscalls": "starting processes",
    "memory": "other processes' memory",
}
"""The parts of the machine that a submission can reach if a layer of isolation is missing."""

CAUSE_WORDS = {Status.CRASHED: "crash", Status.TIMED_OUT: "hangs", Status.NOT_RUN: "no run"}
"""The word in the margin for each status. A check with status `failed` gets "wrong"."""

MAX_FINDING_TEXT = 240
MAX_BEFORE_CARET = 80
"""Columns up to which a caret is shown; further right it could wrap."""

SIMILARITY = 0.8
"""How similar a name must be to the missing one to be suggested as a misspelling."""

NOT_SHOWN = "no finding below is due to this defect alone"
"""The note on a defect that only several failures together, or the submission's text, identify."""


class Shell(StrEnum):
    """Where a student types commands."""

    TERMINAL = "terminal"
    NOTEBOOK = "notebook"


def command(name: str, exercise_id: str, *arguments: object, shell: Shell = Shell.TERMINAL) -> str:
    """Return a command as a student types it: `python -m grader hint exercise_03`, `%hint exercise_03`.

    In a terminal, grading needs no name.
    """
    words = [exercise_id, *map(str, arguments)]
    if shell is Shell.NOTEBOOK:
        return " ".join([f"%{name}", *words])
    return " ".join(["python -m grader", *([] if name == GRADE else [name]), *words])


GRADE = "grade"


class Tone(StrEnum):
    """The meaning of a row's mark and colour."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    """It cannot be told yet."""


STATUS_WORDS = {
    DefectStatus.FIXED: "fixed",
    DefectStatus.PRESENT: "still there",
    DefectStatus.UNKNOWN: "can't tell yet",
}
"""The words for a status on pages and in hints."""

TONES = {DefectStatus.FIXED: Tone.GOOD, DefectStatus.PRESENT: Tone.BAD, DefectStatus.UNKNOWN: Tone.OPEN}


class RegressionRow(Struct, frozen=True, kw_only=True):
    """The last row of the table of defects: whether anything else broke."""

    mark: str
    tone: Tone
    state: str
    earned: str
    note: str


def foot_lines(
    verdict: Verdict, exercise: Exercise, width: int, *, has_seed: bool = True, shell: Shell = Shell.TERMINAL
) -> list[Line]:
    """Return the lines at the end of a page: the result, points, seed and seconds, then the next step."""
    seed = [f"seed {verdict.seed}"] if verdict.checks and has_seed else []
    run = " · ".join([*seed, f"{verdict.seconds:.2f} s"])
    word, style, score = result_and_points(verdict, exercise)
    has_room = len(f"{word} · {score} · {run}") <= width
    starts_the_page = not verdict.was_checked()
    first = Text(score) if starts_the_page else Text.assemble((word, style), f" · {score}")
    result = Text.assemble(first, " · " if has_room else "\n", run)
    return [result, *_next(verdict, exercise, shell)]


def checks_note(verdict: Verdict, exercise: Exercise) -> str:
    """Return how many checks ran; empty if the edition runs them all, or none could run."""
    if not verdict.was_checked():
        return ""
    return exercise.edition.checks_note(run=len(verdict.checks), described=len(exercise.checks))


def checks_note_lines(verdict: Verdict, exercise: Exercise) -> list[Line]:
    """Return `checks_note` as a line; none if it is empty."""
    note = checks_note(verdict, exercise)
    return [Text(note, "dim")] if note else []


def result_and_points(verdict: Verdict, exercise: Exercise) -> tuple[str, str, str]:
    """Return the result in words, its style on a terminal, and the points."""
    extra = sum(defect.points for defect in verdict.defects if defect.stretch)
    score = "no points" if verdict.score is None else f"{points(verdict.score)} of {points(verdict.max_score)} points"
    word, style = result_words(verdict)
    if verdict.outcome is Result.FIXED:
        word = exercise.edition.word_for_fixed(word if exercise.defects else "Right")
    return word, style, score + (f", {points(extra)} extra" if extra else "")


def hidden_defects_words(verdict: Verdict, shown: list[Cause]) -> str:
    """Return a sentence about defects behind a crash that hides the other causes; empty if there are none."""
    crash = hiding_crash(shown)
    is_hiding = crash is not None and hides_defects(verdict, crash)
    return "This crash hides everything after it, possibly another bug." if is_hiding else ""


def advice_lines(verdict: Verdict) -> list[Line]:
    """Return `advice` as lines; none if there is none."""
    texts = advice(verdict)
    mark = (f"{'advice':>{INDENT - 2}}  ", "dim")
    return [Text(), *(marked(mark, Text(text)) for text in texts)] if texts else []


def advice(verdict: Verdict) -> list[str]:
    """Return the advice of checks, which costs no points."""
    return [printable(outcome.advice, MAX_FINDING_TEXT) for outcome in verdict.checks if outcome.advice]


def near_miss_hint(verdict: Verdict, exercise: Exercise) -> str:
    """Return the hint of the near miss that the submission behaves like; empty if it is none."""
    hints = {each.id: " ".join(each.hint.split()) for each in exercise.near_misses}
    return hints.get(verdict.near_miss, "")


def near_miss_lines(verdict: Verdict, exercise: Exercise) -> list[Line]:
    """Return the hint of the near miss; none if the submission is none."""
    hint = near_miss_hint(verdict, exercise)
    return [Text(), marked((f"{'hint':>{INDENT - 2}}  ", "yellow"), Text(hint))] if hint else []


def open_layers_lines(verdict: Verdict) -> list[Text]:
    """Return `open_layers` as a line; none if nothing is open."""
    warning = open_layers(verdict)
    return [Text(warning, "yellow")] if warning else []


def open_layers(verdict: Verdict) -> str:
    """Return a warning that names the missing layers of isolation; empty if none is missing."""
    names = [OPEN_LAYERS[layer] for layer, is_closed in verdict.isolation.items() if not is_closed]
    return f"Open to submissions on this machine: {', '.join(names)}" if names else ""


def result_words(verdict: Verdict) -> tuple[str, str]:
    """Return the result in words, and its style on a terminal."""
    if verdict.is_right_so_far():
        return "Nothing wrong found here", "bold green"
    return {
        Result.FIXED: ("Fixed", "bold green"),
        Result.NOT_FIXED: ("Not yet", "bold yellow"),
        Result.NOT_GRADABLE: ("Not gradable", "bold red"),
        Result.NOT_JUDGED: ("Not judged", "bold red"),
    }[verdict.outcome]


def points(value: float) -> str:
    """Format points without trailing zeros."""
    return f"{value:g}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 attempt" and "1,200 attempts"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def lessons(
    verdict: Verdict, exercise: Exercise, defect_ids: Collection[str], failing_sizes: Mapping[str, str] = {}
) -> list[str]:
    """Return why each of these defects mattered, and which usual tests passed in spite of it.

    Usual tests that several defects share are named once. `failing_sizes` maps defects to the sizes at which they
    failed. A fixed exercise that has no defects gets its own explanation.
    """
    numbers = exercise.numbers()
    defects = [defect for defect in exercise.defects if defect.id in defect_ids and defect.why]
    defects.sort(key=lambda defect: numbers[defect.id])
    tests = {missed_tests(defect) for defect in defects}
    is_shared = len(defects) > 1 and len(tests) == 1
    lines = []
    for defect in defects:
        parts = [" ".join(defect.why.split())]
        parts += [f"It was wrong {failing_sizes[defect.id]}."] if defect.id in failing_sizes else []
        missed = missed_tests(defect)
        parts += [f"It passes the usual tests: {missed}."] if missed and not is_shared else []
        lines.append(f"{defect_label(defect, exercise)}: {' '.join(parts)}")
    if is_shared and all(tests):
        lines.append(f"Each of these bugs passes the usual tests: {tests.pop()}.")
    if verdict.outcome is Result.FIXED and exercise.decoy:
        lines.append(" ".join(exercise.decoy.split()))
    return lines


def story(defect: Defect) -> str:
    """Return why the defect mattered and which usual tests miss it."""
    why, missed = " ".join(defect.why.split()), missed_tests(defect)
    return f"{why} The usual tests passed: {missed}." if missed else why


def missed_tests(defect: Defect) -> str:
    """Return what the usual tests check that miss the defect; empty if there are none.

    Tests of the same thing at several sizes are named together.
    """
    sizes: dict[str, list[str]] = {}
    for test in defect.missed_by:
        checked, word, size = " ".join(test.says.split()).partition(" with ")
        sizes.setdefault(checked, []).append(f"{word.strip()} {size}".strip())
    return "; ".join(f"{checked} {', or '.join(filter(None, each))}".strip() for checked, each in sizes.items())


def findings_title(verdict: Verdict, exercise: Exercise) -> str:
    """Return the title above the findings, with the number of checks that pass."""
    passed = sum(outcome.status is Status.PASSED for outcome in verdict.checks)
    return f"What your {exercise.interface.kind.noun()} does ({passed} of {len(verdict.checks)} checks pass)"


def cause_word(cause: Cause) -> str:
    """Return the word in the margin for how a check failed."""
    return CAUSE_WORDS.get(cause.status, "wrong")


def cause_label(cause: Cause, exercise: Exercise) -> str:
    """Return a phrase on the defects that explain the cause, by number; empty if that is not known."""
    if cause.is_new:
        return "not one of the original bugs: your change probably caused it"
    numbers = sorted(exercise.numbers()[defect] for defect in cause.defects)
    return f"defect {' or '.join(map(str, numbers))}" if numbers else ""


def cause_notes(cause: Cause, exercise: Exercise, names: CheckNames) -> str:
    """Return the note below a cause: the defects that explain it, the failing sizes, and the checks that found it.

    `names` are the names of all checks, by id.
    """
    found_by = f"found by {listed_checks(cause.checks, names)}"
    return " · ".join(filter(None, (cause_label(cause, exercise), size_words(cause.finding), found_by)))


def printed_title(finding: Finding) -> str:
    """Return the title of what the submission printed, with the sizes of the call."""
    at = as_arguments(finding.size_case)
    return f"it printed{f' with {at}' if at else ''}:"


def picture_title(cause: Cause, exercise: Exercise) -> str:
    """Return the title of a picture that was not made by the cause's first check."""
    return f'in "{check_name(cause.pictured, check_names(exercise))}":'


def defect_label(defect: DefectVerdict | Defect, exercise: Exercise) -> str:
    """Return the defect's number as students see it."""
    return f"defect {exercise.numbers()[defect.id]}"


def line_and_caret(verdict: Verdict) -> tuple[str, str]:
    """Return the line that made the file not gradable, and a line with a caret below the column.

    Both are empty if there is no such line. The caret is also empty if the column is unknown or too far right.
    """
    at = verdict.unloadable.location if verdict.unloadable else None
    if at is None:
        return "", ""
    before = printable_line(at.text[: at.column - 1])
    caret = f"       │ {' ' * len(before)}^" if 0 < at.column <= MAX_BEFORE_CARET else ""
    return f"  {at.line:>4} │ {printable_line(at.text)}", caret


def defect_note(defect: DefectVerdict, exercise: Exercise, verdict: Verdict) -> str:
    """Return the note beside a defect's points: its title once fixed, or why its status is unknown."""
    if defect.status is DefectStatus.FIXED:
        return next(each.title for each in exercise.defects if each.id == defect.id)
    if defect.status is DefectStatus.PRESENT and not _is_shown(defect, verdict):
        return NOT_SHOWN
    return reason_words(defect.reason, check_names(exercise)) if defect.reason else ""


def shown_defects(verdict: Verdict, exercise: Exercise, listed: Collection[str] = ()) -> list[DefectVerdict]:
    """Return the defects that a page lists, in the order of their numbers.

    If the exercise announces the number of its defects, these are all defects. Otherwise these are the fixed defects,
    the defects of a shown finding or near-miss hint, the defects that the student has changed without fixing them, and
    the defects that earlier pages `listed`.
    """
    numbers = exercise.numbers()
    ordered = sorted(verdict.defects, key=lambda defect: numbers[defect.id])
    if not hides_count(verdict, exercise):
        return ordered
    found = {*listed, *(defect for cause in shown_causes(verdict) for defect in cause.defects)}
    found |= {each.defect for each in exercise.near_misses if each.id == verdict.near_miss}
    return [each for each in ordered if each.status is DefectStatus.FIXED or each.id in found or _was_touched(each)]


def _was_touched(defect: DefectVerdict) -> bool:
    """Return whether the defect is unknown because the student changed something about it."""
    touched = (UnknownReason.FAILS_DIFFERENTLY, UnknownReason.FIXED_IN_PART)
    return defect.status is DefectStatus.UNKNOWN and defect.reason is not None and defect.reason.kind in touched


def hides_count(verdict: Verdict, exercise: Exercise) -> bool:
    """Return whether to hide the number of defects from the student. Once everything is fixed, it is shown."""
    return exercise.announces is Announcement.NOTHING and verdict.outcome is not Result.FIXED


def defect_points(defect: DefectVerdict, verdict: Verdict, exercise: Exercise) -> str:
    """Return the points of a defect as its row shows them; the points of all rows would give their number away."""
    if hides_count(verdict, exercise):
        return points_with_unit(defect) if defect.status is DefectStatus.FIXED else ""
    return f"{points(defect.points)} of {points(defect.max_points)}" + (", extra" if defect.stretch else "")


def points_with_unit(defect: DefectVerdict | Defect) -> str:
    """Return the points with their unit, as in "1 extra point"."""
    noun = "point" if defect.points == 1 else "points"
    return f"{points(defect.points)} {'extra ' if defect.stretch else ''}{noun}"


def _is_shown(defect: DefectVerdict, verdict: Verdict) -> bool:
    """Return whether a finding is about the defect, or a crash hides all other findings."""
    causes = group_causes(verdict)
    return hiding_crash(causes) is not None or any(defect.id in cause.defects for cause in causes)


def regression_row(verdict: Verdict, exercise: Exercise) -> RegressionRow:
    """Return the table's last row: whether anything besides the defects broke, and its points."""
    worth, is_hidden = points(exercise.nothing_else_broke), hides_count(verdict, exercise)
    other = "else " if exercise.defects or verdict.outcome is not Result.FIXED else ""
    earned = "" if is_hidden else f"0 of {worth}"
    if verdict.regressions:
        note = f"your change broke {listed_checks(verdict.regressions, check_names(exercise))}"
        return RegressionRow(mark="✗", tone=Tone.BAD, state=f"something {other}broke", earned=earned, note=note)
    if verdict.outcome is Result.FIXED:
        state = f"nothing {other}broke"
        return RegressionRow(mark="✓", tone=Tone.GOOD, state=state, earned=f"{worth} of {worth}", note="")
    note = "" if is_hidden else "awarded once every bug is fixed"
    is_open = _may_have_regressions(verdict)
    state = "can't tell yet whether anything else broke" if is_open else "nothing else broke so far"
    return RegressionRow(mark="·", tone=Tone.OPEN, state=state, earned=earned, note=note)


def _may_have_regressions(verdict: Verdict) -> bool:
    """Return whether a defect fails differently or, in a changed file, no defect explains some finding.

    While every defect is present, as in the starter, such a finding may belong to several of them.
    """
    reasons = [each.reason.kind for each in verdict.defects if each.reason is not None]
    is_changed = any(each.status is not DefectStatus.PRESENT for each in verdict.defects)
    is_explained = all(cause.defects or cause.is_new for cause in shown_causes(verdict))
    return UnknownReason.FAILS_DIFFERENTLY in reasons or (is_changed and not is_explained)


def misspelt_name(verdict: Verdict, exercise: Exercise) -> str:
    """Return the name in the file that probably misspells the missing class or function; empty if there is none."""
    finding = verdict.unloadable
    if finding is None or finding.kind is not FailureKind.ENTRY:
        return ""
    return next(iter(difflib.get_close_matches(exercise.interface.entry(), finding.names_found, 1, SIMILARITY)), "")


CLAIM_ADVICE = "if you think that nothing is wrong, claim it and name the line that looked wrong"
SEARCH = "the checks cannot decide this hunt. Look for a fault with your own experiments"
HAND_IN = "hand it in; the checks that run then decide the rest"


def claim_invitation(exercise_id: str) -> str:
    """Return how to claim that nothing is wrong, in a terminal."""
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
    return Situation.NEEDS_HINT if _unfixed(verdict) and exercise.has_hints() else Situation.NOT_FIXED


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
    if exercise.edition.SHOWS_SOLUTION and exercise.defects and shell is Shell.TERMINAL:
        steps.append(NextStep(text="Compare with the reference", command=command("solution", exercise.id)))
    if not exercise.edition.HAS_REFERENCE:
        steps.append(NextStep(text="Hand it in as your course asks"))
    return [*steps, NEXT_HUNT] if shell is Shell.TERMINAL else steps


def origin(verdict: Verdict, exercise: Exercise) -> str:
    """Return a sentence on where the code comes from, once everything is fixed; empty if it stays secret."""
    if _situation(verdict, exercise) is not Situation.FIXED or not exercise.edition.SHOWS_SOLUTION:
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


def capitalized(text: str) -> str:
    """Return a text with a capital letter at its beginning; `str.capitalize` would also lower the other letters."""
    return f"{text[:1].upper()}{text[1:]}"


def _repair(verdict: Verdict, exercise: Exercise, shell: Shell) -> str:
    """Return what to change so that the file can be graded; empty if only the starter helps."""
    at = verdict.unloadable.location if verdict.unloadable else None
    if at:
        return f"fix {printable(str(at))}"
    misspelt = misspelt_name(verdict, exercise)
    if misspelt:
        return f"rename {misspelt} to {exercise.interface.entry()}"
    return "fix the cell and run it" if shell is Shell.NOTEBOOK else ""


def _next(verdict: Verdict, exercise: Exercise, shell: Shell) -> list[Line]:
    """Return the first of the next steps as a line. Once no check fails, return all of them, and the origin."""
    steps = next_steps(verdict, exercise, shell)
    if verdict.outcome is not Result.FIXED and not verdict.awaits_claim():
        steps = steps[:1]
    labels = ["Next: ", *[" " * len("Next: ")] * len(steps)]
    texts = [f"{label}{_in_line(step)}" for label, step in zip(labels, steps, strict=False)]
    source = origin(verdict, exercise)
    return [Text(text, "dim") for text in [*texts, *([source] if source else [])]]


def _in_line(step: NextStep) -> str:
    text = f"{step.text[:1].lower()}{step.text[1:]}"
    return f"{text}: {step.command}" if step.command else f"{text}."
