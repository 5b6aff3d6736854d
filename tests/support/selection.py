"""Select slow tests: `--share 3/48` runs one of 48 shares, `--touched HEAD~1` adds the tests that cover a change.

A test covers a changed file in three cases: the file is its own module; its parameters name the exercise of the file;
or the file is in a room of the kit that gave the test's folder its name, or from which its module imports, directly or
through `tests/support`. 48 shares run every test once; a test of the room that a commit breaks does not wait for
its share. `--seconds` bounds the added tests: none of them starts later, and the tests that would come last in the
rotation run first.
"""

import ast
import functools
import hashlib
import itertools
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SUBJECTS = ("exercise_id", "host")
"""The parameters of fixtures that are set up once for a file."""

EXERCISE = re.compile(r"exercise_\d+")
ADDED = pytest.StashKey[bool]()
"""Marks a test that covers the change and is not in the share."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", type=_share, help="run one of N shares of the tests")
    parser.addoption("--touched", metavar="COMMIT", help="with --share: add tests that cover what changed since COMMIT")
    parser.addoption("--seconds", type=float, default=float("inf"), help="with --touched: start no added test later")


def _share(text: str) -> tuple[int, int]:
    number, _, shares = text.partition("/")
    return int(number) % int(shares), int(shares)


def pytest_configure(config: pytest.Config) -> None:
    config.option.added_until = time.monotonic() + config.option.seconds


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the share and the tests that cover the change. A test stays in its share when others are added."""
    if not config.option.share:
        return
    share, shares = config.option.share
    turns = {item: (_number(item) - share) % shares for item in items}  # how many shares until its own
    changed = changed_files(config.rootpath, config.option.touched) if config.option.touched else []
    added = [item for item in items if turns[item] and covers(item, changed)]
    for item in added:
        item.stash[ADDED] = True
    selected = [item for item in items if not turns[item]] + sorted(added, key=lambda item: -turns[item])
    kept = set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = selected


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.stash.get(ADDED, False) and time.monotonic() > item.config.option.added_until:
        pytest.skip("the time for tests that cover the change is used up; this one runs with its own share")


def is_of_a_file(item: pytest.Item) -> bool:
    """Return whether a test has a fixture that is set up once for several tests of its file."""
    fixtures = getattr(item, "_fixtureinfo", None)
    found = itertools.chain(*fixtures.name2fixturedefs.values()) if fixtures else ()
    return any(each.scope in ("class", "module", "package") for each in found)


def _number(item: pytest.Item) -> int:
    """Return a number that is equal for tests that share a fixture."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    subject = next((parameters[name] for name in SUBJECTS if name in parameters), "")
    has_setup = subject or is_of_a_file(item)
    name = f"{item.path.name} {subject}" if has_setup else f"{item.path.name}::{item.name}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def changed_files(root: Path, commit: str) -> list[str]:
    """Return the files that differ from a commit, relative to the root; none if the commit is unknown."""
    command = ["git", "diff", "--name-only", commit]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.splitlines()


def covers(item: pytest.Item, changed: list[str]) -> bool:
    """Return whether a test covers one of the changed files."""
    root = item.config.rootpath
    exercises = set(EXERCISE.findall(item.name))
    rooms = rooms_of(item.path, root / "tests" / "support")
    return any(
        root / path == item.path or room_of(path) in rooms or exercises.intersection(EXERCISE.findall(path))
        for path in changed
    )


def room_of(path: str) -> str | None:
    """Return the room of a file of the kit, as in grader/checks/compare.py -> checks."""
    found = re.match(r"grader/(\w+)", path)
    return found[1] if found else None


@functools.cache
def rooms_of(path: Path, support: Path) -> frozenset[str]:
    """Return the room that a test module's folder is named after, and those from which it imports."""
    rooms = {path.parent.name}
    for name in _imported(path):
        parts = name.split(".")
        if parts[0] == "grader":
            rooms.add(parts[1])
        elif parts[:2] == ["tests", "support"]:
            rooms |= rooms_of(support / f"{parts[2]}.py", support)
    return frozenset(rooms)


def _imported(path: Path) -> Iterator[str]:
    """Yield the full names of all imported modules and names, also of imports inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (f"{alias.name}." for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
