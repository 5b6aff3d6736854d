"""Verdict -> what a student reads in the terminal: one screen."""

from msgspec import Struct
from rich.text import Text

from grader.course.records import Exercise
from grader.examiner.outcome import Finding, Outcome, Status
from grader.report.page import INDENT, Line, beside, indented, marked, printable, printable_line, render_page
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict

GENERAL_KINDS = {"values", "gradient", "shape", "dtype", "type", "nonfinite", "no-time", "timeout"}
"""Kinds of fault that one cause shows in many checks, at another element each time."""


class Cause(Struct, frozen=True):
    """The most telling finding and the checks that saw it, or saw the like of it."""

    finding: Finding
    status: Status
    checks: list[str]


def group_causes(outcomes: list[Outcome], explained_by: dict[str, list[str]]) -> list[Cause]:
    """Failures that the same defects explain are one cause; of the others, crashes at one line, and wrong values.

    Crashes come first, then what one property says in its own words, then wrong values.
    """
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.finding is not None:
            key = tuple(explained_by.get(outcome.check, [])) or _likeness(outcome.status, outcome.finding)
            groups.setdefault(key, []).append(outcome)
    causes = [_cause(members) for members in groups.values()]
    return sorted(causes, key=lambda cause: _rank(cause.status, cause.finding))


def _cause(members: list[Outcome]) -> Cause:
    seen = [(member.status, member.finding, member.check) for member in members if member.finding]
    seen.sort(key=lambda each: _rank(each[0], each[1]))
    status, finding, _ = seen[0]
    return Cause(finding, status, [check for _, _, check in seen])


def _likeness(status: Status, finding: Finding) -> tuple[str, ...]:
    if finding.location:
        return status, finding.kind, str(finding.location)
    if finding.kind in GENERAL_KINDS:
        return status, finding.kind
    return status, finding.kind, finding.text


def _rank(status: Status, finding: Finding) -> tuple[bool, bool, bool]:
    """How telling a finding is, the most telling least."""
    return status is Status.FAILED, finding.kind in GENERAL_KINDS, finding.location is None


MARKS = {
    DefectStatus.FIXED: ("✓", "green"),
    DefectStatus.PRESENT: ("✗", "red"),
    DefectStatus.UNKNOWN: ("?", "yellow"),
}
MOST_CAUSES = 5
"""As many causes as fit one screen beside the rest."""

NAMED_CHECKS = 2

OPEN_LAYERS = {
    "process": "the examiner's process",
    "filesystem": "the file system",
    "network": "the network",
    "syscalls": "starting processes",
    "memory": "other processes' memory",
}
"""What a protection that is missing leaves open."""
ROW_WIDTH = 57
MOST_FINDING_TEXT = 240
MOST_PLACE = 80
MOST_BEFORE_CARET = 80
"""Columns after which a caret would stand on a line of its own."""


def render_terminal(verdict: Verdict, exercise: Exercise, *, width: int = 100, color: bool = False) -> str:
    """The verdict as lines of text, with colours where asked."""
    return render_page([*_lines(verdict, exercise), *_open_layers(verdict)], width, color=color)


def _lines(verdict: Verdict, exercise: Exercise) -> list[Line]:
    head = Text.assemble((verdict.exercise, "bold"), f" · {exercise.title} · ", (printable(verdict.file), "dim"))
    if exercise.is_public():
        nudge = [_nudge(verdict)] if exercise.hints else []
        return [*_public(verdict, exercise, head), Text(), *_foot(verdict), *nudge]
    if verdict.outcome is Result.NOT_GRADABLE:
        return [head, Text(), *_not_gradable(verdict), Text(), *_foot(verdict)]
    lines: list[Line] = [head, Text()]
    lines += [_defect(defect, exercise) for defect in verdict.defects]
    lines.append(_rest(verdict, exercise))
    lines += _why(verdict, exercise)
    return [*lines, *_causes(verdict), Text(), *_foot(verdict)]


def _public(verdict: Verdict, exercise: Exercise, head: Text) -> list[Line]:
    """What a student edition's verdict says, and first of all that it is not the whole."""
    if verdict.outcome is Result.NOT_GRADABLE:
        can = f"Only public checks can run here: there are {len(exercise.checks)} of them, and "
        hidden = f"{exercise.hidden_checks} hidden ones follow when you hand it in."
        return [Text(can + hidden, "bold"), head, Text(), *_not_gradable(verdict)]
    rows = [
        _row(("✓", "green") if outcome.status is Status.PASSED else ("✗", "red"), outcome.status, outcome.check, "", "")
        for outcome in verdict.checks
    ]
    first = printable(verdict.reason or "")
    return [Text(f"{first[:1].upper()}{first[1:]}.", "bold"), head, Text(), *rows, *_causes(verdict)]


def _causes(verdict: Verdict) -> list[Line]:
    """What the failing checks saw, told once for each cause."""
    causes = group_causes(verdict.checks, verdict.causes)
    if not causes:
        return []
    passed = sum(outcome.status is Status.PASSED for outcome in verdict.checks)
    lines: list[Line] = [Text(), Text(f"What the checks saw ({passed} of {len(verdict.checks)} pass)", "bold")]
    for cause in causes[:MOST_CAUSES]:
        lines += _cause_lines(cause)
    if len(causes) > MOST_CAUSES:
        lines.append(Text(f"  and {len(causes) - MOST_CAUSES} more; --json lists them all", "dim"))
    return lines


def _not_gradable(verdict: Verdict) -> list[Text]:
    lines = [Text.assemble(("Not gradable: ", "bold red"), printable(verdict.reason or ""))]
    at = verdict.where.location if verdict.where else None
    if at:
        lines.append(Text(f"  {at.line:>4} │ {printable_line(at.text)}"))
        if 0 < at.column <= MOST_BEFORE_CARET:
            before = printable_line(at.text[: at.column - 1])
            lines.append(Text(f"       │ {' ' * len(before)}^", "red"))
    return lines


def _defect(defect: DefectVerdict, exercise: Exercise) -> Line:
    title = next(each.title for each in exercise.defects if each.id == defect.id)
    note = title if defect.status is DefectStatus.FIXED else defect.reason
    points = f"{_points(defect.points)} of {_points(defect.max_points)}" + (" extra" if defect.stretch else "")
    return _row(MARKS[defect.status], defect.status, defect.id, points, note)


def _rest(verdict: Verdict, exercise: Exercise) -> Line:
    name, points = "nothing else broke", _points(exercise.nothing_else_broke)
    if verdict.regressions:
        named = ", ".join(verdict.regressions[:NAMED_CHECKS])
        left = len(verdict.regressions) - NAMED_CHECKS
        more = f" and {left} more" if left > 0 else ""
        return _row(("✗", "red"), "broken", name, f"0 of {points}", f"new faults, seen by {named}{more}")
    if verdict.outcome is Result.FIXED:
        return _row(("✓", "green"), "whole", name, f"{points} of {points}", "")
    return _row(("·", "dim"), "so far", name, f"0 of {points}", "counts once every defect is fixed")


def _row(mark: tuple[str, str], state: str, name: str, points: str, note: str) -> Line:
    """A line of the table at the top: state, what it is about, points, and a note."""
    failure_kind, style = mark
    left = Text.assemble((f"{failure_kind} {state:<8}", style), f"{name:<32} {points}")
    return beside(left, Text(note, "dim"), ROW_WIDTH)


def _why(verdict: Verdict, exercise: Exercise) -> list[Text]:
    """What each fixed defect did, once all that count are fixed."""
    fixed = {defect.id for defect in verdict.defects if defect.status is DefectStatus.FIXED}
    if verdict.outcome is not Result.FIXED:
        return []
    return [
        Text(),
        *(Text(f"{defect.id}: {' '.join(defect.why.split())}") for defect in exercise.defects if defect.id in fixed),
    ]


def _cause_lines(cause: Cause) -> list[Line]:
    finding = cause.finding
    mark = {Status.CRASHED: "crash", Status.TIMED_OUT: "hangs", Status.NOT_RUN: "no run"}.get(cause.status, "wrong")
    lines: list[Line] = [marked((f"{mark:>{INDENT - 2}}  ", "red"), Text(printable(finding.text, MOST_FINDING_TEXT)))]
    if finding.location:
        line = printable_line(finding.location.text.strip())
        located = Text.assemble(
            (f"{printable(str(finding.location), MOST_PLACE)}: ", "dim"), line, no_wrap=True, overflow="ellipsis"
        )
        lines.append(indented(located))
    lines.append(indented(Text(" · ".join(filter(None, (printable(finding.sizes), _checks(cause)))), "dim")))
    return lines


def _checks(cause: Cause) -> str:
    named = ", ".join(cause.checks[:NAMED_CHECKS])
    more = len(cause.checks) - NAMED_CHECKS
    if len(cause.checks) == 1:
        return f"check: {named}"
    ends = "end here" if cause.status is Status.CRASHED else "see it"
    return f"{len(cause.checks)} checks {ends}: {named}" + (f" and {more} more" if more > 0 else "")


def _foot(verdict: Verdict) -> list[Text]:
    run = f"seed {verdict.seed} · {verdict.seconds:.2f} s"
    if verdict.outcome is Result.NOT_FIXED and not verdict.defects:
        points = f"{_points(verdict.max_score)} points are given when you hand it in"
        return [Text.assemble(("Public checks only", "bold yellow"), f" · {points} · {run}")]
    extra = sum(defect.points for defect in verdict.defects if defect.stretch)
    word, style = {
        Result.FIXED: ("Fixed", "bold green"),
        Result.NOT_FIXED: ("Not yet", "bold yellow"),
        Result.NOT_GRADABLE: ("Not gradable", "bold red"),
    }[verdict.outcome]
    score = f"{_points(verdict.score)} of {_points(verdict.max_score)} points" + (
        f", {_points(extra)} extra" if extra else ""
    )
    lines = [Text.assemble((word, style), f" · {score} · {run}")]
    if (
        any(defect.status is not DefectStatus.FIXED for defect in verdict.defects)
        and verdict.outcome is not Result.NOT_GRADABLE
    ):
        lines.append(_nudge(verdict))
    return lines


def _nudge(verdict: Verdict) -> Text:
    return Text(f"A nudge: python -m grader hint {verdict.exercise}", "dim")


def _open_layers(verdict: Verdict) -> list[Text]:
    """One line where this machine could not close something to the submission."""
    names = [OPEN_LAYERS[layer] for layer, is_closed in verdict.isolation.items() if not is_closed]
    return [Text(f"Open to submissions on this machine: {', '.join(names)}", "yellow")] if names else []


def _points(points: float) -> str:
    return f"{points:g}"
