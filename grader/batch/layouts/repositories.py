"""A class's repositories, cloned side by side: exercise-03-login."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit

NAME = "repositories"
SHAPE = "exercise-03-<login>/.../attention.py"
FOLDER = re.compile(r"(?P<exercise>exercise[-_]?(?P<number>\d+))[-_](?P<login>.+)", re.IGNORECASE)


def count(root: Path, names: list[str]) -> int:
    return sum(bool(FOLDER.fullmatch(name)) and (root / name).is_dir() for name in names)


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each repository."""
    for name in names:
        match = FOLDER.fullmatch(name)
        if match and (root / name).is_dir() and not (root / name).is_symlink():
            login = storable(match["login"])
            yield Unit(login, folder=name, exercise=f"exercise_{int(match['number']):02}", aliases=(login,))
        elif not is_by_the_way(name):
            skipped.add(STRAY, storable(name))
