"""One thing that is wrong with a description, its syntax included: where, what was expected, found, what to write."""

import difflib
from collections.abc import Iterable

from msgspec import Struct

KeyPath = tuple[str | int, ...]
"""Keys and indices from the top of the description down."""

LONGEST_QUOTE = 72
LONGEST_NAME = 64
MOST_PROBLEMS = 100
"""As many are told, and no likenesses are looked for beyond."""

LIKENESS = 0.7
"""How much of two words must agree for one to be taken for the other, from 0 to 1."""


class Problem(Struct, frozen=True):
    """A problem at `path`; where `line` is 0, the path says where it is."""

    path: KeyPath
    expected: str
    found: str
    remedy: str
    at_key: bool = False
    line: int = 0
    column: int = 0

    def sentence(self, place: str) -> str:
        """The problem in words; `place` is file:line:column."""
        at = f"{path_text(self.path)}: " if self.path else ""
        return f"{place}: {at}expected {self.expected}, got {self.found}; {self.remedy}"


def path_text(path: KeyPath) -> str:
    """A path as people write it: `defects[1].points`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_name(part)}" if text else _name(part)
    return text


def _name(key: str) -> str:
    """A key as it was written, or between quotes where it is long or goes over lines."""
    return key if len(key) <= LONGEST_NAME and key.isprintable() else quoted(key)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; empty where none is like it."""
    if len(word) > LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=LIKENESS)
    return close[0] if close else ""


def quoted(text: str) -> str:
    """A text on one line, between quotes, cut where it is long."""
    line = " ".join(text.split())
    return f'"{line[:LONGEST_QUOTE]}..."' if len(line) > LONGEST_QUOTE else f'"{line}"'


def listed(words: Iterable[str], last: str = "and") -> str:
    """`a, b and c`."""
    *others, final = list(words) or ["none"]
    return f"{', '.join(others)} {last} {final}" if others else final


BLANK = "FILL IN"
"""How a value begins that nobody has filled in yet; what belongs there follows in parentheses."""


def blank(what: str) -> str:
    """A value to be filled in."""
    return f"{BLANK} ({what})"


def missing_from_blank(value: str) -> str | None:
    """What belongs in the place of a value that nobody has filled in; None for any other value."""
    if not value.lstrip().startswith(BLANK):
        return None
    return value.strip().removeprefix(BLANK).strip().removeprefix("(").removesuffix(")")
