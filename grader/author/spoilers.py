"""What must not stand in a student edition, and where it does."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.course.paths import Course
from grader.course.records import Exercise

SHORTEST_TELLING_LINE = 16
"""A line of code shorter than this says nothing: `else:`, `return output`."""

OPENERS = ("(", "[", "{")
"""A line that ends so says nothing before the next one: `raise ValueError(`."""


class Spoiler(Struct, frozen=True):
    """A text that gives something away, and what it is."""

    text: str
    what: str


def find_spoilers(course: Course, exercises: list[Exercise], files: dict[Path, bytes]) -> list[str]:
    """A sentence for each place in an edition's files that gives a solution away."""
    shown = "\n".join(_read(course.pristine(course.editable_files(exercise.id)[0])) for exercise in exercises)
    spoilers = [spoiler for exercise in exercises for spoiler in _spoilers(course, exercise, shown)]
    return [
        f"{path} holds {spoiler.what} ({spoiler.text!r}); take it out or word it otherwise"
        for path, content in files.items()
        for spoiler in spoilers
        if spoiler.text.encode() in content
    ]


def _spoilers(course: Course, exercise: Exercise, shown: str) -> Iterator[Spoiler]:
    """Ids, titles, reasons and fixes of defects, the reference's own lines, the hidden tests' names."""
    for defect in exercise.defects:
        if "-" in defect.id:  # a single word may stand anywhere
            yield Spoiler(defect.id, f"the id of a defect of {exercise.id}")
        yield Spoiler(defect.title, f"the title of a defect of {exercise.id}")
        yield from (Spoiler(line, f"why {defect.id} matters") for line in _telling(defect.why, shown))
        for _, fix in defect.edits():
            yield from (Spoiler(line, f"a fix of {defect.id}") for line in _telling(fix, shown))
    yield from (Spoiler(line, f"what looks wrong in {exercise.id}") for line in _telling(exercise.decoy, shown))
    reference = _telling(_read(course.reference(exercise.id)), shown)
    yield from (Spoiler(line, f"a line of the reference of {exercise.id}") for line in reference)
    for path in course.hidden_tests(exercise.id).glob("*.py"):
        names = (line for line in _telling(_read(path), shown) if line.startswith("def test_"))
        yield from (Spoiler(name, f"the name of a hidden test of {exercise.id}") for name in names)


def _telling(text: str, shown: str) -> list[str]:
    """The lines that say something, and that no starter shows."""
    lines = dict.fromkeys(line.strip() for line in text.splitlines())
    return [
        line
        for line in lines
        if len(line) >= SHORTEST_TELLING_LINE and not line.endswith(OPENERS) and line not in shown
    ]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
