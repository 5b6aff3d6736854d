"""Text made safe to print: visible characters only, and a limited length."""

from grader.sandbox.text import cut, cut_middle

SCAN_FACTOR = 8
"""A long text is read up to this many times the limit, because spaces may be removed from it."""


def printable(text: str, limit: int = 400) -> str:
    """Return the text as one line of visible characters; a line that was cut ends with the number of omitted ones."""
    words = " ".join(text[: SCAN_FACTOR * limit].split())
    return _visible(cut(words, limit, max(len(text) - SCAN_FACTOR * limit, 0)))


def printable_ends(text: str, limit: int) -> str:
    """Return the text as one line of visible characters; a long text is cut in the middle."""
    return _visible(cut_middle(" ".join(text.split()), limit))


def printable_line(text: str, limit: int = 120) -> str:
    """Return a line like `printable` does, but keep its indentation and spacing."""
    line = text[: 2 * limit].expandtabs(4)
    return _visible(cut(line, limit, max(len(text) - 2 * limit, 0)))


def printable_lines(text: str) -> str:
    """Return the lines with visible characters only; keep tabs and spacing, and cut nothing."""
    return "\n".join("\t".join(map(_visible, line.split("\t"))) for line in text.split("\n"))


def _visible(text: str) -> str:
    """Escape control and bidi characters, unusual spaces and lone surrogates."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
