"""Files are written whole or not at all, and a requested file that cannot be written is an error."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.spec.files import product_draft, read_cache, write_cache, write_product, write_versioned_cache
from grader.spec.paths import Course

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


def test_an_output_that_cannot_be_written_is_an_error_and_a_cache_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder/taken").mkdir(parents=True)
    for path in (tmp_path / "file/key.json", tmp_path / "folder"):
        with pytest.raises(UsageError, match=r": cannot be written: .*; name another file"):
            write_product(path, b"key")
        write_cache(path, b"key")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_an_output_file_that_is_a_link_is_written_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("old.html", "new.html"):
        (tmp_path / name).symlink_to(Path("there", name))
    (tmp_path / "there/old.html").write_bytes(b"before")
    for name in ("old.html", "new.html"):
        write_product(tmp_path / name, b"page")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"page"
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["new.html", "old.html"]


@pytest.mark.parametrize("is_linked", [False, True])
def test_an_output_file_that_is_a_pipe_stays_one_and_gets_the_content(tmp_path: Path, is_linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = tmp_path / "link" if is_linked else pipe
    if is_linked:
        path.symlink_to(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_product(path, b"page" * SIZE)
    reader.join(60)
    assert received == [b"page" * SIZE]
    assert pipe.is_fifo()
    assert path.is_symlink() == is_linked


def test_a_name_as_long_as_a_file_system_allows_is_written_and_a_longer_one_is_explained(tmp_path: Path) -> None:
    write_product(tmp_path / ("a" * 255), b"page")
    with pytest.raises(UsageError, match=r": cannot be written: File name too long; choose a shorter name"):
        write_product(tmp_path / ("a" * 256), b"page")


def test_exercises_are_listed_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("exercise_100", "exercise_11", "exercise_02", "notes"):
        (tmp_path / "exercises" / name).mkdir(parents=True)
    assert Course(root=tmp_path).exercise_ids() == ["exercise_02", "exercise_11", "exercise_100"]


def test_caches_of_older_versions_are_deleted_and_other_caches_stay(tmp_path: Path) -> None:
    for name in ("exercise_03-a1.json", "exercise_03-b2.json", "exercise_03-a1.msgpack", "exercise_30-a1.json"):
        write_versioned_cache(tmp_path / name, name.encode())
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["exercise_03-a1.msgpack", "exercise_03-b2.json", "exercise_30-a1.json"]


def test_an_exercises_files_are_called_as_its_starter_is(tmp_path: Path) -> None:
    course, folder = Course(root=tmp_path), tmp_path / "exercises/exercise_42"
    write_product(folder / "helper.py", b"")  # a student's own
    assert course.editable_files("exercise_42") == (folder / "attention.py", folder / "attention.ipynb")
    write_product(folder / ".starter/loss.py", b"")
    assert course.editable_files("exercise_42") == (folder / "loss.py", folder / "loss.ipynb")
    assert course.reference("exercise_42") == tmp_path / "solutions/exercise_42/loss.py"


def test_a_cache_that_is_no_regular_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)
    for name in ("pipe", "device", "folder", "sparse", "missing"):
        with pytest.raises(OSError, match=name):
            read_cache(tmp_path / name)
    write_cache(tmp_path / "pipe", b"{}")
    assert read_cache(tmp_path / "pipe") == b"{}"
