"""A gradebook in other programs' formats: as golden files, and as programs that are not ours read them."""

import csv
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from junitparser import JUnitXml

from grader.classroom.exports.class_page import pseudonym
from grader.classroom.exports.records import ExerciseLoader, Graded, cell, student_tests
from grader.classroom.exports.writing import EXPORTS, export, feedback_path, folder_names, write_feedback
from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.gradebook.class_records import ClassRecords
from grader.errors import UsageError
from grader.report.findings import sentence
from grader.report.phrases import shown_defects
from grader.verdict.verdict import Result
from tests.support.paths import CORPUS, ROOT

GOLDEN = CORPUS / "golden" / "exports"
EXPORTED = {
    "csv": ["grades.csv"],
    "canvas": ["canvas.csv"],
    "gradescope": "results.json",
    "prairielearn": "results.json",
    "classroom50": "result.json",
    "junit": "junit.xml",
    "ctrf": "ctrf.json",
}
HOSTILE = '=HYPERLINK("http://x")</script><script>alert(1)</script>\u202e'


EXPORTING = """
import re, sys
from pathlib import Path
from grader.spec.paths import Course
from grader.classroom.exports.writing import export

gradebook, to, folder, root = sys.argv[1:]
export(Path(gradebook), to, Path(folder), Course(root=Path(root)))
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Writes an export and says how many kilobytes it took at most, by what is its own: a parent's peak is inherited."""


def defect_ids(course, exercise: str) -> list[str]:
    return [defect.id for defect in ExerciseLoader(course).get(exercise).defects]


@pytest.fixture
def gradebook(tmp_path) -> Path:
    """A class as an older kit graded it, with a roster in which one is absent and one has a hostile name."""
    path = tmp_path / "class.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((CORPUS / "golden/gradebook.sql").read_text(encoding="utf-8"))
    connection.close()
    with Gradebook(path) as book:
        roster = [
            Student(id="ada", name="Ada Lovelace", group="A", columns={"sis_login_id": "al"}, is_enrolled=True),
            Student(id="bob", name=HOSTILE, group="+B", columns={}, is_enrolled=True),
            Student(id="eve", name="Eve, who is absent", group="B", columns={}, is_enrolled=True),
        ]
        book.enroll(roster)
    return path


@pytest.mark.parametrize("to", EXPORTED)
def test_every_format_matches_its_golden_file(gradebook, course, tmp_path, to, request):
    folder = tmp_path / "out"
    export(gradebook, to, folder, course)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    text = "".join(f"--- {path.relative_to(folder)}\n{path.read_text(encoding='utf-8').rstrip()}\n" for path in files)
    golden = GOLDEN / f"{to}.txt"
    if request.config.getoption("--rewrite-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("to", EXPORTED | {"html": ["index.html"], "feedback": "feedback.txt"})
def test_a_failed_export_is_reported_and_leaves_no_draft(gradebook, course, tmp_path, to):
    names = (EXPORTED | {"html": ["index.html"], "feedback": "feedback.txt"})[to]
    taken = tmp_path / "out" / (f"ada/exercise_03/{names}" if isinstance(names, str) else names[0])
    taken.mkdir(parents=True)
    about = (gradebook, tmp_path / "out", ExerciseLoader(course))
    write = partial(write_feedback, *about) if to == "feedback" else partial(export, gradebook, to, about[1], course)
    with pytest.raises(UsageError, match=rf"{re.escape(str(taken))}: cannot be written: Is a directory"):
        write()
    assert not list((tmp_path / "out").rglob("*.draft"))


def test_there_is_a_test_for_every_format():
    assert {*EXPORTED, "html"} == set(EXPORTS)


@pytest.mark.parametrize("to", [name for name, file in EXPORTED.items() if isinstance(file, str)])
def test_no_file_of_a_student_names_a_defect_that_is_still_there(gradebook, course, tmp_path, to):
    export(gradebook, to, tmp_path / "out", course)
    write_feedback(gradebook, tmp_path / "out", ExerciseLoader(course))
    seen = 0
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file() and path.parts[-3] in ("bob", "cleo"):
            seen += 1
            text = path.read_text(encoding="utf-8")
            assert not [each for each in defect_ids(course, "exercise_03") if each in text]
    assert seen == 6


def test_spreadsheets_find_every_student_and_no_formula(gradebook, course, tmp_path):
    export(gradebook, "csv", tmp_path, course)
    with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["student"], row["exercise"], row["outcome"], row["score"], row["extra"]) for row in rows] == [
        ("ada", "exercise_03", "fixed", "10", "1"),
        ("ada", "exercise_05", "not_gradable", "0", "0"),
        ("bob", "exercise_03", "not_fixed", "0", "0"),
        ("bob", "exercise_05", "absent", "", ""),
        ("cleo", "exercise_03", "not_fixed", "0", "0"),
        ("eve", "exercise_03", "absent", "", ""),
        ("eve", "exercise_05", "absent", "", ""),
    ]
    assert rows[2]["name"] == f"'{HOSTILE}"
    assert rows[2]["group"] == "'+B"
    formulas = ("=1", "+1", "-1", "@x", "\tx", "\nx", "\uff1dcmd()")
    assert [cell(text)[0] for text in (*formulas, "x")] == ["'"] * len(formulas) + ["x"]


def test_canvas_finds_a_row_for_each_student_below_the_points(gradebook, course, tmp_path):
    export(gradebook, "canvas", tmp_path, course)
    with (tmp_path / "canvas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["Student"].strip() == "Points Possible"
    assert (rows[0]["exercise_03"], rows[0]["exercise_03 extra"]) == ("10", "0")
    about = [(row["SIS User ID"], row["SIS Login ID"], row["Section"], row["exercise_03"]) for row in rows[1:]]
    assert about == [("ada", "al", "A", "10"), ("bob", "", "'+B", "0"), ("cleo", "", "", "0"), ("eve", "", "B", "")]


def test_canvas_gets_its_own_user_id_and_never_the_rosters(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.executescript(
        """UPDATE submissions SET student = '7' WHERE student = 'bob';
        UPDATE verdicts SET file = 'smithbob_LATE_12345_9_attention.py' WHERE file LIKE 'bob%';
        UPDATE batches SET options = json_set(options, '$.layout', 'canvas');"""
    )
    connection.close()
    export(gradebook, "canvas", tmp_path, course)
    with (tmp_path / "canvas.csv").open(encoding="utf-8", newline="") as file:
        ids = {(row["ID"], row["SIS User ID"]) for row in csv.DictReader(file)}
    assert ("12345", "7") in ids
    assert not [each for each, _ in ids if each not in ("", "12345")]


def test_junitparser_reads_what_junit_is_given(gradebook, course, tmp_path):
    export(gradebook, "junit", tmp_path, course)
    found = {}
    for path in sorted(tmp_path.rglob("junit.xml")):
        (suite,) = JUnitXml.fromfile(str(path))
        assert suite.tests == len(list(suite))
        found[path.parts[-3], suite.name] = (suite.tests, suite.failures, suite.errors, suite.skipped)
    assert found == {
        ("ada", "exercise_03"): (3, 0, 0, 0),
        ("ada", "exercise_05"): (1, 0, 1, 0),
        ("bob", "exercise_03"): (3, 2, 0, 1),
        ("cleo", "exercise_03"): (3, 2, 0, 1),
    }


def test_characters_that_xml_does_not_hold_are_spelled_out(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.execute("UPDATE verdicts SET reason = ? WHERE reason <> ''", ("a\x00b\x1b[31m\ufffe]]>&<",))
    connection.commit()
    connection.close()
    export(gradebook, "junit", tmp_path, course)
    (suite,) = JUnitXml.fromfile(str(tmp_path / "ada/exercise_05/junit.xml"))
    (case,) = suite
    assert case.result[0].message == "a\\x00b\\x1b[31m\\ufffe]]>&<"


def test_scores_of_every_platform_agree_with_the_gradebook(gradebook, course, tmp_path):
    for to in ("gradescope", "prairielearn", "classroom50", "ctrf"):
        export(gradebook, to, tmp_path / to, course)

    def read(to, student, exercise="exercise_03"):
        return json.loads((tmp_path / to / student / exercise / EXPORTED[to]).read_text(encoding="utf-8"))

    for student, score in (("ada", 10), ("bob", 0)):
        gradescope, classroom50 = read("gradescope", student), read("classroom50", student)
        assert gradescope["score"] == score
        assert all(test["visibility"] == "visible" for test in gradescope["tests"])
        assert (classroom50["score"], classroom50["max-score"]) == (score, 10)
        assert all(
            isinstance(test["score"], int) and 0 <= test["score"] <= test["max-score"] for test in classroom50["tests"]
        )
        assert read("prairielearn", student)["score"] == score / 10
        tests = read("prairielearn", student)["tests"]
        assert (sum(test["points"] for test in tests), sum(test["max_points"] for test in tests)) == (score, 10)
        summary = read("ctrf", student)["results"]["summary"]
        assert summary["tests"] == sum(summary[state] for state in ("passed", "failed", "skipped", "pending", "other"))
    refused = read("prairielearn", "ada", "exercise_05")
    assert refused["gradable"] is False
    assert "SyntaxError" in refused["format_errors"][0]


GRADESCOPE = {
    *("score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility"),
    *("stdout_visibility", "extra_data", "tests", "leaderboard"),
}
OF_ITS_TESTS = {
    *("score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags"),
    *("visibility", "extra_data"),
}
"""The fields that its documents name."""


def test_gradescope_is_given_its_own_fields_alone(gradebook, course, tmp_path):
    export(gradebook, "gradescope", tmp_path, course)
    for path in tmp_path.rglob("results.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        assert results.keys() <= GRADESCOPE
        assert all(test.keys() <= OF_ITS_TESTS and test["status"] in ("passed", "failed") for test in results["tests"])


VALIDATE = """
import { readFileSync } from "fs";
import { validate } from "ctrf";
const found = process.argv.slice(1).map((file) => validate(JSON.parse(readFileSync(file))));
console.log(JSON.stringify(found));
"""


@pytest.mark.slow
def test_the_npm_package_of_ctrf_finds_every_report_valid(gradebook, course, tmp_path):
    export(gradebook, "ctrf", tmp_path / "out", course)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "ctrf@0.3.0"], cwd=tmp_path, check=True)
    files = sorted(map(str, (tmp_path / "out").rglob("ctrf.json")))
    command = ["node", "--input-type=module", "-e", VALIDATE, *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [{"valid": True, "errors": []}] * 4


def test_points_that_are_no_whole_numbers_stay_exact_in_classroom_50(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.execute("UPDATE verdicts SET score = 6.25 WHERE file LIKE 'bob%'")
    connection.commit()
    connection.close()
    export(gradebook, "classroom50", tmp_path, course)
    result = json.loads((tmp_path / "bob/exercise_03/result.json").read_text(encoding="utf-8"))
    assert (result["score"], result["max-score"]) == (25, 40)


def test_a_verdict_comes_out_of_the_gradebook_as_it_went_in(gradebook, course):
    with ClassRecords(gradebook) as records:
        grades = {(grade.student, grade.exercise): grade for grade in records.grades()}
        verdict = records.verdict(grades["cleo", "exercise_03"])
        own, shared = (records.verdict(grades[name, "exercise_03"]).checks for name in ("bob", "cleo"))
    assert own == shared
    assert verdict.file == "cleo/exercise_03/attention.py"
    assert len(verdict.checks) == 16
    assert verdict.causes["values"] == ["mask-discarded"]
    assert "expected 0.293, saw 0.626" in sentence(verdict.checks[0].finding)
    exercise = ExerciseLoader(course).get("exercise_03")
    assert [test.name for test in student_tests(verdict, exercise)] == [
        "Defect 1",
        "Defect 2 (extra)",
        "Everything fixed, and nothing else broken",
    ]


@pytest.mark.parametrize(
    ("layout", "file", "wanted"),
    [
        (
            "moodle",
            "Jane Smith_123_assignsubmission_file_/attention.py",
            "Jane Smith_123_assignsubmission_file_/feedback_exercise_03",
        ),
        ("moodle", "Jane_1_assignsubmission_file_attention.py", "Jane_1_assignsubmission_file_/feedback_exercise_03"),
        ("canvas", "smithjane_LATE_123_9001_attention-1.py", "smithjane_LATE_123_9001_attention-1_exercise_03"),
        ("canvas", "bo_1_2_all.zip/exercises/exercise_03/attention.py", "bo_1_2_all_exercise_03"),
        ("folders", "../../etc/passwd", "m1/exercise_03/feedback"),
    ],
)
def test_feedback_files_have_names_that_the_platform_accepts(gradebook, layout, file, wanted):
    from msgspec import structs

    with ClassRecords(gradebook) as records:
        grade = structs.replace(next(records.grades()), layout=layout, file=file, student="m1")
    assert feedback_path(Graded(grade=grade, verdict=None, exercise=None, classroom="c"), "m1") == Path(wanted)


@pytest.mark.parametrize(("letter", "count"), [("n", 210), ("é", 105), ("\\xe9", 300)])
def test_a_long_canvas_name_gets_feedback_under_a_shorter_one_that_canvas_knows(
    gradebook, course, tmp_path, letter, count
):
    connection = sqlite3.connect(gradebook)
    connection.execute("UPDATE batches SET options = json_set(options, '$.layout', 'canvas')")
    long = letter * count
    connection.execute("UPDATE verdicts SET file = ? WHERE file LIKE 'ada/exercise_03%'", (f"ada_12_345_{long}.py",))
    connection.execute("UPDATE verdicts SET file = ? WHERE file LIKE 'bob%'", (f"{long}_13_346_attention.py",))
    connection.commit()
    connection.close()
    assert write_feedback(gradebook, tmp_path / "out", ExerciseLoader(course)) == 4
    names = sorted(path.name for path in (tmp_path / "out").glob("*.html"))
    assert [name for name in names if name.startswith(f"ada_12_345_{letter}") and name.endswith("_exercise_03.html")]
    assert [name for name in names if name.endswith("_13_346_attention_exercise_03.html")]


def test_one_students_file_that_cannot_be_written_stops_no_other_and_is_named(gradebook, course, tmp_path):
    (tmp_path / "out/ada").mkdir(parents=True)
    (tmp_path / "out/ada/exercise_03").write_text("in the way", encoding="utf-8")
    for name, file in (("gradescope", "results.json"), ("feedback", "feedback.html")):
        about = (gradebook, tmp_path / "out", ExerciseLoader(course))
        write = partial(write_feedback, *about) if name == "feedback" else partial(export, gradebook, name, about[1])
        with pytest.raises(UsageError, match=r"ada/exercise_03/.*: cannot be written: "):
            write() if name == "feedback" else write(course)
        assert (tmp_path / "out/bob/exercise_03" / file).is_file()
        assert (tmp_path / "out/cleo/exercise_03" / file).is_file()


def test_names_that_some_file_systems_confuse_get_different_folders():
    students = ["Anna", "anna", "bo", "Caf\u00e9", "Cafe\u0301", "CON", "con", "nul.txt", "_CON", "\U0001f600" * 200]
    names = folder_names(students)
    assert names["bo"] == "bo"
    assert len({name.casefold() for name in names.values()}) == len(students)
    assert not {"con", "nul.txt"} & {name.casefold() for name in names.values()}
    assert max(len(name.encode()) for name in names.values()) < 120


def test_exercises_are_exported_in_the_order_of_their_numbers(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.execute("UPDATE submissions SET exercise = 'exercise_100' WHERE exercise = 'exercise_05'")
    connection.execute("UPDATE submissions SET exercise = 'exercise_11' WHERE exercise = 'exercise_03'")
    connection.commit()
    connection.close()
    export(gradebook, "canvas", tmp_path, course)
    with (tmp_path / "canvas.csv").open(encoding="utf-8", newline="") as file:
        names = [name for name in next(csv.reader(file)) if name.startswith("exercise_")]
    assert names == ["exercise_11", "exercise_100", "exercise_100 extra"]
    with ClassRecords(gradebook) as records:
        assert [grade.exercise for grade in records.grades() if grade.student == "ada"] == [
            "exercise_11",
            "exercise_100",
        ]


def test_feedback_is_the_students_own_page_and_text(gradebook, course, tmp_path):
    assert write_feedback(gradebook, tmp_path / "out", ExerciseLoader(course)) == 4
    text = (tmp_path / "out/bob/exercise_03/feedback.txt").read_text(encoding="utf-8")
    assert "defect 1" in text
    assert "expected" in text
    page = (tmp_path / "out/bob/exercise_03/feedback.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")


def test_feedback_names_no_seed_because_later_submissions_get_the_same_one(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.executescript("UPDATE verdicts SET seed = 7160934; UPDATE batches SET seed = 7160934")
    connection.close()
    assert write_feedback(gradebook, tmp_path / "out", ExerciseLoader(course)) == 4
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("feedback.*")]
    assert len(texts) == 8
    assert not [text for text in texts if "7160934" in text]


def test_defects_that_an_exercise_no_longer_has_are_left_out(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    for table, column in (("defects", "defect"), ("checks", "explained_by")):
        connection.execute(f"UPDATE {table} SET {column} = replace({column}, 'mask-discarded', 'since-renamed')")
    connection.commit()
    connection.close()
    assert write_feedback(gradebook, tmp_path / "feedback", ExerciseLoader(course)) == 4
    text = (tmp_path / "feedback/bob/exercise_03/feedback.txt").read_text(encoding="utf-8")
    assert ("defect 2" in text, "defect 1" in text, "since-renamed" in text) == (True, False, False)
    for to in sorted(EXPORTS):
        export(gradebook, to, tmp_path / to, course)
    tests = json.loads((tmp_path / "gradescope/bob/exercise_03/results.json").read_text(encoding="utf-8"))["tests"]
    assert [test["name"] for test in tests] == ["Defect 2 (extra)", "Everything fixed, and nothing else broken"]


def test_names_of_folders_are_safe_and_no_two_are_the_same():
    names = ["ada", "a/b", "a_b", "../x", "", ".", "..", "CON\n", "x" * 300, "x" * 301, "José", HOSTILE]
    folders = list(folder_names(names).values())
    assert len(set(folders)) == len(names)
    assert folders[0] == "ada"
    assert all(name and "/" not in name and not name.startswith(".") and len(name) < 120 for name in folders)


def test_the_class_page_escapes_every_name_and_asks_nobody(gradebook, course, tmp_path):
    export(gradebook, "html", tmp_path, course)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert "http://x" in page  # as text
    assert not [word for word in ("src=", "href=", "@import", "url(", "fetch(") if word in page]
    data = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    assert [row[0] for row in data["students"]][::3] == ["Ada Lovelace (ada)", "Eve, who is absent (eve)"]
    assert data["students"][0][2][0] == ["fixed", 10.0, "ff"]
    assert data["students"][3][2][0] == ["absent", None, "--"]
    assert "(2 students)" in page
    assert "4 students, 2 exercises." in page


def test_an_anonymous_page_names_nobody_and_no_defect_and_always_in_the_same_way(gradebook, course, tmp_path):
    for name in ("one", "two"):
        export(gradebook, "html", tmp_path / name, course, anonymous=True)
    pages = [(tmp_path / name / "index.html").read_text(encoding="utf-8") for name in ("one", "two")]
    assert pages[0] == pages[1]
    for word in ("Ada", "ada", "bob", "Eve", *defect_ids(course, "exercise_03")):
        assert not re.search(rf"\b{word}\b", pages[0])
    with ClassRecords(gradebook) as records:
        key = records.pseudonym_key()
    assert len(key) == 32
    assert pseudonym("bob", key) in pages[0]
    assert pseudonym("bob", key) != pseudonym("bob", "another")


def test_the_order_of_rows_on_an_anonymous_page_reveals_nobody(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.executescript(
        """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
        INSERT INTO students SELECT 's' || i, '', '', '{}', 1 FROM n;"""
    )
    connection.close()
    export(gradebook, "html", tmp_path, course, anonymous=True)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    called = [row[0] for row in data["students"]]
    assert len(called) == 54
    assert called == sorted(called)


@pytest.mark.slow
@pytest.mark.parametrize("to", EXPORTED | {"html": []})
def test_ten_times_as_many_verdicts_are_exported_at_the_same_memory(gradebook, tmp_path, to):
    """A hundred thousand where the class has one file; fewer where each student has one, which takes its time."""
    peaks, is_one_file = [], not isinstance((EXPORTED | {"html": []})[to], str)
    for count in (10_000, 100_000) if is_one_file else (500, 5_000):
        path = tmp_path / f"{count}.sqlite"
        path.write_bytes(gradebook.read_bytes())
        connection = sqlite3.connect(path)
        connection.executescript(
            f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
            INSERT INTO submissions SELECT 100 + i, 's' || i, 'exercise_03', '', 'module' FROM n;
            INSERT INTO verdicts SELECT 100 + s.id, s.id, batch, file, s.id, remark, exercise_version, kit,
            torch, outcome, score, max_score, reason, unloadable, near_miss, seed, seconds, isolation, is_closed, v.id,
            judged_at, regrade FROM submissions s JOIN verdicts v ON v.id = 1 WHERE s.id > 100;"""
        )
        connection.close()
        command = [sys.executable, "-c", EXPORTING, str(path), to, str(tmp_path / str(count)), str(ROOT)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks.append(int(done.stdout) / 1024)
        written = list((tmp_path / str(count)).iterdir())
        parts = written[0].read_text(encoding="utf-8").splitlines() if is_one_file else written
        assert len(parts) > count
    print(f"{to}: {peaks[0]:.0f} MB, and {peaks[1]:.0f} MB for ten times as many")
    assert peaks[1] < peaks[0] + 10


def test_a_page_of_five_thousand_students_is_written_quickly_and_small(gradebook, course, tmp_path):
    connection = sqlite3.connect(gradebook)
    connection.executescript(
        """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO submissions SELECT 100 + i, 's' || i, 'exercise_03', '', 'module' FROM n;
        INSERT INTO verdicts SELECT 100 + s.id, s.id, batch, file, s.id, remark, exercise_version, kit,
        torch, outcome, score, max_score, reason, unloadable, near_miss, seed, seconds, isolation, is_closed, v.id,
        judged_at, regrade FROM submissions s JOIN verdicts v ON v.id = 3 WHERE s.id > 100;"""
    )
    connection.close()
    started = time.monotonic()
    export(gradebook, "html", tmp_path / "out", course)
    assert time.monotonic() - started < 30
    assert (tmp_path / "out/index.html").stat().st_size < 1_000_000


def test_an_exercise_that_was_taken_out_of_the_course_costs_no_grade_and_stops_no_export(
    gradebook, course, tmp_path, run_cli
):
    smaller = tmp_path / "course"
    for folder in ("exercises", "solutions"):
        shutil.copytree(course.root / folder / "exercise_05", smaller / folder / "exercise_05")
    for to in (*sorted(EXPORTS), "feedback"):
        how = ["--feedback"] if to == "feedback" else ["--to", to]
        done = run_cli("export", str(gradebook), *how, str(tmp_path / to), "--course", str(smaller))
        assert done.returncode == 0, (to, done.stderr)
        omitted = (
            "Omitted, because no longer in the course: exercise_03. Formats that include their grades: canvas, csv."
        )
        is_told = omitted in " ".join(done.stdout.split())
        assert is_told is (to not in ("csv", "canvas"))
    with (tmp_path / "canvas/canvas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["exercise_03"], row["exercise_03 extra"]) for row in rows[:2]] == [("10", "0"), ("10", "1")]
    written = sorted(path.relative_to(tmp_path) for path in (tmp_path / "junit").rglob("*.xml"))
    assert written == [Path("junit/ada/exercise_05/junit.xml")]


def test_exported_tests_do_not_reveal_the_number_of_defects(gradebook, course):
    """Without an announcement, what is not fixed has no points of its own, and only defects on the page have a row."""
    loader = ExerciseLoader(course)
    with ClassRecords(gradebook) as records:
        grades = [each for each in records.grades() if each.verdict and each.outcome == Result.NOT_FIXED]
        assert grades
        for grade in grades:
            exercise, verdict = loader.get(grade.exercise), records.verdict(grade)
            *tests, last = student_tests(verdict, exercise)
            assert len(tests) == len(shown_defects(verdict, exercise))
            assert not any(each.max_points for each in tests if not each.passed)
            assert sum(each.max_points for each in (*tests, last) if not each.is_extra) == verdict.max_score
            assert last.points == 0.0
