"""Every page in a real browser: at the sizes of a phone, a laptop and a wide screen, in light and dark.

No page asks anybody for anything, none runs over its side, and axe finds nothing that keeps anybody out.
"""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from grader.classroom.exports.writing import export
from grader.classroom.gradebook import Gradebook, Student
from grader.report.progress import Attempt
from grader.spec.loading import load_exercise
from tests.support.pages import notebook_section, report_page
from tests.support.paths import CORPUS

pytestmark = pytest.mark.slow

SIZES = {"phone": (390, 844), "laptop": (1366, 768), "wide": (2560, 1080)}
NAMES = ("chromium", "chromium-browser", "google-chrome")
STUDENTS = 5_000
STYLES_ALONE = "default-src 'none'; style-src 'unsafe-inline'"
"""What the strictest of the hosts lets an output do: an editor's own page, or a frame in a sandbox."""

NOTEBOOK = (
    '<!doctype html><html lang="en"><head><title>A notebook</title><meta name="viewport" content="width=device-width">'
    f'<meta http-equiv="Content-Security-Policy" content="{STYLES_ALONE}">'
)
OF_A_NOTEBOOK = "<style>:root { color-scheme: light dark; } body { background: Canvas; color: CanvasText; }</style>"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, NAMES)), None)
    assert program, "no Chromium is installed; apt-get install chromium, or whatever installs it here"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of as many students as there are, most of whom are the like of one."""
    path = tmp_path_factory.mktemp("class") / "class.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((CORPUS / "golden/gradebook.sql").read_text(encoding="utf-8"))
    connection.close()
    with Gradebook(path) as book:
        book.enroll([Student(id="ada", name="Ada Lovelace", group="A", columns={}, is_enrolled=True)])
    connection = sqlite3.connect(path)
    connection.executescript(
        f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {STUDENTS})
        INSERT INTO submissions SELECT 100 + i, 's' || i, 'exercise_03', '', 'module' FROM n;
        INSERT INTO verdicts SELECT 100 + s.id, s.id, batch, file, s.id, remark, exercise_version, kit,
        torch, outcome, score, max_score, reason, unloadable, near_miss, seed, seconds, isolation, is_closed, v.id,
        judged_at, regrade FROM submissions s JOIN verdicts v ON v.id = 3 WHERE s.id > 100;"""
    )
    connection.close()
    return path


@pytest.fixture(scope="module")
def pages(judge_text, gradebook, course, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports with each kind of picture, what a notebook shows, and the page of a class."""
    folder = tmp_path_factory.mktemp("pages")
    texts = {}
    attempts = [Attempt(at=1e9, outcome="not_fixed", score=0.0, fixed=0, defects=2)] * 3
    for exercise_id in ("exercise_01", "exercise_03", "exercise_04", "exercise_10"):
        exercise = load_exercise(course.description(exercise_id))
        everything = frozenset(defect.id for defect in exercise.defects)
        verdict = judge_text(exercise_id, judge_text.variant(exercise_id, everything))
        texts[exercise_id] = report_page(verdict, exercise, attempts)
    texts["notebook"] = (
        f"{NOTEBOOK}{OF_A_NOTEBOOK}</head><body><main><h1>A notebook</h1>{notebook_section(verdict, exercise)}"
    )
    fixed = judge_text("exercise_03", judge_text.variant("exercise_03", frozenset()))
    exercise = load_exercise(course.description("exercise_03"))
    texts["fixed"] = report_page(fixed, exercise, attempts)
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    export(gradebook, "html", folder / "class", course)
    return {name: folder / f"{name}.html" for name in texts} | {"class": folder / "class/index.html"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_whole_silent_and_open_to_everybody(browser, pages, tmp_path, size, scheme) -> None:
    width, height = SIZES[size]
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    wrong = {}
    for name, path in pages.items():
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        heard: list[str] = []
        page.on("console", lambda message, heard=heard: heard.append(message.text))
        page.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
        page.on("request", lambda request, heard=heard: heard.append(request.url))
        page.goto(path.as_uri())
        page.screenshot(path=tmp_path / f"{name}-{size}-{scheme}.png", full_page=name != "class")
        told = heard[1:]  # the first request is for the page itself
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        page.evaluate(axe)
        found = page.evaluate("axe.run()")["violations"]
        wrong[name] = (told, over, [(each["id"], each["nodes"][0]["html"]) for each in found])
        page.close()
    assert wrong == dict.fromkeys(pages, ([], 0, []))


def test_a_class_of_five_thousand_opens_sorts_and_is_filtered_without_a_server(browser, pages) -> None:
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    started = time.monotonic()
    page.goto(pages["class"].as_uri())
    page.wait_for_selector("#body tr:nth-child(100)")
    opened = time.monotonic() - started
    print(f"{STUDENTS} students open within {opened:.2f} s")
    assert opened < 2
    assert page.inner_text("#shown").startswith("1 to 100 of 5,0")
    page.get_by_role("button", name="student").click()  # from Z to A
    assert page.inner_text("#body tr:first-child th") == "s999"
    page.fill("#words", "lovelace")
    assert page.inner_text("#shown") == "1 to 1 of 1 student"
    page.fill("#words", "nobody is called so")
    assert page.inner_text("#shown") == "No student matches"
    page.close()


def test_a_column_of_groups_is_there_where_somebody_has_one(browser, pages, tmp_path) -> None:
    text = pages["class"].read_text(encoding="utf-8")
    assert '["Ada Lovelace (ada)","A",' in text
    (tmp_path / "class.html").write_text(text.replace('["Ada Lovelace (ada)","A",', '["Ada Lovelace (ada)","",'))
    first = []
    for path in (pages["class"], tmp_path / "class.html"):
        page = browser.new_page()
        page.goto(path.as_uri())
        first.append(
            (page.locator("#head th").all_inner_texts()[:2], page.locator("#body tr").first.locator("td.n").count())
        )
        page.close()
    (grouped, cells), (plain, same_cells) = first
    assert [name.split()[0] for name in grouped] == ["student", "group"]
    assert [name.split()[0] for name in plain] == ["student", "total"]
    assert cells == same_cells
