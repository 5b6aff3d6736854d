"""A judge that works ahead computes the next answers of the reference, and changes no verdict."""

from itertools import count
from pathlib import Path

import msgspec
import pytest

from grader.submission import Submission, submission_from_text
from grader.verdict.judge import Judge
from grader.verdict.key import REFERENCE
from grader.verdict.verdict import Verdict
from grader.verdict.warm_judge import WarmJudge

EXERCISE = "exercise_03"
SEED = 41


def plain(verdict: Verdict) -> dict:
    """Return the parts of a verdict that do not depend on the clock."""
    found = msgspec.to_builtins(verdict)
    for each in (found, *found["checks"]):
        del each["seconds"]
    return found


def answers(judge: Judge) -> list[object]:
    """Return the answers of the reference that are known."""
    known = judge._runners[EXERCISE].reference.questions_and_answers()
    return [answer for size_cases in known.values() for size_case in size_cases.values() for _, answer in size_case]


@pytest.fixture
def judge(judge_text):
    with Judge(judge_text.course, judge_text.source) as judge:
        judge.open(EXERCISE)
        yield judge
    judge_text.source.settle()


@pytest.fixture(scope="module")
def submissions(course) -> dict[str, Submission]:
    module, _ = course.editable_files(EXERCISE)
    paths: dict[str, Path] = {"right": course.reference(EXERCISE), "starter": course.pristine(module)}
    return {name: submission_from_text(path.read_text(encoding="utf-8")) for name, path in paths.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["starter", "right"])
def test_a_verdict_after_working_ahead_is_the_usual_one_and_needs_no_new_answers(judge, submissions, name):
    submission = submissions[name]
    judge(EXERCISE, submission, name, SEED - 1)
    usual = judge(EXERCISE, submission, name, SEED)
    judge(EXERCISE, submission, name, SEED + 1)
    judge.work_ahead(EXERCISE, SEED, lambda: True)
    before = answers(judge)
    assert before
    assert plain(judge(EXERCISE, submission, name, SEED)) == plain(usual)
    assert {*map(id, answers(judge))} == {*map(id, before)}


def test_working_ahead_ends_once_the_process_is_not_idle(judge):
    looks = count(1)
    judge.work_ahead(EXERCISE, SEED, lambda: next(looks) < 4)
    assert next(looks) == 5
    examined = judge._variants[EXERCISE]._examinations[REFERENCE]
    assert [each.check for each in examined.outcomes] == judge._runners[EXERCISE].check_ids()[:3]


def test_the_seed_that_was_worked_ahead_for_is_used_once(course, submissions):
    warm = WarmJudge()
    warm.judge(course, EXERCISE, submissions["starter"], "starter", SEED)
    try:
        warm.prepare(lambda: False)
        chosen = warm._next_seed
        warm.prepare(lambda: False)
        assert warm._next_seed == chosen  # a command in between may have had a seed of its own
        assert warm.draw_seed() == chosen
        assert len({chosen, *(warm.draw_seed() for _ in range(3))}) == 4
    finally:
        warm._opened.close()
