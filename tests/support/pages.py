"""The pages of a verdict, as tests ask for them."""

from collections.abc import Sequence

from grader.report.html import render_report, render_section
from grader.report.phrases import Shell
from grader.report.progress import Attempt, Progress
from grader.report.terminal import SCREEN_LINES, Screen, render_terminal
from grader.report.view import ON_SCREEN, view_of
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict


def terminal_page(
    verdict: Verdict,
    exercise: Exercise,
    progress: Progress = Progress(),  # noqa: B008 - it is frozen
    *,
    width: int = 100,
    height: int = SCREEN_LINES,
    color: bool = False,
    names: bool = False,
) -> str:
    view = view_of(verdict, exercise, progress, names=names, limits=ON_SCREEN)
    return render_terminal(view, Screen(width=width, height=height, color=color))


def report_page(verdict: Verdict, exercise: Exercise, attempts: Sequence[Attempt] = ()) -> str:
    return render_report(view_of(verdict, exercise, Progress(attempts=list(attempts))))


def notebook_section(verdict: Verdict, exercise: Exercise) -> str:
    return render_section(view_of(verdict, exercise, shell=Shell.NOTEBOOK))
