"""Layouts of submissions: the found files, the choice between two files, and reports on all other files."""

import json
import os
import shutil
import zipfile

import pytest

from grader.classroom.gradebook import WorkKind
from grader.classroom.layouts.files import MAX_EXAMPLES, SkippedFiles, SkippedKind
from grader.classroom.layouts.folders import FolderSubmissions
from grader.classroom.opening import LayoutOptions, open_layout
from grader.classroom.tasks import SubmissionLoader
from grader.errors import UsageError
from grader.submission import MAX_FILE_BYTES, Submission, Unreadable
from grader.submission.choice import choose_file
from tests.support.hostile import reference, starter
from tests.support.notebooks import code, notebook

EXERCISES = {"exercise_01": "attention.py", "exercise_03": "attention.py"}
TOO = "was handed in too"


def put(root, name, text="x = 1\n"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def listed(path):
    """What a layout finds, as (student, exercise, place), and the lines on what was passed over."""
    skipped = SkippedFiles()
    with open_layout(path, EXERCISES, skipped, LayoutOptions()) as (layout, _):
        return [(entry.student, entry.exercise, entry.place) for entry in layout], skipped.lines()


def taken(course, root, skipped=None):
    """What the entries of a folder come to."""
    with open_layout(root, EXERCISES, skipped or SkippedFiles(), LayoutOptions()) as (layout, folder):
        loader = SubmissionLoader(course, folder)
        return [loader.load(entry) for entry in layout]


def kinds(path, exercise=""):
    with open_layout(path, EXERCISES, SkippedFiles(), LayoutOptions(exercise=exercise)) as (layout, _):
        return [(entry.student, entry.exercise, entry.kind) for entry in layout]


def test_a_trap_is_found_beside_a_module_and_alone(tmp_path):
    for name in ("ada/exercise_03/attention.py", "ada/exercise_03/trap.py", "bob/exercise_03/trap.py"):
        put(tmp_path, name)
    assert kinds(tmp_path) == [
        ("ada", "exercise_03", WorkKind.MODULE),
        ("ada", "exercise_03", WorkKind.TRAP),
        ("bob", "exercise_03", WorkKind.TRAP),
    ]
    assert listed(tmp_path)[1] == []


def test_a_trap_that_names_no_exercise_is_reported(tmp_path):
    put(tmp_path, "ada/exercise_03/attention.py")
    put(tmp_path, "ada/trap.py")
    submissions, (line,) = listed(tmp_path)
    assert [place for _, _, place in submissions] == ["ada/exercise_03/attention.py"]
    assert line == "the file name does not name the exercise; name it with --exercise: ada/trap.py"


def test_a_link_is_no_trap(tmp_path):
    put(tmp_path, "ada/exercise_03/attention.py")
    (tmp_path / "ada/exercise_03/trap.py").symlink_to("/etc/passwd")
    assert kinds(tmp_path) == [("ada", "exercise_03", WorkKind.MODULE)]


def test_traps_are_found_in_a_platforms_folders(tmp_path):
    put(tmp_path, "submission_metadata.yml")
    (tmp_path / "submission_metadata.yml").write_text(
        "submission_1:\n  :submitters:\n  - :sid: ada\n", encoding="utf-8"
    )
    for name in ("attention.py", "trap.py"):
        put(tmp_path, f"submission_1/{name}")
    expected = [("ada", "exercise_03", WorkKind.MODULE), ("ada", "exercise_03", WorkKind.TRAP)]
    assert kinds(tmp_path, "exercise_03") == expected


def test_a_line_has_a_source_a_trap_or_both(tmp_path):
    path = tmp_path / "class.jsonl"
    rows = [
        {"student": "ada", "exercise": "exercise_03", "source": "x = 1", "trap": "def test_a(subject): ..."},
        {"student": "bob", "exercise": "exercise_03", "trap": "def test_a(subject): ..."},
        {"student": "bob", "exercise": "exercise_03", "trap": "def test_b(subject): ..."},
        {"student": "cleo", "exercise": "exercise_03"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert kinds(path) == [
        ("ada", "exercise_03", WorkKind.MODULE),
        ("ada", "exercise_03", WorkKind.TRAP),
        ("bob", "exercise_03", WorkKind.TRAP),
    ]
    assert listed(path)[1] == [
        "handed in twice: class.jsonl, line 3: bob, exercise_03, trap; the first is graded",
        "a broken line: class.jsonl, line 4: it has neither source nor trap",
    ]


def test_both_layouts_of_folders_are_found_in_the_order_of_students_and_exercises(tmp_path):
    for name in (
        "bob/exercise_03.py",
        "ada/exercise_03/attention.ipynb",
        "ada/exercise_01.ipynb",
        "cleo/exercise_01/attention.py",
        "cleo/exercise_03/attention.py",
    ):
        put(tmp_path, name)
    assert listed(tmp_path) == (
        [
            ("ada", "exercise_01", "ada/exercise_01.ipynb"),
            ("ada", "exercise_03", "ada/exercise_03/attention.ipynb"),
            ("bob", "exercise_03", "bob/exercise_03.py"),
            ("cleo", "exercise_01", "cleo/exercise_01/attention.py"),
            ("cleo", "exercise_03", "cleo/exercise_03/attention.py"),
        ],
        [],
    )


def test_positions_end_at_the_total(tmp_path):
    for student in ("ada", "bob"):
        put(tmp_path, f"{student}/exercise_03.py")
    lines = put(tmp_path, "all.jsonl", '{"student": "a", "exercise": "exercise_03", "source": "x"}\n')
    for path, total in ((tmp_path, 3), (lines, lines.stat().st_size)):
        with open_layout(path, EXERCISES, SkippedFiles(), LayoutOptions()) as (layout, _):
            assert layout.total == total
            assert [entry.position for entry in layout][-1] == total


def test_every_file_that_is_not_a_submission_is_reported(tmp_path):
    put(tmp_path, "ada/exercise_03/attention.py")
    put(tmp_path, "ada/exercise_03/notes.txt")
    put(tmp_path, "ada/exercise_99.py")
    put(tmp_path, "ada/attention.py")
    put(tmp_path, "ada/exercise_99/attention.py")
    put(tmp_path, "ada/plan.md")
    put(tmp_path, "bob/exercise_01/mine.py")
    put(tmp_path, "grades.csv")
    entries, told = listed(tmp_path)
    assert entries == [("ada", "exercise_03", "ada/exercise_03/attention.py")]
    assert sorted(told) == [
        "no submission: ada/exercise_03/notes.txt",
        "no submission: ada/plan.md",
        "no submission: bob/exercise_01 contains neither attention.py nor attention.ipynb",
        "no submission: bob/exercise_01/mine.py",
        "no submission: grades.csv",
        "no such exercise: ada/exercise_99",
        "no such exercise: ada/exercise_99.py",
        "the file name does not name the exercise; name it with --exercise: ada/attention.py",
    ]


def test_what_the_course_and_systems_leave_behind_is_counted_in_one_line(tmp_path, course):
    shutil.copytree(course.exercise_folder("exercise_03"), tmp_path / "ada/exercise_03")
    put(tmp_path, "ada/.DS_Store")
    put(tmp_path, "__MACOSX/ada/._attention.py")
    entries, told = listed(tmp_path)
    assert [entry[:2] for entry in entries] == [("ada", "exercise_03")]
    assert told == ["left by operating systems, or handed out beside an exercise: 4 in all"]


def test_a_few_of_many_stray_files_are_named_and_the_others_counted(tmp_path):
    for number in range(MAX_EXAMPLES + 7):
        put(tmp_path, f"s{number:02}/exercise_03.py")
        put(tmp_path, f"s{number:02}/stray.txt")
    _, told = listed(tmp_path)
    assert told[0] == "no submission: s00/stray.txt"
    assert told[MAX_EXAMPLES:] == ["no submission: 7 more"]


def test_each_name_that_no_submission_covers_is_reported(tmp_path):
    names = [f"stray {number:02}.txt" for number in range(MAX_EXAMPLES + 7)]
    empty = [f"x{number:02}" for number in range(MAX_EXAMPLES + 7)]
    for name in ("ada/exercise_03.py", *names, *(f"{name}/notes.txt" for name in empty), ".eve/exercise_03.py"):
        put(tmp_path, name)
    (tmp_path / "zoe").mkdir()
    _, told = listed(tmp_path)
    assert [name for name in (*names, *empty, ".eve", "zoe") if not any(name in line for line in told)] == []


def test_no_link_is_followed(tmp_path, course):
    outside = tmp_path / "outside"
    put(outside, "exercise_03/attention.py", reference())
    root = tmp_path / "class"
    put(root, "ada/exercise_01.py")
    (root / "bob").symlink_to(outside)
    (root / "ada/exercise_03").symlink_to(outside / "exercise_03")
    (root / "cleo/exercise_03").mkdir(parents=True)
    (root / "cleo/exercise_03/attention.py").symlink_to(outside / "exercise_03/attention.py")
    entries, told = listed(root)
    assert [entry[:2] for entry in entries] == [("ada", "exercise_01"), ("cleo", "exercise_03")]
    assert sorted(told) == ["a link, not followed: ada/exercise_03", "a link, not followed: bob"]
    submissions = [each[1] for each in taken(course, root)]
    assert isinstance(submissions[0], Submission)
    assert submissions[1] == Unreadable(reason="attention.py is a link, or in a linked folder; hand in the file itself")


def test_a_folder_exchanged_for_a_link_after_it_was_listed_is_not_followed(tmp_path, course):
    outside = tmp_path / "outside"
    put(outside, "attention.py", reference())
    root = tmp_path / "class"
    put(root, "ada/exercise_03/attention.py", starter())
    (entry,) = FolderSubmissions(root, EXERCISES, SkippedFiles())
    shutil.rmtree(root / "ada/exercise_03")
    (root / "ada/exercise_03").symlink_to(outside)
    assert isinstance(SubmissionLoader(course, root).load(entry)[1], Unreadable)


def test_pipes_and_folders_in_the_place_of_a_file_are_submissions_that_cannot_be_read(tmp_path, course):
    (tmp_path / "ada/exercise_03/attention.py").mkdir(parents=True)
    (tmp_path / "bob").mkdir()
    os.mkfifo(tmp_path / "bob/exercise_03.py")
    first, second = (each[1] for each in taken(course, tmp_path))
    assert first == Unreadable(reason="attention.py is a directory; name the file in it")
    assert second == Unreadable(reason="exercise_03.py is not a regular file; hand in a .py or .ipynb file")


@pytest.mark.parametrize(
    ("module", "cell", "file", "remark"),
    [
        ("edited", "as it was", "attention.py", f"attention.ipynb {TOO}: it was not edited"),
        ("as it was", "edited", "attention.ipynb", f"attention.py {TOO}: it was not edited"),
        ("as it was", "as it was", "attention.py", f"attention.ipynb {TOO}: neither was edited"),
    ],
)
def test_of_module_and_notebook_the_edited_one_counts_whatever_their_times_say(
    tmp_path, course, module, cell, file, remark
):
    folder = tmp_path / "ada/exercise_03"
    folder.mkdir(parents=True)
    for twin, state in zip(course.editable_files("exercise_03"), (module, cell), strict=True):
        text = course.pristine(twin).read_text(encoding="utf-8")
        path = put(folder, twin.name, text.replace("dropout", "drop_out") if state == "edited" else text)
        is_graded = twin.name == file
        os.utime(path, (1_000_000_000 if is_graded else 2_000_000_000,) * 2)
    ((record, submission),) = taken(course, tmp_path)
    assert (record.file, record.remark) == (f"ada/exercise_03/{file}", remark)
    assert submission.name == file


@pytest.mark.parametrize(
    ("ages", "file", "why"),
    [
        ((2, 1), "attention.py", f"attention.ipynb {TOO}: both were edited, so the newer one is graded"),
        ((1, 2), "attention.ipynb", f"attention.py {TOO}: both were edited, so the newer one is graded"),
        ((1, 1), "attention.py", f"attention.ipynb {TOO}: both were edited at the same time, so the module is graded"),
    ],
)
def test_of_two_edited_twins_a_class_is_given_the_grade_that_the_student_was_shown(
    tmp_path, own_course, ages, file, why
):
    folder = tmp_path / "class/ada/exercise_03"
    folder.mkdir(parents=True)
    for twin, age in zip(own_course.editable_files("exercise_03"), ages, strict=True):
        text = own_course.pristine(twin).read_text(encoding="utf-8").replace("dropout", "drop_out")
        for path in (twin, folder / twin.name):
            path.write_text(text, encoding="utf-8")
            os.utime(path, (age * 1_000_000_000,) * 2)
    ((record, submission),) = taken(own_course, tmp_path / "class")
    shown = choose_file(own_course, "exercise_03")
    assert (record.file, record.remark) == (f"ada/exercise_03/{file}", why)
    assert (shown.path.name, shown.read) == (file, submission)


def test_a_module_that_cannot_be_read_beside_a_notebook_that_was_edited_costs_nothing(tmp_path, course):
    folder = tmp_path / "ada/exercise_03"
    folder.mkdir(parents=True)
    notebook = course.pristine(course.editable_files("exercise_03")[1]).read_text(encoding="utf-8")
    put(folder, "attention.ipynb", notebook.replace("dropout", "drop_out"))
    (folder / "attention.py").write_bytes(b"\xff\xfe not text")
    ((record, submission),) = taken(course, tmp_path)
    assert (record.file, record.remark) == (
        "ada/exercise_03/attention.ipynb",
        f"attention.py {TOO}: it cannot be read",
    )
    assert not isinstance(submission, Unreadable)


def test_an_unreadable_twin_counts_as_edited(tmp_path, course):
    put(tmp_path, "ada/exercise_03.py", starter())
    put(tmp_path, "ada/exercise_03.ipynb", "no notebook")
    ((record, submission),) = taken(course, tmp_path)
    assert record.file == "ada/exercise_03.ipynb"
    assert isinstance(submission, Unreadable)


def test_an_exercise_in_both_layouts_is_read_from_its_folder_and_reported(tmp_path):
    put(tmp_path, "ada/exercise_03.py")
    put(tmp_path, "ada/exercise_03/attention.py")
    assert listed(tmp_path) == (
        [("ada", "exercise_03", "ada/exercise_03/attention.py")],
        ["handed in twice: ada/exercise_03.py; ada/exercise_03/attention.py is graded"],
    )


def test_of_several_files_the_one_named_after_the_exercise_is_graded_and_the_others_reported(tmp_path, course):
    for name in ("exercise-03.py", "exercise_03.py", "exercise 3.py", "exercise_03.ipynb"):
        put(tmp_path, f"ada/{name}")
    entries, told = listed(tmp_path)
    assert entries == [("ada", "exercise_03", "ada/exercise_03.py")]
    left = ("exercise 3.py", "exercise-03.py")
    assert told == [f"handed in twice: ada/{name}; ada/exercise_03.py is graded" for name in left]
    ((record, _),) = taken(course, tmp_path)
    assert "was handed in too" in record.remark


def test_names_that_are_no_text_are_spelled_out_and_shown_so_that_they_do_no_harm(tmp_path):
    put(tmp_path, "=cmd|' C calc'!A0/exercise_03.py")
    put(tmp_path, "line\nbreak/exercise_03.py")
    put(tmp_path, "\x1b[31mred/what.txt")
    put(tmp_path, os.fsdecode(b"caf\xe9/exercise_03.py"))
    entries, told = listed(tmp_path)
    assert {entry[0] for entry in entries} == {"=cmd|' C calc'!A0", "line\nbreak", "caf\\xe9"}
    assert told == ["no submission: \\x1b[31mred/what.txt"]


def test_two_names_that_would_be_spelled_alike_are_not_mixed_up(tmp_path):
    put(tmp_path, "caf\\xe9/exercise_03.py")
    put(tmp_path, os.fsdecode(b"caf\xe9/exercise_03.py"))
    entries, told = listed(tmp_path)
    assert [entry[0] for entry in entries] == ["caf\\xe9"]
    assert told == ["handed in twice: caf\\xe9"]


def test_lines_are_found_in_the_order_of_the_file(tmp_path, course):
    data = [("bob", "exercise_03", "x = 1\r\n"), ("ada", "exercise_01", "\ufeffy = 2"), ("ada", "exercise_03", "z")]
    lines = [json.dumps({"student": s, "exercise": e, "source": t, "model": "m"}) for s, e, t in data]
    path = put(tmp_path, "all.jsonl", "\ufeff" + "\n\n".join(lines))
    entries, told = listed(path)
    assert entries == [
        ("bob", "exercise_03", "all.jsonl, line 1"),
        ("ada", "exercise_01", "all.jsonl, line 3"),
        ("ada", "exercise_03", "all.jsonl, line 5"),
    ]
    assert told == []
    sources = [each[1].chunks[0].text for each in taken(course, path)]
    assert sources == ["x = 1\n", "y = 2", "z"]


def test_an_invalid_line_is_reported_and_affects_no_other(tmp_path):
    good = json.dumps({"student": "ada", "exercise": "exercise_03", "source": "x"}).encode()
    bad = [
        b"{",
        b"[]",
        b'{"student": "bob", "exercise": "exercise_03"}',
        b'{"student": 5, "exercise": "exercise_03", "source": "x"}',
        b'{"student": "b\xff", "exercise": "exercise_03", "source": "x"}',
        b'{"student": "b\\ud800", "exercise": "exercise_03", "source": "x"}',
        b'{"a": ' + b"[" * 200_000,
        good.replace(b"exercise_03", b"exercise_99"),
        good,
        b'{"source": "' + b"x" * MAX_FILE_BYTES + b'"}',
    ]
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"\n".join([good, *bad, good.replace(b"ada", b"bob")]) + b"\n")
    entries, told = listed(path)
    assert entries == [("ada", "exercise_03", "all.jsonl, line 1"), ("bob", "exercise_03", "all.jsonl, line 12")]
    kinds = [line.split(": ")[0] for line in told]
    assert kinds == ["a broken line"] * 7 + ["no such exercise", "handed in twice", "a line too long"]
    assert told[0].startswith("a broken line: all.jsonl, line 2: Input data was truncated")
    assert told[2].endswith("it has neither source nor trap")
    assert told[-2] == "handed in twice: all.jsonl, line 10: ada, exercise_03; the first is graded"
    assert told[-1] == f"a line too long: all.jsonl, line 11: over {MAX_FILE_BYTES:,} bytes"


@pytest.mark.parametrize("source", ["", "  \n", "x = '\0'"])
def test_a_source_that_cannot_be_python_is_a_submission_that_cannot_be_read(tmp_path, course, source):
    path = put(tmp_path, "a.jsonl", json.dumps({"student": "ada", "exercise": "exercise_03", "source": source}))
    ((_, submission),) = taken(course, path)
    assert isinstance(submission, Unreadable)


def test_equal_sources_have_equal_digests_and_others_do_not(tmp_path, course):
    put(tmp_path, "a/exercise_03/attention.py", "x = 1")
    put(tmp_path, "b/exercise_03/attention.py", "x = 1")
    put(tmp_path, "c/exercise_03/attention.py", "x = 1 ")
    put(tmp_path, "d/exercise_03.py", "x = 1")
    put(tmp_path, "e/exercise_03/attention.ipynb", notebook(code("x = 1")))
    put(tmp_path, "f/exercise_03/attention.ipynb", notebook(code("x = 1"), code("y")))
    put(tmp_path, "g/exercise_03/attention.py", "")
    digests = [each[0].digest for each in taken(course, tmp_path)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 6


def test_a_path_without_submissions_is_refused_with_a_list_of_layouts(tmp_path):
    archive = put(tmp_path, "all.zip", "PK")
    other = put(tmp_path, "all.tar", "")
    for path, message in (
        (archive, r"cannot be opened: all\.zip \(File is not a zip file\); give a zip that opens"),
        (
            other,
            r"all\.tar is neither a folder nor a \.jsonl file nor a zip; expected DIR/<student>/<exercise>/",
        ),
        (tmp_path / "none", r"none does not exist; expected DIR/<student>"),
    ):
        with pytest.raises(UsageError, match=message), open_layout(path, EXERCISES, SkippedFiles(), LayoutOptions()):
            pass


def test_a_zip_that_does_not_open_is_named_whatever_files_were_skipped_before(tmp_path):
    archive, skipped = put(tmp_path, "all.zip", "PK"), SkippedFiles()
    skipped.add(SkippedKind.CLOSED, "one.zip")
    skipped.add(SkippedKind.LINK, "another.py")
    message = (
        r"^cannot be opened: all\.zip \(File is not a zip file\); give a zip that opens, or a folder with its files$"
    )
    with pytest.raises(UsageError, match=message), open_layout(archive, EXERCISES, skipped, LayoutOptions()):
        pass


def test_every_kind_of_skipped_file_has_words_of_its_own_in_a_report():
    skipped = SkippedFiles()
    for kind in SkippedKind:
        skipped.add(kind, "a")
    assert len({line.partition(": ")[0] for line in skipped.lines()}) == len(SkippedKind)
    assert not [line for line in skipped.lines() for kind in SkippedKind if line.startswith(f"{kind}:")]


def test_a_layout_that_the_path_cannot_have_is_refused(tmp_path):
    lines, folder = put(tmp_path, "all.jsonl", ""), tmp_path / "class"
    put(folder, "ada/exercise_03/attention.py")
    for path, options, message in (
        (lines, LayoutOptions(name="canvas"), "is a file of lines, and --layout canvas is for a folder or a zip"),
        (lines, LayoutOptions(pattern="{student}.py"), "is a file of lines, and --pattern is for a folder or a zip"),
        (folder, LayoutOptions(name="lines"), "--layout lines is for a file, and .*class is a folder; leave it out"),
    ):
        with pytest.raises(UsageError, match=message), open_layout(path, EXERCISES, SkippedFiles(), options):
            pass


LOSS = {"exercise_03": "attention.py", "exercise_29": "loss.py"}


def test_a_file_of_an_exercises_own_name_is_taken_and_the_usual_name_where_there_is_no_other(tmp_path):
    for name in ("ada/exercise_29/loss.py", "ada/exercise_29/attention.py", "bob/exercise_29/attention.ipynb"):
        put(tmp_path, name)
    put(tmp_path, "cleo/exercise_29/norm.py")
    put(tmp_path, "dora/loss.py")
    skipped = SkippedFiles()
    with open_layout(tmp_path, LOSS, skipped, LayoutOptions()) as (layout, _):
        assert [entry.place for entry in layout] == ["ada/exercise_29/loss.py", "bob/exercise_29/attention.ipynb"]
    assert skipped.lines() == [
        "no submission: ada/exercise_29/attention.py",
        "no submission: cleo/exercise_29/norm.py",
        "no submission: cleo/exercise_29 contains neither loss.py nor loss.ipynb",
        "the file name does not name the exercise; name it with --exercise: dora/loss.py",
    ]


def test_of_a_platforms_files_the_one_of_the_exercises_own_name_is_taken(tmp_path):
    for name in ("ada_11_91_attention.py", "ada_11_92_loss.py", "bob_12_93_loss-1.py", "bob_12_94_loss-2.py"):
        put(tmp_path, name)
    skipped = SkippedFiles()
    with open_layout(tmp_path, LOSS, skipped, LayoutOptions(exercise="exercise_29")) as (layout, _):
        assert [entry.place for entry in layout] == ["ada_11_92_loss.py", "bob_12_94_loss-2.py"]
    assert skipped.lines() == [
        "handed in twice: ada_11_91_attention.py; ada_11_92_loss.py is graded",
        "handed in twice: bob_12_93_loss-1.py; bob_12_94_loss-2.py is graded",
    ]


def test_a_file_in_a_students_archive_is_named_with_the_path_of_the_archive(tmp_path):
    root = tmp_path / "class"
    root.joinpath("ada").mkdir(parents=True)
    with zipfile.ZipFile(root / "ada" / "work.zip", "w") as archive:
        for name in ("exercise_03/a/attention.py", "exercise_03/b/attention.py", "notes.py", "old/exercise_98.py"):
            archive.writestr(name, "x = 1\n")
    skipped, options = SkippedFiles(), LayoutOptions(exercise="exercise_03")
    with open_layout(root, EXERCISES, skipped, options) as (layout, _):
        assert [entry.place for entry in layout] == ["ada/work.zip/exercise_03/b/attention.py"]
    assert sorted(skipped.lines()) == [
        "handed in twice: ada/work.zip/exercise_03/a/attention.py; ada/work.zip/exercise_03/b/attention.py is graded",
        "no submission: ada/work.zip/notes.py",
        "no such exercise: ada/work.zip/old/exercise_98.py",
    ]
