"""Spoilers: texts that give a solution away, so a student edition must not contain them."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.spec.exercise import Exercise
from grader.spec.paths import Course

SHORTEST_SPOILER = 16
"""A shorter line of code gives nothing away: `else:`, `return output`."""

OPENERS = ("(", "[", "{")
"""A line that ends with one of these gives nothing away without the next line: `raise ValueError(`."""


class Spoiler(Struct, frozen=True, kw_only=True):
    """A text, and the secret that it gives away."""

    text: str
    secret: str


def find_spoilers(course: Course, exercises: list[Exercise], files: dict[Path, bytes]) -> list[str]:
    """Return a message for each spoiler in the files of an edition."""
    starters = "\n".join(_read(course.pristine(course.editable_files(exercise.id)[0])) for exercise in exercises)
    spoilers = [spoiler for exercise in exercises for spoiler in _spoilers(course, exercise, starters)]
    return [
        f"{path} gives away {spoiler.secret}: {spoiler.text!r}; remove or reword it"
        for path, content in files.items()
        for spoiler in spoilers
        if spoiler.text.encode() in content
    ]


def _spoilers(course: Course, exercise: Exercise, starters: str) -> Iterator[Spoiler]:
    """Yield texts that the starters do not show.

    These are the defects, the near misses, the decoy, the reference's lines and the names of hidden tests.
    """
    for defect in exercise.defects:
        if "-" in defect.id:  # an id of one word may be an ordinary word elsewhere
            yield Spoiler(text=defect.id, secret=f"the id of a defect of {exercise.id}")
        yield Spoiler(text=defect.title, secret=f"the title of a defect of {exercise.id}")
        yield from _lines_of(defect.why, starters, f"why {defect.id} matters")
        for _, fix in defect.edits():
            yield from _lines_of(fix, starters, f"a fix of {defect.id}")
    for near_miss in exercise.near_misses:
        if "-" in near_miss.id:
            yield Spoiler(text=near_miss.id, secret=f"the id of a near miss of {exercise.id}")
        for _, becomes in near_miss.edits():
            yield from _lines_of(becomes, starters, f"the code of a near miss of {exercise.id}")
    yield from _lines_of(exercise.decoy, starters, f"what looks wrong in {exercise.id}")
    yield from _lines_of(_read(course.reference(exercise.id)), starters, f"a line of the reference of {exercise.id}")
    for path in course.hidden_tests(exercise.id).glob("*.py"):
        tests = "\n".join(line for line in _read(path).splitlines() if line.startswith("def test_"))
        yield from _lines_of(tests, starters, f"the name of a hidden test of {exercise.id}")


def _lines_of(text: str, starters: str, secret: str) -> Iterator[Spoiler]:
    """Yield the lines of a text that give something away and are in no starter."""
    for line in dict.fromkeys(line.strip() for line in text.splitlines()):
        if len(line) >= SHORTEST_SPOILER and not line.endswith(OPENERS) and line not in starters:
            yield Spoiler(text=line, secret=secret)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
