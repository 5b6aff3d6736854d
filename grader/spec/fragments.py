"""Apply the fragments of defects to sources, and find fragments that cannot be applied."""

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator

from grader.errors import SpecError
from grader.spec.exercise import Defect, Exercise, NearMiss
from grader.spec.fields import as_list
from grader.spec.problem import KeyPath, Problem, listed, quoted


def put_back(reference: str, defects: Iterable[Defect]) -> str:
    """Return the reference with the given defects: replace each `fix` by its `was`."""
    text = reference
    for defect in defects:
        for was, fix in defect.edits():
            text = replace_fragment(text, fix, was, f"defect {defect.id}")
    return text


def make_variant(reference: str, exercise: Exercise, subset: Collection[str]) -> str:
    """Return the reference with the defects whose ids are in the subset."""
    return put_back(reference, [defect for defect in exercise.defects if defect.id in subset])


def fix_defects(starter: str, defects: Iterable[Defect]) -> str:
    """Return the starter without the given defects: replace each `was` by its `fix`, in the opposite order."""
    text = starter
    for defect in reversed(list(defects)):
        for was, fix in reversed(defect.edits()):
            text = replace_fragment(text, was, fix, f"defect {defect.id}")
    return text


def make_near_miss(reference: str, near_miss: NearMiss, defects: Iterable[Defect]) -> str:
    """Return the reference with a near miss, and beside it the given defects.

    Raise `SpecError` if their fragments overlap.
    """
    text = reference
    for was, becomes in near_miss.edits():
        text = replace_fragment(text, was, becomes, f"near miss {near_miss.id}")
    return put_back(text, defects)


def replace_fragment(text: str, old: str, new: str, owner: str) -> str:
    """Return the text with `old` replaced by `new`; raise `SpecError` unless `old` occurs exactly once.

    A fragment of one line is any part of a line. A fragment of several lines is whole lines, with or without their
    common indentation. `owner` names the fragment's owner in the error: "defect swapped-axes".
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
    """Return the numbers of the lines, counted from 1, at which the fragment occurs."""
    return [text.count("\n", 0, start) + 1 for start, _, _ in _places(text, fragment.rstrip("\n"))]


def _places(text: str, fragment: str) -> list[tuple[int, int, str]]:
    """Return where the fragment occurs: start, end, and the indentation that each of its lines has in addition."""
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
        elif window == wanted:  # the fragment includes the indentation
            places.append((start, end, ""))
        start += len(line) + 1
    return places


def _indent(line: str, indent: str) -> str:
    return indent + line if line else line


MAX_LINES = 5
"""The most lines that an error names for one fragment."""

SIMILARITY = 0.4
"""How similar a line must be to a missing one for an error to show it, from 0 to 1."""


def reference_problems(exercise: Exercise, reference: str) -> Iterator[Problem]:
    """Yield a problem for each fragment that cannot be applied to the reference, or to the starter made from it."""
    if any(len(_counts(defect.was, defect.fix)) > 1 for defect in exercise.defects):
        return  # `was` and `fix` cannot be paired, which `soundness.py` reports
    problems = [
        problem
        for index, defect in enumerate(exercise.defects)
        for problem in _missing_fragments(defect, reference, "fix", ("defects", index))
    ]
    problems = problems or list(_overlaps(exercise, reference))
    if problems:
        yield from problems
        return
    try:
        starter = put_back(reference, exercise.defects)
    except SpecError as error:
        expected = "fragments that can all be put back together"
        remedy = "choose fragments that do not overlap"
        yield Problem(path=("defects",), expected=expected, found=str(error), remedy=remedy)
        return
    problems = list(starter_problems(exercise, starter))
    yield from problems or _syntax_problems_of_variants(exercise, reference)
    yield from _near_miss_problems(exercise, reference)


def _near_miss_problems(exercise: Exercise, reference: str) -> Iterator[Problem]:
    """Yield a problem for each near miss whose fragments cannot be replaced in the reference."""
    for index, near_miss in enumerate(exercise.near_misses):
        if len(_counts(near_miss.was, near_miss.becomes)) > 1:
            continue  # which `soundness.py` reports
        problems = list(_missing_fragments(near_miss, reference, "was", ("near_misses", index)))
        yield from problems
        if problems:
            continue
        try:
            text = make_near_miss(reference, near_miss, [])
        except SpecError as error:
            yield Problem(
                path=("near_misses", index, "was"),
                expected="fragments that can be replaced one after another",
                found=str(error),
                remedy="choose fragments that do not overlap",
            )
        else:
            yield from _syntax_problem(text, ("near_misses", index, "becomes"), "in the reference")


def starter_problems(exercise: Exercise, starter: str) -> Iterator[Problem]:
    """Yield a problem for each fragment that cannot be replaced in the starter by its `fix`."""
    problems = [
        problem
        for index, defect in enumerate(exercise.defects)
        for problem in _missing_fragments(defect, starter, "was", ("defects", index), "the starter")
    ]
    if problems:
        yield from problems
        return
    for index, defect in enumerate(exercise.defects):
        try:
            fixed = fix_defects(starter, [defect])
        except SpecError as error:
            yield Problem(
                path=("defects", index, "was"),
                expected="fragments that can be fixed one after another",
                found=str(error),
                remedy="choose fragments that do not overlap",
            )
        else:
            yield from _syntax_problem(fixed, ("defects", index, "fix"), "in the starter")


def _syntax_problems_of_variants(exercise: Exercise, reference: str) -> Iterator[Problem]:
    for index, defect in enumerate(exercise.defects):
        variant = put_back(reference, [defect])
        yield from _syntax_problem(variant, ("defects", index, "was"), "in the reference")


def _syntax_problem(text: str, path: KeyPath, where: str) -> Iterator[Problem]:
    """Yield a problem if the text is not valid Python; `where` names the file in which the fragment was replaced."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        line = text.split("\n")[(error.lineno or 1) - 1].strip()
        found = f"{error.msg}, at {quoted(line)}"
        yield Problem(
            path=path,
            expected=f"valid Python after the replacement {where}",
            found=found,
            remedy=f"write whole lines, with the indentation that they have {where}",
        )


def _counts(*parts: str | list[str]) -> set[int]:
    """Return the numbers of fragments in the parts; one number if they are equal."""
    return {len(as_list(part)) for part in parts}


def _missing_fragments(
    owner: Defect | NearMiss, text: str, part: str, path: KeyPath, where: str = "the reference"
) -> Iterator[Problem]:
    """Yield a problem for each fragment of `was` or `fix`, the `part`, that does not occur exactly once in the text."""
    value = getattr(owner, part)
    for index, fragment in enumerate(as_list(value)):
        at = (*path, part) if isinstance(value, str) else (*path, part, index)
        lines = _find_fragment(text, fragment)
        if not lines:
            yield Problem(
                path=at,
                expected=f"a fragment that occurs once in {where}",
                found="no occurrence",
                remedy=_nearest_line(text, fragment),
            )
        elif len(lines) > 1:
            first_lines = sorted(set(lines))[:MAX_LINES]
            places = f"in line{'s' if len(first_lines) > 1 else ''} {listed(map(str, first_lines))}"
            yield Problem(
                path=at,
                expected=f"a fragment that occurs once in {where}",
                found=f"{len(lines)} occurrences, {places}",
                remedy="include more of the line, or a neighbouring line",
            )


def _nearest_line(text: str, fragment: str) -> str:
    """Return a remedy for a fragment that does not occur: the most similar line, or where to compare."""
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in fragment.strip("\n").split("\n")]
    missing = [line for line in wanted if line and not any(line in each for each in lines)]
    if not missing:
        number = next(number for number, line in enumerate(lines, 1) if wanted[0] in line)
        return f"compare the lines from line {number} on, with blank lines and indentation: the order or layout differs"
    near = difflib.get_close_matches(missing[0], lines, n=1, cutoff=SIMILARITY)
    if not near:
        return f"no line is similar to {quoted(missing[0])}"
    wanted_line = f"for {quoted(missing[0])} " if len(wanted) > 1 else ""
    return f"the most similar line {wanted_line}is {lines.index(near[0]) + 1}: {near[0]}"


def _overlaps(exercise: Exercise, reference: str) -> Iterator[Problem]:
    """Yield a problem for each defect that cannot be put back after some other defect."""
    for index, defect in enumerate(exercise.defects):
        for other in exercise.defects:
            pair = [defect] if other is defect else [other, defect]
            try:
                put_back(reference, pair)
            except SpecError:
                culprit = "another fragment of this defect" if other is defect else other.id
                yield Problem(
                    path=("defects", index, "fix"),
                    expected="a fragment that occurs once, whichever other defects are put back",
                    found=f"a fragment that {culprit} removes or repeats",
                    remedy=f"choose fragments that do not overlap those of {culprit}",
                )
                break
