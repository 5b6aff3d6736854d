"""A verdict as HTML: everything a submission says is text, nothing leaves the page, no defect is named early."""

import html
import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.text import Text

from grader.checks.outcome import (
    Diagnosis,
    DiagnosisKind,
    FailureKind,
    Finding,
    Location,
    Map,
    Outcome,
    Picture,
    PictureKind,
    SizeComparison,
    Status,
)
from grader.report.json import to_dict
from grader.report.picture import draw, shaded
from grader.report.progress import Attempt
from grader.spec.edition import Sealed
from grader.spec.loading import load_exercise
from grader.spec.properties import MatchesReference, ReturnsShapes
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict
from tests.support.pages import notebook_section, report_page

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
    *("svg", "rect", "text", "div", "ul", "details", "summary"),
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
    """A verdict with a submission's text wherever a submission can put it."""
    finding = Finding(
        kind=FailureKind.VALUES,
        message=text,
        location=Location(label=text, line=3, text=text),
        printed=text,
        picture=picture,
    )
    outcome = Outcome(check="values", status=Status.FAILED, finding=finding)
    return Verdict(
        exercise=exercise.id,
        file=text,
        outcome=Result.NOT_FIXED,
        reason=None,
        score=0.0,
        max_score=10.0,
        seed=7,
        defects=[],
        regressions=[],
        checks=[outcome],
        isolation={},
        seconds=0.1,
        causes={},
        unloadable=None,
    )


def test_equal_descriptions_and_findings_of_several_checks_are_shown_once(exercise) -> None:
    finding = Finding(
        kind=FailureKind.VALUES,
        message="the output is wrong",
        sizes=SizeComparison(failed={"tokens": 3}, passed={"tokens": 1}),
    )
    names = ["values", "values_in_training", "shapes"]
    tried = [MatchesReference(id=names[0]), MatchesReference(id=names[1]), ReturnsShapes(id=names[2])]
    exercise = msgspec.structs.replace(exercise, checks=tried)
    checks = [Outcome(check=name, status=Status.FAILED, finding=finding) for name in names]
    verdict = msgspec.structs.replace(verdict_saying("x", exercise), checks=checks)
    page = html.unescape(report_page(verdict, exercise))
    descriptions = [(type(check).__doc__ or "").split("\n\n")[0] for check in tried[1:]]
    assert [page.count(each) for each in descriptions] == [1, 1]
    assert page.count("see finding 1") == len(names)


def values(expected: list[list[float]], seen: list[list[float]]) -> Picture:
    return Picture(
        kind=PictureKind.VALUES, maps=[Map(title="expected", cells=expected), Map(title="seen", cells=seen)], across=2
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_of_a_submission_is_escaped(payload: str, exercise) -> None:
    attempts = [Attempt(at=0.0, outcome=Result.NOT_FIXED, score=0.0, fixed=0, defects=2)]
    page = report_page(verdict_saying(payload, exercise), exercise, attempts)
    tags = Tags(page)
    assert tags.names <= ALLOWED
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "\u202e" not in page
    assert "49" not in html.unescape(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_a_not_gradable_verdict_escapes_its_reason_and_line(exercise) -> None:
    where = Finding(
        kind=FailureKind.CRASH, message=PAYLOADS[0], location=Location(label=PAYLOADS[1], line=1, text=PAYLOADS[0])
    )
    spoilt = msgspec.structs.replace(
        verdict_saying("x", exercise), outcome=Result.NOT_GRADABLE, reason=PAYLOADS[0], unloadable=where, checks=[]
    )
    section = notebook_section(spoilt, exercise)
    assert "&lt;script&gt;" in section
    assert Tags(section).names <= ALLOWED


def test_nothing_is_asked_of_any_other_place(exercise) -> None:
    picture = values([[0.0, 1.0], [2.0, -1.0]], [[0.5, 1.0], [float("nan"), -1.0]])
    page = report_page(verdict_saying("x", exercise, picture), exercise)
    assert "<svg" in page
    addresses = re.findall(r"(?:https?:)?//[\w.]+", page)
    assert set(addresses) <= {"http://www.w3.org"}  # names of the SVG's vocabulary, not places
    assert not re.search(r"<script|<link|@import|url\((?!#)", page)
    assert len(page) < 300_000


def test_no_defect_that_is_still_there_is_named_for_any_variant(judge_text, exercise) -> None:
    for subset in exercise.subsets():
        verdict = judge_text("exercise_03", judge_text.variant("exercise_03", subset))
        page = report_page(verdict, exercise)
        for defect in exercise.defects:
            if defect.id in subset:
                assert defect.id not in page
                assert html.escape(defect.title) not in page
            else:
                assert html.escape(defect.title) in page


def plain(lines: list[Text]) -> list[str]:
    """Return lines without their styles."""
    return [line.plain for line in lines]


def test_a_map_has_one_shade_for_each_step_of_the_scale_and_a_sign_for_what_is_no_number() -> None:
    lines = plain(shaded(values([[0.0, 4.0, -2.0]], [[0.0, float("nan"), -2.0]]), 80))
    assert lines[0].split() == ["expected", "seen"]
    assert lines[1] == "  ██-▒       ??-▒"
    assert lines[2] == "rows: second-to-last axis · columns: last axis · ██ 4, -█ -4 · [] furthest off"
    assert shaded(values([[0.0] * 41], [[1.0] * 41]), 80) == []


def test_wide_maps_are_put_below_each_other() -> None:
    lines = plain(shaded(values([[1.0] * 30], [[-1.0] * 30]), 80))
    assert lines[:4] == ["expected", "█" * 60, "seen", "-█" * 30]


def test_positive_and_negative_cells_have_different_colours() -> None:
    line = shaded(values([[4.0, -4.0]], [[0.0, 0.0]]), 80)[1]
    assert [str(span.style) for span in line.spans] == ["cyan", "yellow"]


def test_what_is_marked_is_framed_on_a_page_and_bracketed_in_a_terminal() -> None:
    picture = Picture(
        kind=PictureKind.MOVEMENT,
        maps=[Map(title="moved by", cells=[[1.0, 0.5], [0.2, 1.0]], marked=[(0, 1)])],
        rows="output",
    )
    assert plain(shaded(picture, 80))[1] == "██[]"
    assert draw(picture).count('fill="none" stroke="currentColor"') == 1


def test_the_title_of_a_small_map_is_not_cut_off() -> None:
    title = "seen, head 10"
    page = draw(
        Picture(
            kind=PictureKind.WEIGHTS,
            maps=[Map(title=title, cells=[[1.0]])],
            across=1,
            place="",
            rows="query",
            columns="key",
        )
    )
    width = int(re.search(r'<svg[^>]* width="(\d+)"', page)[1])
    start = int(re.search(rf'<text x="(\d+)"[^>]*>{title}</text>', page)[1])
    assert width - start >= 7 * len(title)  # a bold character of this size is 7 wide on average


def test_what_passes_stands_below_what_fails() -> None:
    picture = msgspec.structs.replace(
        values([[1.0, 2.0]], [[1.0, 1.0]]), passing=values([[4.0]], [[4.0]]).maps, passing_sizes={"heads": 1}
    )
    assert "Right with heads=1:" in draw(picture)
    assert draw(picture).count("<svg") == 4
    assert "right with heads=1:" not in plain(shaded(picture, 80))
    assert plain(shaded(picture, 80, has_passing=True))[3:] == [
        "right with heads=1:",
        "expected   seen",
        "██         ██",
    ]


def test_weights_stand_in_a_line_for_what_was_expected_and_one_for_what_was_seen() -> None:
    heads = [Map(title=f"{side}, head {head}", cells=[[1.0, 0.0]]) for side in ("expected", "seen") for head in (0, 1)]
    picture = Picture(kind=PictureKind.WEIGHTS, maps=heads, across=2, place="", rows="query", columns="key")
    lines = plain(shaded(picture, 80))
    assert lines[0] == "expected, head 0   expected, head 1"
    assert lines[2] == "seen, head 0   seen, head 1"
    assert lines[-1] == "rows: query · columns: key · ██ 1 · [] furthest off"


def test_missing_gradients_are_bars_with_none_where_there_is_none() -> None:
    maps = [Map(title="expected", cells=[[4.0, 1.0]]), Map(title="seen", cells=[[4.0, 0.0]], marked=[(0, 1)])]
    picture = Picture(kind=PictureKind.GRADIENTS, maps=maps, names=["W_q.weight", "<b>"])
    lines = plain(shaded(picture, 80))
    assert lines[0].split() == ["gradient", "of", "expected", "yours"]
    assert lines[2].split() == ["<b>", 5 * "█", "none"]
    assert "&lt;b&gt;" in draw(picture)
    assert "<b>" not in draw(picture)


def test_a_page_shows_the_way_in_which_values_are_wrong(exercise) -> None:
    finding = Finding(
        kind=FailureKind.VALUES,
        message="output off",
        diagnosis=Diagnosis(kind=DiagnosisKind.ONE_FACTOR, numbers=[3.0]),
    )
    verdict = msgspec.structs.replace(
        verdict_saying("x", exercise), checks=[Outcome(check="values", status=Status.FAILED, finding=finding)]
    )
    assert "<p>Every element is 3 times what was expected.</p>" in notebook_section(verdict, exercise)


def test_a_caret_stands_below_the_place_of_a_syntax_error(exercise) -> None:
    where = Finding(
        kind=FailureKind.CRASH,
        message="'(' was never closed",
        location=Location(label="attention.py", line=28, text="\tdef forward(<b>", column=13),
    )
    refused = msgspec.structs.replace(
        verdict_saying("x", exercise), outcome=Result.NOT_GRADABLE, reason="SyntaxError", unloadable=where, checks=[]
    )
    (line, caret) = re.findall(r'<pre class="source"[^>]*>(.*?)</pre>', notebook_section(refused, exercise), re.DOTALL)[
        0
    ].split("\n")
    assert html.unescape(line)[caret.index("^")] == "("


def test_a_crash_that_many_checks_see_is_told_once_and_pointed_to_by_the_others(exercise) -> None:
    crash = Finding(
        kind=FailureKind.CRASH,
        message="boom in the middle",
        location=Location(label="attention.py", line=7, text="boom()"),
        sizes=SizeComparison(failed={"tokens": 3}, passed={"tokens": 2}),
    )
    names = ("values", "full-context", "returns_shapes")
    checks = [Outcome(check=name, status=Status.CRASHED, finding=crash) for name in names]
    verdict = msgspec.structs.replace(verdict_saying("x", exercise), checks=checks)
    page = report_page(verdict, exercise)
    assert page.count("boom in the middle") == 1
    assert page.count("<p>see finding 1</p>") == 3


def test_attempts_are_a_chart_and_a_folded_table(exercise) -> None:
    attempts = [
        Attempt(at=1.7e9 + number, outcome=Result.NOT_FIXED, score=score, fixed=0, defects=2)
        for number, score in enumerate((0.0, 3.5, 7.0))
    ]
    page = report_page(verdict_saying("x", exercise), exercise, attempts)
    assert "points of the last 3 attempts, from 0 to 7" in page
    assert "<summary>3 attempts, newest last</summary>" in page
    assert "points of the last" not in report_page(verdict_saying("x", exercise), exercise, attempts[:1])


def test_a_notebook_names_magics_as_the_next_steps_and_a_page_commands(exercise) -> None:
    verdict = msgspec.structs.replace(verdict_saying("x", exercise), defects=[defect(DefectStatus.PRESENT)])
    assert f"%hint {exercise.id}" in notebook_section(verdict, exercise)
    assert "python -m grader" not in notebook_section(verdict, exercise)
    assert f"python -m grader hint {exercise.id}" in report_page(verdict, exercise)


def defect(status: DefectStatus) -> DefectVerdict:
    return DefectVerdict(id="mask-discarded", number=1, status=status, points=0.0, max_points=3.0, stretch=False)


def next_step_texts(page: str) -> list[str]:
    """The steps under "What to do next", without tags."""
    (steps,) = re.findall(r'<div class="next">.*?<ul>\n(.*?)</ul>', page, re.DOTALL)
    return [html.unescape(re.sub("<.*?>", "", line)) for line in steps.splitlines()]


def test_a_file_that_cannot_run_is_to_be_fixed_and_graded_again(exercise) -> None:
    where = Finding(
        kind=FailureKind.CRASH, message="x", location=Location(label="attention.py", line=28, text="(", column=1)
    )
    refused = msgspec.structs.replace(
        verdict_saying("x", exercise), outcome=Result.NOT_GRADABLE, reason="SyntaxError", unloadable=where, checks=[]
    )
    again = f"Fix attention.py, line 28, column 1, then grade again: python -m grader {exercise.id}"
    assert next_step_texts(report_page(refused, exercise)) == [again]
    assert next_step_texts(notebook_section(refused, exercise)) == [again.replace("python -m grader", "%grade")]
    empty = msgspec.structs.replace(refused, unloadable=None)
    assert next_step_texts(report_page(empty, exercise)) == [
        f"Restore the starter and keep a copy of your file: python -m grader reset {exercise.id}"
    ]
    assert next_step_texts(notebook_section(empty, exercise)) == [
        f"Fix the cell and run it, then grade again: %grade {exercise.id}"
    ]


@pytest.mark.parametrize("render", [report_page, notebook_section])
def test_a_file_in_which_only_the_hand_in_can_find_a_fault_is_to_be_handed_in(render, exercise) -> None:
    verdict = msgspec.structs.replace(
        verdict_saying("x", exercise),
        checks=[Outcome(check="values", status=Status.PASSED)],
        defects=[defect(DefectStatus.UNKNOWN)],
    )
    page = render(verdict, exercise)
    assert next_step_texts(page) == ["Hand it in; the checks at the hand-in decide the rest."]
    assert '<p class="result good"><strong>Nothing wrong found here</strong>' in page


def test_after_a_fix_a_page_names_the_extra_that_is_left_and_the_origin(exercise) -> None:
    extra = msgspec.structs.replace(defect(DefectStatus.PRESENT), stretch=True)
    fixed = msgspec.structs.replace(
        verdict_saying("x", exercise),
        outcome=Result.FIXED,
        checks=[Outcome(check="values", status=Status.PASSED)],
        defects=[extra],
    )
    report, section = report_page(fixed, exercise), notebook_section(fixed, exercise)
    assert next_step_texts(report) == [
        f"Find the extra bug that is left: python -m grader hint {exercise.id}",
        f"Compare with the reference: python -m grader solution {exercise.id}",
        "Choose the next hunt: python -m grader",
    ]
    assert next_step_texts(section) == [f"Find the extra bug that is left: %hint {exercise.id}"]
    assert html.escape(exercise.source.url) in report


@pytest.mark.parametrize("render", [report_page, notebook_section])
def test_a_page_says_how_to_claim_that_nothing_is_wrong(render, exercise) -> None:
    passed = msgspec.structs.replace(
        verdict_saying("x", exercise), checks=[Outcome(check="values", status=Status.PASSED)]
    )
    search, claim = next_step_texts(render(passed, exercise))
    assert search == "Look for a defect with your own experiments, because passing checks do not settle this hunt."
    assert claim.startswith(
        "If you are sure that nothing is wrong, make that claim, with the number of the line that looked wrong: "
    )
    assert claim.endswith(f": python -m grader claim {exercise.id} sound --line N")


def test_advice_of_a_check_that_passes_is_no_finding(exercise) -> None:
    checks = [Outcome(check="values", status=Status.PASSED, advice="name <b>both</b> lengths")]
    verdict = msgspec.structs.replace(verdict_saying("x", exercise), outcome=Result.FIXED, checks=checks)
    advice = "<p><strong>Advice (costs no points):</strong> name &lt;b&gt;both&lt;/b&gt; lengths</p>"
    assert advice in notebook_section(verdict, exercise)
    assert advice in report_page(verdict, exercise)
    (check,) = to_dict(verdict)["checks"]
    assert (check["finding"], check["advice"]) == ("", "name <b>both</b> lengths")


def test_checks_that_pass_are_folded_and_the_others_are_not(exercise) -> None:
    checks = [Outcome(check="values", status=Status.PASSED), Outcome(check="full-context", status=Status.TIMED_OUT)]
    page = report_page(msgspec.structs.replace(verdict_saying("x", exercise), checks=checks), exercise)
    assert "<details open><summary>1 checks that do not pass</summary>" in page
    assert "<details><summary>1 checks that pass</summary>" in page


def test_the_page_says_which_checks_did_not_run_before_the_verdict(exercise) -> None:
    verdict = msgspec.structs.replace(verdict_saying("x", exercise), outcome=Result.FIXED, checks=[])
    sealed = msgspec.structs.replace(exercise, edition=Sealed(hidden_checks=1, defects=[]))
    section = notebook_section(verdict, sealed)
    note = f"<strong>0 of {len(exercise.checks) + 1} checks run here."
    assert section.index(note) < section.index("<strong>Fixed, as far as the checks here can tell")
