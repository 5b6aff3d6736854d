"""Files are written whole or not at all; what was asked for is never left out in silence."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.spec.paths import Course, product_draft, write_cache, write_product, write_versioned_cache

SIZE = 1 << 20
ROUNDS = 40


@pytest.mark.parametrize("write", [write_product, write_cache])
def test_threads_that_write_one_file_never_leave_half_of_it(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    path, contents = tmp_path / "key.json", [bytes([letter]) * SIZE for letter in b"ab"]
    write(path, contents[0])
    writers = [
        threading.Thread(target=lambda text=text: [write(path, text) for _ in range(ROUNDS)]) for text in contents
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in contents
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_product_that_is_written_piece_by_piece_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "page.html"
    with pytest.raises(ZeroDivisionError), product_draft(path) as draft:
        draft.write_bytes(b"half" * (1 // (draft.write_bytes(b"half") - 4)))
    assert list(path.parent.iterdir()) == []
    with product_draft(path) as draft:
        draft.write_bytes(b"whole")
    assert [each.read_bytes() for each in path.parent.iterdir()] == [b"whole"]


def test_a_product_that_cannot_be_written_is_an_error_and_a_cache_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder/taken").mkdir(parents=True)
    for path in (tmp_path / "file/key.json", tmp_path / "folder"):
        with pytest.raises(UsageError, match=r": cannot be written: .*; make room or allow it"):
            write_product(path, b"key")
        write_cache(path, b"key")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_what_is_remembered_of_an_older_version_goes_and_of_others_stays(tmp_path: Path) -> None:
    for name in ("exercise_03-a1.json", "exercise_03-b2.json", "exercise_03-a1.msgpack", "exercise_30-a1.json"):
        write_versioned_cache(tmp_path / name, name.encode())
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["exercise_03-a1.msgpack", "exercise_03-b2.json", "exercise_30-a1.json"]


def test_an_exercises_files_are_called_as_its_starter_is(tmp_path: Path) -> None:
    course, folder = Course(tmp_path), tmp_path / "exercises/exercise_42"
    write_product(folder / "helper.py", b"")  # a student's own
    assert course.editable_files("exercise_42") == (folder / "attention.py", folder / "attention.ipynb")
    write_product(folder / ".starter/loss.py", b"")
    assert course.editable_files("exercise_42") == (folder / "loss.py", folder / "loss.ipynb")
    assert course.reference("exercise_42") == tmp_path / "solutions/exercise_42/loss.py"
