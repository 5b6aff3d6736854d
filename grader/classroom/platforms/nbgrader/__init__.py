"""nbgrader: a course folder with submissions in submitted/, and an autograder in the last cell of a notebook."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from grader.classroom.gradebook.rows import written_time
from grader.classroom.layouts.files import (
    SkippedFiles,
    SkippedKind,
    is_own_folder,
    list_folder_if_readable,
    open_ordinary,
    report_hidden_folders,
    storable,
)
from grader.classroom.layouts.units import Unit, has_landmark
from grader.classroom.platforms.platform import Autograder, Package, PlatformLayout
from grader.report.printable import printable_lines
from grader.report.terminal import render_terminal
from grader.report.view import ON_SCREEN, view_of
from grader.spec.exercise import Exercise
from grader.spec.exercise_names import EXERCISE_NAME, exercise_id_of, exercise_number
from grader.verdict.verdict import Verdict

SUBMITTED = "submitted"
COMPANIONS = frozenset(
    {"source", "release", "autograded", "feedback", "autograder", "downloaded", "exchange", "inbound", "outbound"}
)
"""Folders beside submitted/ in a course of nbgrader."""

COURSE_FILES = {"gradebook.db", "nbgrader_config.py"}
STAMP = re.compile(r"(?P<time>[\d-]+ [\d:.]+)\s*(?P<zone>\S*)")
MAX_STAMP_BYTES = 200

GRADE_CELL = "judged"
"""The id of the notebook cell from which nbgrader reads the points."""

GRADE_CELL_SOURCE = """\
# The points are given here when the notebook is graded; leave this cell as it is.
### BEGIN HIDDEN TESTS
raise RuntimeError("nbgrader_config.py of the package is not in use; without it there are no points")
### END HIDDEN TESTS"""
"""The cell is never run: the package's configuration fills in its outputs."""


class Nbgrader(PlatformLayout, Autograder):
    """submitted/<student>/<assignment>/, with the time of the submission in timestamp.txt."""

    name = "nbgrader"
    rank = 5
    kit_folder = "autograder"

    def count(self, root: Path, names: list[str]) -> int:
        if root.name == SUBMITTED:
            return len(names)
        return len({SUBMITTED, *COMPANIONS, *COURSE_FILES}.intersection(names)) if SUBMITTED in names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each assignment of each student; record files that are not part of a course as skipped."""
        base = "" if root.name == SUBMITTED else f"{SUBMITTED}{os.sep}"
        for name in names if base else ():
            if name not in {SUBMITTED, *COMPANIONS, *COURSE_FILES}:
                skipped.add(SkippedKind.STRAY, storable(name))
        report_hidden_folders(root / base, base, skipped)
        for student in list_folder_if_readable(root / base, skipped):
            if not is_own_folder(root / base / student):
                skipped.add(SkippedKind.STRAY, storable(base + student))
                continue
            for assignment in list_folder_if_readable(root / base / student, skipped):
                folder = f"{base}{student}{os.sep}{assignment}"
                if not is_own_folder(root / folder):
                    skipped.add(SkippedKind.STRAY, storable(folder))
                    continue
                yield Unit(
                    student=storable(student),
                    folder=folder,
                    exercise=exercise_id_of(exercise_number(assignment)) if EXERCISE_NAME.fullmatch(assignment) else "",
                    aliases=(storable(student),),
                    submitted_at=_submission_time(root, f"{folder}{os.sep}timestamp.txt", skipped),
                )

    def is_shown_by_landmark(self, root: Path, names: list[str]) -> bool:
        return has_landmark(root, names, SUBMITTED, COMPANIONS)

    def folder_of_students(self, names: list[str]) -> str:
        others = set(names) - {SUBMITTED, *COMPANIONS, *COURSE_FILES}
        return SUBMITTED if SUBMITTED in names and len(others) <= len(names) / 2 else ""

    def is_part(self, folder: Path, inside: list[str]) -> bool:
        return folder.name == SUBMITTED

    def template_values(self, package: Package) -> dict[str, object]:
        return {"cell": GRADE_CELL}

    def extra_files(self, package: Package) -> dict[Path, bytes]:
        """Return the source notebook: the starter and a locked cell that gives the points."""
        course, exercise = package.course, package.exercise
        starter = course.pristine(course.editable_files(exercise.id)[1])
        notebook = json.loads(starter.read_bytes())
        nbgrader = {
            "schema_version": 3,
            "grade": True,
            "solution": False,
            "locked": True,
            "task": False,
            "grade_id": GRADE_CELL,
            "cell_type": "code",
            "points": exercise.max_score(),
        }
        cell: dict[str, object] = {
            "cell_type": "code",
            "execution_count": None,
            "outputs": [],
            "source": GRADE_CELL_SOURCE,
        }
        notebook["cells"].append(cell | {"metadata": {"nbgrader": nbgrader}})
        content = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        return {Path("source") / exercise.id / starter.name: content.encode()}

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        page = render_terminal(view_of(verdict, exercise, limits=ON_SCREEN))
        page = f"{printable_lines(remark)}\n\n{page}" if remark else page
        return {"": msgspec.json.encode({"points": float(verdict.judged_score()), "page": page}).decode()}


def _submission_time(root: Path, name: str, skipped: SkippedFiles) -> str:
    """Return the time in nbgrader's timestamp.txt; empty if there is none. Record a file without a valid time."""
    try:
        with open_ordinary(root / name) as file:
            match = STAMP.match(file.read(MAX_STAMP_BYTES).decode())
        zone = ZoneInfo(match["zone"]) if match and match["zone"] else UTC
        written = written_time(datetime.fromisoformat(match["time"]).replace(tzinfo=zone)) if match else ""
        reason = "" if written else "no date from 1970 on"
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError) as error:
        written, reason = "", str(error)
    if not written:
        skipped.add(SkippedKind.NO_TIME, storable(name), reason)
    return written
