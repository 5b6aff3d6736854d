"""What a verdict depends on besides its submission: the kit, torch and the exercise, each as it is now."""

import hashlib
from functools import cache, partial
from importlib import metadata
from pathlib import Path

from grader.course import Course
from grader.gradebook import Versions

WITHOUT_SAY = {
    *("author", "batch", "gradebook", "report", "watch"),
    *("__init__", "__main__", "cli", "console", "doctor", "interface", "progress", "workbench"),
}
"""The parts of the kit that no verdict depends on."""

DIGEST_LENGTH = 12


def versions(course: Course, exercise_id: str) -> Versions:
    """The versions in force for an exercise."""
    return Versions(_kit(), metadata.version("torch"), _digest(course.judged_by(exercise_id), course.root))


class Watchword:
    """Changes with an exercise's files, at the cost of a look at their names, sizes and times."""

    def __init__(self, course: Course, exercise_id: str) -> None:
        self._look = partial(course.stamps, exercise_id)
        self._seen = self._look()

    def has_changed(self) -> bool:
        """Whether a file was changed, added or taken away since this was made."""
        return self._look() != self._seen


@cache
def _kit() -> str:
    """The package's version and a digest of its sources."""
    kit = Path(__file__).resolve().parent.parent
    files = [path for path in sorted(kit.rglob("*.py")) if _has_say(path.relative_to(kit))]
    return f"{metadata.version('grader')}+{_digest(files, kit)}"


def _has_say(path: Path) -> bool:
    return path.parts[0].removesuffix(".py") not in WITHOUT_SAY


def _digest(files: list[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:DIGEST_LENGTH]
