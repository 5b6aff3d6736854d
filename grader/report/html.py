"""A verdict as static HTML: a section for notebooks, or a whole page. The templates escape every text.

The page has no scripts, loads nothing, and uses colour only beside words. It works in light and dark mode, with a
keyboard and with a screen reader.
"""

from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Template
from markupsafe import Markup
from msgspec import Struct

from grader.report.causes import shown_causes
from grader.report.findings import full_text
from grader.report.phrases import Shell, shown_defects
from grader.report.picture import draw
from grader.report.progress import Progress
from grader.report.rendering import page_templates
from grader.report.terminal import render_terminal
from grader.report.trap import render_trap
from grader.report.view import NO_PROGRESS, ON_PAGES, ON_SCREEN, AttemptRow, PageLimits, VerdictView, view_of
from grader.spec.exercise import Exercise
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Verdict


def render_section(view: VerdictView) -> str:
    """Return the verdict as one HTML element with its style."""
    return f"<style>\n{_style()}</style>\n{_section(view)}"


def render_report(view: VerdictView) -> str:
    """Return a page with the verdict, its checks and earlier attempts."""
    return _template("page").render(view=view, section=_section(view), style=_style(), chart=_chart(view.attempts))


def _section(view: VerdictView) -> Markup:
    return Markup(_template("section").render(view=view, draw=draw))  # noqa: S704 - escaped within


def render_trap_report(result: TrapResult, *, has_seed: bool = True) -> str:
    """Return a page with the result of a trap. `has_seed` is false if the next submissions get the same seed."""
    text = render_trap(result, has_seed=has_seed)
    return _template("trap").render(exercise=result.exercise, text=text)


CHART_HEIGHT, BAR_WIDTH, BAR_GAP, MAX_BARS = 48, 10, 4, 60
"""Sizes of the chart of attempts, in units of the SVG, and the most attempts in it."""


def _chart(attempts: Sequence[AttemptRow]) -> Markup:
    """Draw the points of the last attempts as bars; nothing if there is only one attempt."""
    shown = attempts[-MAX_BARS:]
    if len(shown) < 2:  # noqa: PLR2004 - one bar shows nothing
        return Markup("")
    bars = []
    for number, attempt in enumerate(shown):
        height = max(round(CHART_HEIGHT * attempt.share), 2)
        place = f'x="{number * (BAR_WIDTH + BAR_GAP)}" y="{CHART_HEIGHT - height}"'
        bars.append(f'<rect {place} width="{BAR_WIDTH}" height="{height}" fill="currentColor"/>')
    wide = len(shown) * (BAR_WIDTH + BAR_GAP)
    label = f"points of the last {len(shown)} attempts, from {shown[0].points} to {shown[-1].points}"
    opening = f'<svg role="img" aria-label="{label}" viewBox="0 0 {wide} {CHART_HEIGHT}" width="{wide}"'
    return Markup(f'<figure>{opening} height="{CHART_HEIGHT}">{"".join(bars)}</svg></figure>')  # noqa: S704 - our own


def _template(name: str) -> Template:
    return page_templates("grader.report").get_template(f"{name}.html.j2")


def _style() -> Markup:
    text = (files("grader.report") / "templates" / "style.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own


class ShownDefect(Struct, frozen=True, kw_only=True):
    """A defect as students may see it: a number, a status and points; its name is empty until it is fixed."""

    number: int
    status: str
    points: float
    max_points: float
    name: str = ""


class NotebookVerdict:
    """A verdict that IPython displays as HTML. Cells can use its attributes."""

    def __init__(self, verdict: Verdict, exercise: Exercise, progress: Progress = NO_PROGRESS) -> None:
        self._verdict = verdict
        self._progress = progress.without_lessons()
        self._exercise = exercise
        self.outcome = str(verdict.outcome)
        self.score = verdict.score
        self.max_score = verdict.max_score

    @property
    def defects(self) -> list[ShownDefect]:
        """Return the defects that the page lists, in the order of their numbers."""
        titles = {defect.id: defect.title for defect in self._exercise.defects}
        numbers = self._exercise.numbers()
        return [
            ShownDefect(
                number=numbers[each.id],
                status=str(each.status),
                points=each.points,
                max_points=each.max_points,
                name=titles.get(each.id, "") if each.status is DefectStatus.FIXED else "",
            )
            for each in shown_defects(self._verdict, self._exercise, self._progress.listed)
        ]

    @property
    def findings(self) -> list[str]:
        """Return one line for each failed check; if a crash hides the others, only for checks that end in it."""
        shown = {check for cause in shown_causes(self._verdict) for check in cause.checks}
        return [full_text(each.finding) for each in self._verdict.checks if each.finding and each.check in shown]

    def __repr__(self) -> str:
        return render_terminal(self._view(ON_SCREEN)).rstrip("\n")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython's
        return {"text/plain": repr(self), "text/html": render_section(self._view(ON_PAGES))}

    def _view(self, limits: PageLimits) -> VerdictView:
        return view_of(self._verdict, self._exercise, self._progress, shell=Shell.NOTEBOOK, limits=limits)
