"""The peer: what a teacher writes who has pytest and no more. `GRADED` names the submission, its exercise and a seed.

The module is imported by its path into pytest's own process, and the kit's checks run on it there, one test for each.
`tests/benchmark_batch.py` starts it once for each submission; nothing collects it otherwise.
"""

import os
from pathlib import Path

import pytest
from benchmark_local import Hunt

from grader.course import Course

COURSE, PATH, EXERCISE, SEED = os.environ["GRADED"].split(os.pathsep)
HUNT = Hunt(Course(Path(COURSE)), EXERCISE, int(SEED))


@pytest.fixture(scope="module")
def bench():
    return HUNT.bench(Path(PATH).read_text(encoding="utf-8"))


@pytest.mark.parametrize("check", HUNT.checks)
def test_check(check, bench):
    HUNT.checks[check](bench)
