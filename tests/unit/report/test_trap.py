"""The page of a trap: the reason why a test does not count, and what to change."""

import pytest
from msgspec import structs

from grader.report.trap import reason_of, render_trap
from grader.sandbox.traps.messages import Cause
from grader.sandbox.traps.test_server import cause_of
from grader.trap.result import Caught, Count, DefectResult, Standing, TrapResult
from grader.trap.result import TestResult as JudgedTest

RIGHT = 9


def judged(name: str = "test_a", standing: Standing = Standing.COUNTS, **fields: object) -> JudgedTest:
    return structs.replace(JudgedTest(name=name, standing=standing, of=RIGHT, accepts=RIGHT, catches=1), **fields)


def page_of(*tests: JudgedTest, **fields: object) -> str:
    defect = DefectResult(number=1, max_points=7.0, points=7.0, stretch=False, caught=Caught.ALWAYS, by=("test_a",))
    result = TrapResult(exercise="exercise_03", file="trap.py", seed=1, tests=tests, defects=(defect,))
    return render_trap(structs.replace(result, **fields), width=400, has_next=True)


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        ({"cause": Cause.ASSERTION}, "read again what the README promises"),
        ({}, "correct this line"),
        ({"line": 0}, "correct the test"),
        ({"by_crash": True}, "the subject raises this; use the subject as the README"),
        ({"cause": Cause.CLOSED}, "a test can use no files, processes or network"),
    ],
)
def test_the_remedy_for_a_failure_on_the_reference_depends_on_its_cause(fields: dict[str, object], remedy: str) -> None:
    test = judged(standing=Standing.FAILS_REFERENCE, reason="an exception", line=3)
    assert remedy in reason_of(structs.replace(test, **fields))


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (AssertionError("no"), Cause.ASSERTION),
        (pytest.fail.Exception("DID NOT RAISE ValueError"), Cause.ASSERTION),
        (FileNotFoundError(2, "No such file"), Cause.CLOSED),
        (MemoryError(), Cause.MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), Cause.MEMORY),
        (OSError(12, "Cannot allocate memory"), Cause.MEMORY),
        (ModuleNotFoundError("No module named 'jax'"), Cause.OTHER),
    ],
)
def test_the_cause_of_a_failure_follows_from_its_exception(error: BaseException, cause: Cause) -> None:
    assert cause_of(error) is cause


def test_right_implementations_that_nobody_can_look_at_are_counted_without_their_numbers() -> None:
    test = judged(standing=Standing.FAILS_RIGHT, fails_on=(2, 3, 5), reason="AttributeError: m", line=4)
    assert reason_of(test) == (
        "it fails on 3 of 9 right implementations; line 4: AttributeError: m; "
        "test what the README promises, and no more"
    )


def test_a_test_that_fails_everywhere_at_some_seeds_may_depend_on_its_earlier_runs() -> None:
    some = judged(standing=Standing.SOMETIMES, fails_on=(2, 3))
    assert reason_of(some).endswith("choose inputs and a tolerance at which it always passes")
    everywhere = structs.replace(some, fails_on=tuple(range(1, RIGHT + 1)))
    assert reason_of(everywhere).endswith("always passes, and use nothing that an earlier run has left")


@pytest.mark.parametrize(("fails_on", "where"), [((4,), " on 1 of 9 right implementations"), ((*range(9),), "")])
def test_a_test_that_runs_out_of_memory_should_use_smaller_sizes(fails_on: tuple[int, ...], where: str) -> None:
    test = judged(standing=Standing.TOO_LARGE, fails_on=fails_on, line=6, reason="RuntimeError: can't allocate memory")
    assert reason_of(test) == f"line 6: it runs out of memory{where}; use smaller sizes"


def test_parameters_that_do_not_count_for_one_reason_share_a_row() -> None:
    tests = [judged(f"test_sum[{number}]", Standing.TOO_MANY) for number in range(5)]
    page = page_of(judged("test_sum[9]"), *tests, judged("test_b", Standing.TOO_MANY))
    assert "test_sum[9]  accepts 9 of 9\n" in page
    assert "test_sum[0] and 4 more  do not count, each because a trap may have at most 12 tests" in page
    assert "test_b  does not count: a trap may have at most 12 tests" in page
    assert "test_sum[1]" not in page


def test_lists_of_tests_end_with_the_number_of_the_others() -> None:
    names = tuple(f"test_{number}" for number in range(6))
    caught = DefectResult(number=1, stretch=False, caught=Caught.ALWAYS, by=names)
    page = page_of(*(judged(name, catches=0) for name in names), defects=(caught,))
    assert "defect 1  caught by test_0, test_1, test_2, test_3, and 2 more\n" in page
    assert "test_0, test_1, test_2, test_3, and 2 more catch nothing. That is right for tests of a promise" in page


def test_a_test_that_catches_at_some_seeds_or_half_fixed_code_alone_is_named() -> None:
    caught = DefectResult(number=1, stretch=False, caught=Caught.SOMETIMES, sometimes_by=("test_a",))
    page = page_of(judged("test_a"), judged("test_b", catches=2, catches_half_fixed=2), defects=(caught,))
    assert "defect 1  caught at some seeds by test_a; it counts only if a test fails at every seed\n" in page
    assert "test_b catches half-fixed code alone, which earns no points.\n" in page


def test_the_point_for_the_combinations_is_named_before_the_hand_in() -> None:
    caught = DefectResult(number=1, stretch=False, caught=Caught.ALWAYS, by=("test_a",))
    extra = DefectResult(number=2, stretch=True, caught=Caught.NEVER)
    point, hand_in = (
        "to earn the point for the combinations, write a test that catches",
        "hand it in as your course asks",
    )
    page = page_of(judged(), defects=(caught, extra), subsets=Count(caught=2, of=3))
    assert f"Next: {point} extra 2, or {hand_in}" in page
    both = (caught, structs.replace(extra, caught=Caught.ALWAYS, by=("test_a",)))
    page = page_of(judged(), defects=both, subsets=Count(caught=2, of=3))
    assert f"Next: {point} the combinations that no test catches, or {hand_in}" in page
    assert "Next: hand it in as" in page_of(judged(), defects=both, subsets=Count(caught=3, of=3))


def test_a_page_says_which_time_was_up_and_which_test_used_most_of_it() -> None:
    tests = [judged("test_a", Standing.NOT_RUN, seconds=1.2), judged("test_b", Standing.NOT_RUN, seconds=6.5)]
    page = page_of(*tests, is_time_up=True)
    assert "test_a  does not count: no time was left for all its runs; all tests together may take 8 s\n" in page
    assert "test_b took 6.5 s. This time does not include starting processes and waiting for a busy machine." in page
    without = page_of(judged("test_a", Standing.NOT_RUN), is_time_up=True)
    assert "so some implementations were left out. This time does not include" in without


def test_a_test_that_was_stopped_says_how_much_time_it_needs() -> None:
    costly = judged("test_a", Standing.TOO_COSTLY, seconds=14.83)
    assert reason_of(costly).startswith("its runs would take about 15 s, but all tests together may take 8 s")
    assert "took" not in page_of(costly, judged("test_b"), is_time_up=True)


def test_a_test_that_exchanges_too_much_on_defective_code_alone_has_a_reason_too() -> None:
    assert reason_of(judged(standing=Standing.OVER_LIMIT)).startswith("it exchanges too much data with the subject in")
