"""Downloads from platforms: recognised, read, assigned by the roster, and unpacked safely."""

import io
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import unicodedata
import zipfile
from pathlib import Path

import pytest

from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.gradebook.rows import WorkKind
from grader.classroom.layouts import archives as archive
from grader.classroom.layouts.files import Person, SkippedFiles, SubmissionFiles
from grader.classroom.opening import LayoutOptions, open_layout
from grader.classroom.roster import ClassList, make_roster, read_roster
from grader.classroom.tasks import SubmissionLoader
from grader.errors import UsageError
from grader.submission import Submission
from tests.support.hostile import reference, starter
from tests.support.notebooks import code, notebook
from tests.support.paths import ROOT

EXERCISES = {"exercise_01": "attention.py", "exercise_03": "attention.py"}


def put(root, *names, text="x = 1\n"):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def listed(path, **options):
    """What the layout is called, what it finds, and the lines on what it skips."""
    skipped = SkippedFiles()
    with open_layout(path, EXERCISES, skipped, LayoutOptions(**options)) as (layout, _):
        found = [(each.student, each.exercise, each.place) for each in layout]
    return layout.name, found, skipped.lines()


def zipped(path, names, **attributes):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            info = zipfile.ZipInfo(name, (2026, 3, 4, 5, 6, 8))
            for key, value in attributes.items():
                setattr(info, key, value)
            file.writestr(info, reference())
    return path


CANVAS = ("smithjane_LATE_123_9001_attention.py", "bo_124_9002_attention-1.py", "bo_124_9003_exercise_01.ipynb")
MOODLE = ("Jane Smith_123_assignsubmission_file_/attention.py", "Bo Li_124_assignsubmission_file_/exercise_01.py")
REPOSITORIES = ("exercise-03-jane/attention.py", "exercise-03-jane/README.md", "exercise-01-bo-li/src/attention.ipynb")
NBGRADER = ("submitted/jane/exercise_03/attention.ipynb", "submitted/bo/ex1/attention.py", "source/x/attention.py")
EDITION = (
    "jane/exercises/exercise_03/attention.py",
    "jane/grader/a.py",
    "bo/edition/exercises/exercise_01/attention.py",
)
GRADESCOPE = ("submission_11/attention.py", "submission_12/deep/exercise_01.py", "submission_99/attention.py")
METADATA = """---
submission_11:
  :submitters:
  - :name: Jane Smith
    :sid: '123'
    :email: jane@example.org
  - :name: Bo Li
    :sid: '124'
    :email: bo@example.org
  :created_at: 2026-02-03 04:05:06.789 -08:00
submission_12:
  :submitters:
  - :name: Cy
    :email: cy@example.org
  :created_at: 2026-02-03 04:05:06 Z
"""


def test_canvas_files_are_taken_by_their_users_late_or_uploaded_again(tmp_path):
    root = put(tmp_path, *CANVAS, "bo_124_9001_attention.py", "notes.txt")
    name, found, told = listed(root, exercise="exercise_03")
    assert name == "canvas"
    assert found == [
        ("124", "exercise_01", "bo_124_9003_exercise_01.ipynb"),
        ("124", "exercise_03", "bo_124_9002_attention-1.py"),
        ("123", "exercise_03", "smithjane_LATE_123_9001_attention.py"),
    ]
    assert sorted(told) == [
        "handed in twice: bo_124_9001_attention.py; bo_124_9002_attention-1.py is graded",
        "no submission: notes.txt",
    ]


def test_a_file_whose_name_gives_no_exercise_needs_an_option(tmp_path):
    _, found, told = listed(put(tmp_path, *CANVAS))
    assert [each[1] for each in found] == ["exercise_01"]
    assert told == [
        "the file name does not name the exercise; name it with --exercise: bo_124_9002_attention-1.py",
        "the file name does not name the exercise; name it with --exercise: smithjane_LATE_123_9001_attention.py",
    ]


def test_moodle_folders_and_loose_files_are_taken(tmp_path):
    root = put(tmp_path, *MOODLE, "Cy_125_assignsubmission_file_attention.py")
    assert listed(root, exercise="exercise_03") == (
        "moodle",
        [
            ("124", "exercise_01", MOODLE[1]),
            ("125", "exercise_03", "Cy_125_assignsubmission_file_attention.py"),
            ("123", "exercise_03", MOODLE[0]),
        ],
        [],
    )


def test_names_of_repositories_give_exercise_and_login(tmp_path):
    name, found, told = listed(put(tmp_path, *REPOSITORIES, "exercise-03-jane/.git/x", "exercise-77-x/attention.py"))
    assert name == "repositories"
    assert found == [("bo-li", "exercise_01", REPOSITORIES[2]), ("jane", "exercise_03", REPOSITORIES[0])]
    assert "no such exercise: exercise-77-x/attention.py" in told


def test_gradescopes_metadata_tells_whose_submissions_are_and_from_when(tmp_path):
    put(tmp_path, *GRADESCOPE)
    put(tmp_path, "submission_metadata.yml", text=METADATA)
    name, found, told = listed(tmp_path, exercise="exercise_03")
    assert name == "gradescope"
    assert found == [
        ("123", "exercise_03", GRADESCOPE[0]),
        ("124", "exercise_03", GRADESCOPE[0]),
        ("cy@example.org", "exercise_01", GRADESCOPE[1]),
    ]
    assert told == ["no submission: submission_99, which is not in submission_metadata.yml"]
    with open_layout(tmp_path, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (layout, _):
        times = [(each.name, each.submitted_at) for each in layout]
    assert times == [
        ("Jane Smith", "2026-02-03T12:05:06Z"),
        ("Bo Li", "2026-02-03T12:05:06Z"),
        ("Cy", "2026-02-03T04:05:06Z"),
    ]


def test_a_gradescope_submission_without_submitters_belongs_to_its_folder(tmp_path):
    put(tmp_path, *GRADESCOPE)
    put(
        tmp_path, "submission_metadata.yml", text=re.sub(r"(?s)  :submitters:.*?(?=\n\S|$)", "  :submitters:", METADATA)
    )
    _, found, _ = listed(tmp_path, exercise="exercise_03")
    assert [each[0] for each in found] == [path.partition("/")[0] for path in GRADESCOPE[:2]]


@pytest.mark.parametrize("text", ["- 1", "a: [", "!!python/object/apply:os.system ['touch /tmp/owned']", "\x00"])
def test_invalid_metadata_is_refused(tmp_path, text):
    put(put(tmp_path, *GRADESCOPE), "submission_metadata.yml", text=text)
    with pytest.raises(UsageError, match=r"submission_metadata\.yml .*export it again"):
        listed(tmp_path)


def test_nbgraders_course_is_taken_with_its_timestamps(tmp_path):
    put(tmp_path, *NBGRADER)
    put(tmp_path, "submitted/jane/exercise_03/timestamp.txt", text="2026-02-02 15:58:23.948203 America/Los_Angeles")
    put(tmp_path, "submitted/bo/ex1/timestamp.txt", text="tomorrow")
    for root, base in ((tmp_path, "submitted/"), (tmp_path / "submitted", "")):
        name, found, _ = listed(root, exercise="exercise_01")
        assert name == "nbgrader"
        places = {each[:2]: each[2] for each in found}
        assert places[("bo", "exercise_01")] == f"{base}bo/ex1/attention.py"
        assert places[("jane", "exercise_03")] == f"{base}jane/exercise_03/attention.ipynb"
    with open_layout(tmp_path, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_01")) as (layout, _):
        times = {each.student: each.submitted_at for each in layout}
    assert times == {"bo": "", "jane": "2026-02-02T23:58:23Z"}


def test_the_student_edition_is_taken_as_it_was_handed_out(tmp_path):
    root = put(tmp_path, *EDITION, "jane/exercises/exercise_03/.starter/attention.py", "jane/README.md")
    name, found, told = listed(root)
    assert name == "edition"
    assert found == [("bo", "exercise_01", EDITION[2]), ("jane", "exercise_03", EDITION[0])]
    assert all(line.startswith("left by operating systems") for line in told)
    assert listed(root / "jane")[1] == [("jane", "exercise_03", "exercises/exercise_03/attention.py")]


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (CANVAS, "canvas"),
        (MOODLE, "moodle"),
        (REPOSITORIES, "repositories"),
        (NBGRADER, "nbgrader"),
        (EDITION, "edition"),
    ],
)
@pytest.mark.parametrize("folder", ["", "Class of 2026/"])
def test_a_zip_is_read_like_the_layout_inside(tmp_path, names, layout, folder, course):
    root = tmp_path / "class"
    put(root, *names)
    wanted = listed(root, exercise="exercise_03")[1]
    path = zipped(tmp_path / "class.zip", [folder + name for name in names])
    name, found, _ = listed(path, exercise="exercise_03")
    assert (name, [each[:2] for each in found]) == (layout, [each[:2] for each in wanted])
    with open_layout(path, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (opened, where):
        loaded = [SubmissionLoader(course, where).load(each) for each in opened]
        assert all(isinstance(submission, Submission) for record, submission in loaded if record.file.endswith(".py"))
    assert not where.exists()


def test_zips_that_students_handed_in_are_opened(tmp_path, course):
    (tmp_path / "class").mkdir()
    zipped(tmp_path / "class/smithjane_123_9001_edition.zip", ["edition/exercises/exercise_03/attention.py"])
    zipped(tmp_path / "class/bo_124_9002_mine.zip", ["../attention.py", "exercise_01.py"])
    name, found, told = listed(tmp_path / "class")
    assert name == "canvas"
    assert found == [
        ("124", "exercise_01", "bo_124_9002_mine.zip/exercise_01.py"),
        ("123", "exercise_03", "smithjane_123_9001_edition.zip/edition/exercises/exercise_03/attention.py"),
    ]
    assert told == ["a path that leads out of its archive: bo_124_9002_mine.zip/../attention.py"]
    with open_layout(tmp_path / "class", EXERCISES, SkippedFiles(), LayoutOptions()) as (layout, root):
        record, submission = SubmissionLoader(course, root).load(next(iter(layout)))
    assert record.file == "bo_124_9002_mine.zip/exercise_01.py"
    assert isinstance(submission, Submission)


@pytest.mark.parametrize(
    "name",
    [
        "../a/exercise_03.py",
        "/etc/exercise_03.py",
        "a/../../exercise_03.py",
        "C:\\a\\exercise_03.py",
        "a\\exercise_03.py",
    ],
)
def test_nothing_in_a_zip_is_written_outside(tmp_path, name):
    path = zipped(tmp_path / "class.zip", [name, "ada/exercise_03.py"])
    before = set(tmp_path.rglob("*"))
    _, found, told = listed(path)
    assert [each[:2] for each in found] == [("ada", "exercise_03")]
    assert [line.partition(":")[0] for line in told] == ["a path that leads out of its archive"]
    assert set(tmp_path.rglob("*")) == before


def test_links_encrypted_files_and_bombs_in_a_zip_cost_only_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 10_000)
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        link = zipfile.ZipInfo("bob/exercise_03.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
        file.writestr("cleo/exercise_03.py", b"0" * 50_000_000)
        file.writestr("ada/exercise_03.py", starter())
        file.writestr("ada/exercise_03.py/x.py", starter())
    _, found, told = listed(path)
    assert [each[:2] for each in found] == [("ada", "exercise_03")]
    assert "a link, not followed: class.zip/bob/exercise_03.py" in told
    assert "an archive that is too large: class.zip/cleo/exercise_03.py: over 10,000 bytes" in told
    data = bytearray(path.read_bytes())
    for at in (found.start() for found in re.finditer(b"PK\x01\x02", bytes(data))):
        data[at + 8] |= 1
    path.write_bytes(data)
    assert any("(it is encrypted)" in line for line in listed(path)[2])


@pytest.mark.parametrize("method", ["STORED", "DEFLATED", "BZIP2", "LZMA"])
def test_damaged_bytes_in_a_zip_cost_that_file_alone_and_are_not_passed_over_in_silence(tmp_path, method):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{method}")) as file:
        for student in ("ada", "bob"):
            file.writestr(f"{student}/exercise_03.py", starter() * 9)
        damaged = file.getinfo("bob/exercise_03.py")
    data = bytearray(path.read_bytes())
    start = damaged.header_offset + 60
    data[start : start + 60] = bytes(each ^ 0xFF for each in data[start : start + 60])
    path.write_bytes(data)
    skipped = SkippedFiles()
    with open_layout(path, EXERCISES, skipped, LayoutOptions()) as (layout, _):
        assert [each.student for each in layout] == ["ada"]
    assert any(line.startswith("cannot be opened: class.zip/bob/exercise_03.py (") for line in skipped.lines())
    assert not skipped.is_all_read()


LONG = "n" * 300
BAD_MEMBERS = {
    f"{LONG}.py": "File name too long",
    f"{LONG}.pdf": "File name too long",
    f"{LONG}/exercise_03.py": "File name too long",
    "a/" * 900 + "exercise_03.py": "it is more than 32 folders deep",
    "b/" * 900 + "notes.pdf": "it is more than 32 folders deep",
    "exercise_03.py/more/exercise_01.py": "exercise_03.py is a file, not a folder",
    "exercise_03.py/notes.pdf": "exercise_03.py is a file, not a folder",
}


@pytest.mark.parametrize("bad", BAD_MEMBERS, ids=lambda name: name[-40:])
def test_a_member_of_a_zip_that_no_file_system_takes_costs_only_itself_and_is_named(tmp_path, bad):
    path = zipped(tmp_path / "class.zip", ["ada/exercise_03.py", f"ada/{bad}", "bob/exercise_03.py"])
    _, found, lines = listed(path, name="folders", exercise="exercise_03")
    assert [each[0] for each in found] == ["ada", "bob"]
    (line,) = [each for each in lines if each.startswith(f"cannot be opened: class.zip/ada/{bad[:20]}")]
    assert line.endswith(f" ({BAD_MEMBERS[bad]})")

    root = tmp_path / "class"
    root.mkdir()
    zipped(root / "bo_124_9002_mine.zip", ["exercise_03.py", bad])
    _, found, lines = listed(root)
    assert found == [("124", "exercise_03", "bo_124_9002_mine.zip/exercise_03.py")]
    (line,) = [each for each in lines if each.startswith(f"cannot be opened: bo_124_9002_mine.zip/{bad[:20]}")]
    assert line.endswith(f" ({BAD_MEMBERS[bad]})")


def test_a_member_with_a_date_that_does_not_exist_is_unpacked(tmp_path):
    path = zipped(tmp_path / "class.zip", ["ada/exercise_03.py"], date_time=(2107, 15, 31, 31, 63, 62))
    assert [each[0] for each in listed(path)[1]] == ["ada"]


def test_upper_case_suffixes_are_accepted_everywhere(tmp_path):
    root = put(
        tmp_path / "folders", "ada/exercise_03.PY", "bob/exercise_03/ATTENTION.PY", "cy/exercise_03/attention.IPYNB"
    )
    assert [each[:2] for each in listed(root)[1]] == [("ada", "exercise_03"), ("cy", "exercise_03")]
    (tmp_path / "editions").mkdir()
    zipped(tmp_path / "editions/jane.ZIP", ["exercises/exercise_03/attention.PY"])
    name, found, _ = listed(tmp_path / "editions")
    assert (name, [each[0] for each in found]) == ("edition", ["jane"])
    line = '{"student": "ada", "exercise": "exercise_03", "source": "x"}'
    for suffix in (".JSONL", ".NdJson"):
        put(tmp_path, f"all{suffix}", text=line)
        assert listed(tmp_path / f"all{suffix}")[1] == [("ada", "exercise_03", f"all{suffix}, line 1")]


def test_an_archive_believed_to_be_small_is_bounded_by_what_it_unpacks_to(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES_OF_CLASS", 3 * len(reference()) + 10)
    path = zipped(tmp_path / "class.zip", [f"s{number}/exercise_03.py" for number in range(6)])
    _, found, told = listed(path)
    assert [each[0] for each in found] == ["s0", "s1", "s2"]
    assert sum(line.startswith("an archive that is too large") for line in told) == 3


def test_what_one_student_packs_is_bounded_by_itself_and_costs_no_other(tmp_path, monkeypatch):
    (tmp_path / "class").mkdir()
    wanted = [f"notes/{number}.txt" for number in range(archive.MAX_MEMBERS_OF_STUDENT)]
    zipped(tmp_path / "class/smithjane_123_9001_edition.zip", [*wanted, "exercise_03.py"])
    zipped(tmp_path / "class/bo_124_9002_mine.zip", ["exercise_01.py"])
    _, found, told = listed(tmp_path / "class")
    assert [each[:2] for each in found] == [("124", "exercise_01")]
    assert (
        "an archive that is too large: smithjane_123_9001_edition.zip: 2,001 files; only the first 2,000 are read"
        in told
    )
    monkeypatch.setattr(archive, "MAX_BYTES_OF_STUDENT", 2 * len(reference()) + 10)
    zipped(tmp_path / "class/smithjane_123_9001_edition.zip", [*wanted[:3], "exercise_03.py"])
    _, found, told = listed(tmp_path / "class")
    assert [each[:2] for each in found] == [("124", "exercise_01")]
    assert sum(line.startswith("an archive that is too large") for line in told) == 2


def test_a_layout_can_be_named_and_a_pattern_spelled_out(tmp_path):
    put(tmp_path, "s1_final_exercise_03.py", "s2_x_exercise_01.ipynb", "deep/s3_y_exercise_03.py", "odd.py")
    name, found, told = listed(tmp_path, pattern="{student}_*_{exercise}.py")
    assert (name, found) == ("pattern", [("s1", "exercise_03", "s1_final_exercise_03.py")])
    assert len(told) == 3
    assert len(listed(tmp_path, pattern="**{student}_?_{exercise}.*")[1]) == 2
    assert listed(put(tmp_path / "b", "ada/exercise_03.py"), name="folders")[0] == "folders"
    assert listed(put(tmp_path / "c", "x_1_2_attention.py"), name="moodle")[:2] == ("moodle", [])
    for pattern, message in (
        ("{name}.py", r"unknown part \{name\}"),
        ("*.py", r"expected \{student\} once"),
        ("{student}{student}", r"expected \{student\} once"),
    ):
        with pytest.raises(UsageError, match=message):
            listed(tmp_path, pattern=pattern)
    with pytest.raises(UsageError, match="--layout and --pattern both choose a layout"):
        listed(tmp_path, pattern="{student}", name="canvas")


def test_no_link_is_followed_in_a_platforms_export(tmp_path):
    put(tmp_path / "outside", "attention.py", "exercise_03/attention.py")
    root = put(tmp_path / "class", *REPOSITORIES)
    (root / "exercise-03-eve").symlink_to(tmp_path / "outside")
    (root / "exercise-03-mal").mkdir()
    (root / "exercise-03-mal/attention.py").symlink_to(tmp_path / "outside/attention.py")
    (root / "exercise-03-mal/exercise_03").symlink_to(tmp_path / "outside/exercise_03")
    _, found, told = listed(root)
    assert [each[0] for each in found] == ["bo-li", "jane"]
    assert "a link, not followed: exercise-03-mal/attention.py" in told
    assert "no submission: exercise-03-eve" in told


@pytest.mark.parametrize(
    ("pattern", "exercise"), [("{student}/*.py", "exercise_03"), ("{student}/{exercise}/*.py", "")]
)
def test_a_pattern_tells_a_trap_from_a_module(tmp_path, pattern, exercise):
    folder = tmp_path / "class" / "anna" / ("" if exercise else "exercise_03")
    folder.mkdir(parents=True)
    for name in ("attention.py", "trap.py"):
        (folder / name).write_text("pass\n", encoding="utf-8")
    with open_layout(
        tmp_path / "class", EXERCISES, SkippedFiles(), LayoutOptions(pattern=pattern, exercise=exercise)
    ) as (layout, _):
        found = {each.kind: Path(each.place).name for each in layout}
    assert found == {WorkKind.MODULE: "attention.py", WorkKind.TRAP: "trap.py"}


def test_a_quoted_cell_of_a_roster_may_have_a_line_break_and_odd_separators(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text('id,name\nm1,"Ann\nLee"\nm2,Bo\u2028Li\n', "utf-8")
    assert [each.name for each in read_roster(path).students.values()] == ["Ann\nLee", "Bo\u2028Li"]


def test_a_roster_says_who_a_platforms_names_mean(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(
        "\ufeffID;Name;Group;email\nm1;Smith, Jane;A;jane@example.org\nm2;Bo Li;B;bo@example.org\nm3;Bo Li;B;\n",
        "utf-8",
    )
    roster = read_roster(path)
    assert roster.students["m1"] == Student(
        id="m1", name="Smith, Jane", group="A", columns={"email": "jane@example.org"}, is_enrolled=True
    )
    root = put(tmp_path / "class", *CANVAS, "x_9_1_exercise_03.py")
    with open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (layout, _):
        found = {roster.identify(each)[0].student for each in layout}
    assert found == {"m1", "124", "9"}  # two students are called Bo Li, so the name identifies neither
    known = {"jane@example.org": "m1", "smithjane": "m1", "janesmith": "m1", "m3": "m3"}
    assert {alias: roster.ids[alias] for alias in known} == known
    two = SubmissionFiles(student="x", exercise="exercise_03", place="x", position=1, aliases=("smithjane", "m2"))
    assert roster.identify(two) == (two, False)  # one name belongs to m1, one to m2: neither gets the grade
    assert make_roster(roster.students.values()) == roster


def test_no_column_but_one_that_names_people_gives_anybody_a_grade(tmp_path):
    """A folder called 2 or 7 is nobody's because a single student is in year 2 or sits in seat 7."""
    columns = {
        True: (
            "email",
            "E-Mail address",
            "login",
            "SIS Login ID",
            "canvas_id",
            "user name",
            "Username",
            "NetID",
            "uid",
        ),
        False: ("year", "seat", "grade", "section", "Section ID", "team e-mail", "group_id", "paid", "grid", "notes"),
    }
    names = [*columns[True], *columns[False]]
    path = tmp_path / "roster.csv"
    cells = ",".join(f"cell{number}" for number in range(len(names)))
    path.write_text(f"id,name,{','.join(names)}\nm1,Jane Smith,{cells}\n", encoding="utf-8")
    roster = read_roster(path)
    taken = {name: f"cell{number}" in roster.ids for number, name in enumerate(names)}
    assert taken == {name: names_people for names_people, named in columns.items() for name in named}
    assert len(roster.students["m1"].columns) == len(names)  # kept all the same


def test_a_roster_of_another_term_costs_a_large_class_no_time(tmp_path):
    files = [
        SubmissionFiles(student=f"s{number}", exercise="exercise_03", place="x", position=number)
        for number in range(20_000)
    ]
    roster = make_roster([Student(id="m1", name="Jane Smith", group="", columns={}, is_enrolled=True)])
    with Gradebook(tmp_path / "class.sqlite") as book:
        class_list = ClassList(book, roster, [Person(student=each.student, aliases=each.aliases) for each in files])
        few, many = (_seconds(lambda part=part: list(class_list.identify(part))) for part in (files[:2000], files))
    assert many < 40 * few
    assert class_list.warnings() == [
        f"not in the roster: {', '.join(f's{number}' for number in range(10))} and 19,990 more; graded all the same"
    ]


def _seconds(act) -> float:
    """Return the shortest time of three, because another process may slow one down."""
    times = []
    for _ in range(3):
        started = time.process_time()
        act()
        times.append(time.process_time() - started)
    return min(times)


def test_a_roster_is_taken_as_spreadsheets_write_it(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_bytes('\ufeffsep=|\r\nID|Name\r\n007|Müller| \r\n=1+1|"Smith; Jane"\r\n||\r\n'.encode())
    assert {student.id: student.name for student in read_roster(path).students.values()} == {
        "007": "Müller",
        "=1+1": "Smith; Jane",
    }
    for first in ("sep=;\n", ""):
        path.write_text(f"{first}ID;Name\n7;x\n;y\n", encoding="utf-8")
        with pytest.raises(UsageError, match=rf"roster\.csv:{3 + bool(first)}: there is no id"):
            read_roster(path)
        path.write_text(f"{first}Name;Group\n", encoding="utf-8")
        with pytest.raises(UsageError, match=rf"roster\.csv:{1 + bool(first)}: there is no column id"):
            read_roster(path)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("folder", ["Jürgen Müller_5_assignsubmission_file_", "MÜLLER Jürgen_5_assignsubmission_file_"])
def test_an_umlaut_is_one_however_a_system_spells_it(tmp_path, form, folder):
    path = tmp_path / "roster.csv"
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    path.write_text(unicodedata.normalize(other, "id,name\nm1,Jürgen Müller\nm2,Jurgen Muller\n"), encoding="utf-8")
    put(tmp_path / "class", unicodedata.normalize(form, f"{folder}/attention.py"))
    with open_layout(tmp_path / "class", EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (
        found,
        _,
    ):
        assert [read_roster(path).identify(each)[0].student for each in found] == ["m1"]


def test_a_roster_with_faults_is_refused_with_all_of_them(tmp_path):
    path = tmp_path / "roster.csv"
    for text, message in (
        ("name,group\nx,y\n", r"roster\.csv:1: there is no column id"),
        ("id,name\na,x\n,y\na,z\n", r"roster\.csv:3: there is no id; .*\n.*roster\.csv:4: a is there already"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            read_roster(path)
    path.write_bytes(b"id\n\xff\n")
    with pytest.raises(UsageError, match=r"roster\.csv cannot be read"):
        read_roster(path)
    with pytest.raises(UsageError, match=r"none\.csv cannot be read"):
        read_roster(tmp_path / "none.csv")


def test_times_of_files_are_times_of_submissions_where_nothing_else_tells(tmp_path, course):
    root = put(tmp_path, "ada/exercise_03.py")
    os.utime(root / "ada/exercise_03.py", (1_700_000_000,) * 2)
    with open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions()) as (layout, folder):
        ((record, _),) = [SubmissionLoader(course, folder).load(each) for each in layout]
    assert record.submitted_at == "2023-11-14T22:13:20Z"


def test_a_zip_without_end_is_refused(tmp_path):
    path = tmp_path / "class.zip"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("ada/exercise_03.py", starter())
    path.write_bytes(content.getvalue()[:-30])
    with pytest.raises(UsageError, match=r"class\.zip \(File is not a zip file\); give a zip that opens"):
        listed(path)


def test_the_folder_that_github_classroom_clones_into_is_no_student(tmp_path):
    names = ("jane/attention.py", "bo-li/exercises/exercise_03/attention.py", "bo-li/.github/workflows/x.yml")
    both = [("bo-li", "exercise_03"), ("jane", "exercise_03")]
    for number, slug in enumerate(("exercise-03", "attention-hunt")):
        place = tmp_path / str(number)
        put(place, *(f"{slug}-submissions/{slug}-{name}" for name in names))
        inside = [f"{slug}-submissions/{slug}-{name}" for name in names]
        path = zipped(tmp_path / f"{number}.zip", inside)
        for given in (place, place / f"{slug}-submissions", path):
            layout, found, told = listed(given, exercise="exercise_03")
            assert (layout, [each[:2] for each in found]) == ("repositories", both)
            assert all(line.startswith("left by operating systems") for line in told)


def test_an_export_is_found_in_the_only_folder_that_there_is(tmp_path):
    put(tmp_path / "home/assignment_5_export", *GRADESCOPE)
    put(tmp_path / "home/assignment_5_export", "submission_metadata.yml", text=METADATA)
    put(tmp_path / "home", ".DS_Store", "__MACOSX/x")
    assert listed(tmp_path / "home", exercise="exercise_03")[0] == "gradescope"
    put(tmp_path / "canvas/submissions", *CANVAS)
    assert listed(tmp_path / "canvas", exercise="exercise_03")[0] == "canvas"
    put(tmp_path / "one", MOODLE[0])
    assert listed(zipped(tmp_path / "one.zip", [MOODLE[0]]), exercise="exercise_03")[1][0][0] == "123"
    put(tmp_path / "ada", "edition/exercises/exercise_03/attention.py")
    assert [each[0] for each in listed(zipped(tmp_path / "x.zip", [f"ada/{EDITION[0]}"]))[1]] == ["jane"]


def test_a_students_folder_is_enough_if_the_exercise_is_given(tmp_path):
    names = ("jane/attention.py", "Jürgen Müller/hw 1/attention.ipynb", "cy/exercise_03.py", "007/exercise_01.py")
    root = put(tmp_path, *names, "notes.md", ".DS_Store")
    (root / "eve").symlink_to(root / "jane")
    layout, found, told = listed(root, exercise="exercise_03")
    assert (layout, [each[:2] for each in found]) == (
        "folders",
        [
            ("007", "exercise_01"),
            ("Jürgen Müller", "exercise_03"),
            ("cy", "exercise_03"),
            ("jane", "exercise_03"),
        ],
    )
    assert "no submission: notes.md" in told
    assert "a link, not followed: eve" in told
    assert "the file name does not name the exercise; name it with --exercise: jane/attention.py" in listed(root)[2]
    other = put(tmp_path / "other", "exercise_03/jane/attention.py", "exercise_03/bo/attention.py")
    assert listed(other, exercise="exercise_03") == ("folders", [], ["no submission: exercise_03"])
    assert len(listed(other, pattern="{exercise}/{student}/attention.py")[1]) == 2


def test_exercises_are_spelled_as_people_spell_them_in_the_kits_own_layout_too(tmp_path):
    names = ("a/Exercise_03/attention.py", "b/exercise_3/attention.py", "c/exercise-01.py", "d/exercise_9.py")
    _, found, told = listed(put(tmp_path, *names, "b/exercise_03/attention.py"))
    assert [each[:2] for each in found] == [("a", "exercise_03"), ("b", "exercise_03"), ("c", "exercise_01")]
    assert told == [
        "handed in twice: b/exercise_3/attention.py; b/exercise_03/attention.py is graded",
        "no such exercise: d/exercise_9.py",
    ]


def test_whoever_handed_in_something_is_taken_or_named(tmp_path, course):
    files = ("ann_1_1_Attention.py", "bo_2_2_my_solution.py", "cy_3_3_attention.txt", "di_4_4_a.py", "di_4_5_b.py")
    root = put(tmp_path, *files, "el_5_6_attention.IPYNB")
    zipped(root / "fi_6_7_work.zip", ["__MACOSX/._attention.py", "notes.doc"])
    zipped(root / "gi_7_8_work.ZIP", ["hw/attention.PY", "hw/.ipynb_checkpoints/attention-checkpoint.ipynb"])
    _, found, told = listed(root, exercise="exercise_03")
    assert [each[0] for each in found] == ["1", "2", "5", "7"]
    assert sorted(line for line in told if not line.startswith("left")) == [
        "contains nothing to grade: cy_3_3_attention.txt",
        "contains nothing to grade: fi_6_7_work.zip",
        "no submission: di_4_4_a.py",
        "no submission: di_4_5_b.py",
        "unusual file name, graded anyway: bo_2_2_my_solution.py, as exercise_03",
    ]
    (root / "el_5_6_attention.IPYNB").write_text(notebook(code(starter())), encoding="utf-8")
    with open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (layout, folder):
        loaded = [SubmissionLoader(course, folder).load(each)[1] for each in layout]
    assert [type(each) for each in loaded] == [Submission] * 4
    assert "bo_2_2_my_solution.py" not in str(listed(root)[1])  # nothing names its exercise


def test_files_left_by_operating_systems_are_nobodys_submission(tmp_path):
    root = put(tmp_path, *CANVAS, *(f"._{name}" for name in CANVAS), "__MACOSX/x", ".DS_Store")
    with open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (layout, _):
        assert [(each.student, each.name) for each in layout] == [("124", "bo"), ("124", "bo"), ("123", "smithjane")]


def test_the_repository_of_an_exercise_counts_before_the_same_in_another_exercises(tmp_path):
    """Repositories that were made from the whole course hold every exercise's starter."""
    whole = [f"exercise-01-jane/exercises/exercise_{number}/attention.py" for number in ("01", "03")]
    _, found, told = listed(put(tmp_path, *whole, "exercise-03-jane/attention.py"))
    assert found == [("jane", "exercise_01", whole[0]), ("jane", "exercise_03", "exercise-03-jane/attention.py")]
    assert told == [f"handed in twice: {whole[1]}; another file of jane is graded"]


def test_two_who_have_the_name_of_one_line_of_the_roster_keep_a_grade_each(tmp_path):
    put(tmp_path / "class", *(f"Jane Smith_{number}_assignsubmission_file_/attention.py" for number in (123, 200)))
    roster = make_roster([Student(id="m1", name="Jane Smith", group="", columns={}, is_enrolled=True)])
    with (
        Gradebook(tmp_path / "class.sqlite") as book,
        open_layout(tmp_path / "class", EXERCISES, SkippedFiles(), LayoutOptions(exercise="exercise_03")) as (found, _),
    ):
        class_list = ClassList(book, roster, found.people())
        assert [each.student for each in class_list.identify(found)] == ["123", "200"]
    assert class_list.warnings() == [
        (
            "several students match one row of the roster: "
            "123, 200 all match the row m1; the row is assigned to none of them"
        ),
        "not in the roster: 123, 200; graded all the same",
    ]


def test_whoever_handed_in_something_else_is_named_from_a_zip_as_from_a_folder(tmp_path):
    names = ("ann_1_1_attention.py", "bo_2_2_report.pdf", "cy_3_3_work.docx")
    told = listed(zipped(tmp_path / "class.zip", names), exercise="exercise_03")[2]
    assert [line for line in told if not line.startswith("left")] == [
        "contains nothing to grade: bo_2_2_report.pdf",
        "contains nothing to grade: cy_3_3_work.docx",
    ]


@pytest.mark.parametrize("export", [[CANVAS[0]], [MOODLE[0]], ["ada.zip"]], ids=["canvas", "moodle", "edition"])
def test_no_link_that_stands_for_a_whole_hand_in_is_followed(tmp_path, export):
    outside = zipped(tmp_path / "outside.zip", ["exercises/exercise_03/attention.py"])
    put(tmp_path / "outside", "attention.py")
    root = put(tmp_path / "class", *export)
    top = os.listdir(root)[0]
    match top:
        case "ada.zip":
            (root / "eve.zip").symlink_to(outside)
        case _ if (root / top).is_dir():
            (root / "Eve_99_assignsubmission_file_").symlink_to(tmp_path / "outside")
        case _:
            (root / "eve_99_100_attention.zip").symlink_to(outside)
    _, found, told = listed(root, exercise="exercise_03")
    assert not [each for each in found if each[0] in ("eve", "99")]
    assert [each for each in told if each.startswith("a link, not followed: ")]


LISTED_BY_NOBODY = """
import os, sys
from pathlib import Path
from tests.classroom.test_platforms import listed
if os.geteuid() == 0:
    os.setresuid(60998, 60998, 60998)
print(listed(Path(sys.argv[1]), name="nbgrader"))
"""


def test_a_folder_that_cannot_be_listed_is_counted_and_ends_nothing():
    with tempfile.TemporaryDirectory() as folder:
        root = put(Path(folder), "submitted/ada/exercise_03/attention.py", "submitted/bo/exercise_03/attention.py")
        root.chmod(0o755)
        (root / "submitted/bo").chmod(0)
        command = [sys.executable, "-c", LISTED_BY_NOBODY, folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        (root / "submitted/bo").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "('ada', 'exercise_03'" in done.stdout
    assert "cannot be opened: bo (Permission denied)" in done.stdout


def test_a_quotation_mark_left_open_in_a_roster_is_a_mistake_with_its_line(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text('id,name\nada,"Ada\n' + "bo,Bo Long\n" * 20_000, encoding="utf-8")
    with pytest.raises(UsageError, match=r"roster.csv:\d+: field larger than field limit .* quotation mark"):
        read_roster(roster)
