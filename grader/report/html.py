"""Verdict -> static HTML: a section for notebooks, and a page of its own. Every text is escaped where it is put in.

No script, no request to anywhere, nothing told by colour alone: readable in light and dark, by keyboard and read aloud.
"""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from grader.checks.outcome import Finding, Outcome, Status, in_words
from grader.report.console import printable, printable_line, printable_lines
from grader.report.findings import explanation_words, full_text, sentence, size_words
from grader.report.phrases import (
    belongs_to,
    called,
    cause_word,
    line_and_caret,
    note_on,
    open_layers,
    points,
    rest,
    result_and_points,
    what_it_does,
    whose_picture,
    whys,
)
from grader.report.picture import draw
from grader.report.terminal import MARKS, render_terminal
from grader.report.view import Attempt
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import Cause, hiding_crash, named_checks, told_causes, told_of_crash
from grader.verdict.verdict import WORDS, Result, Verdict

MOST_TEXT = 600
OF_ITS_OWN = "A check that was written for this exercise alone."
MOST_PICTURES = 3
"""Pictures in one page: what follows rarely says more."""

BEHIND = "nothing can be seen yet: something else crashes before it"


def render_section(verdict: Verdict, exercise: Exercise) -> str:
    """The verdict as one element that brings its own style."""
    style = f"<style>\n{_template('style.css')}</style>\n"
    return style + _environment().get_template("section.html.j2").render(view=_view(verdict, exercise))


def render_report(
    verdict: Verdict,
    exercise: Exercise,
    attempts: Sequence[Attempt] = (),
    *,
    has_seed: bool = True,
) -> str:
    """A page of its own; `has_seed` is false where others will be judged by the same seed."""
    view = _view(verdict, exercise, has_seed=has_seed)
    section = Markup(_environment().get_template("section.html.j2").render(view=view))  # noqa: S704 - escaped within
    looks_at = _looks_at(exercise)
    ordered = sorted(verdict.checks, key=lambda outcome: outcome.status is Status.PASSED)
    told = {check: (number, cause) for number, cause in enumerate(told_causes(verdict), 1) for check in cause.checks}
    firsts: dict[str, str] = {}
    for outcome in ordered:
        firsts.setdefault(looks_at.get(outcome.check, OF_ITS_OWN), in_words(outcome.check))
    checks = [_check(outcome, looks_at, told.get(outcome.check), firsts) for outcome in ordered]
    page = _environment().get_template("page.html.j2")
    style = Markup(_template("style.css"))  # noqa: S704 - our own
    return page.render(view=view, section=section, style=style, checks=checks, attempts=[*map(_attempt, attempts)])


def _looks_at(exercise: Exercise) -> dict[str, str]:
    """What each check of the description looks at, in one sentence: its property's."""
    return {check.id: (type(check).__doc__ or "").split("\n\n")[0] for check in exercise.checks}


def _view(verdict: Verdict, exercise: Exercise, *, has_seed: bool = True) -> dict[str, Any]:
    """What the templates show, as plain texts."""
    shown = told_causes(verdict)
    crash = hiding_crash(shown)
    printing = next((cause for cause in shown if cause.finding.printed), None)
    fixed = {each.id for each in verdict.defects if each.status is DefectStatus.FIXED}
    result, _, score = result_and_points(verdict, exercise)
    return {
        "exercise": verdict.exercise,
        "title": exercise.title,
        "result": result,
        "score": score,
        "run": " · ".join([*([f"seed {verdict.seed}"] if has_seed else []), f"{verdict.seconds:.2f} s"]),
        "file": printable(verdict.file),
        "is_part": verdict.outcome is not Result.NOT_GRADABLE,
        "reason": printable(verdict.reason, MOST_TEXT) if verdict.reason else "",
        "line": "\n".join(filter(None, line_and_caret(verdict))),
        "rows": _rows(verdict, exercise) if verdict.outcome is not Result.NOT_GRADABLE else [],
        "has_defects": bool(exercise.defects),
        "whys": whys(verdict, exercise, fixed),
        "what_it_does": what_it_does(verdict, exercise),
        "causes": [
            _cause(cause, exercise, has_picture=number < MOST_PICTURES, has_printed=cause is printing)
            for number, cause in enumerate(shown)
        ],
        "behind": told_of_crash(verdict, crash) if crash else "",
        "open_layers": open_layers(verdict),
    }


def _rows(verdict: Verdict, exercise: Exercise) -> list[dict[str, str]]:
    numbers = exercise.numbers()
    rows = []
    for defect in sorted(verdict.defects, key=lambda each: numbers[each.id]):
        note = printable(note_on(defect, exercise, verdict))
        extra = ", extra" if defect.stretch else ""
        rows.append(
            {
                "what": called(defect, exercise),
                "mark": MARKS[defect.status][0],
                "state": WORDS[defect.status],
                "earned": f"{points(defect.points)} of {points(defect.max_points)}{extra}",
                "note": note,
            }
        )
    (mark, _), state, earned, note = rest(verdict, exercise)
    rows.append({"what": "the rest", "mark": mark, "state": state, "earned": earned, "note": note})
    return rows


def _cause(cause: Cause, exercise: Exercise, *, has_picture: bool, has_printed: bool) -> dict[str, Any]:
    finding = cause.finding
    notes = [belongs_to(cause, exercise), size_words(finding), f"seen in {named_checks(cause.checks)}"]
    explanation = explanation_words(finding.explanation) if finding.explanation else ""
    at = as_arguments(finding.size_case)
    return {
        "mark": cause_word(cause),
        "text": printable(sentence(finding), MOST_TEXT),
        "explanation": f"{explanation[:1].upper()}{explanation[1:]}." if explanation else "",
        "place": printable(str(finding.location)) if finding.location else "",
        "line": printable_line(finding.location.text.strip()) if finding.location else "",
        "notes": " · ".join(filter(None, notes)),
        "printed": printable_lines(finding.printed) if has_printed else "",
        "printed_with": f"it printed{f' with {at}' if at else ''}:",
        "pictured": whose_picture(cause) if has_picture and cause.pictured else "",
        "picture": draw(cause.picture) if has_picture and cause.picture else "",
    }


def _check(
    outcome: Outcome, looks_at: Mapping[str, str], told: tuple[int, Cause] | None, firsts: Mapping[str, str]
) -> dict[str, str]:
    """What a check looks at and saw, unless a crash hides it.

    What the page told of its cause it tells once, and what several checks look at beside the first of them.
    """
    name, what = in_words(outcome.check), looks_at.get(outcome.check, OF_ITS_OWN)
    is_told = what == OF_ITS_OWN or firsts[what] == name
    return {
        "name": name,
        "status": str(outcome.status).replace("_", " "),
        "looks_at": what if is_told else f'What "{firsts[what]}" looks at, with other inputs or settings.',
        "saw": _saw(outcome.finding, told) if outcome.finding else "",
    }


def _saw(finding: Finding, told: tuple[int, Cause] | None) -> str:
    """The finding; of what the page tells of its cause, that cause's number, and sizes where they are others."""
    if told is None:
        return BEHIND
    number, cause = told
    if sentence(finding) != sentence(cause.finding):
        return full_text(finding)
    others = size_words(finding) if finding.sizes != cause.finding.sizes else ""
    return "; ".join(filter(None, (f"see finding {number}", others)))


def _attempt(attempt: Attempt) -> dict[str, str]:
    return {
        "at": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt.at)),
        "outcome": attempt.outcome.replace("_", " "),
        "points": points(attempt.score),
        "fixed": f"{attempt.fixed} of {attempt.defects}",
    }


def _template(name: str) -> str:
    return (files("grader.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_template), trim_blocks=False)


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
        """Return one line for each check that did not pass, or only the crash that hides the others."""
        told = {check for cause in told_causes(self._verdict) for check in cause.checks}
        return [full_text(each.finding) for each in self._verdict.checks if each.finding and each.check in told]

    def __repr__(self) -> str:
        return render_terminal(self._verdict, self._exercise).rstrip("\n")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython's
        return {"text/plain": repr(self), "text/html": render_section(self._verdict, self._exercise)}
