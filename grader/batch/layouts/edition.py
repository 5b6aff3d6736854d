"""The student edition as it was handed out: each student's copy, in which exercises/<exercise>/ holds the work."""

import os
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit

NAME = "edition"
SHAPE = "<student>/exercises/<exercise>/attention.py"
EXERCISES = "exercises"


def count(root: Path, names: list[str]) -> int:
    if EXERCISES in names:
        return 1
    return sum(bool(_edition(root, name)) or name.lower().endswith(".zip") for name in names)


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each copy, or each archive with one; the root itself may be a single student's."""
    if EXERCISES in names:
        student = storable(root.resolve().name)
        yield Unit(student, folder=EXERCISES, aliases=(student,))
        return
    for name in names:
        edition = _edition(root, name)
        student = storable(name.removesuffix(".zip"))
        if edition:
            yield Unit(student, folder=edition, aliases=(student,))
        elif name.lower().endswith(".zip"):
            yield Unit(student, loose=((name, name),), aliases=(student,))
        elif not is_by_the_way(name):
            skipped.add(STRAY, storable(name))


def _edition(root: Path, name: str) -> str:
    """Where the exercises of a student's copy lie, at the top or in its only folder; empty where there are none."""
    folder = root / name
    if folder.is_symlink() or not folder.is_dir():
        return ""
    inside = [each for each in os.listdir(folder) if not is_by_the_way(each)]
    for path in (name, f"{name}{os.sep}{inside[0]}" if len(inside) == 1 else name):
        if (root / path / EXERCISES).is_dir():
            return f"{path}{os.sep}{EXERCISES}"
    return ""
