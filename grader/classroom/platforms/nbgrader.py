"""nbgrader: a course folder whose submissions lie in submitted/, and an autograder in the last cell of a notebook."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from grader.classroom.gradebook.rows import TIME
from grader.classroom.layouts.files import STRAY, SkippedFiles, list_folder_if_readable, storable
from grader.classroom.layouts.units import EXERCISE_NAME, Unit
from grader.classroom.platforms.platform import Autograder, Package, SubmissionLayout
from grader.report.console import printable
from grader.report.terminal import render_terminal
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict

SUBMITTED = "submitted"
STAMP = re.compile(r"(?P<time>[\d-]+ [\d:.]+)\s*(?P<zone>\S*)")
PAGE_WIDTH = 100

GRADE_CELL = "judged"
"""The id of the notebook cell from which nbgrader reads the points."""


class Nbgrader(SubmissionLayout, Autograder):
    """submitted/<student>/<assignment>/, with the time of the submission in timestamp.txt."""

    name = "nbgrader"
    landmark = SUBMITTED
    kit_folder = "autograder"

    def count(self, root: Path, names: list[str]) -> int:
        if root.name == SUBMITTED:
            return len(names)
        return len(list_folder_if_readable(root / SUBMITTED)) if SUBMITTED in names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each assignment of each student; ignore the other folders of the course."""
        base = "" if root.name == SUBMITTED else f"{SUBMITTED}{os.sep}"
        for student in list_folder_if_readable(root / base, skipped):
            if not _is_own_folder(root / base / student):
                skipped.add(STRAY, storable(base + student))
                continue
            for assignment in list_folder_if_readable(root / base / student, skipped):
                folder = f"{base}{student}{os.sep}{assignment}"
                if not _is_own_folder(root / folder):
                    skipped.add(STRAY, storable(folder))
                    continue
                match = EXERCISE_NAME.fullmatch(assignment)
                yield Unit(
                    student=storable(student),
                    folder=folder,
                    exercise=f"exercise_{int(match[1]):02}" if match else "",
                    aliases=(storable(student),),
                    submitted_at=_submission_time(root / folder / "timestamp.txt"),
                )

    def is_part(self, name: str, inside: list[str]) -> bool:
        return name == SUBMITTED

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
        source = package.render("hidden_cell.py.j2")
        cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": [], "source": source}
        notebook["cells"].append(cell | {"metadata": {"nbgrader": nbgrader}})
        content = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        return {Path("source") / exercise.id / starter.name: content.encode()}

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        page = render_terminal(verdict, exercise, width=PAGE_WIDTH, color=False)
        page = f"{printable(remark)}\n\n{page}" if remark else page
        return {"": msgspec.json.encode({"points": float(verdict.score), "page": page}).decode()}


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _submission_time(path: Path) -> str:
    """Return the time in nbgrader's timestamp.txt, or nothing if there is none."""
    try:
        match = STAMP.match(path.read_text(encoding="utf-8")) if not path.is_symlink() else None
        if match is None:
            return ""
        zone = ZoneInfo(match["zone"]) if match["zone"] else UTC
        return datetime.fromisoformat(match["time"]).replace(tzinfo=zone).astimezone(UTC).strftime(TIME)
    except (OSError, ValueError, KeyError):
        return ""
