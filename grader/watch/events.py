"""What a watch tells, for whoever shows it."""

from msgspec import Struct

from grader.exercise import Exercise
from grader.verdict import Verdict
from grader.watch.change import Change


class Following(Struct, frozen=True):
    """From now on this exercise is followed; its file is a path in the course."""

    exercise: Exercise
    file: str
    is_next: bool


class Judged(Struct, frozen=True):
    """A verdict on what was saved last, at a time of day; brief where no save asked for it, again if told before."""

    exercise: Exercise
    verdict: Verdict
    change: Change | None
    remark: str
    at: str
    is_brief: bool = False
    is_again: bool = False


class Said(Struct, frozen=True):
    """A hint, a diff, or what keeps the kit from giving a verdict."""

    text: str


class Finished(Struct, frozen=True):
    """Every exercise is fixed."""


Event = Following | Judged | Said | Finished
