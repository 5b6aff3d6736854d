"""The first five minutes: one tiny hunt, in a small course of its own inside the student's `.grader/`."""

import json
from dataclasses import dataclass
from pathlib import Path

from grader.spec.files import write_product
from grader.spec.paths import USUAL_MODULE, Course
from grader.student.notebook_file import notebook_content

FIRST_HUNT = "exercise_00"
TEMPLATES = Path(__file__).parent / "templates" / "first_hunt"


@dataclass(frozen=True, kw_only=True)
class PracticeCourse(Course):
    """The course of the tiny hunt. Commands run in `home`, so paths are shown from there."""

    home: Course

    def shown(self, path: Path) -> str:
        """Return a path as pages show it."""
        return self.home.shown(path)


def practice_course(home: Course) -> PracticeCourse:
    """Return the course of the tiny hunt. Write its files, except what the student has already."""
    course = PracticeCourse(root=home.state_folder() / "start", home=home)
    folder = course.exercise_folder(FIRST_HUNT)
    solutions = course.root / "solutions" / FIRST_HUNT
    for path, template in (
        (solutions / "exercise.yaml", "exercise.yaml"),
        (solutions / USUAL_MODULE, USUAL_MODULE),
        (folder / "README.md", "README.md"),
    ):
        _write(path, (TEMPLATES / f"{template}.j2").read_bytes())
    starter = (TEMPLATES / "starter.py.j2").read_text(encoding="utf-8")
    for path, content in zip(course.editable_files(FIRST_HUNT), (starter, _notebook(starter)), strict=True):
        _write(course.pristine(path), content.encode())
        if not path.exists():
            write_product(path, content.encode())
    return course


def _notebook(source: str) -> str:
    """Return a notebook with one cell."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "code",
        "metadata": {},
        "outputs": [],
        "source": source,
    }
    return json.dumps(notebook_content([cell]), indent=1) + "\n"


def _write(path: Path, content: bytes) -> None:
    """Write a file of the kit's own, unless it has this content."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_product(path, content)
