"""One source of workers for all tests of traps."""

from collections.abc import Iterator

import pytest

from grader.spec.paths import Course
from tests.support.traps import Traps


@pytest.fixture(scope="session")
def traps(course: Course) -> Iterator[Traps]:
    judge = Traps(course)
    yield judge
    judge.source.close()
