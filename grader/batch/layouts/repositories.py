"""A class's repositories, cloned side by side: exercise-03-login."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit

NAME = "repositories"
SHAPE = "exercise-03-<login>/.../attention.py"
CLONED = "-submissions"
"""What GitHub Classroom ends the folder's name in that it clones an assignment's repositories into."""

FOLDER = re.compile(r"(?P<exercise>exercise[-_]?(?P<number>\d+))[-_](?P<login>.+)", re.IGNORECASE)


def count(root: Path, names: list[str]) -> int:
    return sum(_repository(root, name) is not None for name in names)


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each repository."""
    for name in names:
        told = _repository(root, name)
        if told is not None and not (root / name).is_symlink():
            exercise, login = told
            yield Unit(login, folder=name, exercise=exercise, aliases=(login,))
        elif not is_by_the_way(name):
            skipped.add(STRAY, storable(name))


def _repository(root: Path, name: str) -> tuple[str, str] | None:
    """Exercise and login; in a folder that is called by its assignment, what follows the assignment is the login."""
    if not (root / name).is_dir():
        return None
    match = FOLDER.fullmatch(name)
    if match:
        return f"exercise_{int(match['number']):02}", storable(match["login"])
    assignment = root.name.removesuffix(CLONED)
    login = name.removeprefix(f"{assignment}-")
    return ("", storable(login)) if assignment != root.name and login not in ("", name) else None
