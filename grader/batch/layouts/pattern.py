"""A layout that the instructor spells out: '{student}_*_{exercise}.py'."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, storable
from grader.batch.layouts.units import Unit, walk
from grader.errors import UsageError

EXERCISE = r"(?:exercise[-_ ]?)?\d+"
FIELDS = {"student", "exercise"}
PART = re.compile(r"\{(\w+)\}|(\*\*)|(\*)|(\?)|([^{}*?]+|[{}])")


class Pattern:
    """Matches paths below the root; `*` is anything within one name, `**` across folders, `?` one character."""

    NAME = "pattern"
    LANDMARK = ""

    def __init__(self, text: str) -> None:
        """`UsageError` where the pattern does not say whose a file is."""
        self.SHAPE = text
        fields = re.findall(r"\{(\w+)\}", text)
        unknown = sorted(set(fields) - FIELDS)
        if unknown or "student" not in fields or len(fields) != len(set(fields)):
            what = (
                f"{{{unknown[0]}}} is no part of one" if unknown else "it needs {student} once, {exercise} at most once"
            )
            raise UsageError(f"--pattern {text}: {what}; write for example '{{student}}_*_{{exercise}}.py'")
        self._regex = re.compile("".join(map(_part, PART.finditer(text))))

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(self._regex.fullmatch(path)) for path in walk(root, "", SkippedFiles())) if names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each student and exercise."""
        found: dict[tuple[str, str], list[str]] = {}
        for path in walk(root, "", skipped):
            match = self._regex.fullmatch(path.replace(os.sep, "/"))
            if match is None:
                skipped.add(STRAY, storable(path))
                continue
            number = re.sub(r"\D", "", match.groupdict().get("exercise", ""))
            key = (storable(match["student"]), f"exercise_{int(number):02}" if number else "")
            found.setdefault(key, []).append(path)
        for (student, exercise), paths in found.items():
            stem = exercise or "attention"
            loose = tuple((path, stem + Path(path).suffix) for path in paths)
            yield Unit(student, loose=loose, aliases=(student,))


def _part(match: re.Match[str]) -> str:
    field, across, within, one, text = match.groups()
    if field:
        return rf"(?P<{field}>{EXERCISE if field == 'exercise' else '[^/]+?'})"
    if across or within or one:
        return ".*" if across else "[^/]*" if within else "[^/]"
    return re.escape(text)
