"""Keep what a server in this process changes from the tests after it."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _import_hooks_restored() -> Iterator[None]:
    """Remove the import hook that a server installs for its submission."""
    before = sys.meta_path[:]
    yield
    sys.meta_path[:] = before
