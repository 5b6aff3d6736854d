"""What Moodle hands out: a folder Name_123_assignsubmission_file_ for each student, or files with that before them."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit

NAME = "moodle"
SHAPE = "<Name>_<number>_assignsubmission_file_/attention.py"
FOLDER = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)")


def count(root: Path, names: list[str]) -> int:
    return sum(bool(FOLDER.fullmatch(name)) for name in names)


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each folder, or for each file that lies loose."""
    for each in names:
        match = FOLDER.fullmatch(each)
        if match is None:
            if not is_by_the_way(each):
                skipped.add(STRAY, storable(each))
            continue
        name = storable(match["name"])
        about = Unit(match["id"], name=name, aliases=(name,))
        if (root / each).is_dir():
            yield Unit(about.student, folder=each, name=name, aliases=about.aliases)
        else:
            yield Unit(about.student, loose=((each, match["file"]),), name=name, aliases=about.aliases)
