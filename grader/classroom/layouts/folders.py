"""Layouts with a folder for each student."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.gradebook.rows import WorkKind
from grader.classroom.layouts.files import (
    SUFFIXES,
    ModuleNames,
    Person,
    SkippedFiles,
    SkippedKind,
    SubmissionFiles,
    is_clutter,
    report_hidden_folders,
    stems,
    storable,
)
from grader.classroom.layouts.units import MAX_FILES, Layout, Unit, meant_exercise
from grader.errors import UsageError
from grader.spec.exercise_names import EXERCISE_NAME, exercise_number
from grader.spec.paths import TRAP, USUAL_MODULE


class FolderSubmissions:
    """A folder for each student, in the order of students and exercises. No link is followed."""

    name = "folders"

    def __init__(self, root: Path, exercises: ModuleNames, skipped: SkippedFiles) -> None:
        self._root = root
        self._exercises = exercises
        self._stems = stems(exercises)
        self._skipped = skipped
        try:
            self._names = sorted(os.listdir(root))
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        self.total = len(self._names)

    def people(self) -> Iterator[Person]:
        """Yield the student of each folder."""
        for name in self._names:
            yield Person(student=storable(name), aliases=(storable(name),))

    def __iter__(self) -> Iterator[SubmissionFiles]:
        report_hidden_folders(self._root, "", self._skipped)
        known = set(self._names)
        for position, name in enumerate(self._names, 1):
            self._skipped.student = ""
            student = storable(name)
            if student != name and student in known:
                self._skipped.add(SkippedKind.TWICE, student)
                continue
            listed = self._listed(name)
            if listed is None:
                continue
            self._skipped.student = student
            named = self._skipped.count_named()
            found = list(self._of_student(student, name, position, listed))
            yield from found
            if not found and self._skipped.count_named() == named:
                self._skipped.student = ""
                self._skipped.add(SkippedKind.NOTHING, student)
        self._skipped.student = ""

    def _of_student(self, student: str, name: str, position: int, listed: list[str]) -> Iterator[SubmissionFiles]:
        found: dict[str, tuple[str, ...]] = {}
        loose: dict[str, dict[str, str]] = {}
        traps: dict[str, str] = {}
        for item in sorted(listed, key=self._has_unusual_name):  # if there are several files, the exact name counts
            path = f"{name}{os.sep}{item}"
            stem, suffix = _split(item)
            exercise = meant_exercise(stem, self._exercises)
            if exercise in self._exercises and suffix in SUFFIXES:
                taken = loose.setdefault(exercise, {}).setdefault(suffix, path)
                if taken != path:
                    self._skipped.add(SkippedKind.TWICE, f"{storable(path)}; {storable(taken)} is graded")
            elif exercise in self._exercises and not suffix:
                self._take(exercise, self._in_exercise(path, exercise, traps), found)
            elif suffix in SUFFIXES and (stem in self._stems or item.lower() == TRAP):
                self._skip(path, item, SkippedKind.NO_EXERCISE)
            else:
                self._skip(path, item, SkippedKind.UNKNOWN if exercise or suffix in SUFFIXES else SkippedKind.STRAY)
        for exercise, by_suffix in loose.items():
            self._take(exercise, tuple(by_suffix.values()), found)
        for exercise in sorted({*found, *traps}, key=exercise_number):
            modules = tuple(sorted(found.get(exercise, ()), key=_is_notebook))
            trap = (traps[exercise],) if exercise in traps else ()
            for kind, files in ((WorkKind.MODULE, modules), (WorkKind.TRAP, trap)):
                if files:
                    yield SubmissionFiles(
                        student=student,
                        exercise=exercise,
                        place=storable(files[0]),
                        position=position,
                        files=files,
                        aliases=(student,),
                        kind=kind,
                    )

    def _take(self, exercise: str, files: tuple[str, ...], found: dict[str, tuple[str, ...]]) -> None:
        """Take the files for the exercise, unless other files were found for it before."""
        taken = found.setdefault(exercise, files) if files else files
        if taken != files:
            self._skipped.add(SkippedKind.TWICE, f"{storable(files[0])}; {storable(taken[0])} is graded")

    def _has_unusual_name(self, item: str) -> bool:
        """Return whether the name of a file or folder is not exactly an exercise's id."""
        return item.partition(".")[0] not in self._exercises

    def _in_exercise(self, folder: str, exercise: str, traps: dict[str, str]) -> tuple[str, ...]:
        """Return the module and the notebook in an exercise's folder, by the exercise's own name or the usual one.

        Add the exercise's trap to `traps`.
        """
        listed = self._listed(folder)
        if listed is None:
            return ()
        own, usual = (
            [Path(name).stem + suffix for suffix in SUFFIXES] for name in (self._exercises[exercise], USUAL_MODULE)
        )
        plain = {item: "".join(_split(item)) for item in listed}
        found = [each for each in listed if plain[each] in own] or [each for each in listed if plain[each] in usual]
        for item in listed:
            path = f"{folder}{os.sep}{item}"
            if plain[item] == TRAP and exercise not in traps and not (self._root / path).is_symlink():
                traps[exercise] = path
            elif item not in found:
                self._skip(path, item, SkippedKind.STRAY)
        if not found and exercise not in traps:
            self._skipped.add(SkippedKind.STRAY, f"{storable(folder)} contains neither {own[0]} nor {own[1]}")
        return tuple(f"{folder}{os.sep}{item}" for item in found)

    def _listed(self, path: str) -> list[str] | None:
        """Return the sorted names in a folder. If it is a link or not a folder, record it and return None."""
        whole, name = f"{self._root}{os.sep}{path}", path.rpartition(os.sep)[2]
        try:
            if is_clutter(name) or not stat.S_ISDIR(os.lstat(whole).st_mode):
                self._skip(path, name, SkippedKind.STRAY)
                return None
            listed = sorted(os.listdir(whole))
        except OSError as error:
            self._skipped.add(SkippedKind.CLOSED, storable(path), error.strerror or "")
            return None
        if len(listed) > MAX_FILES:
            self._skipped.add(
                SkippedKind.TOO_MANY,
                f"{storable(path)}: only the first {MAX_FILES:,} of {len(listed):,} files are read",
            )
        return listed[:MAX_FILES]

    def _skip(self, path: str, name: str, kind: SkippedKind) -> None:
        if is_clutter(name):
            kind = SkippedKind.LEFT_BEHIND
        elif (self._root / path).is_symlink():
            kind = SkippedKind.LINK
        self._skipped.add(kind, storable(path))


def _split(name: str) -> tuple[str, str]:
    """Return a name's stem, and its suffix in lower case."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - faster than pathlib, and a class may have 100,000 files
    return stem, suffix.lower()


def _is_notebook(file: str) -> bool:
    return file.lower().endswith(SUFFIXES[1])


class StudentFolders(Layout):
    """DIR/<student>/attention.(py|ipynb), for an exercise given with --exercise."""

    name = FolderSubmissions.name

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        for name in names:
            student = storable(name)
            if (root / name).is_symlink():
                skipped.add(SkippedKind.LINK, student)
            elif (root / name).is_dir() and not EXERCISE_NAME.fullmatch(name):
                yield Unit(student=student, folder=name, aliases=(student,))
            else:
                skipped.add(SkippedKind.STRAY, student)


class SingleStudent(Layout):
    """The folder of one student, with files for one exercise."""

    name = "one student"

    def __init__(self, exercise_id: str) -> None:
        self._exercise_id = exercise_id

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        yield Unit(student="student", folder=".", exercise=self._exercise_id)
