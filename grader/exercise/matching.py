"""Fragments of a description against the reference: each stands where its defect can be put back, and nowhere else."""

import difflib
from collections.abc import Iterator

from grader.errors import SpecError
from grader.exercise.fragments import find_fragment, put_back
from grader.exercise.problem import Path, Problem, listed, quoted
from grader.exercise.records import Defect, Exercise

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
    for index, defect in enumerate(exercise.defects):
        yield from _lost_fragments(defect, starter, "was", ("defects", index), "the starter")


def _counts(defect: Defect) -> set[int]:
    """How many fragments there are in was and in fix."""
    return {1 if isinstance(part, str) else len(part) for part in (defect.was, defect.fix)}


def _lost_fragments(
    defect: Defect, text: str, part: str, path: Path, where: str = "the reference"
) -> Iterator[Problem]:
    value = getattr(defect, part)
    for index, fragment in enumerate([value] if isinstance(value, str) else value):
        at = (*path, part) if isinstance(value, str) else (*path, part, index)
        lines = find_fragment(text, fragment)
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
