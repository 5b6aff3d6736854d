"""A page of text for a terminal: its lines, tables that fit into its width, and the rendered text."""

import io
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Line = Text | Padding | Table

INDENT = 8
"""Columns by which a finding's text is indented."""


def render_page(lines: Iterable[Line], width: int, *, color: bool) -> str:
    """Render the lines below each other, wrapped at `width` columns."""
    output = io.StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        force_jupyter=False,
    )
    for line in lines:
        is_verbatim = isinstance(line, Text) and line.overflow == "ignore"
        console.print(line, **(VERBATIM if is_verbatim else {}))
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def indented(text: Text) -> Padding:
    """Indent a line, and the lines that it wraps into."""
    return Padding(text, (0, 0, 0, INDENT), expand=False)


VERBATIM: dict[str, Any] = {"no_wrap": True, "overflow": "ignore", "crop": False}


def verbatim(text: str, style: str = "", *, indent: int = 0) -> Text:
    """Return a line of code that is never wrapped or cut, so that it can be copied."""
    return Text(" " * indent + text, style, overflow="ignore")


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table: its heading, and a cell for each row."""

    heading: str
    cells: list[Text]
    is_number: bool = False

    def is_empty(self) -> bool:
        """Return whether no cell says more than that all is well, or that there is nothing."""
        return all(cell.plain in ("", "0", "✓", "✓ 0") for cell in self.cells)


COLUMN_GAP = 2


def fitted_table(columns: Sequence[Column], width: int) -> list[Line]:
    """Return a table that fits into the width. The first column names the rows.

    If the table is too wide, each word of a heading gets its own line. If it still is, the columns without content are
    left out, and a line below names them. If it still is, the table is split into several.
    """
    if _width_of(columns, breaks=False) <= width:
        return [_table_of(columns, breaks=False)]
    if _width_of(columns, breaks=True) <= width:
        return [_table_of(columns, breaks=True)]
    names, *others = columns
    kept = [each for each in others if not each.is_empty()]
    groups: list[list[Column]] = [[names]]
    for column in kept:
        if len(groups[-1]) > 1 and _width_of([*groups[-1], column], breaks=True) > width:
            groups.append([names])
        groups[-1].append(column)
    omitted = [each.heading for each in others if each.is_empty()]
    lines: list[Line] = []
    for group in groups:
        lines += [*([Text()] if lines else []), _table_of(group, breaks=True)]
    lines += [Text(), Text(f"Nothing to show in: {', '.join(omitted)}", "dim")] if omitted else []
    return lines


def _heading(column: Column, *, breaks: bool) -> str:
    return column.heading.replace(" ", "\n") if breaks else column.heading


def _width_of(columns: Sequence[Column], *, breaks: bool) -> int:
    texts = ([*_heading(each, breaks=breaks).split("\n"), *(cell.plain for cell in each.cells)] for each in columns)
    return sum(max(map(cell_len, each)) for each in texts) + COLUMN_GAP * (len(columns) - 1)


def _table_of(columns: Sequence[Column], *, breaks: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
    for column in columns:
        justify: JustifyMethod = "right" if column.is_number else "left"
        table.add_column(_heading(column, breaks=breaks), justify=justify, no_wrap=True, vertical="bottom")
    for row in zip(*(each.cells for each in columns), strict=True):
        table.add_row(*row)
    return table


def marked(mark: tuple[str, str], text: Text) -> Table:
    """Return an indented line with a mark (text and style) in the margin."""
    return beside(Text(*mark), text, INDENT)


def beside(left: Text, right: Text, left_width: int) -> Table:
    """Return two columns, the second one wrapped to its width."""
    table = Table.grid()
    table.add_column(width=left_width)
    table.add_column()
    table.add_row(left, right)
    return table
