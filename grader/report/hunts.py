"""The table of all hunts in Markdown, for instructors."""

from collections.abc import Sequence

from grader.report.phrases import missed_tests
from grader.spec.exercise import Exercise

HUNT_COLUMNS = ("exercise", "title", "origin", "kind", "difficulty", "defects", "missed by")


def render_hunts(exercises: Sequence[Exercise]) -> str:
    """Return a Markdown table with a row for each exercise."""
    rows: list[Sequence[str]] = [HUNT_COLUMNS, ["---"] * len(HUNT_COLUMNS)]
    for exercise in exercises:
        source = exercise.source
        origin = f"[{source.title}]({source.url})" if source.url else source.title
        defects = "<br>".join(f"`{defect.id}`" for defect in exercise.defects) or "none"
        missed_by = "<br>".join(missed_tests(defect) or "no usual test" for defect in exercise.defects)
        kind, difficulty = str(exercise.interface.kind_name), str(exercise.difficulty)
        rows.append([exercise.id, exercise.title, origin, kind, difficulty, defects, missed_by])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
