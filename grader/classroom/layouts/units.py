"""What a platform hands over for one student: files, of which some are submissions."""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from grader.classroom.layouts.archives import Unpacker
from grader.classroom.layouts.files import (
    CLOSED,
    LEFT_BEHIND,
    LINK,
    NO_EXERCISE,
    NOTHING,
    RENAMED,
    STRAY,
    SUFFIXES,
    TWICE,
    UNKNOWN,
    ModuleNames,
    SkippedFiles,
    SubmissionFiles,
    is_clutter,
    list_folder,
    stems,
    storable,
)

DEEPEST = 12
"""As many folders deep a student's work is looked for."""

NUMBERED = re.compile(r"exercise[-_ ]?0*(\d+)", re.IGNORECASE)
COPY = re.compile(r"(?:-\d+|\s*\(\d+\))$")
"""What a platform or a browser adds to the name of a second upload."""


class Unit(Struct, frozen=True):
    """One student's files: a folder, or files that lie loose; all paths below the layout's root.

    `exercise` is what the unit's own name tells of it, `named` what a loose file is called without what the platform
    put before it.
    """

    student: str
    folder: str = ""
    loose: tuple[tuple[str, str], ...] = ()
    exercise: str = ""
    name: str = ""
    aliases: tuple[str, ...] = ()
    submitted_at: str = ""


class UnitLayout(Protocol):
    """Knows how one kind of layout names what students handed in."""

    NAME: str

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """The students' files, in order."""


class PlatformLayout(UnitLayout, Protocol):
    """One whose names tell it; `LANDMARK` does whatever else lies there, empty where nothing does."""

    LANDMARK: str

    def count(self, root: Path, names: list[str]) -> int:
        """How many of the names in the root are of this layout."""


class UnitSubmissions:
    """Submissions of a platform's layout, student by student; no link is followed."""

    def __init__(
        self,
        layout: UnitLayout,
        root: Path,
        exercises: ModuleNames,
        skipped: SkippedFiles,
        unpacker: Unpacker,
        exercise: str = "",
    ) -> None:
        self.name = layout.NAME
        self._root = root
        self._exercises = exercises
        self._stems = stems(exercises)
        self._skipped = skipped
        self._unpacker = unpacker
        self._exercise = exercise
        self._units = list(self._without_links(layout.units(root, list_folder(root), skipped)))
        self.total = len(self._units)

    def _without_links(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """The units, or what is left of them, that no link leads out of the root."""
        for unit in units:
            linked = {path for path, _ in (*unit.loose, (unit.folder, "")) if self._is_linked(path)}
            for path in sorted(linked):
                self._skipped.add(LINK, storable(path))
            loose = tuple(each for each in unit.loose if each[0] not in linked)
            folder = "" if unit.folder in linked else unit.folder
            if loose or folder:
                yield structs.replace(unit, loose=loose, folder=folder)

    def _is_linked(self, path: str) -> bool:
        """Whether a path below the root is a link, or leads through one."""
        parts = Path(path).parts
        return any(self._root.joinpath(*parts[: end + 1]).is_symlink() for end in range(len(parts)))

    def __iter__(self) -> Iterator[SubmissionFiles]:
        """A unit that is called by an exercise may hold others too, as a whole course does: they come after all that
        were handed in under their own names.
        """
        seen: set[tuple[str, str]] = set()
        others: list[SubmissionFiles] = []
        for position, unit in enumerate(self._units, 1):
            for files in self._of_unit(unit, position):
                if unit.exercise in ("", files.exercise):
                    yield from self._first(files, seen)
                else:
                    others.append(structs.replace(files, position=self.total))
        for files in others:
            yield from self._first(files, seen)

    def _first(self, files: SubmissionFiles, seen: set[tuple[str, str]]) -> Iterator[SubmissionFiles]:
        """The submission, unless the student has another for the exercise."""
        key = (files.student, files.exercise)
        if key in seen:
            self._skipped.add(TWICE, f"{files.place}; another of {files.student} is taken")
        else:
            seen.add(key)
            yield files

    def _of_unit(self, unit: Unit, position: int) -> Iterator[SubmissionFiles]:
        """The submissions among a student's files, by exercise; those in an archive of the student's come last."""
        named = self._skipped.reported()
        found = list(self._found(unit, position))
        if not found and self._skipped.reported() == named:
            self._skipped.add(NOTHING, storable(unit.folder or unit.loose[0][0]))
        yield from found

    def _found(self, unit: Unit, position: int) -> Iterator[SubmissionFiles]:
        about = SubmissionFiles(
            student=unit.student,
            exercise="",
            place="",
            position=position,
            name=unit.name,
            aliases=unit.aliases,
            submitted_at=unit.submitted_at,
        )
        walked = [(path, path.removeprefix(f"{unit.folder}{os.sep}")) for path in self._walk(unit.folder)]
        given = [*unit.loose, *(walked if unit.folder else ())]
        archives = [path for path, _ in given if path.lower().endswith(".zip")]
        yield from self._grouped(about, [each for each in given if each[0] not in archives], unit.exercise)
        for archive in archives:
            folder = self._unpacker.unpack(self._root / archive, storable(archive), self._skipped, is_students=True)
            if folder is not None:
                inside = [(path, path) for path in walk(folder, "", self._skipped)]
                prefix = f"{storable(archive)}/"
                yield from self._grouped(structs.replace(about, root=str(folder), prefix=prefix), inside, unit.exercise)

    def _grouped(
        self, about: SubmissionFiles, given: Iterable[tuple[str, str]], told: str
    ) -> Iterator[SubmissionFiles]:
        """For each exercise the files that stand for it: of several of one kind, the one last handed in.

        A file that is called otherwise stands for it where it is the only one.
        """
        found: dict[str, dict[str, tuple[str, str]]] = {}
        meant = [(path, called, *self._meant(called, told)) for path, called in given]
        odd = [path for path, _, _, kind in meant if kind == STRAY]
        usual = told or self._exercise
        is_taken = len(odd) == 1 and usual in self._exercises and not any(exercise for _, _, exercise, _ in meant)
        for path, called, named, kind in meant:
            exercise, why = (usual, RENAMED) if is_taken and kind == STRAY else (named, kind)
            if why:
                self._skipped.add(why, f"{storable(path)}, as {exercise}" if why == RENAMED else storable(path))
            if not exercise:
                continue
            suffix = Path(called).suffix.lower()
            kinds = found.setdefault(exercise, {})
            if suffix in kinds:
                own = Path(self._exercises[exercise]).stem
                order = [(_stem(each[1]) == own, *_copy_number(each), each) for each in (kinds[suffix], (path, called))]
                older, newer = (each for *_, each in sorted(order))
                self._skipped.add(TWICE, f"{storable(older[0])}; {storable(newer[0])} is taken")
                kinds[suffix] = newer
            else:
                kinds[suffix] = (path, called)
        for exercise in sorted(found):
            files = tuple(found[exercise][suffix][0] for suffix in SUFFIXES if suffix in found[exercise])
            yield structs.replace(about, exercise=exercise, place=about.prefix + storable(files[0]), files=files)

    def _meant(self, called: str, told: str) -> tuple[str, str]:
        """The exercise that a file is a submission for, or else of which kind it is that is none."""
        parts = Path(called).parts
        stem, suffix = _stem(called), Path(called).suffix
        is_named = numbered(stem, self._exercises)
        if suffix.lower() not in SUFFIXES or not (stem.lower() in self._stems or is_named):
            return "", STRAY if suffix.lower() in SUFFIXES and len(parts) == 1 else LEFT_BEHIND
        names = [numbered(part, self._exercises) for part in reversed(parts[:-1])]
        exercise = is_named or next(filter(None, names), "") or told or self._exercise
        if not exercise:
            return "", NO_EXERCISE
        return (exercise, "") if exercise in self._exercises else ("", UNKNOWN)

    def _walk(self, folder: str) -> Iterator[str]:
        return walk(self._root, folder, self._skipped) if folder else iter(())


def _stem(called: str) -> str:
    """A file's name without its ending, and without what a platform or a browser added to it."""
    return COPY.sub("", Path(called).stem)


def numbered(name: str, exercises: Collection[str]) -> str:
    """The exercise that a name means (`exercise_03`, `exercise-3`); empty where it means none."""
    if name in exercises:
        return name
    match = NUMBERED.fullmatch(name)
    if not match:
        return ""
    meant = (each for each in exercises if int(each.removeprefix("exercise_")) == int(match[1]))
    return next(meant, name)


def walk(root: Path, folder: str, skipped: SkippedFiles, depth: int = DEEPEST) -> Iterator[str]:
    """Paths of the ordinary files in a folder, in order; what systems leave there is counted, links are told."""
    try:
        names = sorted(os.listdir(root / folder))
    except OSError as error:
        skipped.add(CLOSED, storable(folder), error.strerror or "")
        return
    for name in names:
        path = f"{folder}{os.sep}{name}" if folder else name
        if is_clutter(name):
            skipped.add(LEFT_BEHIND, storable(path))
            continue
        try:
            mode = os.lstat(root / path).st_mode
        except OSError as error:  # it has gone meanwhile
            skipped.add(CLOSED, storable(path), error.strerror or "")
            continue
        if stat.S_ISLNK(mode):
            skipped.add(LINK, storable(path))
        elif not stat.S_ISDIR(mode):
            yield path
        elif depth:
            yield from walk(root, path, skipped, depth - 1)


def _copy_number(file: tuple[str, str]) -> tuple[int, str]:
    match = COPY.search(Path(file[1]).stem)
    return (int(re.sub(r"\D", "", match[0])) if match else 0, file[0])
