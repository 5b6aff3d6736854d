"""A verdict as HTML: everything a submission says is text, nothing leaves the page, no defect is named early."""

import html
import re
from html.parser import HTMLParser

import msgspec
import pytest

from grader.commands.report import looks_at
from grader.course.loading import load_exercise
from grader.examiner.outcome import Finding, Location, Outcome, Picture, Status
from grader.report.html import render_report, render_section
from grader.report.picture import draw, shaded
from grader.student.progress import Attempt
from grader.verdict.verdict import Result, Verdict

PAYLOADS = [
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "</style><style>*{display:none}",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7 * 7 }}",
    "\u202egnp.exe",
    "]]><!--",
]
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "strong", "code"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "ol", "li", "pre", "span", "figure", "figcaption"),
    *("svg", "g", "defs", "path", "use", "clippath", "rect", "image", "text", "lineargradient"),
}


class Tags(HTMLParser):
    """Collects elements and attributes as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs


@pytest.fixture(scope="module")
def exercise(course):
    return load_exercise(course.description("exercise_03"))


def verdict_saying(text: str, exercise, picture: Picture | None = None) -> Verdict:
    """A verdict in which a submission has its say wherever it can."""
    finding = Finding("values", text, Location(text, 3, text), sizes=text, printed=text, picture=picture)
    outcome = Outcome("values", Status.FAILED, finding)
    return Verdict(
        exercise.id, text, Result.NOT_FIXED, None, 0.0, 10.0, 7, [], [], [outcome], {}, 0.1, causes={}, where=None
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_submission_says_stays_text(payload: str, exercise) -> None:
    attempts = [Attempt(0.0, Result.NOT_FIXED, 0.0, 0, 2)]
    page = render_report(verdict_saying(payload, exercise), exercise, looks_at(exercise), attempts)
    tags = Tags(page)
    assert tags.names <= ALLOWED
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "\u202e" not in page
    assert "49" not in html.unescape(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_a_not_gradable_verdict_escapes_its_reason_and_line(exercise) -> None:
    where = Finding("crash", PAYLOADS[0], Location(PAYLOADS[1], 1, PAYLOADS[0]))
    spoilt = msgspec.structs.replace(
        verdict_saying("x", exercise), outcome=Result.NOT_GRADABLE, reason=PAYLOADS[0], where=where, checks=[]
    )
    section = render_section(spoilt, exercise)
    assert "&lt;script&gt;" in section
    assert Tags(section).names <= ALLOWED


def test_nothing_is_asked_of_any_other_place(exercise) -> None:
    picture = Picture([[0.0, 1.0], [2.0, -1.0]], [[0.5, 1.0], [float("nan"), -1.0]], (1, 0))
    page = render_report(verdict_saying("x", exercise, picture), exercise, looks_at(exercise))
    assert "<svg" in page
    addresses = re.findall(r"(?:https?:)?//[\w.]+", page)
    assert set(addresses) <= {"http://www.w3.org"}  # names of the SVG's vocabulary, not places
    assert not re.search(r"<script|<link|@import|url\((?!#)", page)
    assert len(page) < 300_000


def test_no_defect_that_is_still_there_is_named_for_any_variant(judge_text, exercise) -> None:
    for subset in exercise.subsets():
        verdict = judge_text("exercise_03", judge_text.variant("exercise_03", subset))
        page = render_report(verdict, exercise, looks_at(exercise))
        for defect in exercise.defects:
            if defect.id in subset:
                assert defect.id not in page
                assert html.escape(defect.title) not in page
            else:
                assert html.escape(defect.title) in page


def test_a_map_has_one_shade_for_each_step_of_the_scale_and_a_sign_for_what_is_no_number() -> None:
    picture = Picture([[0.0, 4.0]], [[0.0, float("nan")]], (0, 1))
    lines = shaded(picture, 80)
    assert lines[0].split() == ["expe", "seen", "diff"]
    assert lines[1] == "  ██     ??     ??"
    assert shaded(picture, 10) == []


def test_a_picture_is_the_same_whenever_it_is_drawn() -> None:
    picture = Picture([[0.0, 1.0]], [[1.0, 1.0]], (0, 0), place="[0, 2]")
    assert draw(picture) == draw(picture)
    assert "at [0, 2]" in draw(picture)
