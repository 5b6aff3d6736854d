"""Text that a submission made, fit to be shown: what cannot be seen is spelled out, what is long is cut."""

import unicodedata

UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, limit: int = 400) -> str:
    """One line of visible characters; what is cut is counted."""
    shown = "".join(_visible(character) for character in " ".join(text.split())[:limit])
    cut = len(text) - limit
    return f"{shown} ... ({cut:,} more characters)" if cut > 0 else shown


def printable_line(text: str, limit: int = 120) -> str:
    """Like `printable`, with indentation and spacing kept."""
    return "".join(_visible(character) for character in text.expandtabs(4)[:limit])


def _visible(character: str) -> str:
    if unicodedata.category(character) in UNSAFE_CATEGORIES:
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return character
