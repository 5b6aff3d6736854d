"""How a class hands in: each layout, iterated over, gives submissions. A platform is a class in `platforms.py`."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.classroom.gradebook.class_records import MOODLE_NAME
from grader.classroom.layouts.archives import Unpacker
from grader.classroom.layouts.files import (
    Layout,
    ModuleNames,
    SkippedFiles,
    SubmissionFiles,
    list_folder,
    list_folder_if_readable,
    stems,
)
from grader.classroom.layouts.own import Folder, Lines, Pattern, StudentFolders
from grader.classroom.layouts.platforms import (
    CLASS_LAYOUTS,
    EXERCISES,
    GRADESCOPE_METADATA,
    PLATFORM_LAYOUTS,
    REPOSITORY,
    SUBMITTED,
)
from grader.classroom.layouts.units import UnitLayout, UnitSubmissions, numbered
from grader.errors import UsageError

__all__ = ["LAYOUTS", "NAMES", "Layout", "LayoutOptions", "SkippedFiles", "SubmissionFiles", "open_layout"]

NAMES = ("folders", "lines", *(each.NAME for each in PLATFORM_LAYOUTS))
LINES_SUFFIXES = (".jsonl", ".ndjson")
OWN = "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb)"
LAYOUTS = (
    f"{OWN}, a .jsonl file whose lines have student, exercise and source, a platform's export "
    f"({', '.join(each.NAME for each in PLATFORM_LAYOUTS)}), or a zip of any of them"
)


class LayoutOptions(Struct, frozen=True):
    """What is said of a layout that its names do not tell; empty where it is to be found out."""

    name: str = ""
    pattern: str = ""
    exercise: str = ""


@contextlib.contextmanager
def open_layout(
    path: Path, exercises: ModuleNames, skipped: SkippedFiles, options: LayoutOptions
) -> Iterator[tuple[Layout, Path]]:
    """The submissions in a folder, a JSON Lines file or a zip, and the folder that their files lie below.

    `UsageError` where there is nothing of the kind.
    """
    if options.name and options.pattern:
        raise UsageError("--layout and --pattern each name a layout; give one of them")
    with Unpacker() as unpacker:
        if path.is_file() and path.suffix.lower() == ".zip":
            unpacked = unpacker.unpack(path, path.name, skipped)
            if unpacked is None:
                raise UsageError(f"{skipped.lines()[-1]}; hand over a zip that opens, or its files in a folder")
            root = _top(unpacked, exercises)
        elif path.is_file() and path.suffix.lower() in LINES_SUFFIXES:
            yield Lines(path, exercises, skipped), path.parent
            return
        elif path.is_dir():
            root = _export(path)
        else:
            what = "neither a folder nor a .jsonl file nor a zip" if path.exists() else "not there"
            raise UsageError(f"{path} is {what}; hand over {LAYOUTS}")
        try:
            names = list_folder(root)
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        chosen = _unit_layout(root, names, options)
        if chosen is None and not options.exercise:
            yield Folder(root, exercises, skipped), root
        else:
            yield (
                UnitSubmissions(chosen or StudentFolders(), root, exercises, skipped, unpacker, options.exercise),
                root,
            )


def _unit_layout(root: Path, names: list[str], options: LayoutOptions) -> UnitLayout | None:
    """The pattern or the platform's layout that is named, or that most of the names fit; None for the kit's own."""
    if options.pattern:
        return Pattern(options.pattern)
    if options.name:
        return next((each for each in PLATFORM_LAYOUTS if options.name == each.NAME), None)
    counts = [(each.count(root, names), -number, each) for number, each in enumerate(PLATFORM_LAYOUTS)]
    count, _, best = max(counts, key=lambda counted: counted[:2])
    is_told = any(each.LANDMARK in names for each in PLATFORM_LAYOUTS)
    return best if count > len(names) / 2 or (count and is_told) else None


def _top(folder: Path, exercises: ModuleNames) -> Path:
    """Where an archive's files begin: in its only folder, if it has nothing else and that is not a student's."""
    alone = _only_folder(folder)
    if alone is None or _export(folder) != folder or MOODLE_NAME.fullmatch(alone.name):
        return _export(folder)
    if REPOSITORY.fullmatch(alone.name):
        return folder
    inside = [os.path.splitext(name)[0] for name in list_folder_if_readable(alone)]  # noqa: PTH122 - only their stems
    students = {EXERCISES, *stems(exercises)}
    is_students = any(each in students or numbered(each, exercises) for each in inside)
    return folder if is_students or alone.name in (SUBMITTED, EXERCISES) else alone


def _export(folder: Path) -> Path:
    """The folder, or the only one in it that holds what a platform handed out for a class."""
    alone = _only_folder(folder)
    if alone is None or GRADESCOPE_METADATA in (names := list_folder_if_readable(alone)):
        return alone or folder
    return alone if any(each.count(alone, names) > len(names) / 2 for each in CLASS_LAYOUTS) else folder


def _only_folder(folder: Path) -> Path | None:
    names = list_folder_if_readable(folder)
    alone = folder / names[0] if len(names) == 1 else folder
    return alone if alone != folder and alone.is_dir() and not alone.is_symlink() else None
