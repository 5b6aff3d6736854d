"""Verdict -> what a notebook shows: an object to look at and to ask, as text and as static HTML."""

from msgspec import Struct

from grader.course.records import Exercise
from grader.report.html import render_section
from grader.report.json import full_text
from grader.report.terminal import render_terminal
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import told_causes
from grader.verdict.verdict import Verdict


class ShownDefect(Struct, frozen=True):
    """A defect as students may know it: a number and points; its name once it is fixed."""

    number: int
    status: str
    points: float
    max_points: float
    name: str = ""


class NotebookVerdict:
    """A verdict that shows itself, and has `outcome`, `score`, `max_score`, `defects` and `findings` to ask for."""

    def __init__(self, verdict: Verdict, exercise: Exercise) -> None:
        self._verdict = verdict
        self._exercise = exercise
        self.outcome = str(verdict.outcome)
        self.score = verdict.score
        self.max_score = verdict.max_score

    @property
    def defects(self) -> list[ShownDefect]:
        """In the order of their numbers."""
        titles = {defect.id: defect.title for defect in self._exercise.defects}
        numbers = self._exercise.numbers()
        shown = [
            ShownDefect(
                numbers[each.id],
                str(each.status),
                each.points,
                each.max_points,
                titles.get(each.id, "") if each.status is DefectStatus.FIXED else "",
            )
            for each in self._verdict.defects
        ]
        return sorted(shown, key=lambda each: each.number)

    @property
    def findings(self) -> list[str]:
        """What the checks that did not pass saw, one line each; of a crash that hides the rest, that alone."""
        told = {check for cause in told_causes(self._verdict) for check in cause.checks}
        return [full_text(each.finding) for each in self._verdict.checks if each.finding and each.check in told]

    def __repr__(self) -> str:
        return render_terminal(self._verdict, self._exercise).rstrip("\n")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython's
        return {"text/plain": repr(self), "text/html": render_section(self._verdict, self._exercise)}
