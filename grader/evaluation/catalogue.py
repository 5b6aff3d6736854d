"""List a course's hunts as data for a model: everything that a student may read, and nothing that spoils a hunt."""

import uuid
from pathlib import Path

from msgspec import Struct

from grader.api import open_course
from grader.spec.exercise import Announcement, Exercise, Source
from grader.spec.kinds import KindName
from grader.spec.loading import load_exercise
from grader.spec.paths import Course

CANARIES = uuid.UUID("3b0c2f6e-51f2-5d0c-8a53-6e0d5a4a7f19")
"""The namespace of the canaries. It never changes, so that a canary names one hunt in every version of the course."""

NO_LICENSE = "The licence of this source is not recorded. Look it up at the source before you redistribute the starter."


class Hunt(Struct, frozen=True, kw_only=True):
    """A hunt as a model may see it: no reference, and no name of a defect."""

    id: str
    """The exercise's id, such as `exercise_03`."""
    title: str
    kind: KindName
    """The kind of code that a submission defines, such as a module or an optimizer; `KindName` lists all kinds."""
    entry: str
    """The name of the class or function that a submission must define."""
    theme: str
    difficulty: int
    """From 1, a first hunt, to 5."""
    prompt: str
    """The story and the interface that a fix must keep, as Markdown."""
    starter: str
    """The text of the defective module."""
    file_name: str
    """The name of the module, such as `attention.py`."""
    counted_defects: int | None
    """How many defects count for the score; None if the exercise does not announce the number."""
    max_score: float
    source: str
    """The public document that the code comes from."""
    source_url: str
    """Its address; empty if none is known."""
    license_note: str
    """The works that the starter is adapted from, each with its licence. The prompt is the course's own."""
    canary: str
    """A text that no other hunt has. Publish it with the hunt, and remove documents with it from training data."""


def exercises(*, course: str | Path | None = None) -> list[Hunt]:
    """Return the hunts of a course, in the order of their numbers; the default course is that of `grade`."""
    found = open_course(course)
    return [hunt_of(found, exercise_id) for exercise_id in found.exercise_ids()]


def hunt_of(course: Course, exercise_id: str) -> Hunt:
    """Return one hunt; raise `UsageError` if there is none of this id."""
    course.require(exercise_id)
    exercise = load_exercise(course.description(exercise_id))
    file_name = course.module_name(exercise_id)
    return Hunt(
        id=exercise_id,
        title=exercise.title,
        kind=exercise.interface.kind_name,
        entry=exercise.interface.entry(),
        theme=exercise.theme,
        difficulty=exercise.difficulty,
        prompt=course.story(exercise_id).strip() + "\n",
        starter=(course.starters(exercise_id) / file_name).read_text(encoding="utf-8"),
        file_name=file_name,
        counted_defects=_counted_defects(exercise),
        max_score=exercise.max_score(),
        source=exercise.source.title,
        source_url=exercise.source.url,
        license_note=license_note(exercise.source),
        canary=canary_of(exercise),
    )


def license_note(source: Source) -> str:
    """Return the works that the code is adapted from, each with its licence."""
    works = "; ".join(f"{each.work}, licence {each.license}" for each in source.adapted_from)
    return f"Adapted from {works}." if works else NO_LICENSE


def canary_of(exercise: Exercise) -> str:
    """Return the text that identifies copies of a hunt; hunts with the same id and title share it."""
    return f"grader hunt canary {uuid.uuid5(CANARIES, f'{exercise.id} {exercise.title}')}"


def _counted_defects(exercise: Exercise) -> int | None:
    if exercise.announces is not Announcement.COUNT:
        return None
    described = exercise.with_placeholders().defects
    return sum(1 for defect in described if not defect.stretch)
