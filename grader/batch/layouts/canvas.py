"""What Canvas hands out: lastname_12345_67890_attention.py, flat, with LATE in the name of what came late."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit

NAME = "canvas"
SHAPE = "<name>_<number>_<number>_attention.py"
FILE = re.compile(r"(?P<name>.+?)_(?:LATE_)?(?P<user>\d+)_\d+_(?P<file>.+)")


def count(root: Path, names: list[str]) -> int:
    return sum(bool(FILE.fullmatch(name)) and "_assignsubmission_" not in name for name in names)


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each user, who may have handed in several files."""
    users: dict[str, list[re.Match[str]]] = {}
    for name in names:
        match = FILE.fullmatch(name)
        if match:
            users.setdefault(match["user"], []).append(match)
        elif not is_by_the_way(name):
            skipped.add(STRAY, storable(name))
    for user, matches in users.items():
        name = storable(matches[0]["name"])
        loose = tuple((match[0], match["file"]) for match in matches)
        yield Unit(user, loose=loose, name=name, aliases=(user, name))
