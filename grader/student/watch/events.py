"""The events of a watch, and the text to print for each."""

from pathlib import Path

from msgspec import Struct, structs
from rich.text import Text

from grader.checks.outcome import Status
from grader.report.check_names import check_names, listed_checks
from grader.report.hint import Hint, render_hint
from grader.report.page import Line, render_page
from grader.report.printable import printable, printable_line
from grader.report.progress import Progress
from grader.report.terminal import ANY_HEIGHT, Screen, render_terminal
from grader.report.trap import Details, render_trap
from grader.report.view import ON_SCREEN, view_of
from grader.spec.exercise import Exercise
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


class Change(Struct, frozen=True, kw_only=True):
    """The difference between two verdicts.

    `fixed` and `reopened` are ids of defects. `passing` and `failing` are checks that no defect explains (regressions).
    """

    fixed: list[str] = []
    reopened: list[str] = []
    passing: list[str] = []
    failing: list[str] = []

    def in_words(self, exercise: Exercise) -> str:
        """Return what changed, with defects by number, or "no change"."""
        numbers, names = exercise.numbers(), check_names(exercise)
        parts = [f"defect {numbers[defect]} is fixed" for defect in self.fixed]
        parts += [f"defect {numbers[defect]} is back" for defect in self.reopened]
        parts += [f"passes again: {listed_checks(self.passing, names)}"] if self.passing else []
        parts += [f"fails now: {listed_checks(self.failing, names)}"] if self.failing else []
        return " · ".join(parts) or "no change"


def compare(statuses: dict[str, DefectStatus], previous: Verdict | None, verdict: Verdict) -> Change:
    """Compare a verdict with the stored statuses of the defects, and with the previous gradable verdict."""
    if verdict.outcome is Result.NOT_GRADABLE:
        return Change()
    current = {defect.id: defect.status for defect in verdict.defects}
    fixed = [
        defect
        for defect, status in current.items()
        if status is DefectStatus.FIXED and statuses.get(defect, status) is not DefectStatus.FIXED
    ]
    reopened = [
        defect
        for defect, status in current.items()
        if status is DefectStatus.PRESENT and statuses.get(defect) is DefectStatus.FIXED
    ]
    if previous is None:
        return Change(fixed=fixed, reopened=reopened)
    failing, failed = _unexplained(verdict), _unexplained(previous)
    return Change(fixed=fixed, reopened=reopened, passing=sorted(failed - failing), failing=sorted(failing - failed))


def _unexplained(verdict: Verdict) -> set[str]:
    """Return the failed checks that no defect explains; every failed check if the exercise has no defects."""
    if verdict.defects:
        return set(verdict.regressions)
    return {outcome.check for outcome in verdict.checks if outcome.status is not Status.PASSED}


class FollowingEvent(Struct, frozen=True, kw_only=True):
    """The watch starts to follow an exercise. `file` is a path in the course; `is_next` if it is not the first one."""

    exercise: Exercise
    file: str
    is_next: bool


class VerdictEvent(Struct, frozen=True, kw_only=True):
    """A verdict on the current content of the file.

    `at` is the time of day. `is_brief` is true for the first verdict on an exercise that the watch moved on to,
    `is_repeated` if the student asked for the last verdict again. `progress` is the progress before the verdict.
    """

    exercise: Exercise
    verdict: Verdict
    change: Change | None
    remark: str
    at: str
    is_brief: bool = False
    is_repeated: bool = False
    progress: Progress = Progress()


class WaitingEvent(Struct, frozen=True, kw_only=True):
    """A grading takes longer than usual; `file` is the name of the file."""

    file: str


class HintEvent(Struct, frozen=True, kw_only=True):
    """A requested hint."""

    hint: Hint


class TextEvent(Struct, frozen=True, kw_only=True):
    """A diff, or the reason why there is no verdict."""

    text: str


class TrapEvent(Struct, frozen=True, kw_only=True):
    """The result of the exercise's trap; `at` is the time of the save."""

    file: str
    at: str
    result: TrapResult
    details: Details


class FinishedEvent(Struct, frozen=True, kw_only=True):
    """Every exercise is fixed."""


NO_VERDICT_YET = "The first verdict is on its way."

Event = FollowingEvent | VerdictEvent | WaitingEvent | HintEvent | TextEvent | TrapEvent | FinishedEvent


KEYS = "h hint · d diff · r report · q quit"
CLEAR = "\x1b[H\x1b[2J\x1b[3J"
"""Cursor home, then clear the screen and the scrollback."""

MAX_LINE = 1000
"""Characters of one line of a hint or a diff."""


class WatchScreen(Screen, frozen=True, kw_only=True):
    """The terminal of a watch: whether to clear it before a verdict, and whether keys work.

    `height` counts only if the screen is cleared.
    """

    clears: bool
    has_keys: bool


def render_event(event: Event, screen: WatchScreen) -> str:
    """Render an event as text to print below the earlier output."""
    match event:
        case FollowingEvent():
            return _page(_following(event), screen)
        case VerdictEvent(is_brief=True):
            return _page([_result(event), *_keys(screen)], screen)
        case VerdictEvent():
            return _report(event, screen)
        case WaitingEvent(file=file):
            return _page([Text(f"Judging {printable(file)} ...", "dim")], screen)
        case HintEvent(hint=hint):
            return "\n" + render_hint(hint, width=screen.width, color=screen.color)
        case TextEvent(text=text):
            lines = text.rstrip("\n").split("\n")
            return _page([Text(), *(Text(printable_line(line, MAX_LINE)) for line in lines)], screen)
        case TrapEvent():
            page = render_trap(event.result, event.details, width=screen.width, color=screen.color, has_next=True)
            return f"\n{event.file} · {event.at}\n{page}"
        case FinishedEvent():
            return _page([Text("Every exercise is fixed.", "bold green")], screen)


def _report(event: VerdictEvent, screen: WatchScreen) -> str:
    head = _page(_head(event), screen)
    foot = _page([Text(), *_keys(screen)], screen)
    other_lines = head.count("\n") + 2 + (foot.count("\n") if screen.has_keys else 0)
    height = screen.height - other_lines if screen.clears and not event.is_repeated else ANY_HEIGHT
    view = view_of(event.verdict, event.exercise, event.progress, limits=ON_SCREEN)
    report = render_terminal(view, structs.replace(screen, height=height), has_head=False)
    return (CLEAR if screen.clears else "\n") + head + "\n" + report + (foot if screen.has_keys else "")


def _head(event: VerdictEvent) -> list[Line]:
    """Return the file, the time, what changed, and the remark on the choice of the file."""
    parts: list[str | tuple[str, str]] = [(Path(event.verdict.file).name, "bold"), f" · {event.at}"]
    if event.change is not None and event.verdict.outcome is not Result.NOT_GRADABLE:
        parts.append((f" · {event.change.in_words(event.exercise)}", "bold"))
    if event.is_repeated:
        parts.append(" · shown again")
    remark: list[Line] = [Text(event.remark)] if event.remark else []
    return [Text.assemble(*parts), *remark]


def _following(event: FollowingEvent) -> list[Line]:
    exercise = event.exercise
    word = "Next" if event.is_next else "Watching"
    readme = Path(event.file).with_name("README.md")
    story = f"{readme} tells the story; every save of {event.file} is graded."
    return [Text(), Text.assemble((f"{word}: {exercise.id}", "bold"), f" · {exercise.title}"), Text(story, "dim")]


def _result(event: VerdictEvent) -> Text:
    verdict = event.verdict
    if verdict.outcome is Result.NOT_GRADABLE:
        return Text(f"Now: {printable(verdict.reason or '')}.", "dim")
    fixed = "fixed" if verdict.outcome is Result.FIXED else "not fixed yet"
    return Text(f"Now: {fixed}, {verdict.score:g} of {verdict.max_score:g} points.", "dim")


def _keys(screen: WatchScreen) -> list[Line]:
    return [Text(KEYS, "dim")] if screen.has_keys else []


def _page(lines: list[Line], screen: WatchScreen) -> str:
    return render_page(lines, screen.width, color=screen.color)
