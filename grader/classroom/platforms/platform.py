"""Capabilities of course platforms: export a class's submissions, import grades or feedback, run an autograder.

A platform is one class. Its base classes are its capabilities: `PlatformLayout`, `Autograder`, and `ClassExport` or
`VerdictExport`.
"""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from jinja2 import Environment
from msgspec import Struct

from grader.classroom.gradebook.class_records import GradeRow
from grader.classroom.layouts.units import Layout
from grader.report.rendering import text_templates
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.verdict.verdict import Verdict


class Platform:
    """A course platform, or another way of exchanging the work of a class."""

    name: ClassVar[str]


class PlatformLayout(Platform, Layout):
    """A platform whose folder of submissions the kit recognizes by the names in it."""

    rank: ClassVar[int]
    """If two layouts fit a folder equally well, the one with the lower rank counts. Messages list them by rank."""
    is_class_export: ClassVar[bool] = False
    """Whether the platform exports the submissions of a whole class as one folder or archive."""

    @abstractmethod
    def count(self, root: Path, names: list[str]) -> int:
        """Return how many of the names in the root fit this layout."""

    def is_shown_by_landmark(self, root: Path, names: list[str]) -> bool:
        """Return whether a name in the root shows the layout although most names do not fit it."""
        return False

    def is_part(self, folder: Path, inside: list[str]) -> bool:
        """Return whether a folder with this content is one part of the layout, such as one student's."""
        return False

    def folder_of_students(self, names: list[str]) -> str:
        """Return the name of the folder that contains all students' folders; empty if it is not among these names."""
        return ""

    def feedback_path(self, grade: GradeRow) -> Path | None:
        """Return the path at which the platform accepts feedback, without suffix; None if it accepts none."""
        return None


class Package(Struct, frozen=True, kw_only=True):
    """The values from which a platform's own files in an autograder package are made."""

    course: Course
    exercise: Exercise
    story: str


class Autograder(Platform):
    """A platform that grades each submission with a package of the kit.

    The files of the package are made from the templates in the platform's folder.
    """

    kit_folder: ClassVar[str] = "."
    """The folder of the package that contains the kit and the course."""

    def templates(self) -> Environment:
        """Return the templates of the package's files. A template has the path of its file, and the suffix `.j2`.

        `README.md.j2` is required: its text tells instructors how to use the package. `author/autograder.py` passes
        the values that every template may use, such as `exercise` and `seconds`.
        """
        return text_templates(type(self).__module__)

    def template_values(self, package: Package) -> dict[str, object]:
        """Return the values that only this platform's templates use."""
        return {}

    def extra_files(self, package: Package) -> dict[Path, bytes]:
        """Return the files of the package that are more than a rendered template."""
        return {}

    @abstractmethod
    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        """Return the results that the platform reads, by file name; the name is empty for the main file.

        `remark` says which of two files was graded, and has the page of the student's trap.
        """
