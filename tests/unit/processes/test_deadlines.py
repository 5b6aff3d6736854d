"""Time limits of a submission: in wall-clock time, without the time that it waited for a processor."""

import pytest

from grader.processes import deadlines
from grader.processes.deadlines import LEAST_LEFT, SETTLED_AT, Overrun, ProcessorTime, TimeBudget

WAIT = 2 * SETTLED_AT


class Clock:
    """A clock that only tests move, so that a busy machine changes no result."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(deadlines, "time", clock)
    return clock


def wait_within(budget: TimeBudget, clock: Clock) -> None:
    with budget.spending():
        clock.seconds += WAIT


def raise_after_a_wait(clock: Clock) -> None:
    clock.seconds += WAIT
    raise TimeoutError


def test_a_check_may_take_its_own_limit_and_no_more_than_is_left_in_all(clock: Clock) -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 1.0)
    assert budget.deadline() == pytest.approx(clock.seconds + 1.0)
    budget.allow(3.0)
    budget.allow(2.0)
    assert budget.deadline() == pytest.approx(clock.seconds + 3.0)
    budget.allow(60.0)
    assert budget.deadline() == pytest.approx(clock.seconds + 10.0)


def test_waiting_counts_for_the_check_and_for_the_total(clock: Clock) -> None:
    budget = TimeBudget(WAIT)
    budget.begin("a check", 1.0)
    assert not budget.is_over()
    wait_within(budget, clock)
    assert budget.charged >= WAIT
    assert budget.is_over()
    budget.renew()
    budget.begin("a check", 1.0)
    assert (budget.charged, budget.is_over()) == (0.0, False)


def test_time_in_which_an_exception_is_raised_is_charged_too(clock: Clock) -> None:
    budget = TimeBudget(10.0)
    with pytest.raises(TimeoutError), budget.spending():
        raise_after_a_wait(clock)
    assert budget.charged >= WAIT


def test_time_that_the_worker_waited_for_a_processor_is_returned_to_the_total(clock: Clock) -> None:
    budget = TimeBudget(WAIT)
    budget.start_worker(ProcessorTime(ran=5.0, waited=5.0))
    wait_within(budget, clock)
    assert budget.is_settlement_due()
    budget.settle(ProcessorTime(ran=5.0, waited=5.0 + WAIT))
    assert not budget.is_settlement_due()
    assert not budget.is_over()


def test_no_more_is_given_back_than_was_waited_without_running(clock: Clock) -> None:
    budget = TimeBudget(WAIT)
    wait_within(budget, clock)
    budget.settle(ProcessorTime(ran=WAIT - LEAST_LEFT / 2, waited=100.0))
    assert budget.is_over()


def test_a_worker_that_waits_for_a_processor_gets_this_time_and_so_runs_as_long_as_any(clock: Clock) -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", 10 * WAIT)
    now, ran = ProcessorTime(), 0.0
    for _ in range(10):
        wait_within(budget, clock)
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
def test_a_worker_that_ran_or_slept_gets_no_more_time(used: ProcessorTime, clock: Clock) -> None:
    budget = TimeBudget(10.0)
    budget.begin("a check", WAIT)
    wait_within(budget, clock)
    assert not budget.settle(used)
    assert budget.overrun() == Overrun(allowed=f"a check may take {WAIT:g} s", is_hang=True)


def test_a_worker_at_a_disk_gets_the_time_that_it_did_not_run_but_not_without_end(monkeypatch, clock: Clock) -> None:
    monkeypatch.setattr(deadlines, "MAX_RETURNED", 2.5 * WAIT)
    budget = TimeBudget(10.0)
    budget.begin("a check", WAIT / 2)
    returned = []
    for _ in range(6):
        wait_within(budget, clock)
        returned.append(budget.settle(ProcessorTime(is_at_disk=True)))
    assert returned[0]
    assert not returned[-1]
    assert not budget.overrun().is_hang


def test_an_exhausted_total_is_reported_and_not_a_hang() -> None:
    budget = TimeBudget(0.5)
    budget.begin("a check", 1.0)
    assert budget.overrun() == Overrun(allowed="0.5 s were left of 0.5 s for all checks", is_hang=False)
