"""Golden pages of whole hunts, from the first list to the last defect."""

import functools

import msgspec
import pytest

from grader.report.hint import render_hint
from grader.report.overview import OverviewLine, render_overview
from grader.spec.loading import load_exercise
from grader.student.hints import next_hint
from grader.student.progress import load_progress, remember_verdict
from grader.student.watch.events import VerdictEvent, WatchScreen, compare, render_event
from tests.support.pages import terminal_page
from tests.support.paths import CORPUS
from tests.support.sampling import others_slow

HUNTS = ("exercise_03", "exercise_02", "exercise_04")
GOLDEN = CORPUS / "golden" / "hunts"
LOOKS = {"80": (80, False), "120": (120, False), "80.color": (80, True), "120.color": (120, True)}
LINES_OF_A_WATCH = 24


@functools.cache
def verdicts_on(judge_text, exercise_id):
    """The verdicts on the starter, on the file with one bracket lost, and after each fix of one defect more."""
    exercise = load_exercise(judge_text.course.description(exercise_id))
    ids = sorted(exercise.numbers(), key=lambda defect: exercise.numbers()[defect])
    sources = [judge_text.variant(exercise_id, frozenset(ids[fixed:])) for fixed in range(len(ids) + 1)]
    sources.insert(1, sources[0].replace("super().__init__()", "super().__init__(", 1))
    judged = judge_text.many(exercise_id, sources)
    return [msgspec.structs.replace(each, seconds=0.0, isolation={}) for each in judged]


def screens(course, exercise, verdicts, width: int, *, color: bool) -> str:
    """The pages one below the other, each under the command that shows it."""
    pages = []

    def show(command: str, page: str) -> None:
        pages.append(f"$ python -m grader {command}\n{page}")

    def show_list() -> None:
        entry = OverviewLine(
            exercise=exercise.id,
            title=exercise.title,
            progress=load_progress(course, exercise.id),
            difficulty=exercise.difficulty,
        )
        show("", render_overview([entry], width=width, color=color))

    show_list()
    before = None
    for verdict in verdicts:
        progress = load_progress(course, exercise.id)
        unlisted = msgspec.structs.replace(progress, listed=[])
        page = terminal_page(verdict, exercise, unlisted, width=width, color=color)
        show(exercise.id, page)
        if before is not None:
            change = compare(progress.statuses, before, verdict)
            event = VerdictEvent(
                exercise=exercise,
                verdict=verdict,
                change=change,
                remark="",
                at="12:00:00",
                progress=unlisted,
            )
            screen = WatchScreen(width=width, height=LINES_OF_A_WATCH, color=color, clears=True, has_keys=True)
            watched = render_event(event, screen).replace("\x1b[H\x1b[2J\x1b[3J", "")
            show(f"watch {exercise.id}", watched)
        remember_verdict(course, verdict)
        show(f"hint {exercise.id}", render_hint(next_hint(course, exercise, verdict), width=width, color=color))
        before = verdict
    show_list()
    return "\n".join(pages)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("exercise_id", others_slow(HUNTS))
def test_a_whole_hunt_reads_as_its_golden_page_says(judge_text, own_course, request, exercise_id, look):
    width, color = LOOKS[look]
    exercise = load_exercise(own_course.description(exercise_id))
    text = screens(own_course, exercise, verdicts_on(judge_text, exercise_id), width, color=color)
    path = GOLDEN / f"{exercise_id}.{look}.txt"
    if request.config.getoption("--rewrite-golden"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; if it is meant, --rewrite-golden"
    assert color or max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("exercise_id", others_slow(HUNTS))
def test_a_watch_fits_its_screen_with_the_news_first(judge_text, own_course, exercise_id):
    exercise = load_exercise(own_course.description(exercise_id))
    before = None
    for verdict in verdicts_on(judge_text, exercise_id):
        statuses = {} if before is None else {each.id: each.status for each in before.defects}
        event = VerdictEvent(
            exercise=exercise,
            verdict=verdict,
            change=compare(statuses, before, verdict),
            remark="",
            at="12:00:00",
        )
        page = render_event(
            event, WatchScreen(width=80, height=LINES_OF_A_WATCH, color=False, clears=True, has_keys=True)
        )
        lines = page.replace("\x1b[H\x1b[2J\x1b[3J", "").splitlines()
        assert lines[0].startswith("attention.py · 12:00:00")
        assert len(lines) <= LINES_OF_A_WATCH, page
        before = verdict
