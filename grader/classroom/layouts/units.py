"""Layouts, which give the files of one student at a time, and the submissions in these files."""

import itertools
import os
import re
import stat
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, structs

from grader.classroom.gradebook.rows import WorkKind
from grader.classroom.layouts.archives import Unpacker, UnpackingBudget
from grader.classroom.layouts.files import (
    SUFFIXES,
    ModuleNames,
    Person,
    SkippedFiles,
    SkippedKind,
    SubmissionFiles,
    is_clutter,
    is_own_folder,
    list_folder,
    list_folder_if_readable,
    report_hidden_folders,
    stems,
    storable,
)
from grader.spec.exercise_names import EXERCISE_NAME, exercise_number
from grader.spec.paths import TRAP

MAX_DEPTH = 12
"""The most levels of folders in which a student's files are searched."""

MAX_FILES = 20_000
"""The most files of one student's folder that are searched. Files in archives have their own limit."""

COPY = re.compile(r"(?:-\d+|\s*\(\d+\))$")
"""The suffix that a platform or a browser adds to the name of a second upload."""


def has_landmark(root: Path, names: list[str], landmark: str, companions: frozenset[str]) -> bool:
    """Return whether the folder `landmark` identifies the layout of the root.

    A student's folder of that name must not change the layout of a class. So the landmark decides only if at most as
    many other names look like students as there are usual companions.
    """
    others = [name for name in names if name != landmark and name not in companions]
    students = sum(_looks_like_a_student(root / name) for name in others)
    return is_own_folder(root / landmark) and students <= len(companions.intersection(names))


def _looks_like_a_student(path: Path) -> bool:
    """Return whether a path is an archive, or a folder that directly contains a hand-in."""
    if not path.is_dir():
        return path.suffix.lower() == ".zip"
    stems_and_suffixes = map(os.path.splitext, list_folder_if_readable(path))
    return any(suffix.lower() in SUFFIXES or EXERCISE_NAME.fullmatch(stem) for stem, suffix in stems_and_suffixes)


class File(Struct, frozen=True, kw_only=True):
    """A file that a student handed in; `name` is its name without the platform's prefix."""

    path: str
    name: str


class Unit(Struct, frozen=True, kw_only=True):
    """One student's files: a folder, or `loose` files; all paths are relative to the layout's root.

    `exercise` is the exercise in the folder's own name, if any.
    """

    student: str
    folder: str = ""
    loose: tuple[File, ...] = ()
    exercise: str = ""
    name: str = ""
    aliases: tuple[str, ...] = ()
    submitted_at: str = ""


class Layout(ABC):
    """An arrangement of submissions that gives the files of one student at a time."""

    name: ClassVar[str]
    """The layout's name, as `--layout` takes it."""

    @abstractmethod
    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield the students' files in order. `names` are the names in the root."""


class UnitSubmissions:
    """The submissions of a layout, student by student. No link is followed."""

    def __init__(
        self,
        layout: Layout,
        root: Path,
        exercises: ModuleNames,
        skipped: SkippedFiles,
        unpacker: Unpacker,
        exercise: str = "",
    ) -> None:
        self.name = layout.name
        self._root = root
        self._exercises = exercises
        self._stems = stems(exercises)
        self._skipped = skipped
        self._unpacker = unpacker
        self._exercise = exercise
        report_hidden_folders(root, "", skipped)
        self._units = _with_own_ids(list(self._without_links(layout.units(root, list_folder(root), skipped))), skipped)
        self._kept = unpacker.count()
        self._budgets: defaultdict[str, UnpackingBudget] = defaultdict(UnpackingBudget.of_student)
        self.total = len(self._units)

    def _without_links(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """Yield the units without files and folders that are links or are reached through a link."""
        for unit in units:
            linked = {path for path in (*(file.path for file in unit.loose), unit.folder) if self._is_linked(path)}
            for path in sorted(linked):
                self._skipped.add(SkippedKind.LINK, storable(path))
            loose = tuple(file for file in unit.loose if file.path not in linked)
            folder = "" if unit.folder in linked else unit.folder
            if loose or folder:
                yield structs.replace(unit, loose=loose, folder=folder)

    def _is_linked(self, path: str) -> bool:
        """Return whether a path below the root is a link, or leads through one."""
        parts = Path(path).parts
        return any(self._root.joinpath(*parts[: end + 1]).is_symlink() for end in range(len(parts)))

    def people(self) -> Iterator[Person]:
        """Yield the student of each unit."""
        for unit in self._units:
            yield Person(student=unit.student, aliases=unit.aliases)

    def __iter__(self) -> Iterator[SubmissionFiles]:
        """Yield a submission for each student and exercise, and the traps.

        A folder that is named after one exercise may contain a whole course. Its other exercises come last, and only if
        the student did not hand them in under their own names. They are searched for again then, so that no archive
        stays unpacked until the end.
        """
        taken: set[tuple[str, str, WorkKind]] = set()
        have_other_exercises: list[Unit] = []
        for position, unit in enumerate(self._units, 1):
            self._skipped.student = unit.student
            found = self._submissions_of(unit, position)
            if any(unit.exercise not in ("", files.exercise) for files in found):
                have_other_exercises.append(unit)
            for files in found:
                if unit.exercise in ("", files.exercise):
                    yield from self._first(files, taken)
            self._unpacker.free(self._kept)
        self._skipped.student = ""
        self._budgets.clear()
        for unit in have_other_exercises:
            for files in self._search(unit, self.total, SkippedFiles()):
                if files.exercise != unit.exercise:
                    yield from self._first(files, taken)
            self._unpacker.free(self._kept)

    def _first(self, files: SubmissionFiles, taken: set[tuple[str, str, WorkKind]]) -> Iterator[SubmissionFiles]:
        """Yield the submission, unless the student has another one of its kind for the exercise."""
        key = (files.student, files.exercise, files.kind)
        if key in taken:
            self._skipped.add(SkippedKind.TWICE, f"{files.place}; another file of {files.student} is graded")
        else:
            taken.add(key)
            yield files

    def _submissions_of(self, unit: Unit, position: int) -> list[SubmissionFiles]:
        """Return the submissions among a student's files, and report a student who has none."""
        named = self._skipped.count_named()
        found = list(self._search(unit, position, self._skipped))
        if not found and self._skipped.count_named() == named:
            self._skipped.student = ""
            self._skipped.add(SkippedKind.NOTHING, storable(unit.folder or unit.loose[0].path))
        return found

    def _search(self, unit: Unit, position: int, skipped: SkippedFiles) -> Iterator[SubmissionFiles]:
        """Yield the submissions among a student's files by exercise; those in the student's archives come last."""
        student = SubmissionFiles(
            student=unit.student,
            exercise="",
            place="",
            position=position,
            name=unit.name,
            aliases=unit.aliases,
            submitted_at=unit.submitted_at,
        )
        given = list(unit.loose)
        if unit.folder:
            paths = _first_files(walk(self._root, unit.folder, skipped), unit.folder, skipped)
            given += [File(path=path, name=path.removeprefix(f"{unit.folder}{os.sep}")) for path in paths]
        archives = {file.path for file in given if file.path.lower().endswith(".zip")}
        plain = [file for file in given if file.path not in archives]
        yield from self._group(student, plain, unit.exercise, skipped)
        for archive in sorted(archives):
            name = storable(archive)
            folder = self._unpacker.unpack(self._root / archive, name, skipped, self._budgets[unit.student])
            if folder is not None:
                of_archive = structs.replace(student, root=str(folder), prefix=f"{name}/")
                paths = walk(folder, "", skipped, prefix=of_archive.prefix)
                unpacked = [File(path=path, name=path) for path in paths]
                yield from self._group(of_archive, unpacked, unit.exercise, skipped)

    def _group(
        self, student: SubmissionFiles, files: Iterable[File], unit_exercise: str, skipped: SkippedFiles
    ) -> Iterator[SubmissionFiles]:
        """Yield a submission for each exercise. Of several files with one suffix, the last upload counts.

        A file with an unusual name is graded if it is the student's only one and the exercise is known.
        """
        exercise_by_default = unit_exercise or self._exercise
        meanings = [(file, *self._meaning(file, exercise_by_default)) for file in files]
        has_stray_alone = (
            [kind for _, _, kind in meanings].count(SkippedKind.STRAY) == 1
            and exercise_by_default in self._exercises
            and not any(exercise and not _is_trap(file) for file, exercise, _ in meanings)
        )
        found: dict[str, dict[str, File]] = {}
        traps: dict[str, dict[str, File]] = {}
        for file, exercise, kind in meanings:
            place = student.prefix + storable(file.path)
            if exercise and _is_trap(file):
                self._take(file, exercise, traps, student.prefix, skipped)
            elif kind is SkippedKind.STRAY and has_stray_alone:
                skipped.add(SkippedKind.RENAMED, f"{place}, as {exercise_by_default}")
                self._take(file, exercise_by_default, found, student.prefix, skipped)
            elif kind:
                skipped.add(kind, place)
            else:
                self._take(file, exercise, found, student.prefix, skipped)
        for exercise in sorted(found, key=exercise_number):
            paths = tuple(found[exercise][suffix].path for suffix in SUFFIXES if suffix in found[exercise])
            yield structs.replace(student, exercise=exercise, place=student.prefix + storable(paths[0]), files=paths)
        for exercise in sorted(traps, key=exercise_number):
            (trap,) = traps[exercise].values()
            place = student.prefix + storable(trap.path)
            yield structs.replace(student, exercise=exercise, place=place, files=(trap.path,), kind=WorkKind.TRAP)

    def _take(
        self, file: File, exercise: str, found: dict[str, dict[str, File]], prefix: str, skipped: SkippedFiles
    ) -> None:
        """Take the file for the exercise, unless a later upload with the same suffix was found before.

        `prefix` comes before the paths in reports.
        """
        suffix = Path(file.name).suffix.lower()
        kinds = found.setdefault(exercise, {})
        if suffix in kinds:
            own_stem = Path(self._exercises[exercise]).stem
            older, newer = sorted((kinds[suffix], file), key=lambda each: (_stem(each.name) == own_stem, _upload(each)))
            skipped.add(SkippedKind.TWICE, f"{prefix}{storable(older.path)}; {prefix}{storable(newer.path)} is graded")
            file = newer
        kinds[suffix] = file

    def _meaning(self, file: File, exercise_by_default: str) -> tuple[str, SkippedKind | None]:
        """Return the exercise to which a file belongs, or else the kind under which the file is skipped."""
        *folders, _ = Path(file.name).parts
        stem, suffix = _stem(file.name), Path(file.name).suffix.lower()
        named = "" if _is_trap(file) else meant_exercise(stem, self._exercises)
        if suffix not in SUFFIXES or not (named or stem.lower() in self._stems or _is_trap(file)):
            return "", SkippedKind.STRAY if suffix in SUFFIXES and not folders else SkippedKind.LEFT_BEHIND
        of_folders = (meant_exercise(part, self._exercises) for part in reversed(folders))
        exercise = named or next(filter(None, of_folders), "") or exercise_by_default
        if not exercise:
            return "", SkippedKind.NO_EXERCISE
        return (exercise, None) if exercise in self._exercises else ("", SkippedKind.UNKNOWN)


def _with_own_ids(units: list[Unit], skipped: SkippedFiles) -> list[Unit]:
    """Return the units; if the layout gives several people the same id, each gets a new one.

    Nobody can know to whom the id belongs, so nobody keeps it, and a roster identifies these people by their other
    names.
    """
    people: dict[str, dict[tuple[str, ...], None]] = {}
    for unit in units:
        people.setdefault(unit.student, {})[unit.aliases] = None
    shared = {student for student, aliases in people.items() if len(aliases) > 1}
    for student in sorted(shared):
        names = "; ".join(", ".join(name for name in aliases if name != student) for aliases in people[student])
        skipped.add(SkippedKind.SAME_ID, f"{student}: {names}")
    taken = set(people)
    ids: dict[tuple[str, tuple[str, ...]], str] = {}
    for student in sorted(shared):
        for aliases in people[student]:
            ids[student, aliases] = _own_id(student, aliases, taken)
            taken.add(ids[student, aliases])
    return [_with_id(unit, ids[unit.student, unit.aliases]) if unit.student in shared else unit for unit in units]


def _with_id(unit: Unit, own: str) -> Unit:
    aliases = tuple(name for name in unit.aliases if name != unit.student)
    return structs.replace(unit, student=own, aliases=aliases)


def _own_id(student: str, aliases: tuple[str, ...], taken: Collection[str]) -> str:
    """Return an id that nobody else has: students choose some of their names, and may choose another student's."""
    own = f"{student} ({', '.join(name for name in aliases if name != student)})"
    others = (f"{own} #{number}" for number in itertools.count(2))
    return own if own not in taken else next(each for each in others if each not in taken)


def _first_files(paths: Iterator[str], folder: str, skipped: SkippedFiles) -> Iterator[str]:
    """Yield the first `MAX_FILES` paths, and record if there are more."""
    for number, path in enumerate(paths):
        if number == MAX_FILES:
            skipped.add(SkippedKind.TOO_MANY, f"{storable(folder)}: only the first {MAX_FILES:,} files are read")
            return
        yield path


def _is_trap(file: File) -> bool:
    return f"{_stem(file.name)}{Path(file.name).suffix}".lower() == TRAP


def _stem(name: str) -> str:
    """Return a file's name without its suffix and without the mark of a second upload."""
    return COPY.sub("", Path(name).stem)


def _upload(file: File) -> tuple[int, str]:
    """Return the sort key of uploads with the same name: the upload's number, then its path."""
    match = COPY.search(Path(file.name).stem)
    return (int(re.sub(r"\D", "", match[0])) if match else 0, file.path)


def meant_exercise(name: str, exercises: Collection[str]) -> str:
    """Return the exercise that a name such as `exercise-3` stands for; empty if the name is not an exercise's."""
    if name in exercises:
        return name
    if not EXERCISE_NAME.fullmatch(name):
        return ""
    return next((each for each in exercises if exercise_number(each) == exercise_number(name)), name)


def walk(root: Path, folder: str, skipped: SkippedFiles, depth: int = MAX_DEPTH, *, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all files in a folder and below, in order. Links and clutter are recorded as skipped.

    `prefix` comes before the recorded paths.
    """
    try:
        names = sorted(os.listdir(root / folder))
    except OSError as error:
        skipped.add(SkippedKind.CLOSED, prefix + storable(folder), error.strerror or "")
        return
    for name in names:
        path = f"{folder}{os.sep}{name}" if folder else name
        if is_clutter(name):
            skipped.add(SkippedKind.LEFT_BEHIND, prefix + storable(path))
            continue
        try:
            mode = os.lstat(root / path).st_mode
        except OSError as error:  # deleted meanwhile
            skipped.add(SkippedKind.CLOSED, prefix + storable(path), error.strerror or "")
            continue
        if stat.S_ISLNK(mode):
            skipped.add(SkippedKind.LINK, prefix + storable(path))
        elif not stat.S_ISDIR(mode):
            yield path
        elif depth:
            yield from walk(root, path, skipped, depth - 1, prefix=prefix)
        else:
            skipped.add(SkippedKind.CLOSED, prefix + storable(path), f"it is more than {MAX_DEPTH} folders deep")
