"""A worker's memory, scanned, holds no check and no reference: they were opened after the nursery was forked."""

import json
import re
import secrets
import shutil

import pytest

from tests.support.commands import run_program
from tests.support.hostile import starter
from tests.support.paths import ROOT

SCAN = '''
import ctypes, errno, gc, torch

PAGE = 4096
MAX_PAGES = 500_000
SHIFT = bytes.maketrans(b"abcdefghijklmnopqrstuvwxyz", b"fghijklmnopqrstuvwxyzabcde")
access = ctypes.CDLL(None, use_errno=True).access

def is_readable(page):
    """The kernel reads a path there, or says that it cannot: no map of the memory is needed."""
    ctypes.set_errno(0)
    access(ctypes.c_void_p(page * PAGE), 0)
    return ctypes.get_errno() != errno.EFAULT

def stretches():
    """Readable stretches of memory around everything that Python and torch hold."""
    heap = ctypes.CDLL(None).sbrk
    heap.restype = ctypes.c_void_p
    gc.unfreeze()  # objects from before the fork are hidden from the collector
    objects = gc.get_objects()
    hints = [id(each) for each in objects + gc.get_referents(*objects)] + [torch.zeros(9).data_ptr(), heap(0) - 1]
    buffers = [ctypes.create_string_buffer(size) for size in (8, 5_000, 1_000_000)]
    hints += map(ctypes.addressof, buffers)
    seen = set()
    for hint in hints:
        first = last = hint // PAGE
        if first in seen or not is_readable(first):
            continue
        while first - 1 not in seen and is_readable(first - 1) and last - first < MAX_PAGES:
            first -= 1
        while last + 1 not in seen and is_readable(last + 1) and last - first < MAX_PAGES:
            last += 1
        seen.update(range(first, last + 1))
        yield first * PAGE, (last + 1 - first) * PAGE

def count(words):
    """How often each word, given shifted so that this text does not hold it, stands in this process's memory."""
    found, size, step = dict.fromkeys(words, 0), 0, 1 << 20
    for start, length in list(stretches()):
        for offset in range(0, length, step):
            first, end = start + offset, start + min(offset + step + PAGE, length)
            if all(is_readable(page) for page in range(first // PAGE, end // PAGE)):  # the memory may have been freed
                part = ctypes.string_at(first, end - first).translate(SHIFT)
                for name, word in words.items():
                    found[name] += part.count(word.encode())
                size += len(part)
                del part
    return found, size
'''

FILES = {
    "reference": "solutions/exercise_03/attention.py",
    "description": "solutions/exercise_03/exercise.yaml",
    "hidden check": "tests/hidden/exercise_03/test_planted.py",
}
PATIENCE = "\nlimits:\n  seconds: {load: 60, check: 5, total: 90}\n"
"""The scan takes a second, and longer on a busy machine."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHIFTED = str.maketrans(LETTERS, LETTERS[5:] + LETTERS[:5])
BACK = bytes.maketrans((LETTERS[5:] + LETTERS[:5]).encode(), LETTERS.encode())


@pytest.mark.slow
def test_a_worker_that_scans_its_memory_finds_no_secret(tmp_path) -> None:
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "exercise_03", tmp_path / part / "exercise_03")
    tokens = {name: "".join(secrets.choice(LETTERS) for _ in range(20)) for name in (*FILES, "its own")}
    for name, path in FILES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8") if file.exists() else "def test_nothing(): pass\n"
        file.write_text(f"{text}\n# {tokens[name]}\n", encoding="utf-8")
    with (tmp_path / FILES["description"]).open("a", encoding="utf-8") as description:
        description.write(PATIENCE)
    encoded = {name: token.translate(SHIFTED) for name, token in tokens.items()}
    plant = f"kept = {encoded['its own'].encode()!r}.translate({BACK!r}) * 3\n"
    report = f"found, size = count({encoded!r})\nraise RuntimeError(f'size {{size}} found {{found}}')\n"
    (tmp_path / "scan.py").write_text(SCAN + plant + report + starter(), encoding="utf-8")
    done = run_program("exercise_03", "--file", str(tmp_path / "scan.py"), "--json", cwd=tmp_path)
    verdict = json.loads(done.stdout)
    assert "found" in verdict["reason"], verdict["reason"]
    counts = {name: int(count) for name, count in re.findall(r"'([a-z ]+)': (\d+)", verdict["reason"])}
    assert counts.pop("its own") >= 3, "the scan finds what is there"
    assert counts == dict.fromkeys(FILES, 0)
    size = re.search(r"size (\d+)", verdict["reason"])
    assert size is not None
    assert int(size[1]) > 50_000_000, "and it looks at more than its own objects"
