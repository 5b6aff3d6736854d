"""A peer: the tests of a teacher who uses only pytest. `GRADED` names the submission, its exercise and a seed.

The module is imported by its path into pytest's own process, and the kit's checks run on it there, one test for each.
`tests/benchmarks/batch.py` starts it once for each submission; nothing collects it otherwise.
"""

import os
from pathlib import Path

import pytest

from grader.spec.paths import Course
from tests.benchmarks.local import Hunt

COURSE, PATH, EXERCISE, SEED = os.environ["GRADED"].split(os.pathsep)
HUNT = Hunt(Course(root=Path(COURSE)), EXERCISE, int(SEED))


@pytest.fixture(scope="module")
def context():
    return HUNT.context(Path(PATH).read_text(encoding="utf-8"))


@pytest.mark.parametrize("check", HUNT.checks)
def test_check(check, context):
    HUNT.checks[check](context)
