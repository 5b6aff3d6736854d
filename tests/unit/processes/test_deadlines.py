"""Time limits of a submission: in wall-clock time, without the time that it waited for a processor."""

import time

import pytest

from grader.processes.deadlines import LEAST_LEFT, MAX_FORGIVEN, SETTLED_AT, Overrun, ProcessorTime, TimeBudget

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
    budget.extend(60.0)
    assert is_due_in(budget, 10.0)


def test_waiting_counts_for_the_check_and_for_the_total() -> None:
    budget = TimeBudget(WAIT)
    budget.begin("a check", 1.0)
    assert not budget.is_over()
    wait_within(budget)
    assert budget.waited >= WAIT
    assert budget.is_over()
    budget.renew()
    budget.begin("a check", 1.0)
    assert (budget.waited, budget.is_over()) == (0.0, False)


def test_time_in_which_an_exception_is_raised_is_charged_too() -> None:
    budget = TimeBudget(10.0)
    with pytest.raises(TimeoutError), budget.spending():
        raise_after_a_wait()
    assert budget.waited >= WAIT


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


@pytest.mark.parametrize(
    ("used", "is_starved", "is_hang"),
    [
        (ProcessorTime(ran=1.0, waited=0.0), False, True),
        (ProcessorTime(ran=0.1, waited=0.9), True, False),
        (ProcessorTime(ran=0.6, waited=0.9), False, True),
        (ProcessorTime(ran=0.1, is_at_disk=True), True, False),
        (ProcessorTime(ran=0.6, is_at_disk=True), False, True),
        (ProcessorTime(ran=0.1), False, True),
    ],
    ids=["ran", "starved", "ran enough", "at a disk", "at a disk after it ran enough", "slept"],
)
def test_a_starved_worker_did_not_hang(used: ProcessorTime, is_starved: bool, is_hang: bool) -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 1.0)
    overrun = budget.overrun(used)
    assert overrun == Overrun(allowed="a check may take 1 s", is_starved=is_starved, is_hang=is_hang)


def test_a_starved_worker_gets_the_time_that_it_did_not_run() -> None:
    budget = TimeBudget(2 * WAIT)
    budget.begin("a check", WAIT)
    wait_within(budget)
    before = budget.deadline()
    assert budget.forgive(ProcessorTime(ran=0.1 * WAIT, waited=0.9 * WAIT))
    assert budget.deadline() - before == pytest.approx(0.9 * WAIT, abs=0.3 * WAIT)
    assert not budget.is_over()
    assert not budget.forgive(ProcessorTime(ran=0.1 * WAIT, waited=0.9 * WAIT))  # it has not waited again


def test_a_worker_that_ran_or_slept_gets_no_more_time_and_a_starved_one_not_without_end() -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 1.0)
    for used in (ProcessorTime(ran=0.9, waited=0.1), ProcessorTime(ran=0.1)):
        assert not budget.forgive(used)
    times = 0
    while budget.forgive(ProcessorTime(is_at_disk=True)):
        times += 1
    assert times == MAX_FORGIVEN / SETTLED_AT


def test_an_exhausted_total_is_reported_and_not_a_hang() -> None:
    budget = TimeBudget(0.5)
    budget.begin("a check", 1.0)
    overrun = budget.overrun(ProcessorTime(ran=0.2))
    assert overrun == Overrun(allowed="0.5 s were left of 0.5 s for all checks", is_starved=False, is_hang=False)
