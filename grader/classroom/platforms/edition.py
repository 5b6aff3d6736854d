"""The student edition: each student's copy of the course, as a folder or an archive."""

import os
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.layouts.files import STRAY, SkippedFiles, list_folder_if_readable, storable
from grader.classroom.layouts.units import File, Unit
from grader.classroom.platforms.platform import SubmissionLayout

EXERCISES = "exercises"


class Edition(SubmissionLayout):
    """Copies of the student edition, whose exercises/<exercise>/ contain the submissions."""

    name = "edition"
    landmark = EXERCISES

    def count(self, root: Path, names: list[str]) -> int:
        if EXERCISES in names:
            return 1
        return sum(bool(_find_exercises(root, name)) or _is_zip(name) for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each copy; the root may itself be the copy of a single student."""
        if EXERCISES in names:
            student = storable(root.resolve().name)
            yield Unit(student=student, folder=EXERCISES, aliases=(student,))
            return
        for name in names:
            exercises = _find_exercises(root, name)
            if exercises:
                yield Unit(student=storable(name), folder=exercises, aliases=(storable(name),))
            elif _is_zip(name):
                student = storable(Path(name).stem)
                yield Unit(student=student, loose=(File(name, name),), aliases=(student,))
            else:
                skipped.add(STRAY, storable(name))

    def is_part(self, name: str, inside: list[str]) -> bool:
        return name == EXERCISES or EXERCISES in inside


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _find_exercises(root: Path, name: str) -> str:
    """Return the path of exercises/ in a student's copy, at its top or in its only folder; nothing if there is none."""
    folder = root / name
    if folder.is_symlink() or not folder.is_dir():
        return ""
    inside = list_folder_if_readable(folder)
    for path in (name, f"{name}{os.sep}{inside[0]}" if len(inside) == 1 else name):
        if (root / path / EXERCISES).is_dir():
            return f"{path}{os.sep}{EXERCISES}"
    return ""
