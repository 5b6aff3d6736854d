"""Lines of styled text -> one string, for a terminal with or without colours."""

import io
from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Line = Text | Padding | Table

INDENT = 8
"""Columns that what belongs to a finding is set in by."""


def render_page(lines: Iterable[Line], width: int, *, color: bool) -> str:
    """The lines one below the other, wrapped at `width` columns."""
    output = io.StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    for line in lines:
        console.print(line)
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def indented(text: Text) -> Padding:
    """A line set in, all its wrapped lines included."""
    return Padding(text, (0, 0, 0, INDENT), expand=False)


def marked(mark: tuple[str, str], text: Text) -> Table:
    """A line with a mark in the margin; its wrapped lines are set in."""
    return beside(Text(*mark), text, INDENT)


def beside(left: Text, right: Text, left_width: int) -> Table:
    """Two columns; what does not fit the second is wrapped within it."""
    table = Table.grid()
    table.add_column(width=left_width)
    table.add_column()
    table.add_row(left, right)
    return table
