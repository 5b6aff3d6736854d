"""Gradescope: an export of submissions with metadata, results for each student, and an autograder in a zip."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from grader.classroom.exports.records import Graded, StudentTest, VerdictExport, student_tests
from grader.classroom.gradebook.rows import TIME
from grader.classroom.layouts.files import STRAY, SkippedFiles, storable
from grader.classroom.layouts.units import Unit
from grader.classroom.platforms.platform import Autograder, SubmissionLayout
from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict

METADATA = "submission_metadata.yml"
MAX_METADATA_BYTES = 64_000_000


class Gradescope(SubmissionLayout, Autograder, VerdictExport):
    """Folders submission_12345/ beside submission_metadata.yml, which names their submitters."""

    name = "gradescope"
    export_file = "results.json"
    landmark = METADATA
    is_class_export = True

    def count(self, root: Path, names: list[str]) -> int:
        return sum(name.startswith("submission_") for name in names) if METADATA in names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """Yield a unit for each submitter: each member of a group gets the group's submission."""
        metadata = _read_metadata(root / METADATA)
        for name in names:
            about = metadata.get(name)
            if isinstance(about, dict) and (root / name).is_dir() and not (root / name).is_symlink():
                for person in _mappings(about.get("submitters")) or [{}]:
                    yield _unit_of_person(name, about, person)
            elif name != METADATA:
                skipped.add(STRAY, f"{storable(name)}, which is not in {METADATA}")

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        return {"": _render(verdict, exercise, remark)}

    def render_export(self, graded: Graded) -> str:
        return _render(graded.verdict, graded.exercise, graded.grade.remark)


def _unit_of_person(folder: str, about: dict[str, Any], person: dict[str, Any]) -> Unit:
    known = {key: str(person.get(key) or "") for key in ("sid", "email", "name")}
    return Unit(
        student=known["sid"] or known["email"] or known["name"] or folder,
        folder=folder,
        name=known["name"],
        aliases=tuple(filter(None, known.values())),
        submitted_at=_utc_time(about.get("created_at")),
    )


def _read_metadata(path: Path) -> dict[str, Any]:
    """Return the file's content, its keys without Ruby's colons. Raise `UsageError` if it is not such a file."""
    try:
        if path.stat().st_size > MAX_METADATA_BYTES:
            raise UsageError(f"{path} is larger than {MAX_METADATA_BYTES:,} bytes; export fewer submissions at once")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - both are safe ones
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


def _utc_time(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return ""
    if not isinstance(value, datetime):
        return ""
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).strftime(TIME)


def _render(verdict: Verdict, exercise: Exercise, remark: str) -> str:
    """Return results.json. Its score is the verdict's, which leaves extras out."""
    data = {
        "score": verdict.score,
        "execution_time": round(verdict.seconds, 3),
        "output": "\n".join(filter(None, (remark, f"{exercise.title}: {verdict.outcome.replace('_', ' ')}"))),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"exercise": verdict.exercise, "seed": verdict.seed, "isolation": verdict.isolation},
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
