"""The kit's own layouts: a folder for each student, lines of JSON, or an instructor's pattern."""

import codecs
import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from grader.classroom.gradebook.rows import WorkKind, written_time
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
from grader.classroom.layouts.units import MAX_FILES, File, Layout, Unit, meant_exercise, walk
from grader.errors import KitError, UsageError
from grader.spec.exercise_names import EXERCISE_NAME, NAME_OR_NUMBER_PATTERN, exercise_id_of, exercise_number
from grader.spec.paths import TRAP, USUAL_MODULE
from grader.submission import MAX_FILE_BYTES


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


PIECE_BYTES = 1 << 20


class _Line(Struct, frozen=True, kw_only=True):
    """A line's keys; other keys are ignored. A line has a `source`, a `trap` or both."""

    student: str
    exercise: str
    source: str | None = None
    trap: str | None = None
    submitted_at: str = ""


class _LineOfStudent(Struct, frozen=True, kw_only=True):
    """The student in a line; other keys are ignored."""

    student: str


class LineSubmissions:
    """A .jsonl file, in its order. Of several submissions of a student for an exercise, the first counts."""

    name = "lines"

    def __init__(self, path: Path, exercises: Collection[str], skipped: SkippedFiles) -> None:
        self._path = path
        self._exercises = exercises
        self._skipped = skipped
        try:
            with path.open("rb"):
                self.total = path.stat().st_size
        except OSError as error:
            raise UsageError(f"{path} cannot be opened: {error.strerror}; check its permissions") from None

    def people(self) -> Iterator[Person]:
        """Yield the student of each line that names one."""
        decoder = msgspec.json.Decoder(_LineOfStudent)
        for _, _, content in self._lines(SkippedFiles()):
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                student = decoder.decode(content).student
                yield Person(student=student, aliases=(student,))

    def __iter__(self) -> Iterator[SubmissionFiles]:
        decoder = msgspec.json.Decoder(_Line)
        known: set[bytes] = set()
        for number, position, content in self._lines(self._skipped):
            place = f"{self._path.name}, line {number}"
            try:
                line = decoder.decode(content)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._skipped.add(SkippedKind.BROKEN, f"{place}: {error}")
                continue
            if line.exercise not in self._exercises:
                self._skipped.add(SkippedKind.UNKNOWN, f"{place}: {line.exercise}")
                continue
            if line.source is None and line.trap is None:
                self._skipped.add(SkippedKind.BROKEN, f"{place}: it has neither source nor trap")
                continue
            submitted_at = written_time(line.submitted_at)
            if line.submitted_at and not submitted_at:
                self._skipped.add(SkippedKind.NO_TIME, f"{place}: {line.submitted_at}")
            for kind, source in ((WorkKind.MODULE, line.source), (WorkKind.TRAP, line.trap)):
                if source is None:
                    continue
                key = hashlib.blake2b(msgspec.json.encode((line.student, line.exercise, kind)), digest_size=16).digest()
                if key in known:
                    about = "" if kind is WorkKind.MODULE else f", {kind}"
                    self._skipped.add(
                        SkippedKind.TWICE, f"{place}: {line.student}, {line.exercise}{about}; the first is graded"
                    )
                    continue
                known.add(key)
                yield SubmissionFiles(
                    student=line.student,
                    exercise=line.exercise,
                    place=place,
                    position=position,
                    source=source,
                    submitted_at=submitted_at,
                    aliases=(line.student,),
                    kind=kind,
                )

    def _lines(self, skipped: SkippedFiles) -> Iterator[tuple[int, int, bytes]]:
        """Yield the number, the end and the content of each line that is neither empty nor too long."""
        try:
            with self._path.open("rb") as file:
                yield from self._lines_of(file, skipped)
        except OSError as error:
            raise KitError(
                f"{self._path} cannot be read to its end: {error.strerror}; the verdicts so far are stored"
            ) from None

    def _lines_of(self, file: IO[bytes], skipped: SkippedFiles) -> Iterator[tuple[int, int, bytes]]:
        number = 0
        while content := file.readline(MAX_FILE_BYTES + 1):
            number += 1
            if len(content) > MAX_FILE_BYTES:
                skipped.add(SkippedKind.TOO_LONG, f"{self._path.name}, line {number}: over {MAX_FILE_BYTES:,} bytes")
                _skip_line(file, content)
            elif content.strip():
                yield number, file.tell(), content.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")


def _skip_line(file: IO[bytes], piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(PIECE_BYTES)


FIELDS = {"student", "exercise"}
PART = re.compile(r"\{(\w+)\}|(\*\*)|(\*)|(\?)|([^{}*?]+|[{}])")


class Pattern(Layout):
    """Paths below the root: `*` matches within one name, `**` across folders, `?` one character."""

    name = "pattern"

    def __init__(self, text: str) -> None:
        """Raise `UsageError` if the pattern does not give the student."""
        fields = re.findall(r"\{(\w+)\}", text)
        unknown = sorted(set(fields) - FIELDS)
        if unknown or "student" not in fields or len(fields) != len(set(fields)):
            problem = (
                f"unknown part {{{unknown[0]}}}" if unknown else "expected {student} once and {exercise} at most once"
            )
            raise UsageError(f"--pattern {text}: {problem}; for example: '{{student}}_*_{{exercise}}.py'")
        self._regex = re.compile("".join(map(_part, PART.finditer(text))))

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each student and exercise."""
        found: dict[tuple[str, str], list[str]] = {}
        for path in walk(root, "", skipped):
            match = self._regex.fullmatch(path.replace(os.sep, "/"))
            if match is None:
                skipped.add(SkippedKind.STRAY, storable(path))
                continue
            name = match.groupdict().get("exercise")
            exercise = exercise_id_of(exercise_number(name)) if name else ""
            found.setdefault((storable(match["student"]), exercise), []).append(path)
        for (student, exercise), paths in found.items():
            loose = tuple(File(path=path, name=_usual_name(exercise, Path(path))) for path in paths)
            yield Unit(student=student, loose=loose, aliases=(student,))


def _usual_name(exercise: str, path: Path) -> str:
    """Return the name by which the file counts as a trap or a module, and belongs to the exercise if one is given."""
    if path.name == TRAP:
        return f"{exercise}/{TRAP}" if exercise else TRAP
    return (exercise or Path(USUAL_MODULE).stem) + path.suffix


def _part(match: re.Match[str]) -> str:
    field, across, within, one, text = match.groups()
    if field:
        return rf"(?P<{field}>{NAME_OR_NUMBER_PATTERN if field == 'exercise' else '[^/]+?'})"
    if across or within or one:
        return ".*" if across else "[^/]*" if within else "[^/]"
    return re.escape(text)
