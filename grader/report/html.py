"""A verdict as static HTML: a section for notebooks, or a whole page. The templates escape every text.

The page has no scripts, loads nothing, and uses colour only beside words. It works in light and dark mode, with a
keyboard and with a screen reader.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Template
from markupsafe import Markup
from msgspec import Struct

from grader.checks.outcome import Finding, Outcome, Status
from grader.report.causes import Cause, say_the_same, shown_causes
from grader.report.check_names import CheckNames, check_name, check_names
from grader.report.console import printable, printable_ends, printable_line, printable_lines
from grader.report.findings import explanation_words, full_text, sentence, size_words
from grader.report.phrases import (
    STATUS_WORDS,
    TONES,
    Shell,
    Tone,
    advice,
    capitalized,
    cause_notes,
    cause_word,
    checks_note,
    defect_label,
    defect_note,
    defect_points,
    findings_title,
    hidden_defects_words,
    lessons,
    line_and_caret,
    near_miss_hint,
    next_steps,
    open_layers,
    origin,
    picture_title,
    points,
    printed_title,
    regression_row,
    result_and_points,
    shown_defects,
)
from grader.report.picture import draw
from grader.report.progress import Attempt
from grader.report.rendering import page_templates
from grader.report.right_behaviour import right_behaviour
from grader.report.terminal import MARKS, render_terminal
from grader.report.trap import render_trap
from grader.spec.exercise import Announcement, Exercise
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

MAX_TEXT = 600
HIDDEN_TEST = "A check that was written for this exercise alone."
MAX_PICTURES = 3
"""The most pictures on one page; more rarely add anything."""


BEHIND_CRASH = "the crash above hides the result of this check"


class _NumberedCause(Struct, frozen=True, kw_only=True):
    """A cause with its number on the page."""

    number: int
    cause: Cause


def render_section(verdict: Verdict, exercise: Exercise, listed: Collection[str] = ()) -> str:
    """Return the verdict as one HTML element with its style. `listed` are defects that earlier pages listed."""
    section = _template("section").render(view=_view(verdict, exercise, listed, in_notebook=True))
    return f"<style>\n{_style()}</style>\n{section}"


def render_report(
    verdict: Verdict,
    exercise: Exercise,
    attempts: Sequence[Attempt] = (),
    listed: Collection[str] = (),
    *,
    has_seed: bool = True,
) -> str:
    """Return a page with the verdict, its checks and earlier attempts. `listed` are defects that earlier pages listed.

    `has_seed` is false if the next submissions get the same seed, which the page then omits.
    """
    view = _view(verdict, exercise, listed, has_seed=has_seed)
    section = Markup(_template("section").render(view=view))  # noqa: S704 - escaped within
    descriptions = _descriptions(exercise)
    ordered = sorted(verdict.checks, key=lambda outcome: outcome.status is Status.PASSED)
    causes = {
        check: _NumberedCause(number=number, cause=cause)
        for number, cause in enumerate(shown_causes(verdict), 1)
        for check in cause.checks
    }
    names = check_names(exercise)
    described: set[str] = set()
    rows = [_check(outcome, descriptions, causes.get(outcome.check), names, described) for outcome in ordered]
    passed = sum(outcome.status is Status.PASSED for outcome in ordered)
    failed = len(rows) - passed
    checks = [
        {"title": "checks that do not pass", "rows": rows[:failed], "is_open": True},
        {"title": "checks that pass", "rows": rows[failed:], "is_open": False},
    ]
    if verdict.awaits_claim():
        checks = []  # that all of them pass would give the hunt away
    shown_attempts = [_attempt(each, exercise) for each in attempts]
    chart = _chart(attempts, verdict.max_score)
    return _template("page").render(
        view=view, section=section, style=_style(), checks=checks, attempts=shown_attempts, chart=chart
    )


def render_trap_report(result: TrapResult, *, has_seed: bool = True) -> str:
    """Return a page with the result of a trap. `has_seed` as for `render_report`."""
    text = render_trap(result, has_seed=has_seed)
    return _template("trap").render(exercise=result.exercise, text=text)


CHART_HEIGHT, BAR_WIDTH, BAR_GAP, MAX_BARS = 48, 10, 4, 60
"""Sizes of the chart of attempts, in units of the SVG, and the most attempts in it."""


def _chart(attempts: Sequence[Attempt], max_score: float) -> Markup:
    """Draw the points of the last attempts as bars; nothing if there is only one attempt."""
    shown = attempts[-MAX_BARS:]
    if len(shown) < 2:  # noqa: PLR2004 - one bar shows nothing
        return Markup("")
    bars = []
    for number, attempt in enumerate(shown):
        height = max(round(CHART_HEIGHT * min(attempt.score / max_score, 1.0)) if max_score else 0, 2)
        place = f'x="{number * (BAR_WIDTH + BAR_GAP)}" y="{CHART_HEIGHT - height}"'
        bars.append(f'<rect {place} width="{BAR_WIDTH}" height="{height}" fill="currentColor"/>')
    wide = len(shown) * (BAR_WIDTH + BAR_GAP)
    label = f"points of the last {len(shown)} attempts, from {points(shown[0].score)} to {points(shown[-1].score)}"
    opening = f'<svg role="img" aria-label="{label}" viewBox="0 0 {wide} {CHART_HEIGHT}" width="{wide}"'
    return Markup(f'<figure>{opening} height="{CHART_HEIGHT}">{"".join(bars)}</svg></figure>')  # noqa: S704 - our own


def _descriptions(exercise: Exercise) -> dict[str, str]:
    """Return for each property of the exercise the first paragraph of its docstring."""
    return {check.id: (type(check).__doc__ or "").split("\n\n")[0] for check in exercise.checks}


def _view(
    verdict: Verdict, exercise: Exercise, listed: Collection[str], *, has_seed: bool = True, in_notebook: bool = False
) -> dict[str, Any]:
    """Return the texts and lists that the templates show."""
    shown = shown_causes(verdict)
    printing = next((cause for cause in shown if cause.finding.printed), None)
    fixed = {each.id for each in verdict.defects if each.status is DefectStatus.FIXED}
    result, _, score = result_and_points(verdict, exercise)
    return {
        "exercise": verdict.exercise,
        "title": exercise.title,
        "result": result,
        "tone": Tone.GOOD if verdict.outcome is Result.FIXED or verdict.is_right_so_far() else Tone.BAD,
        "next": next_steps(verdict, exercise, Shell.NOTEBOOK if in_notebook else Shell.TERMINAL),
        "origin": origin(verdict, exercise),
        "score": score,
        "run": " · ".join([*([f"seed {verdict.seed}"] if has_seed else []), f"{verdict.seconds:.2f} s"]),
        "file": printable(verdict.file),
        "is_gradable": verdict.was_checked(),
        "reason": printable(verdict.reason, MAX_TEXT) if verdict.reason else "",
        "checks_note": checks_note(verdict, exercise),
        "line": "\n".join(filter(None, line_and_caret(verdict))),
        "rows": _rows(verdict, exercise, listed) if verdict.was_checked() else [],
        "has_defects": bool(exercise.defects),
        "lessons": lessons(verdict, exercise, fixed),
        "findings_title": findings_title(verdict, exercise),
        "causes": [
            _cause(cause, exercise, has_picture=number < MAX_PICTURES, has_printed=cause is printing)
            for number, cause in enumerate(shown)
        ],
        "hidden_defects": hidden_defects_words(verdict, shown),
        "right": right_behaviour(verdict, exercise),
        "near_miss": near_miss_hint(verdict, exercise),
        "advice": advice(verdict),
        "open_layers": open_layers(verdict),
    }


def _rows(verdict: Verdict, exercise: Exercise, listed: Collection[str]) -> list[dict[str, str]]:
    rows = []
    for defect in shown_defects(verdict, exercise, listed):
        note = printable(defect_note(defect, exercise, verdict))
        rows.append(
            {
                "what": defect_label(defect, exercise),
                "mark": MARKS[defect.status][0],
                "tone": TONES[defect.status],
                "state": STATUS_WORDS[defect.status],
                "earned": defect_points(defect, verdict, exercise),
                "note": note,
            }
        )
    last = regression_row(verdict, exercise)
    others = {"what": "everything else", "mark": last.mark, "tone": last.tone, "state": last.state}
    return [*rows, {**others, "earned": last.earned, "note": last.note}]


def _cause(cause: Cause, exercise: Exercise, *, has_picture: bool, has_printed: bool) -> dict[str, Any]:
    finding = cause.finding
    return {
        "mark": cause_word(cause),
        "text": printable_ends(sentence(finding), MAX_TEXT),
        "explanation": f"{capitalized(explanation_words(finding.explanation))}." if finding.explanation else "",
        "place": printable(str(finding.location)) if finding.location else "",
        "line": printable_line(finding.location.text.strip()) if finding.location else "",
        "notes": cause_notes(cause, exercise, check_names(exercise)),
        "printed": printable_lines(finding.printed) if has_printed else "",
        "printed_with": printed_title(finding),
        "pictured": picture_title(cause, exercise) if has_picture and cause.pictured else "",
        "picture": draw(cause.picture) if has_picture and cause.picture else "",
    }


def _check(
    outcome: Outcome,
    descriptions: Mapping[str, str],
    numbered: _NumberedCause | None,
    names: CheckNames,
    described: set[str],
) -> dict[str, str]:
    """Return the row of a check: its name, status, description and finding.

    Omit a description in `described`, because an earlier check shows it; add a new one to `described`.
    """
    description = descriptions.get(outcome.check, HIDDEN_TEST)
    is_new = description not in described
    described.add(description)
    has_passed = outcome.status is Status.PASSED
    return {
        "name": check_name(outcome.check, names),
        "mark": "✓" if has_passed else "✗",
        "tone": "good" if has_passed else "bad",
        "status": str(outcome.status).replace("_", " "),
        "description": description if is_new else "",
        "finding": _finding_text(outcome.finding, numbered) if outcome.finding else "",
    }


def _finding_text(finding: Finding, numbered: _NumberedCause | None) -> str:
    """Return a check's finding, or a reference to the cause that already shows it, with the sizes if they differ.

    A finding without a cause on the page is hidden by a crash.
    """
    if numbered is None:
        return BEHIND_CRASH
    shown = numbered.cause.finding
    if not say_the_same(finding, shown):
        return full_text(finding)
    sizes = size_words(finding) if finding.sizes != shown.sizes else ""
    return "; ".join(filter(None, (f"see finding {numbered.number}", sizes)))


def _attempt(attempt: Attempt, exercise: Exercise) -> dict[str, str]:
    count = f" of {attempt.defects}" if exercise.announces is Announcement.COUNT else ""
    return {
        "at": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt.at)),
        "outcome": attempt.outcome.replace("_", " "),
        "points": points(attempt.score),
        "fixed": f"{attempt.fixed}{count}" + (f", {attempt.extras} extra" if attempt.extras else ""),
    }


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

    def __init__(self, verdict: Verdict, exercise: Exercise, listed: Collection[str] = ()) -> None:
        self._verdict = verdict
        self._listed = listed
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
            for each in shown_defects(self._verdict, self._exercise, self._listed)
        ]

    @property
    def findings(self) -> list[str]:
        """Return one line for each failed check; if a crash hides the others, only for checks that end in it."""
        shown = {check for cause in shown_causes(self._verdict) for check in cause.checks}
        return [full_text(each.finding) for each in self._verdict.checks if each.finding and each.check in shown]

    def __repr__(self) -> str:
        page = render_terminal(self._verdict, self._exercise, listed=self._listed, shell=Shell.NOTEBOOK)
        return page.rstrip("\n")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython's
        return {"text/plain": repr(self), "text/html": render_section(self._verdict, self._exercise, self._listed)}
