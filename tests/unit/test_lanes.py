"""Tests that run in lanes are told of as those that run one after the other are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="lanes are forks")

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
    warnings.warn(DeprecationWarning("is told"))
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
        own = ["--basetemp", str(tmp_path_factory.mktemp("inner"))]  # else it clears away what other runs left
        command = [
            sys.executable,
            "-m",
            "pytest",
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


def test_what_became_of_each_test_is_told_once_and_what_it_said(lanes):
    told = lanes("--lanes", "2", "-v", first=FIRST, second=SECOND)
    assert "1 failed, 6 passed, 1 skipped, 1 warning in " in told
    assert len(re.findall(r"test_second.py::test_\d PASSED", told, re.MULTILINE)) == 5
    assert "E       assert (1 + 1) == 3" in told
    assert "said before" in told
    assert "DeprecationWarning: is told" in told


def test_one_after_the_other_gives_the_same(lanes):
    in_lanes, in_a_row = (lanes("--lanes", lane, "-q", "-rA", first=FIRST, second=SECOND) for lane in "21")
    told = [sorted(re.findall(r"^(?:PASSED|FAILED|SKIPPED).*", each, re.MULTILINE)) for each in (in_lanes, in_a_row)]
    assert told[0] == told[1]
    assert len(told[0]) == 8


def test_tests_that_share_nothing_of_their_file_go_to_whichever_lane_is_free(lanes):
    waits = "def test_{0}():\n    time.sleep(0.3)\n    print('ran in', os.getpid())\n\n"
    text = "import os, time\n\n" + "".join(waits.format(number) for number in range(4))
    told = lanes("--lanes", "2", "-rP", alone=text)
    assert "4 passed" in told
    assert len(set(re.findall(r"ran in (\d+)", told))) == 2


def test_the_first_failure_ends_all_lanes_where_that_is_asked_for(lanes):
    waiting = "import time\n\ndef test_waits():\n    time.sleep(100)\n"
    told = lanes("--lanes", "2", "-x", first=FIRST, second=waiting)
    assert "stopping after 1 failures" in told
    assert "1 failed, 1 passed" in told


def test_a_lane_that_dies_is_an_error_and_no_silence(lanes):
    told = lanes("--lanes", "2", first="import os\n\ndef test_ends_all():\n    os._exit(0)\n", second=SECOND)
    assert re.search(r"ERROR: a lane of tests died at .*first.py::test_ends_all", told)


def test_shares_hold_each_test_once_and_what_shares_a_fixture_or_a_subject_in_one(lanes):
    text = "import pytest\n\n@pytest.mark.parametrize('host', 'abcdef')\ndef test_one(host):\n    pass\n\n"
    text += "@pytest.mark.parametrize('host', 'abcdef')\ndef test_two(host):\n    pass\n"
    told = [lanes("--lanes", "1", "-v", "--share", f"{share}/3", first=FIRST, hosts=text) for share in range(3)]
    ran = [set(re.findall(r"(\w+\.py::\w+(?:\[\w\])?) [PFS]", each)) for each in told]
    assert sum(map(len, ran)) == len(set().union(*ran)) == 15
    assert max(map(len, ran)) < 15
    for tests in ran:
        assert {test[-3:] for test in tests if "test_one[" in test} == {test[-3:] for test in tests if "_two[" in test}
        assert ("first.py::test_passes" in str(tests)) == ("first.py::test_fails" in str(tests))
