"""Fragments of a description against the reference: each stands where its defect can be put back, and nowhere else."""

import ast
import difflib
from collections.abc import Iterable, Iterator

from grader.errors import SpecError
from grader.spec.exercise import Defect, Exercise
from grader.spec.problem import KeyPath, Problem, listed, quoted


def put_back(reference: str, defects: Iterable[Defect]) -> str:
    """The reference's text with each of the given defects in it again."""
    text = reference
    for defect in defects:
        for was, fix in defect.edits():
            text = replace_fragment(text, fix, was, f"defect {defect.id}")
    return text


def mend(starter: str, defects: Iterable[Defect]) -> str:
    """The starter's text with each of the given defects out of it: `put_back`, backwards."""
    text = starter
    for defect in reversed(list(defects)):
        for was, fix in reversed(defect.edits()):
            text = replace_fragment(text, was, fix, f"defect {defect.id}")
    return text


def replace_fragment(text: str, old: str, new: str, owner: str) -> str:
    """Return the text with `old` replaced by `new`; raise `SpecError` unless `old` occurs exactly once.

    A fragment of one line is any part of a line; one of several lines is whole lines, without their common indentation
    or as they stand. `owner` is what the error says the fragment belongs to, as in "defect swapped-axes".
    """
    old, new = old.rstrip("\n"), new.rstrip("\n")
    places = _places(text, old)
    if len(places) != 1:
        found = "nowhere" if not places else f"{len(places)} times"
        raise SpecError([f"{owner}: the fragment {old.splitlines()[0].strip()!r} occurs {found}; it must occur once"])
    start, end, indent = places[0]
    lines = new.split("\n")
    indented = [lines[0] if start and text[start - 1] != "\n" else _indent(lines[0], indent)]
    indented += [_indent(line, indent) for line in lines[1:]]
    return text[:start] + "\n".join(indented) + text[end:]


def _find_fragment(text: str, fragment: str) -> list[int]:
    """The lines, counted from one, at which the fragment stands."""
    return [text.count("\n", 0, start) + 1 for start, _, _ in _places(text, fragment.rstrip("\n"))]


def _places(text: str, fragment: str) -> list[tuple[int, int, str]]:
    """Where the fragment stands: start, end, and by how much its lines are indented there more than in it."""
    if "\n" in fragment:
        return _places_of_lines(text, fragment.split("\n"))
    places = []
    start = text.find(fragment)
    while start >= 0:
        line_start = text.rfind("\n", 0, start) + 1
        line = text[line_start:]
        indent = line[: len(line) - len(line.lstrip(" "))]
        is_whole = start == line_start and fragment.startswith(" ")
        places.append((start, start + len(fragment), "" if is_whole else indent))
        start = text.find(fragment, start + 1)
    return places


def _places_of_lines(text: str, wanted: list[str]) -> list[tuple[int, int, str]]:
    lines = text.split("\n")
    places = []
    start = 0
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip(" "))]
        window = lines[number : number + len(wanted)]
        end = start + len("\n".join(window))
        if window == [_indent(part, indent) for part in wanted]:
            places.append((start, end, indent))
        elif window == wanted:  # indented as they stand there
            places.append((start, end, ""))
        start += len(line) + 1
    return places


def _indent(line: str, indent: str) -> str:
    return indent + line if line else line


MOST_LINES = 5
"""As many places of a fragment are named."""

LIKENESS = 0.4
"""How much of two lines must agree for one to be shown beside the other."""


def mismatches(exercise: Exercise, reference: str) -> Iterator[Problem]:
    """Fragments that cannot be found once in the reference, or in a variant of it, or in the starter."""
    if any(len(parts) > 1 for parts in map(_counts, exercise.defects)):
        return
    sound = True
    for index, defect in enumerate(exercise.defects):
        for problem in _lost_fragments(defect, reference, "fix", ("defects", index)):
            sound = False
            yield problem
    if not sound:
        return
    clashes = list(_clashes(exercise, reference))
    yield from clashes
    if clashes:
        return
    try:
        starter = put_back(reference, exercise.defects)
    except SpecError as error:
        expected = "fragments that can be put back all together"
        yield Problem(("defects",), expected, str(error), "keep the defects' lines apart")
        return
    lost = list(lost_in_starter(exercise, starter))
    yield from lost or _unparsable(exercise, reference)


def lost_in_starter(exercise: Exercise, starter: str) -> Iterator[Problem]:
    """Fragments of the starter that do not stand there once, or whose fix is no code there."""
    sound = True
    for index, defect in enumerate(exercise.defects):
        for problem in _lost_fragments(defect, starter, "was", ("defects", index), "the starter"):
            sound = False
            yield problem
    for index, defect in enumerate(exercise.defects if sound else []):
        try:
            mended = mend(starter, [defect])
        except SpecError as error:
            expected = "fragments that can be mended one after the other"
            yield Problem(("defects", index, "was"), expected, str(error), "keep the fragments' lines apart")
        else:
            yield from _syntax_problem(mended, ("defects", index, "fix"), "once it stands in the starter")


def _unparsable(exercise: Exercise, reference: str) -> Iterator[Problem]:
    for index, defect in enumerate(exercise.defects):
        variant = put_back(reference, [defect])
        yield from _syntax_problem(variant, ("defects", index, "was"), "once it stands in the reference")


def _syntax_problem(text: str, path: KeyPath, where: str) -> Iterator[Problem]:
    try:
        ast.parse(text)
    except SyntaxError as error:
        line = text.split("\n")[(error.lineno or 1) - 1].strip()
        found = f"{error.msg}, at {quoted(line)}"
        yield Problem(
            path, f"code that can be parsed {where}", found, "write whole lines, indented as they stand there"
        )


def _counts(defect: Defect) -> set[int]:
    """How many fragments there are in was and in fix."""
    return {1 if isinstance(part, str) else len(part) for part in (defect.was, defect.fix)}


def _lost_fragments(
    defect: Defect, text: str, part: str, path: KeyPath, where: str = "the reference"
) -> Iterator[Problem]:
    value = getattr(defect, part)
    for index, fragment in enumerate([value] if isinstance(value, str) else value):
        at = (*path, part) if isinstance(value, str) else (*path, part, index)
        lines = _find_fragment(text, fragment)
        if not lines:
            yield Problem(
                at, f"a fragment that stands once in {where}", "one that stands nowhere", _nearest_line(text, fragment)
            )
        elif len(lines) > 1:
            some = sorted(set(lines))[:MOST_LINES]
            places = f"in line{'s' if len(some) > 1 else ''} {listed(map(str, some))}"
            found = f"one that stands {len(lines)} times, {places}"
            yield Problem(
                at, f"a fragment that stands once in {where}", found, "take in more of the line, or a line beside it"
            )


def _nearest_line(text: str, fragment: str) -> str:
    """What to look at: the first line of the fragment that the text does not have, and the one most like it."""
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    wanted = [line.strip() for line in fragment.strip("\n").split("\n")]
    lost = [line for line in wanted if line and not any(line in each for each in stripped)]
    if not lost:
        number = next(number for number, line in enumerate(stripped, 1) if wanted[0] in line)
        return f"its lines do not follow each other so; compare line {number} on, blank lines and indentation too"
    near = difflib.get_close_matches(lost[0], stripped, n=1, cutoff=LIKENESS)
    if not near:
        return f"no line is like {quoted(lost[0])}"
    of = f"for {quoted(lost[0])} " if len(wanted) > 1 else ""
    return f"the nearest line {of}is {stripped.index(near[0]) + 1}: {near[0]}"


def _clashes(exercise: Exercise, reference: str) -> Iterator[Problem]:
    """Defects that cannot be put back once another one is: their fragments overlap."""
    for index, defect in enumerate(exercise.defects):
        for other in exercise.defects:
            pair = [defect] if other is defect else [other, defect]
            try:
                put_back(reference, pair)
            except SpecError:
                expected = "a fragment that stands once, whatever else is put back"
                culprit = "another fragment of its own" if other is defect else other.id
                found = f"one that {culprit} takes away or doubles"
                yield Problem(("defects", index, "fix"), expected, found, f"keep clear of the lines of {culprit}")
                break
