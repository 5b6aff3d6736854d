"""The pages that follow the last hunt of a theme and of the course."""

from msgspec import structs

from grader.report.overview import OverviewLine, render_completed_course, render_completed_theme
from grader.report.progress import Attempt, Progress
from grader.spec.loading import load_exercise
from grader.verdict.verdict import Result

NOON = 1_770_033_600.0


def solved(exercise: str, *, at: float, hints: int = 0, extras: int = 0) -> OverviewLine:
    best = Attempt(at=at, outcome=Result.FIXED, score=10, fixed=2, defects=2, extras=extras)
    progress = Progress(outcome=Result.FIXED, attempts=[best], best=best, hints_given={"1": hints})
    return OverviewLine(exercise=exercise, title=exercise, progress=progress)


def test_a_completed_theme_lists_what_was_wrong_and_leaves_out_what_is_still_locked(course):
    hunt = load_exercise(course.description("exercise_03"))
    sealed = [structs.replace(each, why="") if each.stretch else each for each in hunt.defects]
    page = render_completed_theme("Masks", [structs.replace(hunt, defects=sealed)])
    assert page == (
        "\nTheme complete: Masks\n"
        "exercise_03  The model that knew how the sentence ends\n"
        "             - the masked scores were thrown away\n"
    )


def test_a_hunt_without_defects_says_so_once_its_theme_is_complete(course):
    decoy = load_exercise(course.description("exercise_35"))
    assert "- nothing was wrong\n" in render_completed_theme("Masks", [decoy])


def test_a_completed_course_sums_up_hunts_defects_attempts_hints_and_days():
    entries = [solved("exercise_01", at=NOON, hints=1), solved("exercise_02", at=NOON + 3 * 86_400, extras=1)]
    lines = render_completed_course(entries).splitlines()
    assert lines[1:3] == ["Course complete", "2 hunts solved · 5 defects fixed · 2 attempts · 1 hint"]
    assert lines[3] == "Solved between 2026-02-02 and 2026-02-05."
