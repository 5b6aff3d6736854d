"""A verdict as a test report that other programs read: JUnit's XML as pytest writes it, and CTRF."""

import re
from datetime import datetime
from xml.etree import ElementTree as ET

import msgspec

from grader.report.exports import Graded, StudentTest, VerdictExport, student_tests
from grader.verdict.verdict import Result

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not hold, however they are written."""


def _junit_file(graded: Graded) -> str:
    """A suite for the exercise; what cannot be graded is an error, an extra that is not mended is skipped."""
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
    first, _, rest = _legal(test.output).partition("\n")
    if test.passed:
        ET.SubElement(case, "system-out").text = _legal(test.output)
    elif test.is_extra:
        ET.SubElement(case, "skipped", {"type": "extra", "message": first})
    else:
        ET.SubElement(case, "error" if is_error else "failure", {"message": first}).text = rest
    return case


def _legal(text: str) -> str:
    return ILLEGAL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


JUNIT = VerdictExport("junit", "junit.xml", _junit_file)


MILLISECONDS = 1000


def _ctrf_file(graded: Graded) -> str:
    """Extras that are not mended are skipped; times are in milliseconds."""
    verdict = graded.verdict
    tests = student_tests(verdict, graded.exercise)
    states = [_ctrf_status(test) for test in tests]
    stop = round(datetime.fromisoformat(graded.grade.judged_at).timestamp() * MILLISECONDS)
    counts = {state: states.count(state) for state in ("passed", "failed", "skipped", "pending", "other")}
    data = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": "grader"},
            "summary": {
                "tests": len(tests),
                **counts,
                "start": stop - round(verdict.seconds * MILLISECONDS),
                "stop": stop,
            },
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


CTRF = VerdictExport("ctrf", "ctrf.json", _ctrf_file)
