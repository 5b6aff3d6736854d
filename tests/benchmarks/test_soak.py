"""A hundred and fifty hostile submissions in a row leave nothing behind.

`python -m tests.benchmarks.soak` judges ten thousand.
"""

import sys

import pytest

from tests.benchmarks.soak import Look, _grown, soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc, which only Linux has")

BEFORE = Look(50, 6, 70, 0, 900.0, 1500.0, 0)


@pytest.mark.slow
def test_a_row_of_hostile_submissions_leaves_no_process_descriptor_file_or_memory():
    lines: list[str] = []
    assert soak(150, lines.append) == [], lines
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (Look(150, 7, 70, 0, 900.0, 1500.0, 0), "processes grew from 6 to 7"),
        (Look(150, 6, 71, 0, 900.0, 1500.0, 0), "descriptors grew from 70 to 71"),
        (Look(150, 6, 70, 1, 900.0, 1500.0, 0), "files grew from 0 to 1"),
        (Look(150, 6, 70, 0, 950.0, 1500.0, 0), "examiners_mb grew from 900 to 950"),
        (Look(150, 6, 70, 0, 900.0, 1600.0, 0), "workers_mb grew from 1500 to 1600"),
        (Look(150, 6, 70, 0, 900.0, 1500.0, 1), "restarts grew from 0 to 1"),
    ],
)
def test_whatever_grows_is_named(after, told):
    assert _grown([BEFORE, BEFORE]) == []
    assert _grown([BEFORE, after]) == [told]
    assert _grown([BEFORE, *[after] * 3, BEFORE]) == []
