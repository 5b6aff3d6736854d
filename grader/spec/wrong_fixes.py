"""The wrong fixes of an exercise: files that are nearly right, and must not pass.

They are stored as changed fragments of the reference or the starter; tests/README.md describes the format.
"""

from enum import StrEnum
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct, field

from grader.errors import SpecError
from grader.spec.fragments import replace_fragment
from grader.spec.paths import Course


class Base(StrEnum):
    """The text in which the fragments are replaced."""

    REFERENCE = "reference"
    STARTER = "starter"
    FILE = "file"
    """A whole file, `exercise_NN/<name>.py` beside the YAML file: for a submission that is written differently."""


class Edit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fragment that occurs once in the text, and its replacement."""

    was: str
    becomes: str


class Expectation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the verdict must report: ids of defects by status, and ids of checks."""

    fixed: list[str] = []
    present: list[str] = []
    unknown: list[str] = []
    unfixed: list[str] = []
    """Defects that are present or unknown."""
    broken: list[str] | None = None
    """Checks that are regressions; there may be others, but an empty list means that there is none."""
    extra_only: bool = False
    """Whether only extra points are lost."""


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A wrong fix as the YAML file describes it."""

    name: str
    why: str
    base: Base = field(name="from")
    edits: list[Edit] = []
    expect: Expectation = Expectation()


class WrongFix(Struct, frozen=True, kw_only=True):
    """A wrong fix with its full text."""

    name: str
    text: str
    expect: Expectation


def path_of(course: Course, exercise_id: str) -> Path:
    """Return the YAML file of an exercise's wrong fixes."""
    return course.root / "tests" / "corpus" / "wrong_fixes" / f"{exercise_id}.yaml"


def load_wrong_fixes(course: Course, exercise_id: str) -> list[WrongFix]:
    """Return an exercise's wrong fixes, in the order of the file; none if there is no file.

    Raise `SpecError` if an entry has a wrong key, or a fragment that does not occur exactly once.
    """
    path = path_of(course, exercise_id)
    if not path.exists():
        return []
    try:
        entries = msgspec.convert(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader), list[Entry])
        return [_apply(entry, course, exercise_id) for entry in entries]
    except (yaml.YAMLError, msgspec.ValidationError, SpecError) as error:
        raise SpecError([f"{path.name}: {error}"]) from error


def _apply(entry: Entry, course: Course, exercise_id: str) -> WrongFix:
    files = {
        Base.REFERENCE: course.reference(exercise_id),
        Base.STARTER: course.pristine(course.editable_files(exercise_id)[0]),
        Base.FILE: path_of(course, exercise_id).with_suffix("") / f"{entry.name}.py",
    }
    text = files[entry.base].read_text(encoding="utf-8")
    for edit in entry.edits:
        text = replace_fragment(text, edit.was, edit.becomes, f"wrong fix {entry.name}")
    return WrongFix(name=entry.name, text=text, expect=entry.expect)
