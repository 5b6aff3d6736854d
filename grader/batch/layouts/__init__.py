"""How a class hands in: each layout, iterated over, gives submissions. A platform is a class in `platforms.py`."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.batch.layouts.files import (
    Exercises,
    Layout,
    SkippedFiles,
    SubmissionFiles,
    Unpacker,
    handed_in,
    handed_in_or_none,
    stems,
)
from grader.batch.layouts.own import Folder, Lines, Pattern, StudentFolders
from grader.batch.layouts.platforms import (
    EXERCISES,
    FAMILIES,
    GRADESCOPE_METADATA,
    MOODLE_FOLDER,
    OF_A_CLASS,
    REPOSITORY,
    SUBMITTED,
)
from grader.batch.layouts.units import Family, Units, numbered
from grader.errors import UsageError

__all__ = ["LAYOUTS", "NAMES", "Layout", "LayoutOptions", "SkippedFiles", "SubmissionFiles", "open_layout"]

NAMES = ("folders", "lines", *(family.NAME for family in FAMILIES))
LINES_SUFFIXES = (".jsonl", ".ndjson")
OWN = "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb)"
LAYOUTS = (
    f"{OWN}, a .jsonl file whose lines have student, exercise and source, a platform's export "
    f"({', '.join(family.NAME for family in FAMILIES)}), or a zip of any of them"
)


class LayoutOptions(Struct, frozen=True):
    """What is said of a layout that its names do not tell; empty where it is to be found out."""

    name: str = ""
    pattern: str = ""
    exercise: str = ""


@contextlib.contextmanager
def open_layout(
    path: Path, exercises: Exercises, skipped: SkippedFiles, options: LayoutOptions
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
        elif path.is_file() and path.suffix in LINES_SUFFIXES:
            yield Lines(path, exercises, skipped), path.parent
            return
        elif path.is_dir():
            root = _export(path)
        else:
            what = "neither a folder nor a .jsonl file nor a zip" if path.exists() else "not there"
            raise UsageError(f"{path} is {what}; hand over {LAYOUTS}")
        try:
            names = handed_in(root)
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        family = _family(root, names, options)
        if family is None and not options.exercise:
            yield Folder(root, exercises, skipped), root
        else:
            yield Units(family or StudentFolders(), root, exercises, skipped, unpacker, options.exercise), root


def _family(root: Path, names: list[str], options: LayoutOptions) -> Family | None:
    """The platform's layout that is named, or that most of the names fit; None for the kit's own."""
    if options.pattern:
        return Pattern(options.pattern)
    if options.name:
        return next((family for family in FAMILIES if options.name == family.NAME), None)
    counts = [(family.count(root, names), -number, family) for number, family in enumerate(FAMILIES)]
    count, _, best = max(counts, key=lambda each: each[:2])
    is_told = any(family.LANDMARK in names for family in FAMILIES)
    return best if count > len(names) / 2 or (count and is_told) else None


def _top(folder: Path, exercises: Exercises) -> Path:
    """Where an archive's files begin: in its only folder, if it has nothing else and that is not a student's."""
    alone = _only_folder(folder)
    if alone is None or _export(folder) != folder or MOODLE_FOLDER.fullmatch(alone.name):
        return _export(folder)
    if REPOSITORY.fullmatch(alone.name):
        return folder
    inside = [os.path.splitext(name)[0] for name in handed_in_or_none(alone)]  # noqa: PTH122 - only their stems
    students = {EXERCISES, *stems(exercises)}
    is_students = any(each in students or numbered(each, exercises) for each in inside)
    return folder if is_students or alone.name in (SUBMITTED, EXERCISES) else alone


def _export(folder: Path) -> Path:
    """The folder, or the only one in it that holds what a platform handed out for a class."""
    alone = _only_folder(folder)
    if alone is None or GRADESCOPE_METADATA in (names := handed_in_or_none(alone)):
        return alone or folder
    return alone if any(family.count(alone, names) > len(names) / 2 for family in OF_A_CLASS) else folder


def _only_folder(folder: Path) -> Path | None:
    names = handed_in_or_none(folder)
    alone = folder / names[0] if len(names) == 1 else folder
    return alone if alone != folder and alone.is_dir() and not alone.is_symlink() else None
