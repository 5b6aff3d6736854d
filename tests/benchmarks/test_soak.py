"""A hundred and fifty hostile submissions in a row leave nothing behind.

`python -m tests.benchmarks.soak` judges ten thousand.
"""

import sys

import pytest
from msgspec import structs

from tests.benchmarks.soak import Look, _grown, soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc, which only Linux has")

BEFORE = Look(judged=50, processes=6, descriptors=70, files=0, examiners_mb=900.0, workers_mb=1500.0, restarts=0)


@pytest.mark.slow
def test_a_row_of_hostile_submissions_leaves_no_process_descriptor_file_or_memory():
    lines: list[str] = []
    assert soak(150, lines.append) == [], lines
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("grown", "told"),
    [
        ({"processes": 7}, "processes grew from 6 to 7"),
        ({"descriptors": 71}, "descriptors grew from 70 to 71"),
        ({"files": 1}, "files grew from 0 to 1"),
        ({"examiners_mb": 950.0}, "examiners_mb grew from 900 to 950"),
        ({"workers_mb": 1600.0}, "workers_mb grew from 1500 to 1600"),
        ({"restarts": 1}, "restarts grew from 0 to 1"),
    ],
)
def test_whatever_grows_is_named(grown, told):
    after = structs.replace(BEFORE, judged=150, **grown)
    assert _grown([BEFORE, BEFORE]) == []
    assert _grown([BEFORE, after]) == [told]
    assert _grown([BEFORE, *[after] * 3, BEFORE]) == []
