"""Moodle: an archive with a folder or a file for each student. Feedback is uploaded under the same names."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.gradebook.class_records import GradeRow
from grader.classroom.layouts.files import SkippedFiles, SkippedKind, storable
from grader.classroom.layouts.units import File, Unit
from grader.classroom.platforms.names import first_part, short_name
from grader.classroom.platforms.platform import PlatformLayout

STUDENT_NAME = re.compile(r"(?P<name>.+?)(?P<mark>_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?)(?P<file>.*)")
"""The first mark is Moodle's and has no underscore before it. A later mark is part of the student's file name."""


class Moodle(PlatformLayout):
    """A folder Name_123_assignsubmission_file_ for each student, or files whose names begin so."""

    name = "moodle"
    rank = 2
    is_class_export = True

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(STUDENT_NAME.fullmatch(name)) for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        for each in names:
            match = STUDENT_NAME.fullmatch(each)
            if match is None:
                skipped.add(SkippedKind.STRAY, storable(each))
                continue
            name = storable(match["name"])
            is_folder = (root / each).is_dir()
            yield Unit(
                student=match["id"],
                folder=each if is_folder else "",
                loose=() if is_folder else (File(path=each, name=match["file"]),),
                name=name,
                aliases=(name,),
            )

    def is_part(self, folder: Path, inside: list[str]) -> bool:
        return bool(STUDENT_NAME.fullmatch(folder.name))

    def feedback_path(self, grade: GradeRow) -> Path | None:
        match = STUDENT_NAME.fullmatch(first_part(grade.file))
        folder = match and short_name((match["name"], ""), (match["mark"], ""))
        return Path(folder) / f"feedback_{grade.exercise}" if folder else None
