"""Lay out a verdict for the terminal: one screen that names no defect before it is fixed."""

from collections.abc import Collection, Mapping, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.report.console import INDENT, Line, beside, indented, marked, printable_line, render_page
from grader.report.next_steps import NextStep
from grader.report.phrases import Shell, command, counted
from grader.report.picture import shaded
from grader.report.view import CauseView, Lengths, Mark, Row, VerdictView, view_of
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict

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

LENGTHS = Lengths(reason=400, finding=240, place=80)


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

    `has_head` is false if another line names the exercise and the file. The other options are those of `view_of`.
    """

    def rendered(lines: list[Line]) -> str:
        return render_page(lines, width, color=color)

    view = view_of(
        verdict,
        exercise,
        known=known,
        failing_sizes=failing_sizes,
        listed=listed,
        names=names,
        has_seed=has_seed and bool(verdict.checks),
        shell=shell,
        lengths=LENGTHS,
    )
    is_low = height < SCREEN_LINES
    top: list[Line] = [*([_head(view, width)] if has_head else []), *_optional(view.checks_note, "dim")]
    top += [Text()] if top else []
    head = rendered([*top, *(_table(view, width, is_low=is_low) if view.was_checked else _not_gradable(view))])
    lessons = rendered(_paragraphs([Text(line) for line in view.lessons]))
    notes = [
        *_paragraphs([_labelled("hint", "yellow", view.near_miss)] if view.near_miss else []),
        *_paragraphs([_labelled("advice", "dim", text) for text in view.advice]),
    ]
    bottom = [_result(view, width), *_next(view)][: SHORT_FOOT if is_low else None]
    foot = rendered([*notes, Text(), *bottom, *_optional(view.open_layers, "yellow")])
    blocks = [rendered(_cause(cause)) for cause in view.causes]
    if view.hidden_defects:
        blocks[0] += rendered([indented(Text(view.hidden_defects))])
    title = rendered([Text(), Text(view.findings_title, "bold")]) if blocks else ""
    least_lines = _line_count(head, lessons, title, *blocks[:1], foot) + (len(blocks) > 1)
    if lessons and least_lines > height < SCREEN_LINES:
        lessons = rendered([Text("The explanation does not fit: press r, or enlarge the window.", "dim")])
    printed = rendered(_printed(view))
    room = height - _line_count(head, lessons, title, foot)
    if _line_count(*blocks[:BEFORE_PRINTS], printed) + (len(blocks) > BEFORE_PRINTS) > room:
        printed = ""
    chosen = _fitting(blocks, room - _line_count(printed))
    omitted = len(blocks) - len(chosen)
    report = command("report", view.exercise)
    others = f"{counted(omitted, 'more finding')}{'' if shell is Shell.NOTEBOOK else f'; {report} shows all of them'}"
    more = rendered([indented(Text(others, "dim"))]) if omitted else ""
    room -= _line_count(*chosen, printed, more)
    pictures = (rendered(_picture(view, width, has_passing=each)) for each in (True, False))
    picture = next((each for each in pictures if each and _line_count(each) <= room and not printed), "")
    if not picture and room > 0 and shell is Shell.TERMINAL and any(cause.picture for cause in view.causes[:1]):
        picture = rendered([indented(Text(f"{report} shows a picture of this finding", "dim"))])
    right = rendered(_paragraphs([_labelled("right", "green", " ".join(view.right))] if view.right else []))
    right = right if _line_count(right) <= room - _line_count(picture) else ""
    return "".join([head, lessons, title, *chosen[:1], printed, picture, *chosen[1:], more, right, foot])


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


def _table(view: VerdictView, width: int, *, is_low: bool) -> list[Line]:
    """Return a row for each defect, and one for everything else."""
    rows = [(row, f"{row.name} · {row.state}") for row in view.defects]
    rows += [(view.everything_else, view.everything_else.state)] if view.everything_else else []
    return [_row(row, state, width, is_low=is_low) for row, state in rows]


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


def _cause(cause: CauseView) -> list[Line]:
    lines = [_labelled(cause.word, "red", cause.text)]
    lines += [indented(Text(cause.explanation))] if cause.explanation else []
    if cause.place:
        line = Text.assemble((f"{cause.place}: ", "dim"), cause.line, no_wrap=True, overflow="ellipsis")
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


def _picture(view: VerdictView, width: int, *, has_passing: bool) -> list[Line]:
    """Return the picture of the first cause; none if it is wider than the page."""
    cause = next(iter(view.causes), None)
    if cause is None or cause.picture is None:
        return []
    lines = shaded(cause.picture, width - INDENT, has_passing=has_passing)
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
    lines = [f"{' ' * len(label) if place else label}{_in_line(step)}" for place, step in enumerate(steps)]
    return [Text(text, "dim") for text in filter(None, [*lines, view.origin])]


def _in_line(step: NextStep) -> str:
    text = f"{step.text[:1].lower()}{step.text[1:]}"
    return f"{text}: {step.command}" if step.command else f"{text}."
