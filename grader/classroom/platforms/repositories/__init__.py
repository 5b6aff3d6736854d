"""GitHub: the repositories of a class, cloned side by side by hand or by GitHub Classroom."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.layouts.files import SkippedFiles, SkippedKind, storable
from grader.classroom.layouts.units import Unit
from grader.classroom.platforms.platform import PlatformLayout
from grader.spec.exercise_names import NAME_PATTERN, exercise_id_of, exercise_number

CLONED = "-submissions"
"""The ending of the folder into which GitHub Classroom clones an assignment's repositories."""

REPOSITORY = re.compile(rf"(?P<exercise>{NAME_PATTERN})[-_](?P<login>.+)", re.IGNORECASE)


class Repositories(PlatformLayout):
    """Folders such as exercise-03-login, or ASSIGNMENT-login in a folder ASSIGNMENT-submissions."""

    name = "repositories"
    rank = 4
    is_class_export = True

    def count(self, root: Path, names: list[str]) -> int:
        return sum(_parse(root, name) is not None for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        for name in names:
            parsed = _parse(root, name)
            if parsed is not None and not (root / name).is_symlink():
                exercise, login = parsed
                yield Unit(student=login, folder=name, exercise=exercise, aliases=(login,))
            else:
                skipped.add(SkippedKind.STRAY, storable(name))

    def is_part(self, folder: Path, inside: list[str]) -> bool:
        return bool(REPOSITORY.fullmatch(folder.name))


def _parse(root: Path, name: str) -> tuple[str, str] | None:
    """Return the exercise (empty if there is none) and the login in a repository's name; None for other names."""
    if not (root / name).is_dir():
        return None
    match = REPOSITORY.fullmatch(name)
    if match:
        return exercise_id_of(exercise_number(match["exercise"])), storable(match["login"])
    assignment = root.name.removesuffix(CLONED)
    login = name.removeprefix(f"{assignment}-")
    return ("", storable(login)) if assignment != root.name and login not in ("", name) else None
