"""Recognize the layout of a class's submissions, and open it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.classroom.layouts.archives import Unpacker
from grader.classroom.layouts.files import (
    ModuleNames,
    SkippedFiles,
    Submissions,
    list_folder,
    list_folder_if_readable,
    stems,
)
from grader.classroom.layouts.folders import FolderSubmissions, StudentFolders
from grader.classroom.layouts.lines import LineSubmissions
from grader.classroom.layouts.pattern import Pattern
from grader.classroom.layouts.units import Layout, UnitSubmissions, meant_exercise
from grader.classroom.platforms import LAYOUTS
from grader.errors import UsageError

LAYOUT_NAMES = (FolderSubmissions.name, LineSubmissions.name, *(layout.name for layout in LAYOUTS))
LINES_SUFFIXES = (".jsonl", ".ndjson")
EXPECTED = (
    "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb), "
    "a .jsonl file whose lines have student, exercise and source, a platform's export "
    f"({', '.join(layout.name for layout in LAYOUTS)}), or a zip of any of these"
)
"""A description of the accepted layouts for messages."""


class LayoutOptions(Struct, frozen=True, kw_only=True):
    """The user's choice of a layout. Empty fields are detected."""

    name: str = ""
    pattern: str = ""
    exercise: str = ""


@contextlib.contextmanager
def open_layout(
    path: Path, exercises: ModuleNames, skipped: SkippedFiles, options: LayoutOptions
) -> Iterator[tuple[Submissions, Path]]:
    """Yield the submissions in a folder, a JSON Lines file or a zip, and the root of their paths.

    Raise `UsageError` if there are none.
    """
    if options.name and options.pattern:
        raise UsageError("--layout and --pattern both choose a layout; give one of them")
    is_lines = options.name == LineSubmissions.name or path.suffix.lower() in LINES_SUFFIXES
    if path.is_file() and is_lines:
        if options.pattern or options.name not in ("", LineSubmissions.name):
            wanted = "--pattern" if options.pattern else f"--layout {options.name}"
            raise UsageError(f"{path} is a file of lines, and {wanted} is for a folder or a zip; leave it out")
        yield LineSubmissions(path, exercises, skipped), path.parent
        return
    if path.is_dir() and options.name == LineSubmissions.name:
        raise UsageError(f"--layout {LineSubmissions.name} is for a file, and {path} is a folder; leave it out")
    with Unpacker() as unpacker:
        if path.is_file() and path.suffix.lower() == ".zip":
            root = _root_of_archive(unpacker.unpack_class(path, skipped, _folder_of_students), exercises)
        elif path.is_dir():
            root = _class_folder(path)
        else:
            problem = "is neither a folder nor a .jsonl file nor a zip" if path.exists() else "does not exist"
            raise UsageError(f"{path} {problem}; expected {EXPECTED}")
        try:
            names = list_folder(root)
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        chosen = _choose_layout(root, names, options)
        if chosen is None and not options.exercise:
            yield FolderSubmissions(root, exercises, skipped), root
        else:
            layout = chosen or StudentFolders()
            yield UnitSubmissions(layout, root, exercises, skipped, unpacker, options.exercise), root


def _choose_layout(root: Path, names: list[str], options: LayoutOptions) -> Layout | None:
    """Return the named layout, or the layout that most of the names fit; None for folders of students."""
    if options.pattern:
        return Pattern(options.pattern)
    if options.name:
        return next((layout for layout in LAYOUTS if layout.name == options.name), None)
    counts = [layout.count(root, names) for layout in LAYOUTS]
    most = max(counts)
    if most > len(names) / 2:
        return LAYOUTS[counts.index(most)]
    return next((layout for layout in LAYOUTS if layout.is_shown_by_landmark(root, names)), None)


def _folder_of_students(names: list[str]) -> str:
    """Return the folder in which a platform keeps all students' folders, if these are the names of its course."""
    return next((folder for layout in LAYOUTS if (folder := layout.folder_of_students(names))), "")


def _root_of_archive(folder: Path, exercises: ModuleNames) -> Path:
    """Return the root of an unpacked archive's submissions, which is often the archive's only folder."""
    class_folder, single = _class_folder(folder), _single_folder(folder)
    if single is None or class_folder != folder:
        return class_folder
    inside = list_folder_if_readable(single)
    is_part = any(layout.is_part(single, inside) for layout in LAYOUTS)
    return folder if is_part or _is_students(single, inside, exercises) else single


def _is_students(folder: Path, inside: list[str], exercises: ModuleNames) -> bool:
    """Return whether a folder belongs to one student: it has files of exercises, and not more folders with other names.

    A student's folder that is named like an exercise must not hide the rest of the class.
    """
    known = stems(exercises)
    stem_of = {name: os.path.splitext(name)[0] for name in inside}  # noqa: PTH122 - faster than pathlib
    named = {name for name, stem in stem_of.items() if stem in known or meant_exercise(stem, exercises)}
    others = [name for name in inside if name not in named and (folder / name).is_dir()]
    return bool(named) and len(others) <= len(named)


def _class_folder(folder: Path) -> Path:
    """Return the folder, or its only folder if that is a platform's export of a class."""
    single = _single_folder(folder)
    if single is None:
        return folder
    names = list_folder_if_readable(single)
    exports = [layout for layout in LAYOUTS if layout.is_class_export]
    is_export = any(
        each.is_shown_by_landmark(single, names) or each.count(single, names) > len(names) / 2 for each in exports
    )
    return single if is_export else folder


def _single_folder(folder: Path) -> Path | None:
    """Return the only item in a folder if it is a folder itself."""
    names = list_folder_if_readable(folder)
    single = folder / names[0] if len(names) == 1 else folder
    return single if single != folder and single.is_dir() and not single.is_symlink() else None
