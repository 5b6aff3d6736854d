"""A folder of submissions: DIR/<student>/<exercise>/attention.(py|ipynb) or DIR/<student>/<exercise>.(py|ipynb)."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.batch.entry import LEFT_BEHIND, Entry, PassedOver
from grader.errors import UsageError

SUFFIXES = (".py", ".ipynb")
"""Those of submissions, the module's first."""

MODULE = "attention"
BY_THE_WAY = {"README.md", "__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
"""What the course hands out beside the files to edit, and what systems leave in folders; dot-files are more of it."""

UNKNOWN, STRAY, LINK = "no such exercise", "no submission", "a link, not followed"
TWICE, CLOSED = "handed in twice", "cannot be opened"


class Folder:
    """Submissions in a folder, in order of students and exercises; no link is followed."""

    def __init__(self, root: Path, exercises: Collection[str], passed_over: PassedOver) -> None:
        self._root = root
        self._exercises = exercises
        self._passed_over = passed_over
        try:
            self._names = sorted(os.listdir(root))
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        self.total = len(self._names)

    def __iter__(self) -> Iterator[Entry]:
        known = set(self._names)
        for position, name in enumerate(self._names, 1):
            student = storable(name)
            if student != name and student in known:
                self._passed_over.note(TWICE, student)
                continue
            listed = self._listed(Path(name))
            if listed is not None:
                yield from self._of_student(student, name, position, listed)

    def _of_student(self, student: str, name: str, position: int, listed: list[str]) -> Iterator[Entry]:
        found: dict[str, tuple[str, ...]] = {}
        loose: dict[str, tuple[str, ...]] = {}
        for item in listed:
            path = Path(name, item)
            stem, suffix = path.stem, path.suffix
            if item in self._exercises:
                files = self._in_exercise(path)
                if files:
                    found[item] = files
            elif stem in self._exercises and suffix in SUFFIXES:
                loose[stem] = (*loose.get(stem, ()), str(path))
            else:
                self._pass_over(path, UNKNOWN if item.startswith("exercise") or suffix in SUFFIXES else STRAY)
        for exercise, files in loose.items():
            if exercise in found:
                self._passed_over.note(TWICE, f"{storable(files[0])}; {storable(found[exercise][0])} is taken")
            else:
                found[exercise] = files
        for exercise in sorted(found):
            files = tuple(sorted(found[exercise], key=lambda file: not file.endswith(SUFFIXES[0])))
            paths = tuple(self._root / file for file in files)
            yield Entry(student, exercise, storable(files[0]), position, paths)

    def _in_exercise(self, folder: Path) -> tuple[str, ...]:
        """The module and the notebook in an exercise's folder, as far as they are there."""
        listed = self._listed(folder)
        found = []
        for item in listed or []:
            if item in (MODULE + SUFFIXES[0], MODULE + SUFFIXES[1]):
                found.append(str(folder / item))
            else:
                self._pass_over(folder / item, STRAY)
        if listed is not None and not found:
            self._passed_over.note(STRAY, f"{storable(str(folder))} holds neither attention.py nor attention.ipynb")
        return tuple(found)

    def _listed(self, path: Path) -> list[str] | None:
        """What is in a folder, in order; what is none, or a link, is passed over."""
        whole = self._root / path
        if _is_by_the_way(path) or whole.is_symlink() or not whole.is_dir():
            self._pass_over(path, STRAY)
            return None
        try:
            return sorted(os.listdir(whole))
        except OSError as error:
            self._passed_over.note(CLOSED, f"{storable(str(path))} ({error.strerror})")
            return None

    def _pass_over(self, path: Path, kind: str) -> None:
        if _is_by_the_way(path):
            kind = LEFT_BEHIND
        elif (self._root / path).is_symlink():
            kind = LINK
        self._passed_over.note(kind, storable(str(path)))


def _is_by_the_way(path: Path) -> bool:
    return path.name in BY_THE_WAY or path.name.startswith(".")


def storable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
