"""A problem in an exercise.yaml: its place, what was expected, what was found, and the remedy."""

import difflib
from collections.abc import Iterable

from msgspec import Struct

KeyPath = tuple[str | int, ...]
"""The keys and indices that lead from the top of the file to a value."""

MAX_QUOTE_LENGTH = 72
MAX_NAME_LENGTH = 64
MAX_PROBLEMS = 100
"""The most problems that are reported, and for which similar names are searched."""

SIMILARITY = 0.7
"""How similar two words must be for one to be suggested in place of the other, from 0 to 1."""


class Problem(Struct, frozen=True, kw_only=True):
    """A problem with the value at `path`."""

    path: KeyPath
    expected: str
    found: str
    remedy: str
    at_key: bool = False
    """Whether the problem is with the key rather than its value."""
    line: int = 0
    """The line, counted from 1; 0 if it follows from the path."""
    column: int = 0

    def sentence(self, place: str) -> str:
        """Return the problem as a sentence; `place` is file:line:column."""
        at = f"{path_text(self.path)}: " if self.path else ""
        return f"{place}: {at}expected {self.expected}, got {self.found}; {self.remedy}"


def path_text(path: KeyPath) -> str:
    """Return a path as text, such as `defects[1].points`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_name(part)}" if text else _name(part)
    return text


def _name(key: str) -> str:
    """Return a key, quoted if it is long or has unprintable characters."""
    return key if len(key) <= MAX_NAME_LENGTH and key.isprintable() else quoted(key)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar to this one; empty if none is similar."""
    if len(word) > MAX_NAME_LENGTH:
        return ""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=SIMILARITY)
    return close[0] if close else ""


def quoted(text: str) -> str:
    """Return a text on one line in quotes, shortened if it is long."""
    line = " ".join(text.split())
    return f'"{line[:MAX_QUOTE_LENGTH]}..."' if len(line) > MAX_QUOTE_LENGTH else f'"{line}"'


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return words as a list in a sentence: `a, b and c`, or `none`."""
    *others, final = list(words) or ["none"]
    return f"{', '.join(others)} {last} {final}" if others else final


BLANK = "FILL IN"
"""The beginning of a value that the author still has to fill in. A description follows in parentheses."""


def blank(hint: str) -> str:
    """Return a value for the author to fill in; `hint` describes it."""
    return f"{BLANK} ({hint})"


def missing_from_blank(value: str) -> str | None:
    """Return the description in a value that the author still has to fill in; None for any other value."""
    if not value.lstrip().startswith(BLANK):
        return None
    return value.strip().removeprefix(BLANK).strip().removeprefix("(").removesuffix(")")
