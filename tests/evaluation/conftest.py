"""Environments judge in threads, which must end before later tests fork nurseries."""

from collections.abc import Iterator

import pytest

from grader.evaluation.guided import inquiry
from tests.support.api import end_examiners_and_threads


@pytest.fixture(autouse=True, scope="module")
def _examiners_and_threads_end_with_each_module() -> Iterator[None]:
    yield
    inquiry.close()
    end_examiners_and_threads()
