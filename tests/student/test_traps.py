"""A student's trap: the empty file, the words of its page, its runs in a watch, and what is kept at home."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from grader.author.release import release
from grader.checks.outcome import Status
from grader.report.trap import Details, render_trap, render_trap_json
from grader.sandbox.traps.messages import Cause
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.student.changes import restore_starter
from grader.student.progress import load_progress, save_progress
from grader.student.traps import MAX_STATES, RUNS_BEFORE_SIZES, details_of, hand_out_trap, home_of, keep_state
from grader.submission import submission_from_text
from grader.trap.implementations import Role, implementations_at_home
from grader.trap.reading import TEMPLATE
from grader.trap.result import Caught, Count, DefectResult, Standing, TrapResult
from grader.trap.result import TestResult as JudgedTest
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.gradebooks import verdict
from tests.support.traps import PAST
from tests.support.watching import Watch, small_course

EXERCISE = "exercise_03"


def result_with(*, caught: bool) -> TrapResult:
    defects = (
        DefectResult(number=1, points=0.0, max_points=7.0, stretch=False, caught=Caught.NEVER),
        DefectResult(
            number=2,
            points=float(caught),
            max_points=1.0,
            stretch=True,
            caught=Caught.ALWAYS if caught else Caught.NEVER,
            by=("test_long",) if caught else (),
        ),
    )
    return TrapResult(exercise=EXERCISE, file="trap.py", seed=1, defects=defects)


def test_the_empty_trap_is_written_once(own_course: Course) -> None:
    path = own_course.trap(EXERCISE)
    path.unlink(missing_ok=True)
    assert hand_out_trap(own_course, EXERCISE)
    assert path.read_text(encoding="utf-8") == TEMPLATE.format(exercise=EXERCISE)
    path.write_text(PAST, encoding="utf-8")
    assert not hand_out_trap(own_course, EXERCISE)
    assert path.read_text(encoding="utf-8") == PAST


def test_reset_leaves_a_trap_and_brings_back_a_missing_one(own_course: Course) -> None:
    path = own_course.trap(EXERCISE)
    path.write_text(PAST, encoding="utf-8")
    restore_starter(own_course, EXERCISE)
    assert path.read_text(encoding="utf-8") == PAST
    path.unlink()
    assert "trap.py: it was missing; created empty" in restore_starter(own_course, EXERCISE)
    assert path.is_file()


def test_a_caught_defect_has_its_name_once_it_is_fixed_in_the_hunt(own_course: Course) -> None:
    exercise = load_exercise(own_course.description(EXERCISE))
    extra = next(each for each in exercise.defects if each.stretch)
    title = extra.title.strip().rstrip(".")
    result = result_with(caught=True)
    assert title not in render_trap(result, details_of(own_course, result))
    progress = load_progress(own_course, EXERCISE)
    fixed = {each.id: DefectStatus.FIXED if each is extra else DefectStatus.PRESENT for each in exercise.defects}
    save_progress(own_course, EXERCISE, type(progress)(statuses=fixed))
    assert f"extra 2 ({title})  caught by test_long" in render_trap(result, details_of(own_course, result), width=200)
    assert title not in render_trap(result_with(caught=False), details_of(own_course, result), width=200)


def test_sizes_of_a_defect_that_is_not_caught_come_with_the_third_run(own_course: Course) -> None:
    exercise = load_exercise(own_course.description(EXERCISE))
    first = next(each.id for each in exercise.defects if exercise.numbers()[each.id] == 1)
    progress = load_progress(own_course, EXERCISE)
    sizes = {first: "with tokens=3; right with tokens=1"}
    save_progress(own_course, EXERCISE, type(progress)(failing_sizes=sizes))
    result = result_with(caught=False)
    pages = [render_trap(result, details_of(own_course, result)) for _ in range(RUNS_BEFORE_SIZES)]
    assert all("defect 1  not caught\n" in page for page in pages[:-1])
    assert "defect 1  not caught; in your file it was wrong with tokens=3; right with tokens=1" in pages[-1]
    assert "extra 2  not caught\n" in pages[-1]  # its sizes are not known


def test_a_page_says_what_to_do_next_unless_it_is_about_a_hand_in() -> None:
    story = f"Next: find a sentence of exercises/{EXERCISE}/README.md that no test checks."
    test = JudgedTest(name="test_long", standing=Standing.COUNTS)
    missed = structs.replace(result_with(caught=False), tests=(test,))
    assert story in render_trap(missed, has_next=True)
    assert "Next:" not in render_trap(missed)
    idle = structs.replace(missed, tests=(structs.replace(test, standing=Standing.NEVER_CALLS),))
    assert "Next: fix one of the tests: no test counts yet.\n" in render_trap(idle, has_next=True)
    broken = structs.replace(missed, problem="SyntaxError")
    again = f"Next: edit trap.py, then run python -m grader trap {EXERCISE} again.\n"
    assert again in render_trap(broken, has_next=True)
    done = structs.replace(missed, is_at_home=True, subsets=Count(caught=1, of=1))
    page = render_trap(done, has_next=True, width=400)
    assert (
        "Next: go through your changes to the starter: if any one of them is undone, a test must fail. Then hand it"
        in page
    )


def test_the_wrong_fixes_of_a_decoy_are_not_called_defects() -> None:
    page = render_trap(structs.replace(result_with(caught=False), is_decoy=True, with_own_test=Count(of=2)))
    assert "version 1  not caught\n" in page
    assert "0 of 2 versions are caught by a test that catches no other version" in page
    assert "defect " not in page


def test_a_starter_that_is_not_caught_may_be_right() -> None:
    test = JudgedTest(name="test_long", standing=Standing.COUNTS)
    result = structs.replace(result_with(caught=False), defects=(), tests=(test,), is_at_home=True, subsets=Count(of=1))
    page = render_trap(result)
    assert "the starter  not caught; if the starter has no defect, no test can catch it\n" in page
    assert "catches nothing" not in page


def test_at_home_the_page_calls_the_reference_your_own_fix() -> None:
    failure: dict[str, Any] = {"reason": "AssertionError", "cause": Cause.ASSERTION, "line": 3}
    test = JudgedTest(name="test_long", standing=Standing.FAILS_REFERENCE, **failure)
    result = structs.replace(result_with(caught=False), defects=(), tests=(test,))
    assert "it fails on the reference: line 3: AssertionError; read again" in render_trap(result)
    at_home = structs.replace(result, is_at_home=True, subsets=Count(of=1))
    assert "it fails on your own fix: line 3: AssertionError; read again" in render_trap(at_home)
    reason = json.loads(render_trap_json(at_home))["tests"][0]["reason"]
    assert reason.startswith("it fails on your own fix: line 3: ")


def test_a_page_without_details_has_numbers_alone() -> None:
    assert render_trap(result_with(caught=True)) == render_trap(result_with(caught=True), Details())


@pytest.mark.slow
def test_earlier_states_are_kept_at_home_and_used_by_the_trap(own_course: Course, tmp_path: Path) -> None:
    release(own_course, tmp_path / "out", only=(EXERCISE,))
    course = find_course(tmp_path / "out")
    starter = course.pristine(course.editable_files(EXERCISE)[0]).read_text(encoding="utf-8")
    for number in range(MAX_STATES + 3):
        keep_state(course, submission_from_text(f"{starter}\n# {number}\n"), verdict(outcome=Result.NOT_FIXED))
    assert len(list((course.state_folder() / "states" / EXERCISE).iterdir())) == MAX_STATES
    assert home_of(course, EXERCISE) is None
    passed = [each for each in verdict().checks if each.status is Status.PASSED]
    own = submission_from_text(starter)
    keep_state(course, own, verdict(outcome=Result.FIXED, checks=passed))
    home = home_of(course, EXERCISE)
    assert home is not None
    assert home.own == own
    assert len(home.earlier) == MAX_STATES - 1
    found = implementations_at_home(course, load_exercise(course.description(EXERCISE)), home)
    assert [each.role for each in found] == [Role.RIGHT, Role.COMBINED, *[Role.HALF_MENDED] * 6]
    course.editable_files(EXERCISE)[0].write_text(f"{starter}\nlater = 1\n", encoding="utf-8")
    assert home_of(course, EXERCISE) is None  # nobody has judged this content
    keep_state(own_course, own, verdict())
    assert not (own_course.state_folder() / "states").exists()  # the references are there


@pytest.mark.slow
def test_a_watch_judges_a_saved_trap(tmp_path: Path) -> None:
    course = small_course(tmp_path / "course", EXERCISE)
    with Watch(course, EXERCISE) as watch:
        watch.verdict()
        watch.forget()
        (course / "exercises" / EXERCISE / "trap.py").write_text(PAST, encoding="utf-8")
        page = watch.wait_for(r"Trap: \d+ of 8 points")
    assert "defect 1  caught by test_the_past" in page
