"""A layout that an instructor describes by a pattern."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.layouts.files import SkippedFiles, SkippedKind, storable
from grader.classroom.layouts.units import File, Layout, Unit, walk
from grader.errors import UsageError
from grader.spec.exercise_names import NAME_OR_NUMBER_PATTERN, exercise_id_of, exercise_number
from grader.spec.paths import TRAP, USUAL_MODULE

FIELDS = {"student", "exercise"}
PART = re.compile(r"\{(\w+)\}|(\*\*)|(\*)|(\?)|([^{}*?]+|[{}])")


class Pattern(Layout):
    """Paths below the root: `*` matches within one name, `**` across folders, `?` one character."""

    name = "pattern"

    def __init__(self, text: str) -> None:
        """Raise `UsageError` if the pattern does not give the student."""
        fields = re.findall(r"\{(\w+)\}", text)
        unknown = sorted(set(fields) - FIELDS)
        if unknown or "student" not in fields or len(fields) != len(set(fields)):
            problem = (
                f"unknown part {{{unknown[0]}}}" if unknown else "expected {student} once and {exercise} at most once"
            )
            raise UsageError(f"--pattern {text}: {problem}; for example: '{{student}}_*_{{exercise}}.py'")
        self._regex = re.compile("".join(map(_part, PART.finditer(text))))

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each student and exercise."""
        found: dict[tuple[str, str], list[str]] = {}
        for path in walk(root, "", skipped):
            match = self._regex.fullmatch(path.replace(os.sep, "/"))
            if match is None:
                skipped.add(SkippedKind.STRAY, storable(path))
                continue
            name = match.groupdict().get("exercise")
            exercise = exercise_id_of(exercise_number(name)) if name else ""
            found.setdefault((storable(match["student"]), exercise), []).append(path)
        for (student, exercise), paths in found.items():
            loose = tuple(File(path=path, name=_usual_name(exercise, Path(path))) for path in paths)
            yield Unit(student=student, loose=loose, aliases=(student,))


def _usual_name(exercise: str, path: Path) -> str:
    """Return the name by which the file counts as a trap or a module, and belongs to the exercise if one is given."""
    if path.name == TRAP:
        return f"{exercise}/{TRAP}" if exercise else TRAP
    return (exercise or Path(USUAL_MODULE).stem) + path.suffix


def _part(match: re.Match[str]) -> str:
    field, across, within, one, text = match.groups()
    if field:
        return rf"(?P<{field}>{NAME_OR_NUMBER_PATTERN if field == 'exercise' else '[^/]+?'})"
    if across or within or one:
        return ".*" if across else "[^/]*" if within else "[^/]"
    return re.escape(text)
