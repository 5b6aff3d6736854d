"""Wrong fixes: what a student may write in place of a fix, stored as changed fragments of the reference or starter."""

from enum import StrEnum

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
    broken: list[str] = []
    """Checks that are regressions; there may be others."""
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


def load_wrong_fixes(course: Course, exercise_id: str) -> list[WrongFix]:
    """Return an exercise's wrong fixes, in the order of its file; none where there is no file.

    Raises `SpecError` where an entry has a wrong key or a fragment that does not occur once.
    """
    path = course.wrong_fixes(exercise_id)
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
        Base.FILE: course.wrong_fixes(exercise_id).with_suffix("") / f"{entry.name}.py",
    }
    text = files[entry.base].read_text(encoding="utf-8")
    for edit in entry.edits:
        text = replace_fragment(text, edit.was, edit.becomes, f"wrong fix {entry.name}")
    return WrongFix(name=entry.name, text=text, expect=entry.expect)
