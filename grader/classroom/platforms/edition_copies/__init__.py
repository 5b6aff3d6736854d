"""The student edition: each student's copy of the course, as a folder or an archive."""

import os
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.layouts.files import (
    SkippedFiles,
    SkippedKind,
    is_own_folder,
    list_folder_if_readable,
    storable,
)
from grader.classroom.layouts.units import File, Unit, has_landmark
from grader.classroom.platforms.platform import PlatformLayout

EXERCISES = "exercises"
COMPANIONS = frozenset({"grader", "solutions", "tests", "grader.egg-info", "build"})
"""Folders beside exercises/ in a copy of the course."""


class EditionCopies(PlatformLayout):
    """Copies of the student edition, whose exercises/<exercise>/ contain the submissions."""

    name = "edition"
    rank = 6

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(_find_exercises(root, name)) or _is_zip(name) for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each copy. The root itself may be the copy of a single student."""
        if _is_copy(root, names):
            student = storable(root.resolve().name)
            yield Unit(student=student, folder=EXERCISES, aliases=(student,))
            for name in names:
                if name != EXERCISES and name not in COMPANIONS:
                    skipped.add(SkippedKind.STRAY, storable(name))
            return
        for name in names:
            exercises = _find_exercises(root, name)
            if exercises:
                yield Unit(student=storable(name), folder=exercises, aliases=(storable(name),))
            elif _is_zip(name):
                student = storable(Path(name).stem)
                yield Unit(student=student, loose=(File(path=name, name=name),), aliases=(student,))
            else:
                skipped.add(SkippedKind.STRAY, storable(name))

    def is_shown_by_landmark(self, root: Path, names: list[str]) -> bool:
        return _is_copy(root, names)

    def is_part(self, folder: Path, inside: list[str]) -> bool:
        return folder.name == EXERCISES or _is_copy(folder, inside)


def _is_copy(folder: Path, names: list[str]) -> bool:
    """Return whether a folder is one student's copy, and not a class with a folder called exercises/."""
    is_class = any(_find_exercises(folder, name) for name in names if name != EXERCISES)
    return not is_class and has_landmark(folder, names, EXERCISES, COMPANIONS)


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _find_exercises(root: Path, name: str) -> str:
    """Return the path of exercises/ in a student's copy or in the copy's only folder; empty if there is none."""
    folder = root / name
    if not is_own_folder(folder):
        return ""
    inside = list_folder_if_readable(folder)
    for path in (name, f"{name}{os.sep}{inside[0]}" if len(inside) == 1 else name):
        if (root / path / EXERCISES).is_dir():
            return f"{path}{os.sep}{EXERCISES}"
    return ""
