"""The pages of a course that students read first: the front page of an edition, and the list of hunts."""

import re

from grader.report.rendering import text_templates
from grader.spec.edition import Sealed
from grader.spec.exercise import Exercise
from grader.spec.exercise_names import ID_PATTERN
from grader.spec.paths import Course

ROW = re.compile(rf"^\| \[({ID_PATTERN})\]", re.MULTILINE)
"""A row of a list of hunts."""


def front_page(exercises: list[Exercise]) -> str:
    """Return the README.md of an edition."""
    return _rendered("front_page.md.j2", exercises=exercises)


def overview(course: Course, exercises: list[Exercise], edition: Sealed) -> str:
    """Return the exercises/README.md of an edition: the course's page, with the rows of these exercises only."""
    chosen = {exercise.id for exercise in exercises}
    lines = list_of_hunts(course, exercises).splitlines(keepends=True)
    kept = [line for line in lines if not (row := ROW.match(line)) or row[1] in chosen]
    return for_edition("".join(kept), edition)


def list_of_hunts(course: Course, exercises: list[Exercise]) -> str:
    """Return the course's exercises/README.md; for a new course that has none, a short one."""
    path = course.root / "exercises" / "README.md"
    if path.exists():
        return path.read_text(encoding="utf-8")
    return _rendered("hunts.md.j2", exercises=exercises, first=exercises[0].id if exercises else "exercise_01")


def hunts_in(page: str) -> set[str]:
    """Return the ids of the exercises that have a row in a list of hunts."""
    return set(ROW.findall(page))


def _rendered(template: str, **values: object) -> str:
    return text_templates("grader.author", trim_blocks=True).get_template(template).render(values)


LINES_ABOUT_HINTS = (
    *("Stuck? ", "    python -m grader hint "),  # an exercise's page
    *("| `python -m grader hint ", "| hint |", "%hint "),  # the list of hunts
)
LINES_ABOUT_SOLUTIONS = ("| `python -m grader solution ",)
"""The beginnings of lines, on students' pages, about commands that an edition may lack."""


def for_edition(page: str, edition: Sealed) -> str:
    """Return a page without the lines about commands that the edition does not have."""
    omitted: tuple[str, ...] = () if edition.has_hints else LINES_ABOUT_HINTS
    omitted += () if edition.explains_at_home else LINES_ABOUT_SOLUTIONS
    if not omitted:
        return page
    paragraphs = [
        "\n".join(line for line in paragraph.split("\n") if not line.startswith(omitted))
        for paragraph in page.rstrip("\n").split("\n\n")
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"
