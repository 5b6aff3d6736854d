"""Tricks of one student against a class of forty: they cost nobody else a grade, and the report names each one."""

import contextlib
import io
import os
import resource
import shutil
import sqlite3
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.gradebook.rows import written_time
from grader.classroom.grading import BatchOptions, grade_submissions
from grader.classroom.layouts import archives
from grader.classroom.layouts.files import Person, SkippedFiles, SkippedKind
from grader.classroom.local_engine import local_engine
from grader.classroom.opening import LayoutOptions, open_layout
from grader.classroom.roster import ClassList, make_roster, read_roster
from grader.classroom.tasks import SubmissionLoader
from grader.submission import Submission
from tests.support.hostile import reference, starter

EXERCISES = {"exercise_01": "attention.py", "exercise_03": "attention.py"}
EXERCISE = "exercise_03"
STUDENTS = range(101, 141)
EVE = 999
DEADLINE = 60
"""Seconds within which a class is listed, whatever one student hands in."""


def put(path: Path, text: str = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def source_of(number: int) -> str:
    """What a student hands in: the even ones are right. Some hand in the same, so that the class is graded quickly."""
    return f"{starter() if number % 2 else reference()}\nMINE = {number % 4}\n"


def folders(root: Path, number: int) -> Path:
    return root / f"s{number}" / EXERCISE


def moodle(root: Path, number: int) -> Path:
    return root / f"Student {number}_{number}_assignsubmission_file_"


def repositories(root: Path, number: int) -> Path:
    return root / f"exercise-03-s{number}"


def nbgrader(root: Path, number: int) -> Path:
    return root / "submitted" / f"s{number}" / EXERCISE


def edition(root: Path, number: int) -> Path:
    return root / f"s{number}" / "exercises" / EXERCISE


def gradescope(root: Path, number: int) -> Path:
    return root / f"submission_{number}"


Place = Callable[[Path, int], Path]
PLATFORMS: tuple[Place, ...] = (folders, moodle, repositories, nbgrader, edition, gradescope)
"""Where a student's folder is, by layout."""


def submitter(number: int, **about: str) -> str:
    person = {"sid": str(number), "email": f"{number}@example.org", "name": f"Student {number}"} | about
    lines = "".join(f"    :{key}: '{value}'\n" for key, value in person.items())
    return f"submission_{number}:\n  :submitters:\n  -{lines[3:]}  :created_at: 2026-02-03 04:05:06 Z\n"


def make_class(root: Path, place: Place) -> Path:
    for number in STUDENTS:
        put(place(root, number) / "attention.py", source_of(number))
    if place is gradescope:
        put(root / "submission_metadata.yml", "---\n" + "".join(map(submitter, STUDENTS)))
    if place is nbgrader:
        put(root / "gradebook.db")
        put(root / "source" / EXERCISE / "attention.ipynb")
        put(root / "release" / EXERCISE / "attention.ipynb")
    return root


def listed(path: Path, **options: str) -> tuple[str, dict[tuple[str, str], str], list[str]]:
    """What the layout is called, the place of each submission, and the lines on what it skips."""
    skipped = SkippedFiles()
    started = time.monotonic()
    with open_layout(path, EXERCISES, skipped, LayoutOptions(exercise=EXERCISE, **options)) as (layout, _):
        found = {(each.student, each.exercise): each.place for each in layout}
    assert time.monotonic() - started < DEADLINE
    return layout.name, found, skipped.lines()


def zipped(path: Path, names: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in names.items():
            file.writestr(name, content)
    return path


def bombs(folder: Path) -> None:
    """Write sixty archives of 61 KB, which together unpack to 3.6 GB."""
    first = zipped(folder / "00.zip", {f"{part}/attention.py": bytes(15_000_000) for part in range(4)})
    for number in range(1, 60):
        (folder / f"{number:02}.zip").hardlink_to(first)


ROOT_NAMES = (
    "exercises",
    "submitted",
    "submission_metadata.yml",
    "submission_1",
    "attention",
    "exercise_03",
    "grader",
    "source",
    "Eve_101_9_attention.py",
    "eve.zip",
)
"""Names of a folder at the top of a class by which another layout might be taken for it."""


@pytest.mark.parametrize("is_zip", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("name", ROOT_NAMES)
@pytest.mark.parametrize("place", PLATFORMS, ids=lambda each: each.__name__)
def test_no_folder_of_a_student_changes_the_layout_or_hides_anybody(tmp_path, place, name, is_zip):
    root = make_class(tmp_path / "class", place)
    if (root / name).exists():
        pytest.skip(
            "downloads from this platform use this name for a file of their own, so no student's folder can have it"
        )
    layout, honest, _ = listed(root)
    assert len(honest) == len(STUDENTS)
    for inside in ("exercise_03/attention.py", "s101/exercise_03/attention.py", "s102/attention.py", "attention.py"):
        put(root / name / inside)
    path = root
    if is_zip:
        path = Path(shutil.make_archive(str(tmp_path / "class"), "zip", tmp_path, "class"))
    after, found, lines = listed(path)
    assert after == layout
    assert {key: found.get(key) for key in honest} == honest
    assert any(name in line for line in (*lines, *found.values()))


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "sparse"])
def test_a_name_that_shows_a_layout_is_opened_only_if_it_is_a_file(tmp_path, kind):
    root = make_class(tmp_path / "class", folders)
    honest = listed(root)[1]
    special(root / "submission_metadata.yml", kind)
    layout, found, lines = listed(root)
    assert (layout, found) == ("folders", honest)
    assert any("submission_metadata.yml" in line for line in lines)


def special(path: Path, kind: str) -> None:
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to("/dev/zero")
        case "sparse":
            with path.open("wb") as file:
                file.truncate(1 << 40)


STAMPS = {
    "year one": "0001-01-01 00:00:00 Asia/Tokyo",
    "year nine thousand": "9999-12-31 23:59:59 America/Los_Angeles",
    "no month": "2026-99-99 00:00:00 UTC",
    "no zone": "2026-02-02 15:58:23 ../../etc/passwd",
    "no text": "\udc80\udcff",
    "long": "2" * 5_000_000,
}


@pytest.mark.parametrize("stamp", [*STAMPS, "folder", "pipe", "link", "sparse"])
def test_no_timestamp_stops_the_class(tmp_path, stamp):
    root = make_class(tmp_path / "class", nbgrader)
    put(root / "submitted/eve/exercise_03/attention.py")
    honest = listed(root)[1]
    path = root / "submitted/eve/exercise_03/timestamp.txt"
    if stamp in STAMPS:
        path.write_bytes(STAMPS[stamp].encode("utf-8", "surrogateescape"))
    else:
        special(path, stamp)
    _, found, lines = listed(root)
    assert found == honest
    assert [line for line in lines if line.startswith("an invalid time, left out: submitted/eve/exercise_03/time")]


@pytest.mark.parametrize("seconds", [float(1 << 62), float(1 << 40), -float(1 << 40), float("inf"), float("nan")])
def test_no_time_of_a_file_stops_the_class(tmp_path, course, seconds):
    assert written_time(seconds) == ""
    path = put(folders(tmp_path, 101) / "attention.py")
    with contextlib.suppress(OSError, OverflowError, ValueError):  # most file systems have no such times
        os.utime(path, (seconds, seconds))
    with open_layout(tmp_path, EXERCISES, SkippedFiles(), LayoutOptions()) as (layout, root):
        assert [SubmissionLoader(course, root).load(each)[0].student for each in layout] == ["s101"]


def test_a_time_in_a_line_is_a_time_or_left_out_and_named(tmp_path):
    lines = (
        '{"student": "a", "exercise": "exercise_03", "source": "x", "submitted_at": "2026-02-02T10:00:00+02:00"}\n'
        '{"student": "b", "exercise": "exercise_03", "source": "x", "submitted_at": "=1+1"}\n'
        '{"student": "c", "exercise": "exercise_03", "source": "x", "submitted_at": "0001-01-01T00:00:00+09:00"}\n'
    )
    skipped = SkippedFiles()
    with open_layout(put(tmp_path / "all.jsonl", lines), EXERCISES, skipped, LayoutOptions()) as (layout, _):
        assert [each.submitted_at for each in layout] == ["2026-02-02T08:00:00Z", "", ""]
    assert skipped.lines() == [
        "an invalid time, left out: all.jsonl, line 2: =1+1",
        "an invalid time, left out: all.jsonl, line 3: 0001-01-01T00:00:00+09:00",
    ]


def test_no_file_name_claims_another_participant_of_moodle(tmp_path):
    root = make_class(tmp_path / "class", moodle)
    honest = listed(root)[1]
    for mark in ("file", "onlinetext"):
        put(root / f"Eve_{EVE}_assignsubmission_file_Student 101_101_assignsubmission_{mark}_attention.py")
    layout, found, lines = listed(root)
    assert layout == "moodle"
    assert {key: found.get(key) for key in honest} == honest
    assert {student for student, _ in found.keys() - honest.keys()} <= {str(EVE)}
    assert not [line for line in lines if "another file of 101" in line]


def test_two_names_for_one_participant_are_reported_and_neither_wins(tmp_path):
    root = make_class(tmp_path / "class", moodle)
    put(root / "Eve_101_assignsubmission_file_/attention.py")
    _, found, lines = listed(root)
    assert {student for student, _ in found if student.startswith("101")} == {"101 (Eve)", "101 (Student 101)"}
    assert len(found) == len(STUDENTS) + 1
    assert "several students with one id; each is graded under a separate id: 101: Eve; Student 101" in lines


def test_two_names_for_one_user_of_canvas_are_reported_and_neither_wins(tmp_path):
    for number in STUDENTS:
        put(tmp_path / f"student{number}_{number}_9{number}_attention.py")
    put(tmp_path / "eve_101_9999_attention.py")
    _, found, lines = listed(tmp_path)
    assert {student for student, _ in found if student.startswith("101")} == {"101 (eve)", "101 (student101)"}
    assert "several students with one id; each is graded under a separate id: 101: eve; student101" in lines


def test_two_submitters_with_one_sid_are_reported_and_neither_wins(tmp_path):
    root = make_class(tmp_path / "class", gradescope)
    put(root / f"submission_{EVE}/attention.py")
    with (root / "submission_metadata.yml").open("a", encoding="utf-8") as file:
        file.write(submitter(EVE, sid="101", name="Student 101"))
    _, found, lines = listed(root)
    both = {"101 (101@example.org, Student 101)", "101 (999@example.org, Student 101)"}
    assert {student for student, _ in found if student.startswith("101")} == both
    assert any(
        line.startswith("several students with one id; each is graded under a separate id: 101: ") for line in lines
    )

    roster = put(tmp_path / "roster.csv", "id,name,email\n101,Student 101,101@example.org\n102,Student 102,\n")
    assert roster_ids(tmp_path, root, roster)[:3] == ["101", "101 (999@example.org, Student 101)", "102"]


def roster_ids(tmp_path: Path, root: Path, roster: Path) -> list[str]:
    """The ids under which a class is graded, sorted."""
    with (
        Gradebook(tmp_path / "class.sqlite") as book,
        open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions(exercise=EXERCISE)) as (layout, _),
    ):
        return sorted(each.student for each in ClassList(book, read_roster(roster), layout.people()).identify(layout))


def test_a_name_that_somebody_chose_takes_no_line_of_the_roster_from_its_id(tmp_path):
    root = make_class(tmp_path / "class", gradescope)
    put(root / "submission_1/attention.py")
    with (root / "submission_metadata.yml").open("a", encoding="utf-8") as file:
        file.write(submitter(1, sid="", email="eve@example.org", name="Student 101"))
    lines = "".join(f"{number},Student {number}\n" for number in STUDENTS)
    ids = roster_ids(tmp_path, root, put(tmp_path / "roster.csv", f"id,name\n{lines}"))
    assert ids == [*map(str, STUDENTS), "eve@example.org"]


def test_a_platforms_id_is_not_taken_for_the_same_id_of_another_in_the_roster(tmp_path):
    roster = make_roster([Student(id="101", name="Somebody Else", is_enrolled=True)])
    root = make_class(tmp_path / "class", moodle)
    with (
        Gradebook(tmp_path / "class.sqlite") as book,
        open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions(exercise=EXERCISE)) as (layout, _),
    ):
        ids = {each.student for each in ClassList(book, roster, layout.people()).identify(layout)}
    assert "101" not in ids
    assert "101 (Student 101)" in ids


@pytest.mark.parametrize("order", [1, -1])
def test_of_names_that_differ_in_case_the_rosters_own_is_its_student(tmp_path, order):
    people = [Person(student=name, aliases=(name,)) for name in ("Alice", "alice")][::order]
    roster = make_roster([Student(id="alice", name="Alice Liddell", is_enrolled=True)])
    with Gradebook(tmp_path / "class.sqlite") as book:
        (warning,) = ClassList(book, roster, people).warnings()
    assert warning.endswith(" all match the row alice; the row is assigned to alice")


def test_no_sid_is_the_id_that_somebody_gets_in_place_of_a_shared_one(tmp_path):
    root = make_class(tmp_path / "class", gradescope)
    with (root / "submission_metadata.yml").open("a", encoding="utf-8") as file:
        for number, sid in ((998, "101"), (999, "101 (101@example.org, Student 101)")):
            put(root / f"submission_{number}/attention.py")
            file.write(submitter(number, sid=sid))
    _, found, lines = listed(root)
    assert sorted(found.values()) == sorted(f"submission_{each}/attention.py" for each in (*STUDENTS, 998, 999))
    assert not [line for line in lines if line.startswith("handed in twice")]


@pytest.mark.parametrize("sid", ["9" * 5_000, "0x_", "2026-99-01 00:00:00", "!!python/none", "007", "~"])
def test_no_sid_stops_the_class_or_is_read_as_a_number(tmp_path, sid):
    root = make_class(tmp_path / "class", gradescope)
    put(root / f"submission_{EVE}/attention.py")
    with (root / "submission_metadata.yml").open("a", encoding="utf-8") as file:
        file.write(submitter(EVE).replace(f"'{EVE}'", sid))
    found = listed(root)[1]
    assert len(found) == len(STUDENTS) + 1
    own = f"{EVE}@example.org" if sid == "~" else "" if sid.startswith("!!") else sid
    assert (own, EXERCISE) in found or sid.startswith("!!")


def test_folders_with_hidden_names_are_reported(tmp_path):
    for place in (folders, nbgrader, edition):
        root = make_class(tmp_path / place.__name__, place)
        honest = place(root, 101)
        folder = root / honest.relative_to(root).parts[0] if place is not nbgrader else honest.parent
        folder.rename(folder.with_name(".s101"))
        assert any(line.endswith(".s101") for line in listed(root)[2]), place


def disk_use(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def test_what_one_students_archives_take_is_bounded_together_and_freed_once_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    root = make_class(tmp_path / "class", moodle)
    eve = root / f"Eve_{EVE}_assignsubmission_file_"
    eve.mkdir()
    bombs(eve)
    honest = {(str(number), EXERCISE) for number in STUDENTS}
    skipped = SkippedFiles()
    used, found = [], set()
    with open_layout(root, EXERCISES, skipped, LayoutOptions(exercise=EXERCISE)) as (layout, _):
        for each in layout:
            found.add((each.student, each.exercise))
            used.append(disk_use(tmp_path / "temporary"))
    assert honest <= found
    assert max(used) <= archives.MAX_BYTES_OF_STUDENT + (1 << 20)
    assert used[-1] <= 1 << 20  # Eve's files do not delay the students after her
    lines = skipped.lines()
    assert any(line.startswith("an archive that is too large: Eve_999_") for line in lines)


def test_archives_of_a_student_are_bounded_in_number_files_and_packed_bytes(tmp_path, monkeypatch):
    eve = tmp_path / f"Eve_{EVE}_assignsubmission_file_"
    eve.mkdir()
    for number in range(archives.MAX_ARCHIVES_OF_STUDENT + 5):
        zipped(eve / f"{number:02}.zip", {"notes.txt": b""})
    lines = [line for line in listed(tmp_path)[2] if line.startswith("an archive that is too large")]
    assert [line.rpartition("hand")[2].rpartition(": ")[2] for line in lines] == [" in", " in", "3 more"]
    shutil.rmtree(eve)
    eve.mkdir()
    monkeypatch.setattr(archives, "MAX_MEMBERS_OF_STUDENT", 30)
    for number in range(4):
        zipped(eve / f"{number:02}.zip", {f"{part}.txt": b"" for part in range(20)})
    assert [line.partition(".zip: ")[2] for line in listed(tmp_path)[2] if "too large" in line] == [
        "20 files; only the first 10 are read",
        "20 files; only the first 0 are read",
        "",
    ]
    shutil.rmtree(eve)
    eve.mkdir()
    special(eve / "99.zip", "sparse")
    assert any("99.zip: more archives, or larger ones" in line for line in listed(tmp_path)[2])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, pytest.param(zipfile.ZIP_LZMA, marks=pytest.mark.slow)])
def test_no_archive_fills_the_memory(tmp_path, method):
    """Python unpacks these methods without a bound: 2 KB become gigabytes."""
    root = make_class(tmp_path / "class", moodle)
    honest = listed(root)[1]
    eve = f"Eve_{EVE}_assignsubmission_file_"
    bomb = put(root / eve / "bomb.zip")
    with zipfile.ZipFile(bomb, "w", method) as file, file.open(f"{eve}/attention.py", "w") as member:
        for _ in range(48):
            member.write(bytes(1 << 20))
    whole = Path(shutil.copy(bomb, tmp_path / "class.zip"))
    with zipfile.ZipFile(whole, "a") as file:
        for place in honest.values():
            file.write(root / place, place)
    for path in (root, whole):
        tracemalloc.start()
        _, found, lines = listed(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found == honest
        assert any(eve in line for line in lines)
        assert peak < 24 << 20


@pytest.mark.parametrize("place", [folders, moodle, nbgrader], ids=lambda each: each.__name__)
def test_in_the_archive_of_a_class_one_students_files_take_nothing_from_the_others(tmp_path, monkeypatch, place):
    monkeypatch.setattr(archives, "MAX_MEMBERS_OF_CLASS", 500)
    monkeypatch.setattr(archives, "MAX_BYTES_OF_CLASS", 4_000_000)
    root = make_class(tmp_path / "class", place)
    layout, honest, _ = listed(root)
    names = {f"class/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*.py")}
    large = {f"{place(Path('class'), 777)}/{number}/attention.py": bytes(1_000_000) for number in range(9)}
    small = {f"{place(Path('class'), 888)}/{number}/attention.py": b"" for number in range(600)}
    lost = {str(place(Path("class"), 666) / ("n" * 300 + ".py")): b"x"}
    _, found, lines = listed(zipped(tmp_path / "class.zip", large | small | names | lost), name=layout)
    assert {key: found.get(key) for key in honest} == honest
    assert [number for number in ("777", "888", "666") if not any(number in line for line in lines)] == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
@pytest.mark.parametrize("place", PLATFORMS[1:], ids=lambda each: each.__name__)
def test_an_archive_that_is_no_file_costs_only_itself(tmp_path, place, kind):
    root = make_class(tmp_path / "class", place)
    honest = listed(root)[1]
    special(place(root, 101) / "more.zip", kind)
    _, found, lines = listed(root)
    assert found == honest
    assert kind == "folder" or any("more.zip" in line for line in lines)


def test_the_exercises_in_an_archive_of_another_exercises_folder_are_still_found(tmp_path, course):
    root = make_class(tmp_path / "class", repositories)
    content = {name: reference().encode() for name in ("exercise_01.py", "exercise_03.py")}
    (root / "exercise-01-eve").mkdir()
    zipped(root / "exercise-01-eve/all.zip", content)
    with open_layout(root, EXERCISES, SkippedFiles(), LayoutOptions()) as (layout, where):
        loaded = [(each, SubmissionLoader(course, where).load(each)[1]) for each in layout]
    of_eve = {each.exercise: read for each, read in loaded if each.student == "eve"}
    assert sorted(of_eve) == ["exercise_01", "exercise_03"]
    assert all(isinstance(read, Submission) for read in of_eve.values())


def test_folders_without_end_and_without_number_cost_only_themselves(tmp_path, monkeypatch):
    from grader.classroom.layouts import folders, units

    root = make_class(tmp_path / "class", repositories)
    honest = listed(root)[1]
    put(root / "exercise-03-eve" / Path(*["d"] * 20) / "attention.py")
    for number in range(60):
        put(root / f"exercise-03-mal/{number}.txt")
    monkeypatch.setattr(units, "MAX_FILES", 50)
    monkeypatch.setattr(folders, "MAX_FILES", 50)
    _, found, lines = listed(root)
    assert found == honest
    assert any("it is more than 12 folders deep" in line for line in lines)
    assert "more files than are read for one student: exercise-03-mal: only the first 50 files are read" in lines


def test_long_names_cost_only_themselves(tmp_path):
    root = make_class(tmp_path / "class", folders)
    honest = listed(root)[1]
    long = "n" * 250
    put(root / long / EXERCISE / "attention.py")
    put(root / "eve" / EXERCISE / long / long / "attention.py")
    found = listed(root)[1]
    assert {key: found.get(key) for key in honest} == honest
    assert {student for student, _ in found.keys() - honest.keys()} == {long, "eve"}
    names = {f"class/s{number}/{EXERCISE}/attention.py": source_of(number).encode() for number in STUDENTS}
    names |= {f"class/{'e' * 300}/{EXERCISE}/attention.py": b"x", f"class/eve/{'f' * 300}.py": b"x"}
    names |= {"class/mal": b"x", f"class/mal/{EXERCISE}/attention.py": b"x"}
    _, found, lines = listed(zipped(tmp_path / "class.zip", names), name="folders")
    assert {student for student, _ in found} == {f"s{number}" for number in STUDENTS}
    assert sum("File name too long" in line for line in lines) == 2
    assert any("mal is a file, not a folder" in line for line in lines)


@pytest.mark.slow
def test_a_class_of_forty_with_every_trick_has_the_right_grades_and_every_trick_is_named(tmp_path, course):
    """One student for each trick, in a course of nbgrader's; Eve's folders lie beside the others."""
    root = make_class(tmp_path / "class", nbgrader)
    submitted = root / "submitted"

    def eve(trick: str) -> Path:
        folder = submitted / f"eve-{trick}" / EXERCISE
        put(folder / "attention.py", starter())
        return folder

    for trick, text in STAMPS.items():
        (eve(trick) / "timestamp.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    for kind in ("folder", "pipe", "link", "sparse"):
        special(eve(f"stamp-{kind}") / "timestamp.txt", kind)
        special(eve(f"zip-{kind}") / "more.zip", kind)
        folder = submitted / f"eve-file-{kind}" / EXERCISE
        folder.mkdir(parents=True)
        special(folder / "attention.py", kind)
    bombs(eve("bombs"))
    zipped(eve("names") / "long.zip", {f"{'n' * 300}.py": b"x", "exercise_03.py/x.py": b"x", "exercise_03.py": b"x"})
    put(eve("deep") / Path(*["d"] * 20) / "attention.py")
    for name in ("exercises", "submission_metadata.yml", "exercise_03"):
        put(submitted / name / "attention.py")
        put(root / name / "s101" / EXERCISE / "attention.py", reference())

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scores, skipped = graded(course, root, tmp_path / "class.sqlite")
    assert {f"s{number}": scores.get(f"s{number}") for number in STUDENTS} == {
        f"s{number}": 0.0 if number % 2 else 10.0 for number in STUDENTS
    }
    assert all(score in (None, 0.0) for student, score in scores.items() if student.startswith("eve"))
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 512 << 10
    assert skipped.counts[SkippedKind.NO_TIME] == len(STAMPS) + 4
    assert skipped.counts[SkippedKind.TOO_MUCH] >= 40
    lines = "\n".join(skipped.lines())
    for trick in (*STAMPS, "stamp-folder", "stamp-pipe", "stamp-link", "stamp-sparse", "bombs", "names"):
        assert f"eve-{trick}/exercise_03/" in lines, trick
    for trick in ("zip-pipe", "zip-link", "zip-sparse"):
        assert f"eve-{trick}/exercise_03/more.zip" in lines
    for name in ("exercises", "submission_metadata.yml", "exercise_03"):
        assert f"no submission: {name}\n" in lines
        assert f"no submission: submitted/{name}/attention.py" in lines
    assert "eve-deep" in lines
    assert "File name too long" in lines


def graded(course, path: Path, gradebook: Path) -> tuple[dict[str, float], SkippedFiles]:
    """Grade a class; return the students' scores, and what was skipped."""
    options = BatchOptions(layout=LayoutOptions(exercise=EXERCISE))
    with local_engine(course, 1, is_strict=True) as engine:
        report = grade_submissions(
            course, path, gradebook, contextlib.nullcontext(engine), options, lambda _: lambda _: None
        )
    with sqlite3.connect(gradebook) as book:
        return dict(book.execute("SELECT student, score FROM current").fetchall()), report.skipped


@pytest.mark.slow
@pytest.mark.parametrize("place", [moodle, gradescope], ids=lambda each: each.__name__)
def test_a_class_in_an_archive_has_the_right_grades_and_every_trick_is_named(tmp_path, course, monkeypatch, place):
    monkeypatch.setattr(archives, "MAX_MEMBERS_OF_CLASS", 3_000)
    monkeypatch.setattr(archives, "MAX_BYTES_OF_CLASS", 40_000_000)
    names = {f"class/{place(Path(), number)}/attention.py": source_of(number).encode() for number in STUDENTS}

    def eve(number: int, files: dict[str, bytes]) -> None:
        names.update({f"class/{place(Path(), number)}/{name}": content for name, content in files.items()})

    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("attention.py", bytes(30_000_000))
    right = reference().encode()
    eve(901, {"a.zip": bomb.getvalue()})
    eve(902, {f"{number}/attention.py": bytes(9_000_000) for number in range(9)})
    eve(903, {f"{number}/attention.py": b"" for number in range(4_000)})
    eve(904, {f"{'n' * 300}.py": b"x"})
    eve(905, {"attention.py": right, "attention.py/x.py": b"x"})
    eve(906, {"../../attention.py": b"x"})
    eve(907, {"notes.docx": b""})
    eve(908, {"exercises/exercise_03/attention.py": right, "submitted/s101/exercise_03/attention.py": b"x"})
    eve(909, {"attention.py": right})
    if place is moodle:
        names["class/Eve_910_assignsubmission_file_Student 102_102_assignsubmission_file_attention.py"] = right
        names["class/Eve_909_assignsubmission_file_/attention.py"] = right
    else:
        people = {number: submitter(number) for number in (*STUDENTS, *range(901, 911))}
        people[910] = submitter(910, sid="909")
        eve(910, {"attention.py": right})
        names["class/submission_metadata.yml"] = ("---\n" + "".join(people.values())).encode()
    scores, skipped = graded(course, zipped(tmp_path / "class.zip", names), tmp_path / "class.sqlite")
    assert {str(number): scores.get(str(number)) for number in STUDENTS} == {
        str(number): 0.0 if number % 2 else 10.0 for number in STUDENTS
    }
    lines = "\n".join(skipped.lines())
    assert [number for number in range(901, 908) if str(number) not in lines] == []
    assert "several students with one id; each is graded under a separate id: 909: " in lines
    assert "909" not in scores
