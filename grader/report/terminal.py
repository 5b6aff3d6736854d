"""Render a verdict for the terminal: one screen that names no defect before it is fixed."""

from collections.abc import Collection, Mapping

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.checks.outcome import in_words
from grader.report.causes import Cause, group_causes, shown_causes
from grader.report.check_names import check_names
from grader.report.console import (
    INDENT,
    Line,
    beside,
    indented,
    marked,
    printable,
    printable_ends,
    printable_line,
    render_page,
)
from grader.report.findings import explanation_words, sentence
from grader.report.phrases import (
    MAX_FINDING_TEXT,
    STATUS_WORDS,
    Shell,
    Tone,
    advice_lines,
    capitalized,
    cause_notes,
    cause_word,
    checks_note_lines,
    command,
    defect_label,
    defect_note,
    defect_points,
    findings_title,
    foot_lines,
    hidden_defects_words,
    lessons,
    line_and_caret,
    near_miss_lines,
    open_layers_lines,
    picture_title,
    printed_title,
    regression_row,
    shown_defects,
)
from grader.report.picture import shaded
from grader.report.right_behaviour import right_behaviour
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict

MARKS = {
    DefectStatus.FIXED: ("✓", "green"),
    DefectStatus.PRESENT: ("✗", "red"),
    DefectStatus.UNKNOWN: ("?", "yellow"),
}
REST_STYLES = {Tone.GOOD: "green", Tone.BAD: "red", Tone.OPEN: "dim"}
"""The styles of the last row, about everything else."""

ANY_HEIGHT = 1000
SCREEN_LINES = 30
MAX_CAUSES = 5
BEFORE_PRINTS = 3
"""Causes that have precedence over the submission's output."""

SHORT_FOOT = 2
"""Lines of the foot on a screen lower than `SCREEN_LINES`."""

STATE_WIDTH = 28
ROW_WIDTH = 46
LEAST_NOTE = 26
"""If a note has fewer columns than this, it goes below its row."""
NOTE_INDENT = 2
MAX_PLACE = 80


def render_terminal(
    verdict: Verdict,
    exercise: Exercise,
    *,
    width: int = 100,
    color: bool = False,
    height: int = SCREEN_LINES,
    names: bool = False,
    known: Collection[str] = (),
    failing_sizes: Mapping[str, str] = {},
    listed: Collection[str] = (),
    has_head: bool = True,
    has_seed: bool = True,
    shell: Shell = Shell.TERMINAL,
) -> str:
    """Return the verdict as lines of text, with as many causes as `height` lines hold, and at least one.

    `names` adds the ids of the defects. `known` are defects whose lessons were shown before; `failing_sizes` maps the
    other defects to the sizes at which they failed. `listed` are defects that earlier pages listed. `has_seed` is false
    if the next submissions get the same seed. `shell` is where the student types the next command.
    """

    def rendered(lines: list[Line]) -> str:
        return render_page(lines, width, color=color)

    parts = _PageParts(exercise, names=names, is_low=height < SCREEN_LINES, width=width)
    top: list[Line] = [*([_head(verdict, exercise, width)] if has_head else []), *checks_note_lines(verdict, exercise)]
    top += [Text()] if top else []
    head = rendered([*top, *parts.table(verdict, listed)])
    lessons_text = rendered(parts.lessons(verdict, known, failing_sizes))
    bottom = foot_lines(verdict, exercise, width, has_seed=has_seed, shell=shell)
    bottom = bottom[: SHORT_FOOT if height < SCREEN_LINES else None]
    notes = [*near_miss_lines(verdict, exercise), *advice_lines(verdict)]
    foot = rendered([*notes, Text(), *bottom, *open_layers_lines(verdict)])
    blocks = [rendered(lines) for lines in parts.causes(verdict)]
    title = rendered([Text(), Text(findings_title(verdict, exercise), "bold")]) if blocks else ""
    least_lines = _line_count(head, lessons_text, title, *blocks[:1], foot) + (len(blocks) > 1)
    if lessons_text and least_lines > height < SCREEN_LINES:
        lessons_text = rendered([Text("The explanation does not fit: press r, or enlarge the window.", "dim")])
    printed = rendered(_printed(shown_causes(verdict)))
    room = height - _line_count(head, lessons_text, title, foot)
    if _line_count(*blocks[:BEFORE_PRINTS], printed) + (len(blocks) > BEFORE_PRINTS) > room:
        printed = ""
    chosen = _fitting(blocks, room - _line_count(printed))
    omitted = len(blocks) - len(chosen)
    others = f"and {omitted} more{'' if shell is Shell.NOTEBOOK else f'; {_report(verdict)} shows them all'}"
    more = rendered([indented(Text(others, "dim"))]) if omitted else ""
    room -= _line_count(*chosen, printed, more)
    pictures = (rendered(_picture(verdict, exercise, width, has_passing=each)) for each in (True, False))
    picture = next((each for each in pictures if each and _line_count(each) <= room and not printed), "")
    if not picture and room > 0 and shell is Shell.TERMINAL:
        picture = rendered(_picture_elsewhere(verdict))
    right = rendered(_right_behaviour(verdict, exercise))
    right = right if _line_count(right) <= room - _line_count(picture) else ""
    return "".join([head, lessons_text, title, *chosen[:1], printed, picture, *chosen[1:], more, right, foot])


def _line_count(*texts: str) -> int:
    return sum(text.count("\n") for text in texts)


def _fitting(blocks: list[str], room: int) -> list[str]:
    """Return the first block and as many more as fit, with room for the line that counts the omitted blocks."""
    chosen = blocks[:1]
    for block in blocks[1:MAX_CAUSES]:
        is_last = len(chosen) + 1 == len(blocks)
        if _line_count(*chosen, block) + (not is_last) > room:
            break
        chosen.append(block)
    return chosen


def _head(verdict: Verdict, exercise: Exercise, width: int) -> Text:
    """Return the exercise and the file, on two lines if they do not fit on one."""
    name, file = Text.assemble((verdict.exercise, "bold"), f" · {exercise.title}"), printable(verdict.file)
    has_room = len(f"{name.plain} · {file}") <= width
    return Text.assemble(name, " · " if has_room else "\n", (file, "dim"))


class _PageParts:
    """The parts of a page: the table of defects, the lessons, the causes. Defects are shown by number."""

    def __init__(self, exercise: Exercise, *, names: bool, is_low: bool, width: int) -> None:
        self._exercise = exercise
        self._check_names = check_names(exercise)
        self._names = names
        self._is_low = is_low
        self._width = width

    def table(self, verdict: Verdict, listed: Collection[str]) -> list[Line]:
        """Return a row for each defect and one for regressions, or the reason why the file is not gradable."""
        if not verdict.was_checked():
            return _not_gradable(verdict)
        rows = [self._defect(defect, verdict) for defect in shown_defects(verdict, self._exercise, listed)]
        last = regression_row(verdict, self._exercise)
        return [*rows, self._row((last.mark, REST_STYLES[last.tone]), last.state, last.earned, last.note)]

    def lessons(self, verdict: Verdict, known: Collection[str], failing_sizes: Mapping[str, str]) -> list[Line]:
        """Return why each newly fixed defect mattered; once the exercise is fixed, why each fixed one did."""
        fixed = {defect.id for defect in verdict.defects if defect.status is DefectStatus.FIXED}
        chosen = fixed if verdict.outcome is Result.FIXED else fixed - {*known}
        lines = [Text(line) for line in lessons(verdict, self._exercise, chosen, failing_sizes)]
        return [Text(), *lines] if lines else []

    def causes(self, verdict: Verdict) -> list[list[Line]]:
        """Return a block for each cause of failed checks. A crash that hides the others is shown alone."""
        shown = shown_causes(verdict)
        blocks = [self._cause(cause) for cause in shown]
        hidden = hidden_defects_words(verdict, shown)
        return [blocks[0] + [indented(Text(hidden))]] if hidden else blocks

    def _defect(self, defect: DefectVerdict, verdict: Verdict) -> Line:
        note = defect_note(defect, self._exercise, verdict)
        if self._names:
            note = f"{defect.id}: {note}" if note else defect.id
        earned = defect_points(defect, verdict, self._exercise)
        state = f"{defect_label(defect, self._exercise)} · {STATUS_WORDS[defect.status]}"
        return self._row(MARKS[defect.status], state, earned, note)

    def _row(self, mark: tuple[str, str], state: str, earned: str, note: str) -> Line:
        """Return a row of the table: a mark (character and style), the state, the points and a note.

        The note is cut on a low screen. If its column would be narrow, it goes below the row.
        """
        sign, style = mark
        left = Text.assemble((f"{sign} {state:<{STATE_WIDTH}}", style), earned)
        if len(note) > self._width - ROW_WIDTH < LEAST_NOTE and not self._is_low:
            table = Table.grid()
            table.add_row(left)
            table.add_row(Padding(Text(note, "dim"), (0, 0, 0, NOTE_INDENT)))
            return table
        return beside(left, Text(note, "dim", no_wrap=self._is_low, overflow="ellipsis"), ROW_WIDTH)

    def _cause(self, cause: Cause) -> list[Line]:
        finding = cause.finding
        mark = cause_word(cause)
        text = Text(printable_ends(sentence(finding), MAX_FINDING_TEXT))
        lines: list[Line] = [marked((f"{mark:>{INDENT - 2}}  ", "red"), text)]
        if finding.explanation:
            lines.append(indented(Text(f"{capitalized(explanation_words(finding.explanation))}.")))
        if finding.location:
            line = printable_line(finding.location.text.strip())
            place = (f"{printable(str(finding.location), MAX_PLACE)}: ", "dim")
            lines.append(indented(Text.assemble(place, line, no_wrap=True, overflow="ellipsis")))
        names = {check: in_words(check) for check in cause.checks} if self._names else self._check_names
        lines.append(indented(Text(cause_notes(cause, self._exercise, names), "dim")))
        return lines


def _printed(causes: list[Cause]) -> list[Line]:
    """Return the submission's output (its end) before the first failure that has any."""
    finding = next((cause.finding for cause in causes if cause.finding.printed), None)
    if finding is None:
        return []
    lines = finding.printed.split("\n")
    output = [Text(printed_title(finding), "dim")]
    output += [Text.assemble(("│ ", "dim"), printable_line(line), no_wrap=True, overflow="ellipsis") for line in lines]
    return [indented(line) for line in output]


def _right_behaviour(verdict: Verdict, exercise: Exercise) -> list[Line]:
    """Return what experiments found right, as one paragraph; none if the findings say enough."""
    sentences = right_behaviour(verdict, exercise)
    return [Text(), marked((f"{'right':>{INDENT - 2}}  ", "green"), Text(" ".join(sentences)))] if sentences else []


def _picture(verdict: Verdict, exercise: Exercise, width: int, *, has_passing: bool) -> list[Line]:
    """Return the picture of the first cause; none if it is wider than the page."""
    cause = next(iter(group_causes(verdict)), None)
    lines = shaded(cause.picture, width - INDENT, has_passing=has_passing) if cause and cause.picture else []
    if cause and cause.pictured and lines:
        lines = [Text(picture_title(cause, exercise)), *lines]
    for line in lines:
        line.no_wrap = True
    return [indented(line) for line in lines]


def _picture_elsewhere(verdict: Verdict) -> list[Line]:
    """Return a line that names the command that shows the picture of the first cause; none if it has none."""
    cause = next(iter(group_causes(verdict)), None)
    text = f"{_report(verdict)} has a picture of this"
    return [indented(Text(text, "dim"))] if cause and cause.picture else []


def _report(verdict: Verdict) -> str:
    return command("report", verdict.exercise)


def _not_gradable(verdict: Verdict) -> list[Line]:
    reason: Line = Text.assemble(("Not gradable: ", "bold red"), printable(verdict.reason or ""))
    line, caret = line_and_caret(verdict)
    shown = [Padding(Text(line, no_wrap=True, overflow="ellipsis"), 0, expand=False)] if line else []
    return [reason, *shown, *([Text(caret, "red")] if caret else [])]
