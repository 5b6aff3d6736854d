"""Fragments: how defects are put back into a reference, and found in a text."""

from collections.abc import Iterable

from grader.errors import SpecError
from grader.exercise.records import Defect


def put_back(reference: str, defects: Iterable[Defect]) -> str:
    """The reference's text with each of the given defects in it again."""
    text = reference
    for defect in defects:
        for was, fix in defect.edits():
            text = replace_fragment(text, fix, was, defect.id)
    return text


def mend(starter: str, defects: Iterable[Defect]) -> str:
    """The starter's text with each of the given defects out of it: `put_back`, backwards."""
    text = starter
    for defect in reversed(list(defects)):
        for was, fix in reversed(defect.edits()):
            text = replace_fragment(text, was, fix, defect.id)
    return text


def replace_fragment(text: str, old: str, new: str, defect_id: str) -> str:
    """The text with `old` replaced by `new`; `SpecError` unless `old` occurs exactly once.

    A fragment of one line is any part of a line; one of several lines is whole lines, up to common indentation.
    """
    old, new = old.rstrip("\n"), new.rstrip("\n")
    places = _places(text, old)
    if len(places) != 1:
        found = "nowhere" if not places else f"{len(places)} times"
        raise SpecError(
            [f"defect {defect_id}: the fragment {old.splitlines()[0].strip()!r} occurs {found}; it must occur once"]
        )
    start, end, indent = places[0]
    lines = new.split("\n")
    indented = [lines[0] if start and text[start - 1] != "\n" else _indent(lines[0], indent)]
    indented += [_indent(line, indent) for line in lines[1:]]
    return text[:start] + "\n".join(indented) + text[end:]


def find_fragment(text: str, fragment: str) -> list[int]:
    """The lines, counted from one, at which the fragment stands."""
    return [text.count("\n", 0, start) + 1 for start, _, _ in _places(text, fragment.rstrip("\n"))]


def _places(text: str, fragment: str) -> list[tuple[int, int, str]]:
    """Where the fragment stands: start, end, indentation of its lines."""
    if "\n" in fragment:
        return _places_of_lines(text, fragment.split("\n"))
    places = []
    start = text.find(fragment)
    while start >= 0:
        line_start = text.rfind("\n", 0, start) + 1
        line = text[line_start:]
        indent = line[: len(line) - len(line.lstrip(" "))]
        places.append((start, start + len(fragment), indent))
        start = text.find(fragment, start + 1)
    return places


def _places_of_lines(text: str, wanted: list[str]) -> list[tuple[int, int, str]]:
    lines = text.split("\n")
    places = []
    start = 0
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip(" "))]
        window = lines[number : number + len(wanted)]
        if window == [_indent(part, indent) for part in wanted]:
            places.append((start, start + len("\n".join(window)), indent))
        start += len(line) + 1
    return places


def _indent(line: str, indent: str) -> str:
    return indent + line if line else line
