"""Of the module and its notebook, the one that the student edited is graded; of two edited ones the newer."""

import json
import os
import shutil

import nbformat
import pytest

from grader.submission import read_submission
from grader.submission.choice import Choice, choose_file, is_edited
from tests.support.mending import mend_module, mend_notebook

EXERCISE = "exercise_03"
BOTH = "Both attention.py and attention.ipynb were edited; this is about {}, the newer one."


@pytest.fixture
def editable_files(own_course):
    return own_course.editable_files(EXERCISE)


def choice(path, remark=""):
    return Choice(path=path, read=read_submission(path, path.name), remark=remark)


def make_newer(path, other):
    os.utime(other, (1_000_000_000, 1_000_000_000))
    os.utime(path, (1_000_000_001, 1_000_000_001))


def test_the_module_is_graded_where_nothing_was_edited(own_course, editable_files):
    assert choose_file(own_course, EXERCISE) == choice(editable_files[0])


def test_the_only_edited_twin_is_graded_however_old_it_is(own_course, editable_files):
    module, notebook = editable_files
    mend_notebook(notebook)
    make_newer(module, notebook)
    assert choose_file(own_course, EXERCISE) == choice(notebook)
    notebook.write_bytes(own_course.pristine(notebook).read_bytes())
    mend_module(module)
    make_newer(notebook, module)
    assert choose_file(own_course, EXERCISE) == choice(module)


def test_of_two_edited_twins_the_newer_is_graded_and_the_choice_says_so(own_course, editable_files):
    module, notebook = editable_files
    mend_module(module)
    mend_notebook(notebook)
    make_newer(module, notebook)
    assert choose_file(own_course, EXERCISE) == choice(module, BOTH.format("attention.py"))
    make_newer(notebook, module)
    assert choose_file(own_course, EXERCISE) == choice(notebook, BOTH.format("attention.ipynb"))


def test_without_a_starter_the_newer_file_is_graded_and_the_page_says_so(own_course, editable_files):
    module, notebook = editable_files
    mend_notebook(notebook)
    make_newer(notebook, module)
    shutil.rmtree(own_course.pristine(module).parent)
    problem = "Without .starter, edits of attention.py and attention.ipynb cannot be detected"
    told = f"{problem} (unpack the course again for it)"
    assert choose_file(own_course, EXERCISE) == choice(
        notebook, f"{told}; this is about attention.ipynb, the newer one."
    )
    notebook.unlink()
    assert choose_file(own_course, EXERCISE) == choice(module)


def test_the_starter_is_mentioned_only_if_the_file_is_missing_or_empty(own_course, editable_files):
    module, _ = editable_files
    module.write_text("\n", encoding="utf-8")
    read = choose_file(own_course, EXERCISE).read
    assert read.reason == "attention.py is empty; save it again, or run `reset` to get the starter back"
    assert read_submission(module, module.name).reason == "attention.py is empty; save it again"


def test_a_notebook_that_was_only_run_is_not_edited(own_course, editable_files):
    _, path = editable_files
    notebook = nbformat.read(path, as_version=4)
    for count, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.execution_count = 9 - count
        cell.outputs = [nbformat.v4.new_output("stream", text="hello")]
        if "demonstration" in cell.metadata.get("tags", []):
            cell.source += "\nprint('again')"
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)
    assert path.read_bytes() != own_course.pristine(path).read_bytes()
    assert not is_edited(own_course, path)


def test_line_endings_and_a_byte_order_mark_are_no_edit(own_course, editable_files):
    module, notebook = editable_files
    for path in (module, notebook):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        assert not is_edited(own_course, path)
    mend_module(module)
    assert is_edited(own_course, module)


def test_a_twin_that_can_no_longer_be_read_counts_as_edited(own_course, editable_files):
    module, notebook = editable_files
    notebook.write_text("{")
    assert choose_file(own_course, EXERCISE) == choice(notebook)
    notebook.unlink()
    assert choose_file(own_course, EXERCISE) == choice(module)


def test_of_two_twins_edited_at_the_same_time_the_module_is_graded_and_the_choice_says_so(own_course, editable_files):
    module, notebook = editable_files
    mend_module(module)
    mend_notebook(notebook)
    for path in editable_files:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    remark = "Both attention.py and attention.ipynb were edited at the same time; this is about attention.py."
    assert choose_file(own_course, EXERCISE) == choice(module, remark)


def test_an_edited_twin_that_can_be_read_is_graded_in_place_of_one_that_cannot(own_course, editable_files):
    module, notebook = editable_files
    mend_notebook(notebook)
    module.write_bytes(b"\xff\xfe not text")
    make_newer(module, notebook)
    remark = (
        "Both attention.py and attention.ipynb were edited, and attention.py is not UTF-8 text; save it as UTF-8; "
        "this is about attention.ipynb."
    )
    assert choose_file(own_course, EXERCISE) == choice(notebook, remark)


@pytest.mark.slow
def test_the_command_line_says_first_which_twin_it_is_about(own_course, editable_files, run_cli):
    module, notebook = editable_files
    mend_notebook(notebook)
    module.write_text(module.read_text(encoding="utf-8") + "\n# thinking about it\n", encoding="utf-8")
    make_newer(notebook, module)
    screen = run_cli(EXERCISE, cwd=own_course.root)
    assert (screen.returncode, screen.stderr) == (0, "")
    assert screen.stdout.splitlines()[0] == BOTH.format("attention.ipynb")
    make_newer(module, notebook)
    machine = run_cli(EXERCISE, "--json", cwd=own_course.root)
    assert machine.returncode == 1
    assert machine.stderr.strip() == BOTH.format("attention.py")
    verdict = json.loads(machine.stdout)
    assert verdict["file"] == f"exercises/{EXERCISE}/attention.py"
    assert {each["id"]: each["status"] for each in verdict["defects"]}["mask-discarded"] == "present"


@pytest.mark.parametrize(
    "name", ["attention(1).ipynb", "attention (2).py", "attention-Copy1.ipynb", "Copy of attention.ipynb"]
)
def test_a_newer_copy_is_named_and_does_not_count(own_course, editable_files, name):
    module, _ = editable_files
    copy = module.with_name(name)
    copy.write_bytes(own_course.pristine(module.with_suffix(copy.suffix)).read_bytes())
    make_newer(copy, module)
    told = (
        f"{name} is newer, but was not graded; rename it to attention{copy.suffix} if it is your work. This is about "
    )
    assert choose_file(own_course, EXERCISE) == choice(module, f"{told}attention.py.")
    make_newer(module, copy)
    assert choose_file(own_course, EXERCISE) == choice(module)


def test_a_newer_copy_of_a_module_with_another_name_is_reported_by_its_name(own_course):
    module, _ = own_course.editable_files("exercise_29")
    assert module.name == "loss.py"
    for name in ("loss (1).py", "attention (1).py"):
        shutil.copy(module, module.with_name(name))
        make_newer(module.with_name(name), module)
    told = "loss (1).py is newer, but was not graded; rename it to loss.py if it is your work. This is about loss.py."
    assert choose_file(own_course, "exercise_29") == choice(module, told)


def test_where_no_starter_is_left_to_get_back_the_course_is_to_be_unpacked_again(own_course, editable_files):
    shutil.rmtree(own_course.starters(EXERCISE))
    editable_files[0].unlink()
    editable_files[1].unlink()
    read = choose_file(own_course, EXERCISE).read
    assert read.reason == "there is no file attention.py; check the path, or unpack the course again for the starter"


def test_the_starter_beside_an_edited_file_is_no_newer_copy(own_course, editable_files):
    module, notebook = editable_files
    mend_module(module)
    make_newer(notebook, module)
    assert choose_file(own_course, EXERCISE) == choice(module)
