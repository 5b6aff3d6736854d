"""The pages that students read first have one form, and mention only what exists."""

import re

import pytest
from msgspec import structs

from grader.checks.outcome import FailureKind, Finding, Map, Outcome, Picture, PictureKind, SizeComparison, Status
from grader.report.progress import Progress
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict
from tests.support.pages import terminal_page
from tests.support.paths import ROOT

EXERCISES = sorted(path.name for path in (ROOT / "exercises").glob("exercise_*"))
HEADINGS = ["## The story", "## The interface a fix must keep", "## How to work on it"]


@pytest.fixture(params=EXERCISES)
def page(request) -> tuple[str, str]:
    return request.param, (ROOT / "exercises" / request.param / "README.md").read_text(encoding="utf-8")


def test_every_story_has_the_same_three_headings_under_its_title(course, page):
    exercise_id, text = page
    exercise = load_exercise(course.description(exercise_id))
    assert re.findall(r"^#.*$", text, re.MULTILINE) == [f"# {exercise.title}", *HEADINGS]


def test_a_story_says_what_was_noticed_what_is_learned_and_what_helps(page):
    _, text = page
    story = text.partition(HEADINGS[0])[2].partition(HEADINGS[1])[0]
    for words in ("What people noticed:\n\n- ", "You will learn ", "It helps to "):
        assert " ".join(words.split()) in " ".join(story.split()), words
    assert re.search(r"Read more in [^.]*\]\(https://", " ".join(story.split()))


def test_a_page_shows_the_commands_of_its_own_exercise(page):
    exercise_id, text = page
    commands = re.findall(r"^    python -m grader (.*)$", text.partition(HEADINGS[2])[2], re.MULTILINE)
    assert commands == [exercise_id, f"hint {exercise_id}"]


def test_an_exercise_without_a_mask_is_not_described_with_one(course, page):
    exercise_id, text = page
    reference = course.reference_text(exercise_id)
    description = course.description(exercise_id).read_text(encoding="utf-8")
    if "mask" not in reference:
        assert "mask" not in text.lower()
        assert "mask:" not in description


def invented(course) -> tuple[Exercise, Verdict]:
    """An exercise that does not exist, and a verdict on it: the page in README.md spoils no hunt."""
    found = Finding(
        kind=FailureKind.MIXING,
        action="changing sample 1",
        item="output",
        place="sample 0",
        expected="no change",
        observed="0.208",
        sizes=SizeComparison(
            failed={"batch": 3, "tokens": 5, "width": 8}, passed={"batch": 1, "tokens": 5, "width": 8}
        ),
        picture=Picture(
            kind=PictureKind.MOVEMENT,
            maps=[
                Map(
                    title="how far each output moved",
                    cells=[[0.9 if row == column else 0.2 for column in range(3)] for row in range(3)],
                    marked=[(row, column) for row in range(3) for column in range(3) if row != column],
                )
            ],
            rows="output at sample",
            columns="changed sample",
        ),
    )
    values = Finding(kind=FailureKind.VALUES, item="output", expected="0.1", observed="0.2")
    failed = {"samples_do_not_mix": found, "values": values, "values_with_bias": values}
    checks = [Outcome(check=name, status=Status.FAILED, finding=finding) for name, finding in failed.items()]
    checks += [Outcome(check=f"passed_{number}", status=Status.PASSED) for number in range(11)]
    real = load_exercise(course.description("exercise_03"))
    described = [
        structs.replace(real.defects[0], id="axis", title="the answers were normalized over the questions", points=3),
        structs.replace(real.defects[0], id="batch", points=4),
    ]
    exercise = structs.replace(
        real, id="exercise_99", title="The translator who answered himself", defects=described, nothing_else_broke=3
    )
    status = {"axis": DefectStatus.FIXED, "batch": DefectStatus.PRESENT}
    defects = [
        DefectVerdict(
            id=each.id,
            number=exercise.numbers()[each.id],
            status=status[each.id],
            points=each.points if status[each.id] is DefectStatus.FIXED else 0,
            max_points=each.points,
            stretch=False,
        )
        for each in described
    ]
    verdict = Verdict(
        exercise="exercise_99",
        file="exercises/exercise_99/attention.py",
        outcome=Result.NOT_FIXED,
        reason=None,
        score=3,
        max_score=10,
        seed=7,
        defects=defects,
        regressions=[],
        checks=checks,
        isolation={},
        seconds=0.22,
        causes={name: ["batch"] for name in failed},
    )
    return exercise, verdict


def test_the_readmes_opening_screen_is_the_page_of_an_invented_exercise(course):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("```\n")[2].partition("```")[0]
    exercise, verdict = invented(course)
    assert exercise.id not in course.exercise_ids()
    assert block == terminal_page(verdict, exercise, Progress(statuses={"axis": DefectStatus.FIXED}))


ROW = re.compile(r"^\| \[(exercise_\d+)\]\(\1/README\.md\) ([●○]{5}) \|(.*)\|$", re.MULTILINE)


def rows_by_heading(part: str) -> dict[str, list[tuple[str, str, str]]]:
    return {
        title: [(exercise_id, dots, rest.strip()) for exercise_id, dots, rest in ROW.findall(block)]
        for title, _, block in (each.partition("\n") for each in part.split("\n### ")[1:])
    }


def test_the_list_has_each_hunt_once_under_a_theme_the_easiest_first(course):
    page = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    themes = rows_by_heading(page.partition("\n## Paths\n")[0])
    assert sorted(row[0] for rows in themes.values() for row in rows) == EXERCISES
    for theme, rows in themes.items():
        assert rows == sorted(rows, key=lambda row: (row[1].count("●"), row[0]))
        for exercise_id, dots, rest in rows:
            exercise = load_exercise(course.description(exercise_id))
            assert dots.count("●") == exercise.difficulty
            assert exercise.theme == theme
            assert rest == f"{exercise.title} | `{exercise.interface.entry()}`"


def test_a_course_has_hunts_of_every_difficulty(course):
    assert {load_exercise(course.description(exercise_id)).difficulty for exercise_id in EXERCISES} == {1, 2, 3, 4, 5}


def test_each_path_is_twelve_hunts_the_easiest_first_with_what_each_says_it_teaches():
    page = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8")
    paths = rows_by_heading(page.partition("\n## Paths\n")[2].partition("\n## ")[0])
    assert [title.partition(":")[0].rpartition(" ")[2] for title in paths] == ["attention", "training", "evaluation"]
    for rows in paths.values():
        assert len({row[0] for row in rows}) == len(rows) == 12
        assert rows == sorted(rows, key=lambda row: (row[1].count("●"), row[0]))
        for exercise_id, _, learned in rows:
            story = (ROOT / "exercises" / exercise_id / "README.md").read_text(encoding="utf-8")
            assert f"You will learn {learned}" in " ".join(story.split())
