"""Files of the corpus that a repository cannot hold: each is made by a function, under the key of its entry."""

from collections.abc import Callable
from pathlib import Path

try:
    from attack_makers_sources import MAKERS as SOURCES
except ImportError:
    SOURCES = {}

MAKERS: dict[str, Callable[[Path], None]] = {**SOURCES}
"""What writes the file at a path, by `family/name`."""
