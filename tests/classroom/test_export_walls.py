"""Names and texts of students cannot harm exports or the gradebook's file."""

import csv
import os

import pytest

from grader.classroom.exports.records import cell
from grader.classroom.exports.writing import export, folder_names
from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.gradebook.class_records import ClassRecords
from grader.classroom.platforms.canvas import Canvas
from grader.errors import UsageError
from grader.report.progress import Progress
from grader.student.progress import load_progress, save_progress
from tests.support.gradebooks import VERSIONS, submission, verdict


@pytest.fixture
def gradebook(tmp_path):
    """A gradebook with a verdict of each of some students."""

    def make(*students):
        path = tmp_path / "class.sqlite"
        with Gradebook(path) as book:
            book.begin_batch(5, "class", {})
            for student in students:
                book.record(1, submission(student), VERSIONS, verdict())
        return path

    return make


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(1)", " =1+1", "\uff1d1+1"])
def test_no_separator_makes_a_formula_of_a_part_of_a_cell(separator, start):
    for text in (start, f"a{separator}{start}", f'"{separator}{start}"', f"a\n{start}"):
        parts = cell(text).replace("\n", separator).split(separator)
        assert not [part for part in parts if part.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))]
    assert cell("expected (2, 3), saw 4; see above") == "expected (2, 3), saw 4; see above"


NAMES = [
    f"{before}{start}" for start in ("=1+1", "@SUM(1)", "+1+1", '"=1+1') for before in ("", "a;", 'a;"', "a\t ", "a|")
]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_separator_makes_a_formula_of_a_name_in_a_file(tmp_path, course, gradebook, separator):
    export(gradebook(*NAMES), "csv", tmp_path / "out", course)
    text = (tmp_path / "out/grades.csv").read_text(encoding="utf-8")
    cells = [each.strip() for row in csv.reader(text.splitlines(), delimiter=separator) for each in row]
    assert [each for each in cells if each.startswith(("=", "+", "-", "@"))] == []


def test_canvas_finds_ids_as_they_are_and_no_formula_among_them(tmp_path, course, gradebook):
    path = gradebook("-5", "+4912", "@bob", "=1+1", "ada")
    with ClassRecords(path) as records:
        Canvas().write_export(records, _loader(course), tmp_path / "canvas.csv")
    ids = {line.split(",")[2] for line in (tmp_path / "canvas.csv").read_text(encoding="utf-8").splitlines()[2:]}
    assert ids == {"-5", "+4912", "@bob", "'=1+1", "ada"}


def _loader(course):
    from grader.classroom.exports.records import ExerciseLoader

    return ExerciseLoader(course)


def test_no_generated_name_equals_another_students_name():
    names = folder_names(["bob!"])
    made = names["bob!"]
    students = [
        "bob!",
        made,
        made.upper(),
        "bob_",
        "CON",
        "con",
        "Alice",
        "alice",
        "COM¹",
        "conin$",
        "con .txt",
        "-rf",
        "..",
        "\u0130",
        "i\u0307",
    ]
    folded = [name.casefold() for name in folder_names(students).values()]
    assert len(set(folded)) == len(students)
    assert not {"con", "com¹", "conin$", "con .txt"} & set(folded)
    assert not [name for name in folded if name.startswith(("-", "."))]


@pytest.mark.parametrize("to", ["csv", "html", "gradescope"])
def test_an_export_goes_through_no_link_below_its_folder(tmp_path, course, gradebook, to):
    path = gradebook("ada", "bob")
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("grades.csv", "index.html"):
        (folder / name).symlink_to(outside / name)
    (folder / "ada").symlink_to(outside)
    with pytest.raises(UsageError, match="is a link"):
        export(path, to, folder, course)
    assert not list(outside.iterdir())
    assert to != "gradescope" or (folder / "bob/exercise_03/results.json").is_file()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    export(path, to, tmp_path / "link", course)  # the folder itself is the operator's choice


def test_no_export_for_students_names_a_seed(tmp_path, course, gradebook):
    export(gradebook("ada"), "gradescope", tmp_path / "out", course)
    assert "seed" not in (tmp_path / "out/ada/exercise_03/results.json").read_text(encoding="utf-8")


def test_a_new_gradebook_is_its_owners_and_is_not_made_through_a_link(tmp_path):
    before = os.umask(0)
    try:
        with Gradebook(tmp_path / "class.sqlite") as book:
            book.enroll([Student(id="ada")])
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("class.sqlite*")}
    finally:
        os.umask(before)
    assert {name: mode for name, mode in modes.items() if not name.endswith(".lock")} == dict.fromkeys(
        ("class.sqlite", "class.sqlite-wal", "class.sqlite-shm"), 0o600
    )
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "made.sqlite")
    with pytest.raises(UsageError, match="is a link to a file that does not exist"):
        Gradebook(tmp_path / "link.sqlite")
    assert not (tmp_path / "made.sqlite").exists()


DAMAGED = {
    "not text": b"\xff\xfe\x00",
    "nested": b"[" * 100_000,
    "a time without end": b'{"attempts": [{"at": 1e300, "outcome": "fixed", "score": 1, "fixed": 1, "defects": 1}]}',
    "a time before all": b'{"attempts": [{"at": -1e300, "outcome": "fixed", "score": 1, "fixed": 1, "defects": 1}]}',
    "another shape": b'{"attempts": {"at": []}}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_progress_counts_as_none_and_the_report_continues(own_course, content):
    save_progress(own_course, "exercise_03", Progress(hints_given={"x": 1}))
    (path,) = own_course.state_folder().rglob("exercise_03.json")
    path.write_bytes(content)
    assert load_progress(own_course, "exercise_03") == Progress()
