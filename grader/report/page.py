"""Lines of styled text -> one string, for a terminal with or without colours."""

import io
from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

LOOKED_AT = 8
"""Times the limit: as far into a long text as it is read at all, however much of that is space."""


def printable(text: str, limit: int = 400) -> str:
    """One line of visible characters; what is cut is counted."""
    words = " ".join(text[: LOOKED_AT * limit].split())
    cut = len(words) - limit + max(len(text) - LOOKED_AT * limit, 0)
    return _visible(words[:limit]) + _count(cut)


def printable_line(text: str, limit: int = 120) -> str:
    """Like `printable`, with indentation and spacing kept."""
    line = text[:limit].expandtabs(4)
    return _visible(line[:limit]) + _count(len(line) - limit + max(len(text) - limit, 0))


def printable_lines(text: str) -> str:
    """Lines of any number and length, with tabs and spacing kept."""
    return "\n".join("\t".join(map(_visible, line.split("\t"))) for line in text.split("\n"))


def _visible(text: str) -> str:
    """The text with control and bidi characters, odd spaces and halves of characters spelled out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _spelled_out(each) for each in text)


def _spelled_out(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _count(cut: int) -> str:
    return f" ... ({cut:,} more characters)" if cut > 0 else ""


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
        force_jupyter=False,
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
