"""No word of the answer before it is found: every page that students see, for every subset of every hunt's defects."""

import msgspec
import pytest

from grader.course.loading import load_exercise
from grader.report.hint_page import render_hint
from grader.report.overview import Entry, render_overview
from grader.report.terminal import render_terminal
from grader.student.hints import next_hint
from grader.student.progress import Progress, load_progress, remember_verdict, save_progress
from grader.verdict.attribution import DefectStatus
from grader.watch.events import Judged, compare
from grader.watch.screen import Screen, render_event
from tests.support.paths import ROOT

EXERCISES = sorted(path.name for path in (ROOT / "solutions").glob("exercise_*"))
STEPS = 3


def pages(course, exercise, verdict, before) -> dict[str, str]:
    """All that is shown of a verdict: terminal, watch, list, every step of every hint."""
    found = {
        "terminal": render_terminal(verdict, exercise, width=1000),
        "narrow": render_terminal(verdict, exercise, width=80, height=24),
        "list": render_overview([Entry(exercise.id, exercise.title, load_progress(course, exercise.id))]),
    }
    statuses = {} if before is None else {each.id: each.status for each in before.defects}
    change = compare(statuses, before, verdict)
    screen = Screen(80, 24, color=False, clears=True, has_keys=True)
    found["watch"] = render_event(Judged(exercise, verdict, change, "", "12:00:00"), screen)
    for number in range(1, len(exercise.defects) + 1):
        for step in range(1, STEPS + 1):
            found[f"hint {number}, {step}"] = render_hint(next_hint(course, exercise, verdict, number), width=1000)
    save_progress(course, exercise.id, Progress())
    return found


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_page_names_a_defect_that_is_still_there(judge_text, own_course, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    subsets = list(exercise.subsets())
    verdicts = judge_text.many(exercise_id, [judge_text.variant(exercise_id, subset) for subset in subsets])
    before = None
    for subset, verdict in zip(subsets, verdicts, strict=True):
        remember_verdict(own_course, verdict)
        present = {each.id for each in verdict.defects if each.status is not DefectStatus.FIXED}
        assert present == subset
        told = pages(own_course, exercise, verdict, before)
        for defect in exercise.defects:
            is_told = {name for name, page in told.items() for text in secrets(defect) if text in page}
            if defect.id in present:
                assert not is_told, (sorted(subset), defect.id)
            else:
                assert "terminal" in is_told
        before = verdict


def secrets(defect) -> list[str]:
    """A defect's id, its title, and the sentences that say why it mattered."""
    why = " ".join(defect.why.split()).split(". ")
    return [
        *([defect.id] if "-" in defect.id else []),
        " ".join(defect.title.split()),
        *(each for each in why if len(each) > 20),
    ]


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_checks_are_called_by_what_they_look_at_and_not_by_a_defect(own_course, judge_text, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    verdict = judge_text(exercise_id, judge_text.variant(exercise_id, frozenset()))
    for check in verdict.checks:
        words = check.check.replace("_", " ").replace("-", " ")
        for defect in exercise.defects:
            assert defect.id.replace("-", " ") not in words
            assert defect.title not in words


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_hints_name_no_fix_and_no_defect_and_are_steps_on_this_module(own_course, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    for defect in exercise.defects:
        for text in defect.hints:
            told = " ".join(text.split())
            assert not [each for each in secrets(defect) if each in told]
            assert not [fix for was, fix in defect.edits() if " ".join(fix.split()) in told]
        first = " ".join(defect.hints[0].split())
        assert first.split()[0] in STARTS or "(" in first, first


STARTS = {
    *("Ask", "Build", "Call", "Change", "Feed", "For", "Give", "Hand", "Hide"),
    *("Let", "Make", "One", "Print", "Put", "Redo", "Run", "Take", "With"),
}
"""How a step begins that is to be taken; a first step that begins otherwise has code in it at least."""


def test_names_are_shown_to_those_who_ask_for_them(judge_text, course):
    exercise = load_exercise(course.description("exercise_03"))
    verdict = judge_text("exercise_03", judge_text.variant("exercise_03", frozenset({"mask-discarded"})))
    assert "mask-discarded" not in render_terminal(verdict, exercise)
    assert "mask-discarded" in render_terminal(verdict, exercise, names=True)
    assert msgspec.structs.replace(verdict, seconds=0.0).defects[0].id == "mask-discarded"
