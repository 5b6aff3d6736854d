"""The wrong fixes of the corpus, and the comparison of their verdicts with their entries.

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
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


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


def wrong_fix(course: Course, exercise_id: str, name: str) -> str:
    """Return the text of one wrong fix."""
    return next(fix.text for fix in load_wrong_fixes(course, exercise_id) if fix.name == name)


def expected_statuses(expect: Expectation) -> dict[str, set[DefectStatus]]:
    """Map each defect that the expectation names to its allowed statuses."""
    named = [
        (expect.fixed, {DefectStatus.FIXED}),
        (expect.present, {DefectStatus.PRESENT}),
        (expect.unknown, {DefectStatus.UNKNOWN}),
        (expect.unfixed, {DefectStatus.PRESENT, DefectStatus.UNKNOWN}),
    ]
    return {defect: statuses for defects, statuses in named for defect in defects}


def is_refused(verdict: Verdict, expect: Expectation) -> bool:
    """Return whether the verdict finds a fault and, unless only extra points are lost, refuses full marks."""
    if {defect.status for defect in verdict.defects} == {DefectStatus.FIXED} and not verdict.regressions:
        return False
    return expect.extra_only or (verdict.outcome is Result.NOT_FIXED and verdict.score < verdict.max_score)


def differences(verdict: Verdict, expect: Expectation) -> list[str]:
    """Return a sentence for each way in which the verdict differs from the expectation."""
    statuses = {defect.id: defect.status for defect in verdict.defects}
    found = []
    if not is_refused(verdict, expect):
        found.append(f"refused too little: {verdict.outcome}, {verdict.score:g} points, {verdict.reason}")
    for defect, right in expected_statuses(expect).items():
        if statuses[defect] not in right:
            found.append(f"{defect} is {statuses[defect]}, expected {' or '.join(sorted(right))}")
    if missing := {*(expect.broken or ())} - {*verdict.regressions}:
        found.append(f"{sorted(missing)} not among the regressions {verdict.regressions}")
    if expect.broken == [] and verdict.regressions:
        found.append(f"regressions {verdict.regressions}, expected none")
    return found
