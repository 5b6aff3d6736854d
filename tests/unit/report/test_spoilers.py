"""No page for students gives an answer away before it is found, for every subset of every hunt's defects."""

import html
from contextlib import suppress

import msgspec
import pytest

from grader.checks.runner import Runner
from grader.classroom.exports.records import Graded, VerdictExport
from grader.classroom.exports.writing import EXPORTS
from grader.classroom.gradebook.class_records import GradeRow
from grader.errors import UsageError
from grader.report.causes import group_causes, hiding_crash
from grader.report.findings import sentence
from grader.report.hint import render_hint
from grader.report.html import NotebookVerdict
from grader.report.overview import OverviewLine, render_overview
from grader.report.progress import Progress
from grader.spec.fragments import make_near_miss
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.cards import predictions
from grader.student.hints import next_hint
from grader.student.progress import load_progress, remember_verdict, save_progress
from grader.student.watch.events import VerdictEvent, WatchScreen, compare, render_event
from grader.verdict.attribution import DefectStatus
from tests.support.pages import report_page, terminal_page
from tests.support.paths import ROOT
from tests.support.sampling import sampled, subsets_to_judge

EXERCISES = sorted(path.name for path in (ROOT / "solutions").glob("exercise_*"))
WITH_NEAR_MISSES = {each for each in EXERCISES if load_exercise(Course(root=ROOT).description(each)).near_misses}
STEPS = 3


PLATFORMS = {each.name: each for each in EXPORTS.values() if isinstance(each, VerdictExport)}


def pages(course, exercise, verdict, before) -> dict[str, str]:
    """All that is shown of a verdict: terminal, watch, list, every step of every hint, report, notebook, platforms."""
    found = {
        "terminal": terminal_page(verdict, exercise, width=1000),
        "narrow": terminal_page(verdict, exercise, width=80, height=24),
        "list": render_overview(
            [OverviewLine(exercise=exercise.id, title=exercise.title, progress=load_progress(course, exercise.id))]
        ),
    }
    statuses = {} if before is None else {each.id: each.status for each in before.defects}
    change = compare(statuses, before, verdict)
    screen = WatchScreen(width=80, height=24, color=False, clears=True, has_keys=True)
    found["watch"] = render_event(
        VerdictEvent(exercise=exercise, verdict=verdict, change=change, remark="", at="12:00:00"), screen
    )
    for number in range(1, len(exercise.defects) + 1):
        for step in range(1, STEPS + 1):
            with suppress(UsageError):  # the status of that defect is not known yet
                found[f"hint {number}, {step}"] = render_hint(next_hint(course, exercise, verdict, number), width=1000)
    asked = predictions(exercise, verdict)
    found["guide"] = "\n".join("\n".join([each.question.text, *each.question.options, each.happens]) for each in asked)
    save_progress(course, exercise.id, Progress())
    drawn = report_page(verdict, exercise, load_progress(course, exercise.id).attempts)
    found["report"] = html.unescape(drawn)
    shown = NotebookVerdict(verdict, exercise)
    found["notebook"] = html.unescape("\n".join(shown._repr_mimebundle_().values()))
    found["asked in a notebook"] = "\n".join([*shown.findings, *map(str, shown.defects)])
    graded = Graded(grade=handed_in(verdict), verdict=verdict, exercise=exercise, classroom="class")
    return found | {name: html.unescape(each.render_export(graded)) for name, each in PLATFORMS.items()}


def handed_in(verdict) -> GradeRow:
    """A row of a gradebook about it."""
    return GradeRow(
        student="ann",
        exercise=verdict.exercise,
        outcome=str(verdict.outcome),
        score=verdict.score,
        max_score=verdict.max_score,
        extra=0.0,
        max_extra=0.0,
        attempts=1,
        submitted_at="2026-01-05T10:00:00Z",
        judged_at="2026-01-05T10:00:00Z",
        file="attention.py",
        layout="folders",
        verdict=1,
        judged_in=1,
        name="",
        group="",
        columns={},
        reason="",
        remark="",
    )


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_no_page_names_a_defect_that_is_still_there(judge_text, own_course, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    subsets = subsets_to_judge(exercise)
    verdicts = judge_text.many(exercise_id, [judge_text.variant(exercise_id, subset) for subset in subsets])
    before = None
    for subset, verdict in zip(subsets, verdicts, strict=True):
        remember_verdict(own_course, verdict)
        present = {each.id for each in verdict.defects if each.status is not DefectStatus.FIXED}
        assert present == subset
        told = pages(own_course, exercise, verdict, before)
        if exercise.decoy and present:
            first = exercise.decoy.split(". ")[0]
            assert not [name for name, page in told.items() if " ".join(first.split()) in " ".join(page.split())]
        for defect in exercise.defects:
            is_told = {name for name, page in told.items() for text in secrets(defect) if text in page}
            if defect.id in present:
                assert not is_told, (sorted(subset), defect.id)
            else:
                assert {"terminal", "report", "notebook", *PLATFORMS} <= is_told
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
def test_checks_are_called_by_what_they_look_at_and_not_by_a_defect(course, judge_text, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    with Runner(course, exercise, judge_text.source) as runner:
        names = runner.check_ids()
    assert names
    for name in names:
        words = name.replace("_", " ").replace("-", " ")
        for defect in exercise.defects:
            assert defect.id.replace("-", " ") not in words
            assert defect.title not in words


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_hints_name_no_fix_and_no_defect(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    for defect in exercise.defects:
        for text in defect.hints:
            told = " ".join(text.split())
            assert not [each for each in secrets(defect) if each in told]
            assert not [fix for was, fix in defect.edits() if " ".join(fix.split()) in told]


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_hints_of_near_misses_name_no_fix_and_no_defect(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    hints = [" ".join(each.hint.split()) for each in exercise.near_misses]
    for defect in exercise.defects:
        given_away = [*secrets(defect), *(" ".join(fix.split()) for _, fix in defect.edits())]
        assert not [(hint, text) for hint in hints for text in given_away if text in hint]


@pytest.mark.parametrize("exercise_id", sampled([each for each in EXERCISES if each in WITH_NEAR_MISSES]))
def test_the_page_of_a_near_miss_gives_its_hint_and_names_no_defect(judge_text, own_course, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    reference = own_course.reference_text(exercise_id)
    alone = {each.id: make_near_miss(reference, each, []) for each in exercise.near_misses}
    verdicts = judge_text.many(exercise_id, [*alone.values()])
    for near_miss, verdict in zip(exercise.near_misses, verdicts, strict=True):
        assert verdict.near_miss == near_miss.id
        assert verdict.score < verdict.max_score or any(each.stretch and not each.points for each in verdict.defects)
        shown = {name: " ".join(page.split()) for name, page in pages(own_course, exercise, verdict, None).items()}
        hint = " ".join(near_miss.hint.split())
        assert {"terminal", "report", "notebook"} <= {name for name, page in shown.items() if hint in page}
        unfixed = {each.id for each in verdict.defects if each.status is not DefectStatus.FIXED}
        assert near_miss.defect not in unfixed or hint in shown[f"hint {exercise.numbers()[near_miss.defect]}, 1"]
        for defect in exercise.defects:
            if defect.id in unfixed:
                assert not [(name, text) for name, page in shown.items() for text in secrets(defect) if text in page]


def test_no_page_shows_findings_behind_a_crash(own_course, judge_text):
    exercise = load_exercise(own_course.description("exercise_02"))
    every = frozenset(each.id for each in exercise.defects)
    verdict = judge_text("exercise_02", judge_text.variant("exercise_02", every))
    crash = hiding_crash(group_causes(verdict))
    assert crash is not None
    behind = [sentence(each.finding) for each in verdict.checks if each.finding and each.check not in crash.checks]
    assert len(behind) >= 2
    told = pages(own_course, exercise, verdict, None)
    assert not {name for name, page in told.items() for text in behind if text in page}


def test_names_are_shown_to_those_who_ask_for_them(judge_text, course):
    exercise = load_exercise(course.description("exercise_03"))
    verdict = judge_text("exercise_03", judge_text.variant("exercise_03", frozenset({"mask-discarded"})))
    assert "mask-discarded" not in terminal_page(verdict, exercise)
    assert "mask-discarded" in terminal_page(verdict, exercise, names=True)
    assert msgspec.structs.replace(verdict, seconds=0.0).defects[0].id == "mask-discarded"
