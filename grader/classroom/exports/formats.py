"""Formats of no single platform: grades in CSV, and test reports as JUnit's XML and as CTRF."""

import csv
import re
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from grader.classroom.exports.records import (
    ClassExport,
    ExerciseLoader,
    Graded,
    StudentTest,
    VerdictExport,
    cell,
    number,
    student_tests,
)
from grader.classroom.gradebook.class_records import ClassRecords
from grader.verdict.verdict import Result

CSV_COLUMNS = (
    *("student", "name", "group", "exercise", "outcome", "score", "max_score", "extra", "max_extra", "attempts"),
    *("submitted_at", "judged_at", "reason", "remark", "file"),
    *("trap_outcome", "trap_score", "trap_max_score", "trap_extra", "trap_file"),
)
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain, however they are written."""

MILLISECONDS = 1000


class GradesCsv(ClassExport):
    """A row for each student and exercise, with the points of the submission and of the trap."""

    name = "csv"
    export_file = "grades.csv"
    has_grades_only = True

    def write_export(self, records: ClassRecords, exercises: ExerciseLoader, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(CSV_COLUMNS)
            for grade in records.grades():
                points = map(number, (grade.score, grade.max_score, grade.extra, grade.max_extra))
                before = map(cell, (grade.student, grade.name, grade.group, grade.exercise, grade.outcome))
                after = map(cell, (grade.submitted_at, grade.judged_at, grade.reason, grade.remark, grade.file))
                trap_points = map(number, (grade.trap_score, grade.trap_max_score, grade.trap_extra))
                trap = [cell(grade.trap_outcome), *trap_points, cell(grade.trap_file)]
                rows.writerow([*before, *points, grade.attempts, *after, *trap])


class Junit(VerdictExport):
    """JUnit's XML as pytest writes it: a suite for each exercise."""

    name = "junit"
    export_file = "junit.xml"

    def render_export(self, graded: Graded) -> str:
        """Return the XML. A submission that cannot be graded is an error; an extra that is not fixed is skipped."""
        verdict = graded.verdict
        tests = student_tests(verdict, graded.exercise)
        is_error = verdict.outcome is Result.NOT_GRADABLE
        failed = [test for test in tests if not test.passed]
        skipped = [test for test in failed if test.is_extra]
        suite = ET.Element(
            "testsuite",
            {
                "name": verdict.exercise,
                "tests": str(len(tests)),
                "errors": str(len(failed) if is_error else 0),
                "failures": str(0 if is_error else len(failed) - len(skipped)),
                "skipped": str(len(skipped)),
                "time": f"{verdict.seconds:.3f}",
                "timestamp": graded.grade.judged_at.removesuffix("Z"),
            },
        )
        for test in tests:
            suite.append(_junit_case(test, verdict.exercise, is_error=is_error))
        root = ET.Element("testsuites")
        root.append(suite)
        ET.indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _junit_case(test: StudentTest, exercise: str, *, is_error: bool) -> ET.Element:
    case = ET.Element("testcase", {"classname": exercise, "name": test.name, "time": "0.000"})
    first_line, _, remaining_lines = _legal(test.output).partition("\n")
    if test.passed:
        ET.SubElement(case, "system-out").text = _legal(test.output)
    elif test.is_extra:
        ET.SubElement(case, "skipped", {"type": "extra", "message": first_line})
    else:
        failure = ET.SubElement(case, "error" if is_error else "failure", {"message": first_line})
        failure.text = remaining_lines
    return case


def _legal(text: str) -> str:
    return ILLEGAL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


class Ctrf(VerdictExport):
    """The common test report format in JSON."""

    name = "ctrf"
    export_file = "ctrf.json"

    def render_export(self, graded: Graded) -> str:
        """Return the JSON, with times in milliseconds. An extra that is not fixed is skipped."""
        verdict = graded.verdict
        tests = student_tests(verdict, graded.exercise)
        states = [_ctrf_status(test) for test in tests]
        stop = round(datetime.fromisoformat(graded.grade.judged_at).timestamp() * MILLISECONDS)
        counts = {state: states.count(state) for state in ("passed", "failed", "skipped", "pending", "other")}
        summary = {
            "tests": len(tests),
            **counts,
            "start": stop - round(verdict.seconds * MILLISECONDS),
            "stop": stop,
        }
        data = {
            "reportFormat": "CTRF",
            "specVersion": "0.0.0",
            "results": {
                "tool": {"name": "grader"},
                "summary": summary,
                "tests": [_ctrf_test(test, verdict.exercise) for test in tests],
            },
        }
        return msgspec.json.format(msgspec.json.encode(data)).decode()


def _ctrf_status(test: StudentTest) -> str:
    return "passed" if test.passed else "skipped" if test.is_extra else "failed"


def _ctrf_test(test: StudentTest, exercise: str) -> dict[str, object]:
    return {
        "name": test.name,
        "status": _ctrf_status(test),
        "duration": 0,
        "suite": [exercise],
        "message": test.output,
        "extra": {"points": test.points, "max_points": test.max_points},
    }


FORMATS: tuple[ClassExport | VerdictExport, ...] = (GradesCsv(), Junit(), Ctrf())
"""The formats that belong to no platform, except for the class's page in HTML. `export --to` finds them here."""
