"""Extract a module from a model's answer: fenced blocks, prose, parts of a file, diffs, search-and-replace blocks.

The answer is text by an untrusted author, so nothing here parses or runs it: lines are compared, and that is all. A
wrong guess costs the answer points and nothing else.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.api import open_course
from grader.evaluation.catalogue import hunt_of

FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([\w+.#-]*)[^`]*$")
THOUGHTS = ("</think>", "</thinking>", "</reasoning>", "</scratchpad>")
"""Tags that end a model's notes to itself."""

TAG = re.compile(r"[ \t]*</?(?:code|answer|solution|file|python|module|output|final)(?: [^>]*)?>[ \t]*$", re.IGNORECASE)
"""A line that is nothing but a tag around code."""

DEFINITION = re.compile(r"(?:async )?(?:class|def)[ \t]+(\w+)")
TEST = re.compile(r"(?:async )?def[ \t]+test\w*[ \t]*\(|class[ \t]+Test\w*[ \t]*[(:]")
METHOD = re.compile(r"([ \t]*)(?:async )?def[ \t]+(\w+)[ \t]*\([ \t]*self\b")
IMPORT = re.compile(r"(?:import[ \t]+[\w.]+|from[ \t]+[\w.]+[ \t]+import\b)")
FUTURE = "from __future__"
NAMES = r"[A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*"
ASSIGNMENT = re.compile(rf"(?!(?:else|try|finally)\b)(?:type[ \t]+)?({NAMES})[ \t]*(?::[^=]+)?=(?!=)")
WORD = re.compile(r"\w+")
CONTINUATIONS = (" ", "\t", ")", "]", "}")
"""The first characters of lines that continue a statement without indentation."""

TOP_LEVEL = re.compile(
    r"""(?:import[ \t]+[\w.]+|from[ \t]+[\w.]+[ \t]+import\b|(?:async )?def[ \t]+\w+\(|class[ \t]+\w+[(:]
    |@\w|(?:[\w.\[\], ]+|\w+:[ \t][\w.\[\], |]+)[ \t]=[ \t]|if[ \t]__name__|[)\]}]|\"\"\"|'''|\#)""",
    re.VERBOSE,
)
"""A line of code without indentation, rather than prose."""
CLOSING_QUOTES = re.compile(r"""(?!\s|\"{3}.|'{3}.).*?(\"{3}|'{3})\s*""")
"""A line without indentation that ends a docstring of several lines."""

HUNK = re.compile(r"@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@)?")
SEARCH, MIDDLE, REPLACE = re.compile(r"<{5,9} ?SEARCH"), re.compile(r"={5,9}$"), re.compile(r">{5,9} ?REPLACE")


class _Block(Struct, frozen=True, kw_only=True):
    """A part of an answer: its lines, and the language that its fence names."""

    lines: list[str]
    language: str


def extract_code(text: str, exercise: str, *, course: str | Path | None = None) -> str:
    """Return the text of the module that a model's answer contains; empty if the answer contains no code.

    - The last fenced block that defines the exercise's class or function is taken.
    - A block without imports replaces definitions and constants of the same name in the starter, and the other parts of
      the starter stay. A block that contains only methods is treated in the same way.
    - A unified diff or search-and-replace blocks are applied to the starter. A hunk applies where its old lines are;
      its line numbers only choose between several such places. If one does not apply, the answer contains no code.
    - Without a fence, the lines of code are taken and the prose around them is left out.

    An empty text is `not_gradable` for `grade`. Raise `UsageError` for an unknown exercise, and `TypeError` if the
    answer is not text.
    """
    if not isinstance(text, str):
        raise TypeError(f"an answer is text, not {type(text).__name__}; pass the model's whole answer as one string")
    hunt = hunt_of(open_course(course), exercise)
    lines = _without_thoughts(_unwrapped(text, hunt.entry)).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    starter = hunt.starter.rstrip("\n").split("\n")
    blocks = list(_blocks(lines))
    found = _last_module(blocks, hunt.entry, starter)
    changes = [change for block in blocks or [_Block(lines=lines, language="")] for change in _changes(block)]
    if not found and changes:
        found = _patched(changes, starter)
    elif not found:
        found = _with_parts(blocks, starter) if blocks else _code_in_prose(lines, hunt.entry, starter)
    return "\n".join(found).strip("\n") + "\n" if found else ""


def extract_tests(text: str) -> str:
    """Return the tests that a model's answer contains, for `grade_trap`; empty if it contains no test.

    The last fenced block with a test function is taken. Without a fence, the lines of code are taken and the prose
    around them is left out. Raise `TypeError` if the answer is not text.
    """
    if not isinstance(text, str):
        raise TypeError(f"an answer is text, not {type(text).__name__}; pass the model's whole answer as one string")
    lines = _without_thoughts(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = [block.lines for block in _blocks(lines)]
    found = next((block for block in reversed(blocks) if any(map(TEST.match, block))), [])
    if not blocks:
        prose = _dedented(lines)
        first = next((index for index, line in enumerate(prose) if TEST.match(line)), None)
        found = [] if first is None else _code_around(prose, first)
    return "\n".join(found).strip("\n") + "\n" if found else ""


def _unwrapped(text: str, entry: str) -> str:
    """Return the code in an answer that is a JSON object, or the answer itself."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    values = found.values() if isinstance(found, dict) else ()
    return next((value for value in values if isinstance(value, str) and entry in value), text)


def _without_thoughts(text: str) -> str:
    """Return what follows the model's notes to itself."""
    end = max((text.rfind(tag) + len(tag) for tag in THOUGHTS if tag in text), default=0)
    return text[end:] if text[end:].strip() else text


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield the fenced blocks. A block that is never closed ends with the answer."""
    fence, language = "", ""
    inside: list[str] = []
    for line in lines:
        found = FENCE.match(line)
        if not fence:
            if found:
                fence, language, inside = found[1], found[2].lower(), []
        elif found and found[1].startswith(fence) and not found[2]:
            yield _Block(lines=_dedented(inside), language=language)
            fence = ""
        else:
            inside.append(line)
    if fence:
        yield _Block(lines=_dedented(inside), language=language)


def _dedented(lines: list[str]) -> list[str]:
    """Return lines without their common indentation, quote marks and lines that are tags."""
    if lines and all(line.startswith(">") for line in lines):
        lines = [line[2:] if line.startswith("> ") else line[1:] for line in lines]
    lines = [line for line in lines if not TAG.match(line)]
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return [line[margin:] for line in lines]


def _is_diff(block: _Block) -> bool:
    return block.language in ("diff", "patch") or any(HUNK.match(line) for line in block.lines)


def _last_module(blocks: list[_Block], entry: str, starter: list[str]) -> list[str]:
    """Return the last block that defines the entry, completed by the starter if it has no imports."""
    for block in reversed(blocks):
        if not _is_diff(block) and not any(map(SEARCH.match, block.lines)) and entry in _defined(block.lines):
            return block.lines if any(map(IMPORT.match, block.lines)) else _spliced(block.lines, starter)
    return []


def _defined(lines: list[str]) -> dict[str, int]:
    """Return the index of the line of each definition without indentation."""
    return {found[1]: index for index, line in enumerate(lines) if (found := DEFINITION.match(line))}


def _spliced(lines: list[str], starter: list[str]) -> list[str]:
    """Return the starter with each definition and constant replaced by the given one of that name.

    A new part follows the part that is before it in the given lines, or else comes before everything replaced.
    """
    parts, known = _used_parts(lines), _definitions(starter) | _assignments(starter)
    new: dict[str, list[str]] = {"": []}
    last = ""
    for name, (start, end) in parts.items():
        if name in known:
            last = name
        elif last:
            new.setdefault(last, []).extend(["", "", *lines[start:end]])
        else:
            new[last] += [*lines[start:end], "", ""]
    replaced = sorted((known[name], name) for name in parts if name in known)
    position = replaced[0][0][0] if replaced else min((start for start, _ in _definitions(starter).values()), default=0)
    result = [*starter[:position], *_new_imports(lines, starter), *new[""]]
    for (start, end), name in replaced:
        own_start, own_end = parts[name]
        result += [*starter[position:start], *lines[own_start:own_end], *new.get(name, [])]
        position = end
    return [*result, *starter[position:]]


Places = dict[str, tuple[int, int]]
"""By the name of each part of a module: the index of its first line, and the index of the line after it."""


def _used_parts(lines: list[str]) -> Places:
    """Return the definitions and the constants in their order.

    An assignment after the last definition is left out, unless it looks like a constant that a definition uses:
    answers end with examples, such as `head = Attention(8)`.
    """
    definitions = _definitions(lines)
    last = max((start for start, _ in definitions.values()), default=len(lines))
    words = {word for start, end in definitions.values() for line in lines[start:end] for word in WORD.findall(line)}
    constants = {
        name: place
        for name, place in _assignments(lines).items()
        if place[0] < last or (name in words and not name[0].islower())
    }
    return dict(sorted((definitions | constants).items(), key=lambda part: part[1]))


def _definitions(lines: list[str]) -> Places:
    """Return the definitions without indentation, with their decorators."""
    found = {}
    for name, index in _defined(lines).items():
        start = at = index
        while at and lines[at - 1].startswith(("@", *CONTINUATIONS)):
            at -= 1
            start = at if lines[at].startswith("@") else start
        found[name] = (start, _end(lines, index))
    return found


def _assignments(lines: list[str]) -> Places:
    """Return the assignments without indentation: constants and type aliases."""
    found = {}
    for index, line in enumerate(lines):
        if match := ASSIGNMENT.match(line):
            found[match[1]] = (index, _end(lines, index))
    return found


def _new_imports(lines: list[str], starter: list[str]) -> list[str]:
    """Return the imports that the starter does not have."""
    found = [
        line
        for index, first in enumerate(lines)
        if IMPORT.match(first) and first not in starter and not first.startswith(FUTURE)
        for line in lines[index : _end(lines, index)]
    ]
    return [*found, "", ""] if found else []


def _end(lines: list[str], index: int) -> int:
    """Return the index of the line after the statement that begins at `index`."""
    end = index + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(("#", *CONTINUATIONS))):
        end += 1
    while not lines[end - 1].strip() or (lines[end - 1].startswith("#") and end - 1 > index):
        end -= 1
    return end


def _with_parts(blocks: list[_Block], starter: list[str]) -> list[str]:
    """Return the starter with the methods, or the definitions, that the blocks contain."""
    result = starter
    for block in blocks:
        first = next((index for index, line in enumerate(block.lines) if METHOD.match(line)), None)
        if first is not None:
            with_methods = _with_methods(block.lines, result)
            result = result if with_methods == result else _spliced(block.lines[:first], with_methods)
        elif _defined(block.lines).keys() & _defined(result).keys():
            result = _spliced(block.lines, result)
    return result if result != starter else []


def _with_methods(lines: list[str], starter: list[str]) -> list[str]:
    """Return the starter with each method replaced by the given one of that name, if there is exactly one."""
    starts = [index for index, line in enumerate(lines) if METHOD.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        found = METHOD.match(lines[start])
        assert found is not None
        own = [index for index, line in enumerate(starter) if (same := METHOD.match(line)) and same[2] == found[2]]
        if len(own) != 1:
            continue
        first = own[0]
        margin = len(starter[first]) - len(starter[first].lstrip())
        last = first + 1
        while last < len(starter) and (
            not starter[last].strip() or len(starter[last]) - len(starter[last].lstrip()) > margin
        ):
            last += 1
        while not starter[last - 1].strip():
            last -= 1
        body = _dedented(_without_end(lines[start:end]))
        starter = [*starter[:first], *(" " * margin + line if line.strip() else "" for line in body), *starter[last:]]
    return starter


def _without_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


Change = tuple[list[str], list[str], int]
"""The old lines, the new lines, and the index at which a diff expects the old lines; -1 if it gives none."""


def _patched(changes: list[Change], starter: list[str]) -> list[str]:
    """Return the starter after all changes of diffs and search-and-replace blocks; nothing if one does not apply."""
    result = starter
    for old, new, line in changes:
        at = _place(result, old, line)
        if at is None:
            return []
        result = [*result[:at], *new, *result[at + len(old) :]]
    return result if result != starter else []


def _changes(block: _Block) -> Iterator[Change]:
    yield from _replacements(block.lines)
    if not _is_diff(block):
        return
    old: list[str] = []
    new: list[str] = []
    expected, is_inside = -1, False
    for line in [*block.lines, "@@"]:
        found = HUNK.match(line)
        if found or (line.startswith(("diff ", "--- ", "+++ ", "index ")) and not (is_inside and not old)):
            if old != new:
                yield (*_trimmed(old, new), expected)
            old, new, is_inside = [], [], bool(found)
            expected = int(found[1]) - 1 if found and found[1] else -1
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif is_inside and not line.startswith("\\"):
            old.append(line[1:])
            new.append(line[1:])


def _trimmed(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Return a hunk without the empty lines at its end, which belong to the text after a diff."""
    while old and new and not old[-1].strip() and not new[-1].strip():
        old, new = old[:-1], new[:-1]
    return old, new


def _replacements(lines: list[str]) -> Iterator[Change]:
    """Yield the search-and-replace blocks."""
    old: list[str] = []
    new: list[str] = []
    part: list[str] | None = None
    for line in lines:
        if SEARCH.match(line):
            old, new = [], []
            part = old
        elif part is old and MIDDLE.match(line):
            part = new
        elif part is new and REPLACE.match(line):
            yield old, new, -1
            part = None
        elif part is not None:
            part.append(line)


def _place(lines: list[str], old: list[str], expected: int) -> int | None:
    """Return where the old lines are; with several places, the one nearest to where they are expected."""
    if not old:
        return None
    for form in (str.rstrip, str.strip):
        wanted = [form(line) for line in old]
        own = [form(line) for line in lines]
        places = [at for at in range(len(own) - len(wanted) + 1) if own[at : at + len(wanted)] == wanted]
        if len(places) == 1 or (places and expected >= 0):
            return min(places, key=lambda at: abs(at - expected))
    return None


def _code_in_prose(lines: list[str], entry: str, starter: list[str]) -> list[str]:
    """Return the code of an answer without fences: from its first line of code to its last."""
    lines = _dedented(lines)
    if entry not in _defined(lines):
        return []
    code = _code_around(lines, _defined(lines)[entry])
    return code if any(map(IMPORT.match, code)) else _spliced(code, starter)


def _code_around(lines: list[str], at: int) -> list[str]:
    """Return the lines of code around a line of code, up to the next line of prose on each side."""
    last = at
    for index in range(at, len(lines)):
        if _is_code(lines[index]):
            last = index
        elif lines[index].strip():
            break
    return lines[_first_line(lines, at) : last + 1]


def _first_line(lines: list[str], at: int) -> int:
    """Return the index of the first line of code before `at` without prose in between, but in a docstring."""
    first, quotes = at, ""
    for index in range(at - 1, -1, -1):
        line = lines[index]
        if quotes:  # in the module's docstring, which is read from its end to its beginning
            if quotes in line:
                first, quotes = index, ""
        elif found := CLOSING_QUOTES.fullmatch(line):
            quotes = found[1]
        elif _is_code(line):
            first = index
        elif line.strip():
            break
    return first


def _is_code(line: str) -> bool:
    return line.startswith((" ", "\t")) or bool(TOP_LEVEL.match(line))
