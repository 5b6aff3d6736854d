"""The time and the data that all tests of a trap share."""

import pytest

from grader.processes.deadlines import TRAP_SECONDS
from grader.report.trap import render_trap
from grader.trap import process_relay
from grader.trap.budget import MAX_TRANSCRIPTS_BYTES, OverLimitError, TrapBudget
from grader.trap.result import Standing
from tests.support.traps import PAST, Traps, caught, standings

EXERCISE = "exercise_03"

MANY_CALLS = """

def test_many(subject, gaussian):
    attend, x = subject(4, 6, 8, 0.0), gaussian(1, 3, 4)
    for _ in range({calls}):
        attend(x)
"""


def budget_after(*seconds: float, planned: int = 50) -> TrapBudget:
    budget = TrapBudget(TRAP_SECONDS)
    budget.plan(planned)
    for test, each in enumerate(seconds):
        budget.spend(test, each)
    return budget


def test_tests_that_fit_into_the_time_all_run() -> None:
    assert budget_after(0.1, 0.01).too_costly == {}


def test_an_expensive_test_runs_until_no_more_time_is_left_than_the_others_need() -> None:
    budget = budget_after(0.5, 0.03, 0.01)
    while budget.left > 4.5:
        assert budget.too_costly == {}
        budget.spend(0, 0.5)
    assert budget.too_costly == {0: 3.5 + 0.5 * 50}


def test_several_expensive_tests_stop_and_cheap_ones_never_do() -> None:
    assert budget_after(1.0, 0.9, 0.01, 0.01).too_costly.keys() == {0}
    assert budget_after(1.9, 1.9, 1.9, 1.9, 0.01).too_costly.keys() == {0, 1, 2, 3}
    assert budget_after(*[0.03] * 12).too_costly == {}


def test_a_test_that_is_set_aside_needs_no_time() -> None:
    budget = budget_after(0.1, 0.09)
    budget.set_aside(1)
    budget.spend(0, 0.1)
    assert budget.too_costly == {}
    assert budget_after(0.1, 0.09, 0.1).too_costly != {}


def test_the_only_test_runs_until_the_time_is_up() -> None:
    assert budget_after(5.0).too_costly == {}


def test_the_test_with_the_most_data_is_the_one_that_exchanges_too_much() -> None:
    budget = TrapBudget(TRAP_SECONDS)
    budget.keep(0, MAX_TRANSCRIPTS_BYTES - 10)
    budget.keep(1, 20)
    assert budget.too_large == set()
    with pytest.raises(OverLimitError, match="it exchanges more than 512 MB with the subject in all runs"):
        budget.keep(0, 1)
    assert budget.too_large == {0}


@pytest.mark.slow
def test_a_test_that_calls_too_often_is_set_aside_for_its_calls(traps: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_relay, "MAX_REQUESTS", 20)
    result = traps(EXERCISE, PAST + MANY_CALLS.format(calls=20))
    assert standings(result) == {"test_the_past": Standing.COUNTS, "test_many": Standing.OVER_LIMIT}
    assert "does not count: it uses the subject more than 20 times in one run; use smaller sizes or fewer calls" in (
        render_trap(result, width=200)
    )
    assert caught(result) == [1]


@pytest.mark.slow
def test_a_test_that_sends_too_much_is_set_aside_for_its_data(traps: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_relay, "MAX_TRANSCRIPT_BYTES", 1 << 20)
    text = "\ndef test_large(subject, gaussian):\n    subject(400, 800, 8, 0.0)(gaussian(1, 1, 400))\n"
    result = traps(EXERCISE, PAST + text)
    assert standings(result) == {"test_the_past": Standing.COUNTS, "test_large": Standing.OVER_LIMIT}


@pytest.mark.slow
def test_an_expensive_test_does_not_keep_the_others_from_counting(traps: Traps) -> None:
    result = traps(EXERCISE, MANY_CALLS.format(calls=600) + PAST)
    assert standings(result) == {"test_many": Standing.TOO_COSTLY, "test_the_past": Standing.COUNTS}
    assert not result.is_time_up
    assert result.depends_on_time()
    assert caught(result) == [1]
    assert "test_many  does not count: its runs would take about" in render_trap(result, width=200)
