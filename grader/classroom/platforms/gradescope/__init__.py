"""Gradescope: an export of submissions with metadata, results for each student, and a zipped autograder."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from grader.classroom.exports.records import Graded, StudentTest, VerdictExport, student_tests
from grader.classroom.gradebook.rows import written_time
from grader.classroom.layouts.files import SkippedFiles, SkippedKind, is_own_folder, open_ordinary, storable
from grader.classroom.layouts.units import Unit
from grader.classroom.platforms.platform import Autograder, PlatformLayout
from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict

METADATA = "submission_metadata.yml"
FOLDER = re.compile(r"submission_\d+")
ZONE = re.compile(r"\s+(?=(?:Z|[+-][\d:]+)$)")
"""The space before a time's zone."""

NO_VALUE = ("~", "null")
MAX_METADATA_BYTES = 64_000_000


class Gradescope(PlatformLayout, Autograder, VerdictExport):
    """Folders submission_12345/ beside submission_metadata.yml, which names their submitters."""

    name = "gradescope"
    rank = 1
    export_file = "results.json"
    is_class_export = True

    def count(self, root: Path, names: list[str]) -> int:
        has_metadata = METADATA in names and (root / METADATA).is_file()
        return 1 + sum(bool(FOLDER.fullmatch(name)) for name in names) if has_metadata else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each submitter: each member of a group gets the group's submission."""
        metadata = _read_metadata(root / METADATA)
        for name in names:
            about = metadata.get(name)
            if isinstance(about, dict) and is_own_folder(root / name):
                for person in _mappings(about.get("submitters")) or [{}]:
                    yield _unit_of_person(name, about, person)
            elif name != METADATA:
                skipped.add(SkippedKind.STRAY, f"{storable(name)}, which is not in {METADATA}")
        for name in sorted(metadata.keys() - set(names)):
            skipped.add(SkippedKind.STRAY, f"{storable(name)}, which {METADATA} lists and which is not there")

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        return {"": _render(verdict, exercise, remark, {"seed": verdict.seed})}

    def render_export(self, graded: Graded) -> str:
        """Return results.json, without the seed: later submissions are graded with the same one."""
        return _render(graded.verdict, graded.exercise, graded.grade.remark, {})


def _unit_of_person(folder: str, about: dict[str, Any], person: dict[str, Any]) -> Unit:
    """Return the unit of a submitter. Names are not ids, because students choose their names."""
    known = {key: str(person.get(key) or "") for key in ("sid", "email", "name")}
    known = {key: "" if text in NO_VALUE else text for key, text in known.items()}
    return Unit(
        student=known["sid"] or known["email"] or folder,
        folder=folder,
        name=known["name"],
        aliases=tuple(filter(None, known.values())),
        submitted_at=_creation_time(about.get("created_at")),
    )


def _read_metadata(path: Path) -> dict[str, Any]:
    """Return the file's content, without the colons of its Ruby keys. Raise `UsageError` if the file is invalid."""
    try:
        with open_ordinary(path) as file:
            text = file.read(MAX_METADATA_BYTES + 1)
        if len(text) > MAX_METADATA_BYTES:
            raise UsageError(f"{path} is larger than {MAX_METADATA_BYTES:,} bytes; export fewer submissions at once")
        # every scalar stays text: an id may begin with 0, and Python cannot represent every number and time
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        content = yaml.load(text.decode(), Loader=loader)  # noqa: S506 - both are safe ones
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}; export it again") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not list submissions; export it again")
    plain: dict[str, Any] = _without_colons(content)
    return plain


def _without_colons(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).removeprefix(":"): _without_colons(item) for key, item in value.items()}
    return [_without_colons(item) for item in value] if isinstance(value, list) else value


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _creation_time(value: Any) -> str:
    """Return a time such as `2026-02-03 04:05:06.789 -08:00` in the gradebook's format; empty if it is no time."""
    return written_time(ZONE.sub("", value)) if isinstance(value, str) else ""


def _render(verdict: Verdict, exercise: Exercise, remark: str, extra: dict[str, int]) -> str:
    """Return results.json with the verdict's score, which excludes extras."""
    data = {
        "score": verdict.score,
        "execution_time": round(verdict.seconds, 3),
        "output": "\n".join(filter(None, (remark, f"{exercise.title}: {verdict.outcome.replace('_', ' ')}"))),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"exercise": verdict.exercise, **extra, "isolation": verdict.isolation},
        "tests": [_test(test, place) for place, test in enumerate(student_tests(verdict, exercise), 1)],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _test(test: StudentTest, place: int) -> dict[str, object]:
    return {
        "name": test.name,
        "number": str(place),
        "status": "passed" if test.passed else "failed",
        "score": test.points,
        "max_score": 0.0 if test.is_extra else test.max_points,
        "output": test.output,
        "visibility": "visible",
    }
