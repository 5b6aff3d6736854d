"""Lay out a verdict for the terminal: one screen that names no defect before it is fixed."""

from collections.abc import Sequence

from msgspec import Struct
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.report.next_steps import NextStep
from grader.report.page import INDENT, Line, beside, indented, marked, render_page
from grader.report.phrases import counted
from grader.report.picture import shaded
from grader.report.printable import printable_line
from grader.report.view import CauseView, Mark, Row, VerdictView

MARK_STYLES = {Mark.GOOD: "green", Mark.BAD: "red", Mark.UNKNOWN: "yellow", Mark.OPEN: "dim"}

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


class Screen(Struct, frozen=True, kw_only=True):
    """A place for pages of text: its columns and lines, and whether it has colours."""

    width: int = 100
    height: int = SCREEN_LINES
    color: bool = False


ANY_SCREEN = Screen()


def render_terminal(view: VerdictView, screen: Screen = ANY_SCREEN, *, has_head: bool = True) -> str:
    """Return the verdict as lines of text, with as many causes as the screen holds, and at least one.

    `has_head` is false if another line names the exercise and the file.
    """
    sheet = Sheet(screen)
    is_low = screen.height < SCREEN_LINES
    blocks = [sheet.rendered(_cause(cause, is_low=is_low)) for cause in view.causes]
    if view.hidden_defects:
        blocks[0] += sheet.rendered([indented(Text(view.hidden_defects))])
    head = sheet.place(sheet.rendered(_top(view, screen, has_head=has_head)))
    foot = sheet.place(sheet.rendered(_bottom(view, screen)))
    title = sheet.place(sheet.rendered([Text(), Text(view.findings_title, "bold")]) if blocks else "")
    lessons = sheet.rendered(_paragraphs([Text(line) for line in view.lessons]))
    if lessons and is_low and not sheet.holds(lessons, *blocks[:1], spare=len(blocks) > 1):
        lessons = sheet.rendered([Text("The explanation does not fit: press r, or enlarge the window.", "dim")])
    lessons = sheet.place(lessons)
    printed = sheet.rendered(_printed(view))
    is_printed = sheet.holds(*blocks[:BEFORE_PRINTS], printed, spare=len(blocks) > BEFORE_PRINTS)
    printed = sheet.place(printed if is_printed else "")
    chosen = [sheet.place(block) for block in _fitting(blocks, sheet)]
    more = sheet.place(_omitted(view, len(blocks) - len(chosen), sheet))
    picture = sheet.place(_picture(view, sheet, is_drawn=not printed))
    right = sheet.rendered(_paragraphs([_labelled("right", "green", " ".join(view.right))] if view.right else []))
    right = right if sheet.holds(right) else ""
    return "".join([head, lessons, title, *chosen[:1], printed, picture, *chosen[1:], more, right, foot])


class Sheet:
    """A screen that a page fills: it renders parts of the page, and counts the lines that are left."""

    def __init__(self, screen: Screen) -> None:
        self.width = screen.width
        self.left = screen.height
        self._color = screen.color

    def rendered(self, lines: list[Line]) -> str:
        return render_page(lines, self.width, color=self._color)

    def holds(self, *parts: str, spare: bool = False) -> bool:
        """Return whether the parts fit into the lines that are left, with a spare line if asked for."""
        return _line_count(*parts) + spare <= self.left

    def place(self, part: str) -> str:
        """Take the lines of a part, and return it."""
        self.left -= _line_count(part)
        return part


def _line_count(*parts: str) -> int:
    return sum(part.count("\n") for part in parts)


def _top(view: VerdictView, screen: Screen, *, has_head: bool) -> list[Line]:
    """Return the head of the page, and the table or the reason why there is none."""
    top = [*([_head(view, screen.width)] if has_head else []), *_optional(view.checks_note, "dim")]
    return [*top, *([Text()] if top else []), *(_table(view, screen) if view.was_checked else _not_gradable(view))]


def _bottom(view: VerdictView, screen: Screen) -> list[Line]:
    """Return the notes at the end of the page, the result and the next steps."""
    notes = [
        *_paragraphs([_labelled("hint", "yellow", view.near_miss)] if view.near_miss else []),
        *_paragraphs([_labelled("advice", "dim", text) for text in view.advice]),
    ]
    bottom = [_result(view, screen.width), *_next(view)]
    shown = bottom[:SHORT_FOOT] if screen.height < SCREEN_LINES else bottom
    return [*notes, Text(), *shown, *_optional(view.open_layers, "yellow")]


def _fitting(blocks: list[str], sheet: Sheet) -> list[str]:
    """Return the first block and as many more as fit, with room for the line that counts the omitted blocks."""
    chosen = blocks[:1]
    for block in blocks[1:MAX_CAUSES]:
        if not sheet.holds(*chosen, block, spare=len(chosen) + 1 < len(blocks)):
            break
        chosen.append(block)
    return chosen


def _omitted(view: VerdictView, count: int, sheet: Sheet) -> str:
    """Return the line that counts the omitted findings; empty if there are none."""
    where = f"; {view.full_report} shows all of them" if view.full_report else ""
    return sheet.rendered([indented(Text(f"{counted(count, 'more finding')}{where}", "dim"))]) if count else ""


def _picture(view: VerdictView, sheet: Sheet, *, is_drawn: bool) -> str:
    """Return the picture of the first cause, with the passing case if both fit, or else a line on where to find it.

    `is_drawn` is false if the page has something more important than a picture.
    """
    if not view.causes or view.causes[0].picture is None:
        return ""
    pictures = (sheet.rendered(_drawn(view.causes[0], sheet.width, has_passing=each)) for each in (True, False))
    fitting = next((each for each in pictures if each and sheet.holds(each)), "") if is_drawn else ""
    if fitting or sheet.left <= 0 or not view.full_report:
        return fitting
    return sheet.rendered([indented(Text(f"{view.full_report} shows a picture of this finding", "dim"))])


def _optional(text: str, style: str) -> list[Line]:
    """Return a text as a line; nothing if it is empty."""
    return [Text(text, style)] if text else []


def _paragraphs(lines: Sequence[Line]) -> list[Line]:
    """Return the lines below an empty line; nothing if there are none."""
    return [Text(), *lines] if lines else []


def _labelled(label: str, style: str, text: str) -> Line:
    return marked((f"{label:>{INDENT - 2}}  ", style), Text(text))


def _head(view: VerdictView, width: int) -> Text:
    """Return the exercise and the file, on two lines if they do not fit on one."""
    name = Text.assemble((view.exercise, "bold"), f" · {view.title}")
    has_room = len(f"{name.plain} · {view.file}") <= width
    return Text.assemble(name, " · " if has_room else "\n", (view.file, "dim"))


def _not_gradable(view: VerdictView) -> list[Line]:
    reason: Line = Text.assemble(("Not gradable: ", "bold red"), view.reason)
    line = [Padding(Text(view.line, no_wrap=True, overflow="ellipsis"), 0, expand=False)] if view.line else []
    return [reason, *line, *_optional(view.caret, "red")]


def _table(view: VerdictView, screen: Screen) -> list[Line]:
    """Return a row for each defect, and one for everything else."""
    rows = [(row, f"{row.name} · {row.state}") for row in view.defects]
    rows += [(view.everything_else, view.everything_else.state)] if view.everything_else else []
    is_low = screen.height < SCREEN_LINES
    return [_row(row, state, screen.width, is_low=is_low) for row, state in rows]


def _row(row: Row, state: str, width: int, *, is_low: bool) -> Line:
    """Return a row: its mark, state, points and note.

    The note is cut on a low screen. If its column would be narrow, it goes below the row.
    """
    left = Text.assemble((f"{row.mark} {state:<{STATE_WIDTH}}", MARK_STYLES[row.mark]), row.points)
    if len(row.note) > width - ROW_WIDTH < LEAST_NOTE and not is_low:
        table = Table.grid()
        table.add_row(left)
        table.add_row(Padding(Text(row.note, "dim"), (0, 0, 0, NOTE_INDENT)))
        return table
    return beside(left, Text(row.note, "dim", no_wrap=is_low, overflow="ellipsis"), ROW_WIDTH)


def _cause(cause: CauseView, *, is_low: bool) -> list[Line]:
    """Return a finding with its line of the submission, which is cut on a low screen, and its notes."""
    lines = [_labelled(cause.word, "red", cause.text)]
    lines += [indented(Text(cause.explanation))] if cause.explanation else []
    if cause.place:
        line = Text.assemble((f"{cause.place}: ", "dim"), cause.line, no_wrap=is_low, overflow="ellipsis")
        lines.append(indented(line))
    return [*lines, indented(Text(cause.notes, "dim"))]


def _printed(view: VerdictView) -> list[Line]:
    """Return the submission's output (its end) before the first failure that has any."""
    cause = next((cause for cause in view.causes if cause.printed), None)
    if cause is None:
        return []
    lines = cause.printed.split("\n")
    output = [Text(cause.printed_title, "dim")]
    output += [Text.assemble(("│ ", "dim"), printable_line(line), no_wrap=True, overflow="ellipsis") for line in lines]
    return [indented(line) for line in output]


def _drawn(cause: CauseView, width: int, *, has_passing: bool) -> list[Line]:
    """Return the picture of a cause; none if it is wider than the page."""
    lines = shaded(cause.picture, width - INDENT, has_passing=has_passing) if cause.picture else []
    if cause.picture_title and lines:
        lines = [Text(cause.picture_title), *lines]
    for line in lines:
        line.no_wrap = True
    return [indented(line) for line in lines]


def _result(view: VerdictView, width: int) -> Line:
    """Return the result, the points, the seed and the seconds. The page of a file that cannot run begins with it."""
    has_room = len(f"{view.result} · {view.score} · {view.run}") <= width
    style = "bold green" if view.is_good else "bold yellow"
    result = Text.assemble((view.result, style), " · ") if view.was_checked else Text()
    return Text.assemble(result, view.score, " · " if has_room else "\n", view.run)


def _next(view: VerdictView) -> list[Line]:
    """Return the next steps as lines, and the origin of the code."""
    steps = view.next_steps if view.shows_all_steps else view.next_steps[:1]
    label = "Next: "
    lines: list[Line] = [
        beside(Text("" if place else label, "dim"), Text(_in_line(step), "dim"), len(label))
        for place, step in enumerate(steps)
    ]
    return [*lines, Text(view.origin, "dim")] if view.origin else lines


def _in_line(step: NextStep) -> str:
    text = f"{step.text[:1].lower()}{step.text[1:]}"
    return f"{text}: {step.command}" if step.command else f"{text}."
