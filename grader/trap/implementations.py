"""The implementations on which a trap runs: right ones, each subset of the defects, and half-fixed ones."""

import hashlib
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.spec.fragments import make_variant
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.wrong_fixes import load_wrong_fixes, path_of
from grader.submission import Submission, read_submission, submission_from_text
from grader.verdict.digest import exercise_digest, files_digest, kit_digest

MAX_HALF_MENDED = 6
"""The most half-fixed implementations on which a trap runs, so that a trap stays fast."""

MAX_WRONG_FIXES = 8
"""The most wrong fixes of a decoy on which a trap runs, for the same reason."""


class Role(StrEnum):
    """What an implementation is for."""

    RIGHT = "right"
    DEFECTIVE = "defective"
    """One defect alone; for a decoy, a wrong fix."""
    COMBINED = "combined"
    """Several defects together."""
    HALF_MENDED = "half-mended"


class Implementation(Struct, frozen=True, kw_only=True):
    """One implementation: its role and number, the defects that it has, and its source."""

    role: Role
    number: int
    source: Submission
    defects: frozenset[int] = frozenset()
    """The numbers of the defects, as students know them."""


def implementations_of(course: Course, exercise: Exercise, *, has_every_wrong_fix: bool) -> list[Implementation]:
    """Return the implementations of an exercise, the reference first.

    Unless `has_every_wrong_fix`, there are at most `MAX_WRONG_FIXES` of a decoy, taken from the list at equal steps.
    """
    name = course.module_name(exercise.id)
    reference = course.reference_text(exercise.id)
    numbers = exercise.numbers()
    found = [_right(1, submission_from_text(reference, name))]
    for path in sorted(course.alternatives(exercise.id).glob("*.py")):
        source = read_submission(path, name)
        if isinstance(source, Submission):
            found.append(_right(len(found) + 1, source))
    for count, subset in enumerate(exercise.subsets()):
        if subset:
            found.append(
                Implementation(
                    role=Role.DEFECTIVE if len(subset) == 1 else Role.COMBINED,
                    number=numbers[next(iter(subset))] if len(subset) == 1 else count,
                    source=submission_from_text(make_variant(reference, exercise, subset), name),
                    defects=frozenset(numbers[defect] for defect in subset),
                )
            )
    fixes = load_wrong_fixes(course, exercise.id)
    role = Role.HALF_MENDED if exercise.defects else Role.DEFECTIVE
    if role is Role.HALF_MENDED:
        fixes = fixes[:MAX_HALF_MENDED]
    elif not has_every_wrong_fix and len(fixes) > MAX_WRONG_FIXES:
        fixes = [fixes[place * len(fixes) // MAX_WRONG_FIXES] for place in range(MAX_WRONG_FIXES)]
    for number, fix in enumerate(fixes, 1):
        own = frozenset({number}) if role is Role.DEFECTIVE else frozenset()
        source = submission_from_text(fix.text, name)
        found.append(Implementation(role=role, number=number, source=source, defects=own))
    return found


class Home(Struct, frozen=True, kw_only=True):
    """The substitutes for references in a sealed edition."""

    own: Submission
    """The student's own fix, which is taken to be right."""
    earlier: tuple[Submission, ...] = ()
    """Earlier states of the student's file in which some check failed, the newest first."""


def implementations_at_home(course: Course, exercise: Exercise, home: Home) -> list[Implementation]:
    """Return the implementations in a sealed edition: the student's own fix, the starter, and some earlier states."""
    module, _ = course.editable_files(exercise.id)
    starter = read_submission(course.pristine(module), module.name)
    if not isinstance(starter, Submission):
        raise UsageError(f"{course.shown(module)}: {starter.reason}")
    combined = Implementation(role=Role.COMBINED, number=1, source=starter)
    earlier = [
        Implementation(role=Role.HALF_MENDED, number=number, source=source)
        for number, source in enumerate(home.earlier[:MAX_HALF_MENDED], 1)
    ]
    return [_right(1, home.own), combined, *earlier]


def files_for_traps(course: Course, exercise_id: str) -> list[Path]:
    """Return the files of alternatives and wrong fixes on which traps run."""
    wrong_fixes = path_of(course, exercise_id)
    files = [*course.alternatives(exercise_id).glob("*.py"), *wrong_fixes.with_suffix("").glob("*.py")]
    return sorted([*files, wrong_fixes] if wrong_fixes.is_file() else files)


def trap_digest(course: Course, exercise_id: str) -> str:
    """Digest the exercise, the implementations, this room's code and the deadlines: everything that traps depend on."""
    files = files_for_traps(course, exercise_id)
    parts = (
        exercise_digest(course, exercise_id),
        str(load_exercise(course.description(exercise_id)).numbers()),
        files_digest(course, f"trap_{exercise_id}", files),
        kit_digest(course, "traps", ("trap", "processes/deadlines.py")),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _right(number: int, source: Submission) -> Implementation:
    return Implementation(role=Role.RIGHT, number=number, source=source)
