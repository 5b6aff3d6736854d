"""Tests that run in lanes are reported as those that run one after the other are; shares and changes select tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kit runs tests in forked lanes only on Linux")

FIRST = """
import os, warnings
import pytest

@pytest.fixture(scope="module")
def shared():
    yield os.getpid()
    print("torn down in", os.getpid())

def test_passes(shared):
    assert os.getpid() == shared != os.getppid()

def test_fails(shared):
    print("said before")
    warnings.warn(DeprecationWarning("is reported"))
    assert 1 + 1 == 3

@pytest.mark.skip(reason="not now")
def test_is_skipped():
    pass
"""
LISTS = "def test_{0}(tmp_path):\n    assert os.listdir(tmp_path) == []\n\n"
SECOND = "import os\n\n" + "".join(LISTS.format(number) for number in range(5))


@pytest.fixture
def lanes(tmp_path: Path, tmp_path_factory):
    def run(*options: str, **files: str) -> str:
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
        own = ["--basetemp", str(tmp_path_factory.mktemp("inner"))]  # otherwise it deletes folders of other runs
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.support.selection",
            "-p",
            "tests.support.lanes",
            "-p",
            "no:cacheprovider",
            *own,
            *options,
        ]
        done = subprocess.run(
            [*command, *own, "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)],
            cwd=ROOT,
            env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr

    return run


def test_each_test_is_reported_once_with_its_output(lanes):
    output = lanes("--lanes", "2", "-v", first=FIRST, second=SECOND)
    assert "1 failed, 6 passed, 1 skipped, 1 warning in " in output
    assert len(re.findall(r"test_second.py::test_\d PASSED", output, re.MULTILINE)) == 5
    assert "E       assert (1 + 1) == 3" in output
    assert "said before" in output
    assert "DeprecationWarning: is reported" in output


@pytest.mark.slow
def test_a_single_lane_gives_the_same_reports(lanes):
    in_lanes, in_a_row = (lanes("--lanes", lane, "-q", "-rA", first=FIRST, second=SECOND) for lane in "21")
    lines = [sorted(re.findall(r"^(?:PASSED|FAILED|SKIPPED).*", each, re.MULTILINE)) for each in (in_lanes, in_a_row)]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 8


MEETS = """
def test_{0}():
    Path("lane-" + str(os.getpid())).touch()
    while len(list(Path().glob("lane-*"))) < 2:
        time.sleep(0.01)
"""


def test_tests_that_share_nothing_of_their_file_go_to_whichever_lane_is_free(lanes):
    """Each test waits for another lane: in a single lane they would hang."""
    head = "import os, time\nfrom pathlib import Path\n\nos.chdir(Path(__file__).parent)\n"
    output = lanes("--lanes", "2", alone=head + "".join(MEETS.format(number) for number in range(4)))
    assert "4 passed" in output


def test_the_first_failure_ends_all_lanes_where_that_is_asked_for(lanes):
    waiting = "import time\n\ndef test_waits():\n    time.sleep(100)\n"
    output = lanes("--lanes", "2", "-x", first=FIRST, second=waiting)
    assert "stopping after 1 failures" in output
    assert "1 failed, 1 passed" in output


def test_a_lane_that_dies_is_an_error_and_no_silence(lanes):
    output = lanes("--lanes", "2", first="import os\n\ndef test_ends_all():\n    os._exit(0)\n", second=SECOND)
    assert re.search(r"ERROR: a lane of tests died at .*first.py::test_ends_all", output)


@pytest.mark.slow
def test_a_lane_that_hangs_is_ended_with_its_stack(lanes):
    hanging = "import time\n\ndef test_hangs():\n    time.sleep(100)\n"
    output = lanes("--lanes", "2", "--longest", "3", first=hanging, second=SECOND)
    assert re.search(r"ERROR: a lane of tests hangs at .*first.py::test_hangs", output)
    assert 'test_first.py", line 4 in test_hangs' in output


@pytest.mark.slow
def test_shares_hold_each_test_once_and_what_shares_a_fixture_or_a_subject_in_one(lanes):
    text = "import pytest\n\n@pytest.mark.parametrize('host', 'abcdef')\ndef test_one(host):\n    pass\n\n"
    text += "@pytest.mark.parametrize('host', 'abcdef')\ndef test_two(host):\n    pass\n"
    output = [lanes("--lanes", "1", "-v", "--share", f"{share}/3", first=FIRST, hosts=text) for share in range(3)]
    ran = [set(re.findall(r"(\w+\.py::\w+(?:\[\w\])?) [PFS]", each)) for each in output]
    assert sum(map(len, ran)) == len(set().union(*ran)) == 15
    assert max(map(len, ran)) < 15
    for tests in ran:
        assert {test[-3:] for test in tests if "test_one[" in test} == {test[-3:] for test in tests if "_two[" in test}
        assert ("first.py::test_passes" in str(tests)) == ("first.py::test_fails" in str(tests))


@pytest.mark.slow
def test_a_change_adds_the_tests_that_cover_it_after_the_share(lanes, tmp_path):
    def git(*arguments: str) -> None:
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    for name in ("grader/checks/compare.py", "solutions/exercise_04/exercise.yaml", "tests/support/judging.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "tests/support/judging.py").write_text("from grader.checks import compare\n", encoding="utf-8")
    files = {
        "imports": "def test_it():\n    from grader.checks.compare import compare\n",
        "supported": "def test_it():\n    from tests.support.judging import Judge\n",
        "elsewhere": "def test_it():\n    from grader.report import terminal\n",
        "exercises": "import pytest\n\n@pytest.mark.parametrize('exercise_id', ['exercise_04', 'exercise_05'])\n"
        "def test_it(exercise_id):\n    pass\n",
    }
    lanes("--collect-only", **files)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Begin")
    (tmp_path / "grader/checks/compare.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "solutions/exercise_04/exercise.yaml").write_text("x: 1\n", encoding="utf-8")
    touching = ("--lanes", "2", "--touched", "HEAD", "-v")
    output = [lanes(*touching, "--share", f"{share}/5", **files) for share in range(5)]
    covering = {"test_imports.py::test_it", "test_supported.py::test_it", "test_exercises.py::test_it[exercise_04]"}
    others = {"test_elsewhere.py::test_it", "test_exercises.py::test_it[exercise_05]"}
    ran = [set(re.findall(r"(\w+\.py::\S+) PASSED", each)) for each in output]
    assert all(covering <= each for each in ran)
    assert sorted(test for each in ran for test in each - covering) == sorted(others)
    late = [lanes(*touching, "-rs", "--seconds=-1", "--share", f"{share}/5", **files) for share in range(5)]
    assert sorted(test for each in late for test in re.findall(r"(\w+\.py::\S+) PASSED", each)) == sorted(
        covering | others
    )
    assert "is used up" in "".join(late)
