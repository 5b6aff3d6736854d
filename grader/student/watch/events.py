"""Events of a watch: how a verdict changed, and the lines to print for it."""

from pathlib import Path

from msgspec import Struct
from rich.text import Text

from grader.checks.outcome import Status
from grader.report.console import Line, printable, printable_line, render_page
from grader.report.tables import render_hint
from grader.report.terminal import ANY_HEIGHT, render_terminal
from grader.report.view import Hint
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import named_checks
from grader.verdict.verdict import Result, Verdict


class Change(Struct, frozen=True):
    """The difference between two verdicts. Checks are listed only if no defect explains them (regressions)."""

    fixed: list[str] = []
    reopened: list[str] = []
    passing: list[str] = []
    failing: list[str] = []

    def in_words(self, exercise: Exercise) -> str:
        """Return what changed, or that nothing did, with defects by number."""
        numbers = exercise.numbers()
        told = [f"defect {numbers[defect]} is fixed" for defect in self.fixed]
        told += [f"defect {numbers[defect]} is back" for defect in self.reopened]
        told += [f"right now: {named_checks(self.passing)}"] if self.passing else []
        told += [f"wrong now: {named_checks(self.failing)}"] if self.failing else []
        return " · ".join(told) or "no change"


def compare(statuses: dict[str, DefectStatus], before: Verdict | None, verdict: Verdict) -> Change:
    """What the verdict changes of the statuses last known, and of the verdict before it where that could be graded."""
    if verdict.outcome is Result.NOT_GRADABLE:
        return Change()
    now = {defect.id: defect.status for defect in verdict.defects}
    fixed = [
        defect
        for defect, status in now.items()
        if status is DefectStatus.FIXED and statuses.get(defect, status) is not DefectStatus.FIXED
    ]
    reopened = [
        defect
        for defect, status in now.items()
        if status is DefectStatus.PRESENT and statuses.get(defect) is DefectStatus.FIXED
    ]
    if before is None:
        return Change(fixed, reopened)
    failing, failed = _unexplained(verdict), _unexplained(before)
    return Change(fixed, reopened, sorted(failed - failing), sorted(failing - failed))


def _unexplained(verdict: Verdict) -> set[str]:
    if verdict.defects:
        return set(verdict.regressions)
    return {outcome.check for outcome in verdict.checks if outcome.status is not Status.PASSED}


class FollowingEvent(Struct, frozen=True):
    """From now on this exercise is followed; its file is a path in the course."""

    exercise: Exercise
    file: str
    is_next: bool


class VerdictEvent(Struct, frozen=True):
    """A verdict on what was saved last, at a time of day; brief where no save asked for it, again if told before.

    `known` were fixed before, `first_seen` tells with which sizes the others showed.
    """

    exercise: Exercise
    verdict: Verdict
    change: Change | None
    remark: str
    at: str
    is_brief: bool = False
    is_again: bool = False
    known: frozenset[str] = frozenset()
    first_seen: dict[str, str] = {}


class WaitingEvent(Struct, frozen=True):
    """A grading takes longer than usual; `file` is the name of the file."""

    file: str


class HintEvent(Struct, frozen=True):
    """A requested hint."""

    hint: Hint


class TextEvent(Struct, frozen=True):
    """A diff, or the reason why there is no verdict."""

    text: str


class FinishedEvent(Struct, frozen=True):
    """Every exercise is fixed."""


FIRST_IS_COMING = "The first verdict is on its way."

Event = FollowingEvent | VerdictEvent | WaitingEvent | HintEvent | TextEvent | FinishedEvent


KEYS = "h hint · d diff · r report · q quit"
CLEAR = "\x1b[H\x1b[2J\x1b[3J"
"""Cursor home, then clear the screen and the scrollback."""

MOST_LINE = 1000
"""Characters of one line of a hint or a diff."""


class Screen(Struct, frozen=True):
    """How to write: columns, lines, colours, whether older verdicts are wiped away, whether keys are read.

    Where nothing is wiped away there is room for any number of lines.
    """

    width: int
    height: int
    color: bool
    clears: bool
    has_keys: bool


def render_event(event: Event, screen: Screen) -> str:
    """Return the event as text to print below the earlier output."""
    match event:
        case FollowingEvent():
            return _page(_following(event), screen)
        case VerdictEvent(is_brief=True):
            return _page([_result(event), *_keys(screen)], screen)
        case VerdictEvent():
            return _report(event, screen)
        case WaitingEvent(file):
            return _page([Text(f"Judging {printable(file)} ...", "dim")], screen)
        case HintEvent(hint):
            return "\n" + render_hint(hint, width=screen.width, color=screen.color)
        case TextEvent(text):
            lines = text.rstrip("\n").split("\n")
            return _page([Text(), *(Text(printable_line(line, MOST_LINE)) for line in lines)], screen)
        case FinishedEvent():
            return _page([Text("Every exercise is fixed.", "bold green")], screen)


def _report(event: VerdictEvent, screen: Screen) -> str:
    head = _page(_head(event), screen)
    foot = _page([Text(), *_keys(screen)], screen)
    taken = head.count("\n") + 2 + (foot.count("\n") if screen.has_keys else 0)
    report = render_terminal(
        event.verdict,
        event.exercise,
        width=screen.width,
        color=screen.color,
        height=screen.height - taken if screen.clears and not event.is_again else ANY_HEIGHT,
        known=event.known,
        first_seen=event.first_seen,
        has_head=False,
    )
    return (CLEAR if screen.clears else "\n") + head + "\n" + report + (foot if screen.has_keys else "")


def _head(event: VerdictEvent) -> list[Line]:
    """Which file, when, and what changed."""
    parts: list[str | tuple[str, str]] = [(Path(event.verdict.file).name, "bold"), f" · {event.at}"]
    if event.change is not None and event.verdict.outcome is not Result.NOT_GRADABLE:
        parts.append((f" · {event.change.in_words(event.exercise)}", "bold"))
    if event.is_again:
        parts.append(" · told again")
    remark: list[Line] = [Text(event.remark)] if event.remark else []
    return [Text.assemble(*parts), *remark]


def _following(event: FollowingEvent) -> list[Line]:
    exercise = event.exercise
    word = "Next" if event.is_next else "Watching"
    story = f"exercises/{exercise.id}/README.md tells its story; a verdict follows every save of {event.file}."
    return [Text(), Text.assemble((f"{word}: {exercise.id}", "bold"), f" · {exercise.title}"), Text(story, "dim")]


def _result(event: VerdictEvent) -> Text:
    verdict = event.verdict
    if verdict.outcome is Result.NOT_GRADABLE:
        return Text(f"As it is now: {printable(verdict.reason or '')}.", "dim")
    fixed = "fixed" if verdict.outcome is Result.FIXED else "not yet"
    return Text(f"As it is now: {fixed}, {verdict.score:g} of {verdict.max_score:g} points.", "dim")


def _keys(screen: Screen) -> list[Line]:
    return [Text(KEYS, "dim")] if screen.has_keys else []


def _page(lines: list[Line], screen: Screen) -> str:
    return render_page(lines, screen.width, color=screen.color)
