"""nbgrader's course folder: submitted/<student>/<assignment>/, with the time of the submission in timestamp.txt."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import NUMBERED, Unit
from grader.gradebook.gradebook import TIME

NAME = "nbgrader"
SHAPE = "submitted/<student>/<assignment>/attention.ipynb"
SUBMITTED = "submitted"
STAMP = re.compile(r"(?P<time>[\d-]+ [\d:.]+)\s*(?P<zone>\S*)")


def count(root: Path, names: list[str]) -> int:
    if root.name == SUBMITTED:
        return len(names)
    return len(os.listdir(root / SUBMITTED)) if SUBMITTED in names and (root / SUBMITTED).is_dir() else 0


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each student's assignment; the course's other folders are none of the batch's business."""
    base = "" if root.name == SUBMITTED else f"{SUBMITTED}{os.sep}"
    students = names if not base else sorted(os.listdir(root / SUBMITTED))
    for student in students:
        if is_by_the_way(student):
            continue
        if not (root / base / student).is_dir() or (root / base / student).is_symlink():
            skipped.add(STRAY, storable(base + student))
            continue
        for assignment in sorted(os.listdir(root / base / student)):
            folder = f"{base}{student}{os.sep}{assignment}"
            if (root / folder).is_dir() and not (root / folder).is_symlink():
                name = storable(student)
                number = NUMBERED.fullmatch(assignment)
                exercise = f"exercise_{int(number[1]):02}" if number else ""
                stamp = _timestamp(root / folder / "timestamp.txt")
                yield Unit(name, folder=folder, exercise=exercise, aliases=(name,), submitted_at=stamp)
            elif not is_by_the_way(assignment):
                skipped.add(STRAY, storable(folder))


def _timestamp(path: Path) -> str:
    """When it was submitted, as nbgrader wrote it down; empty where it did not."""
    try:
        match = STAMP.match(path.read_text(encoding="utf-8")) if not path.is_symlink() else None
        if match is None:
            return ""
        zone = ZoneInfo(match["zone"]) if match["zone"] else UTC
        return datetime.fromisoformat(match["time"]).replace(tzinfo=zone).astimezone(UTC).strftime(TIME)
    except (OSError, ValueError, KeyError):
        return ""
