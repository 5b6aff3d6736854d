"""A copy of an exercise whose outputs are described as its reference returns them, for the proof to go on with."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from grader.author.output_shapes import Correction
from grader.spec.files import write_product
from grader.spec.paths import Course


def correct(text: str, correction: Correction) -> str:
    """Return a description with the corrected outputs, and sizes if there are any."""
    description, corrected = yaml.safe_load(text), yaml.safe_load(f"interface:\n{correction.text()}")
    description["interface"] |= corrected.pop("interface")
    return yaml.safe_dump({**description, **corrected}, sort_keys=False)


@contextmanager
def corrected_copy(course: Course, exercise_id: str, correction: Correction) -> Iterator[Course]:
    """Yield a temporary course with a copy of the exercise alone, with a corrected description."""
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        copy = Course(root=Path(folder))
        described = course.description(exercise_id).parent
        for part in (course.exercise_folder(exercise_id), described, course.hidden_tests(exercise_id)):
            if part.is_dir():
                shutil.copytree(part, copy.root / part.relative_to(course.root))
        path = copy.description(exercise_id)
        write_product(path, correct(path.read_text(encoding="utf-8"), correction).encode())
        yield copy
