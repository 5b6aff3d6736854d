"""A folder of submissions: DIR/<student>/<exercise>/attention.(py|ipynb) or DIR/<student>/<exercise>.(py|ipynb)."""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.batch.layouts.records import (
    CLOSED,
    FILES,
    LEFT_BEHIND,
    LINK,
    STRAY,
    SUFFIXES,
    TWICE,
    UNKNOWN,
    UNTOLD,
    SkippedFiles,
    SubmissionFiles,
    is_by_the_way,
    storable,
)
from grader.batch.layouts.units import NUMBERED, Unit, numbered
from grader.errors import UsageError


class Folder:
    """Submissions in a folder, in order of students and exercises; no link is followed."""

    name = "folders"

    def __init__(self, root: Path, exercises: Collection[str], skipped: SkippedFiles) -> None:
        self._root = root
        self._exercises = exercises
        self._skipped = skipped
        try:
            self._names = sorted(os.listdir(root))
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        self.total = len(self._names)

    def __iter__(self) -> Iterator[SubmissionFiles]:
        known = set(self._names)
        for position, name in enumerate(self._names, 1):
            student = storable(name)
            if student != name and student in known:
                self._skipped.add(TWICE, student)
                continue
            listed = self._listed(name)
            if listed is not None:
                yield from self._of_student(student, name, position, listed)

    def _of_student(self, student: str, name: str, position: int, listed: list[str]) -> Iterator[SubmissionFiles]:
        found: dict[str, tuple[str, ...]] = {}
        loose: dict[str, tuple[str, ...]] = {}
        for item in listed:
            path = f"{name}{os.sep}{item}"
            stem, suffix = os.path.splitext(item)  # noqa: PTH122 - a class may have a hundred thousand
            exercise = numbered(stem, self._exercises)
            if exercise in self._exercises and suffix in SUFFIXES:
                loose[exercise] = (*loose.get(exercise, ()), path)
            elif exercise in self._exercises and not suffix:
                files = self._in_exercise(path)
                if files and exercise in found:
                    self._skipped.add(TWICE, f"{storable(files[0])}; {storable(found[exercise][0])} is taken")
                elif files:
                    found[exercise] = files
            elif item in FILES:
                self._skip(path, item, UNTOLD)
            else:
                self._skip(path, item, UNKNOWN if exercise or suffix in SUFFIXES else STRAY)
        for exercise, files in loose.items():
            if exercise in found:
                self._skipped.add(TWICE, f"{storable(files[0])}; {storable(found[exercise][0])} is taken")
            else:
                found[exercise] = files
        for exercise in sorted(found):
            files = tuple(sorted(found[exercise], key=_is_notebook))
            yield SubmissionFiles(student, exercise, storable(files[0]), position, files, aliases=(student,))

    def _in_exercise(self, folder: str) -> tuple[str, ...]:
        """The module and the notebook in an exercise's folder, as far as they are there."""
        listed = self._listed(folder)
        found = []
        for item in listed or []:
            if item in FILES:
                found.append(f"{folder}{os.sep}{item}")
            else:
                self._skip(f"{folder}{os.sep}{item}", item, STRAY)
        if listed is not None and not found:
            self._skipped.add(STRAY, f"{storable(folder)} holds neither {FILES[0]} nor {FILES[1]}")
        return tuple(found)

    def _listed(self, path: str) -> list[str] | None:
        """What is in a folder, in order; what is none, or a link, is passed over."""
        whole, name = f"{self._root}{os.sep}{path}", path.rpartition(os.sep)[2]
        try:
            if is_by_the_way(name) or not stat.S_ISDIR(os.lstat(whole).st_mode):
                self._skip(path, name, STRAY)
                return None
            return sorted(os.listdir(whole))
        except OSError as error:
            self._skipped.add(CLOSED, f"{storable(path)} ({error.strerror})")
            return None

    def _skip(self, path: str, name: str, kind: str) -> None:
        if is_by_the_way(name):
            kind = LEFT_BEHIND
        elif (self._root / path).is_symlink():
            kind = LINK
        self._skipped.add(kind, storable(path))


def _is_notebook(file: str) -> bool:
    return file.endswith(SUFFIXES[1])


class StudentFolders:
    """DIR/<student>/attention.(py|ipynb), for an exercise that is told: each folder is a student's."""

    NAME = Folder.name
    SHAPE = "DIR/<student>/attention.py"
    LANDMARK = ""

    def count(self, root: Path, names: list[str]) -> int:
        """None: nothing in the names tells it from the other layout of folders."""
        return 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        for name in names:
            student = storable(name)
            if is_by_the_way(name):
                skipped.add(LEFT_BEHIND, student)
            elif (root / name).is_symlink():
                skipped.add(LINK, student)
            elif (root / name).is_dir() and not NUMBERED.fullmatch(name):
                yield Unit(student, folder=name, aliases=(student,))
            else:
                skipped.add(STRAY, student)
