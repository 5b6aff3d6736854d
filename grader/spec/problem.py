"""One thing that is wrong with a description, its syntax included: where, what was expected, found, what to write."""

import difflib
from collections.abc import Iterable

import yaml
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
    *rest, final = list(words) or ["none"]
    return f"{', '.join(rest)} {last} {final}" if rest else final


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


COMPLAINTS = (
    (
        "mapping values are not allowed",
        "one key in a line",
        "another colon",
        "put a text that holds a colon in quotes, or line the key up with those above",
    ),
    ("did not find expected ',' or ']'", "a comma or ]", "something else", "close the list that begins at CONTEXT"),
    (
        "did not find expected ',' or '}'",
        "a comma or }",
        "something else",
        "close the mapping that begins at CONTEXT",
    ),
    ("unexpected end of stream", "a closing quote", "the end of the file", "close the quote that begins at CONTEXT"),
    ("could not find expected ':'", "a colon after the key", "none", "write key: value, or indent a text's next line"),
    (
        "did not find expected key",
        "a key of the mapping that begins at CONTEXT",
        "something else",
        "line the keys up in one column, and put a text that begins with a quote in quotes as a whole",
    ),
    ("did not find expected '-' indicator", "a - in the column of the others", "something else", "line the items up"),
    (
        "block sequence entries are not allowed",
        "a value",
        "a - in the middle of a line",
        "begin the list on a new line",
    ),
    ("cannot start any token", "a value", "CHARACTER", "put the text in quotes"),
    ("unknown escape character", "an escape YAML knows", "CHARACTER", "use single quotes, in which \\ is a plain \\"),
    ("alphabetic or numeric character", "a name after & or *", "CHARACTER", "put a text that begins so in quotes"),
    ("undefined tag handle", "a value without a tag", "CHARACTER", "put a text that begins with ! in quotes"),
    (
        "did not find expected <document start>",
        "one mapping",
        "something after its end",
        "line the keys up in one column",
    ),
)


def explain_syntax_error(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """The parser's complaint as a problem with its place."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.split("\n")
    seen = lines[line - 1] if line <= len(lines) else ""
    context = f"{error.context_mark.line + 1}:{error.context_mark.column + 1}" if error.context_mark else "its start"
    character = quoted(seen[column - 1 : column]) if seen[column - 1 :].strip() else "the end of the line"
    complaint = str(error.problem or error.context)
    if "\t" in seen[: len(seen) - len(seen.lstrip())] or seen[column - 1 : column] == "\t":
        column = seen.index("\t") + 1
        return Problem((), "spaces", "a tab", "indent with spaces; YAML takes no tabs there", line=line, column=column)
    for part, expected, found, remedy in COMPLAINTS:
        if part in complaint:
            told = [_filled(each, context, character) for each in (expected, found, remedy)]
            return Problem((), told[0], told[1], told[2], line=line, column=column)
    found = f"what the parser calls {quoted(complaint)}"
    return Problem((), "YAML", found, "look at this line and the one above it", line=line, column=column)


def _filled(sentence: str, context: str, character: str) -> str:
    return sentence.replace("CONTEXT", context).replace("CHARACTER", character)
