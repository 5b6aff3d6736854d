"""Time limits of a submission: in wall-clock time, without the time that it waited for a processor."""

import time

import pytest

from grader.processes import deadlines
from grader.processes.deadlines import LEAST_LEFT, SETTLED_AT, Overrun, ProcessorTime, TimeBudget

WAIT = 2 * SETTLED_AT
ROUNDING = 1e-6


def wait_within(budget: TimeBudget) -> None:
    with budget.spending():
        time.sleep(WAIT)


def raise_after_a_wait() -> None:
    time.sleep(WAIT)
    raise TimeoutError


def is_due_in(budget: TimeBudget, seconds: float) -> bool:
    """Return whether the deadline is so many seconds from now, whatever the time between two looks at the clock."""
    before, deadline, after = time.monotonic(), budget.deadline(), time.monotonic()
    return before + seconds <= deadline + ROUNDING and deadline <= after + seconds + ROUNDING


def test_a_check_may_take_its_own_limit_and_no_more_than_is_left_in_all() -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 1.0)
    assert is_due_in(budget, 1.0)
    budget.allow(3.0)
    budget.allow(2.0)
    assert is_due_in(budget, 3.0)
    budget.allow(60.0)
    assert is_due_in(budget, 10.0)


def test_waiting_counts_for_the_check_and_for_the_total() -> None:
    budget = TimeBudget(WAIT)
    budget.begin("a check", 1.0)
    assert not budget.is_over()
    wait_within(budget)
    assert budget.charged >= WAIT
    assert budget.is_over()
    budget.renew()
    budget.begin("a check", 1.0)
    assert (budget.charged, budget.is_over()) == (0.0, False)


def test_time_in_which_an_exception_is_raised_is_charged_too() -> None:
    budget = TimeBudget(10.0)
    with pytest.raises(TimeoutError), budget.spending():
        raise_after_a_wait()
    assert budget.charged >= WAIT


def test_time_that_the_worker_waited_for_a_processor_is_returned_to_the_total() -> None:
    budget = TimeBudget(WAIT)
    budget.start_worker(ProcessorTime(ran=5.0, waited=5.0))
    wait_within(budget)
    assert budget.is_settlement_due()
    budget.settle(ProcessorTime(ran=5.0, waited=5.0 + WAIT))
    assert not budget.is_settlement_due()
    assert not budget.is_over()


def test_no_more_is_given_back_than_was_waited_without_running() -> None:
    budget = TimeBudget(WAIT)
    wait_within(budget)
    budget.settle(ProcessorTime(ran=WAIT - LEAST_LEFT / 2, waited=100.0))
    assert budget.is_over()


def test_a_worker_that_waits_for_a_processor_gets_this_time_and_so_runs_as_long_as_any() -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 10 * WAIT)
    now, ran = ProcessorTime(), 0.0
    for _ in range(10):
        wait_within(budget)
        ran += 0.2 * WAIT
        now = ProcessorTime(ran=ran, waited=4 * ran)
        assert budget.settle(now)
    assert budget.charged == pytest.approx(ran, rel=0.5)
    assert not budget.settle(now)  # it has not waited again


@pytest.mark.parametrize(
    "used",
    [ProcessorTime(ran=WAIT), ProcessorTime(ran=WAIT, waited=WAIT), ProcessorTime()],
    ids=["ran", "ran in several threads", "slept"],
)
def test_a_worker_that_ran_or_slept_gets_no_more_time(used: ProcessorTime) -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", WAIT)
    wait_within(budget)
    assert not budget.settle(used)
    assert budget.overrun() == Overrun(allowed=f"a check may take {WAIT:g} s", is_hang=True)


def test_a_worker_at_a_disk_gets_the_time_that_it_did_not_run_but_not_without_end(monkeypatch) -> None:
    monkeypatch.setattr(deadlines, "MAX_RETURNED", 2.5 * WAIT)
    budget = TimeBudget(10.0)
    budget.begin("a check", WAIT / 2)
    returned = []
    for _ in range(6):
        wait_within(budget)
        returned.append(budget.settle(ProcessorTime(is_at_disk=True)))
    assert returned[0]
    assert not returned[-1]
    assert not budget.overrun().is_hang


def test_an_exhausted_total_is_reported_and_not_a_hang() -> None:
    budget = TimeBudget(0.5)
    budget.begin("a check", 1.0)
    assert budget.overrun() == Overrun(allowed="0.5 s were left of 0.5 s for all checks", is_hang=False)
