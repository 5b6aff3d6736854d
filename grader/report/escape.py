"""Text that a submission made, fit to be shown: what cannot be seen is spelled out, what is long is cut."""

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
