"""A verdict as people and programs read it: one golden file for each situation, one screen, nothing given away."""

import json
import re
import unicodedata

import msgspec
import pytest
from msgspec import structs

from grader.checks.outcome import Status
from grader.checks.runner import Runner
from grader.report.html import NotebookVerdict
from grader.report.hunts import render_hunts
from grader.report.json import render_json
from grader.report.phrases import missed_tests
from grader.spec.exercise import Limits, Seconds
from grader.spec.loading import load_exercise
from grader.submission import submission_from_text
from grader.verdict.attribution import VariantComparison
from grader.verdict.key_making import find_key
from grader.verdict.verdict import Verdict, make_verdict
from tests.support.judging import SEED
from tests.support.pages import notebook_section, terminal_page
from tests.support.paths import CORPUS

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]
SCREEN_LINES = 30
WIDTH = 100
SHORTEST_TELLING_LINE = 16
"""A line of code shorter than this says nothing: `else:`, `return output`."""


def hang_in_training(judge_text) -> Verdict:
    """A fix whose forward never ends in training; its check may run for a second only.

    The loop is one line, because the line that a hang reports is the one that happens to run at the deadline. It
    sleeps, so that it needs no processor and other processes cannot slow it down.
    """
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    text = judge_text.course.reference_text("exercise_03")
    place = "        batch_size, con_len, in_dim = x.shape\n"
    text = "import time\n" + text.replace(place, f"        while self.training: time.sleep(0.01)\n{place}")
    quick = msgspec.structs.replace(exercise, limits=Limits(seconds=Seconds(load=20, check=3, total=60)))
    with Runner(judge_text.course, exercise, judge_text.source) as runner:
        key = find_key(judge_text.course, runner)
        runner.exercise = quick
        examination = runner.examine(submission_from_text(text), SEED)
        return make_verdict(VariantComparison(exercise, key, examination), "attention.py", SEED)


def partial_fixes_and_broken(judge_text) -> Verdict:
    """One projection is fixed and the other is not, and samples mix; values do not show which one is which."""
    text = judge_text.variant("exercise_01", frozenset({"v-reuses-q-proj"}))
    assert text.count("self.out_proj(") == 1
    place = text.index("self.out_proj(") + len("self.out_proj(")
    end = text.index(")", place)
    argument = text[place:end]
    return judge_text("exercise_01", f"{text[:place]}{argument} + {argument}.mean(0){text[end:]}")


def misspelt(judge_text) -> Verdict:
    text = judge_text.variant("exercise_03", frozenset())
    return judge_text("exercise_03", text.replace("self.W_key(x)", "self.W_key(x"))


SITUATIONS = {
    "starter": lambda judge_text: judge_text("exercise_03", starter(judge_text, "exercise_03")),
    "fixed": lambda judge_text: judge_text("exercise_03", judge_text.variant("exercise_03", frozenset())),
    "stretch_left": lambda judge_text: judge_text(
        "exercise_03", judge_text.variant("exercise_03", frozenset({"long-sequence-unmasked"}))
    ),
    "partial_fixes_and_broken": partial_fixes_and_broken,
    "crash_that_hides": lambda judge_text: judge_text("exercise_02", starter(judge_text, "exercise_02")),
    "timed_out": hang_in_training,
    "syntax_error": misspelt,
}


def starter(judge_text, exercise_id: str) -> str:
    return judge_text.course.editable_files(exercise_id)[0].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def verdict_of(judge_text):
    """The verdict in a situation, or on an exercise's starter, without what differs from run to run."""
    memory: dict[str, Verdict] = {}

    def verdict_of(name: str) -> Verdict:
        if name not in memory:
            made = SITUATIONS[name](judge_text) if name in SITUATIONS else judge_text(name, starter(judge_text, name))
            memory[name] = timeless(made)
        return memory[name]

    return verdict_of


def timeless(verdict: Verdict) -> Verdict:
    checks = [msgspec.structs.replace(check, seconds=0.0) for check in verdict.checks]
    return msgspec.structs.replace(verdict, seconds=0.0, isolation={}, checks=checks)


@pytest.fixture(scope="module")
def screen(course, verdict_of):
    def screen(name: str, width: int = WIDTH, *, color: bool = False) -> str:
        verdict = verdict_of(name)
        exercise = load_exercise(course.description(verdict.exercise))
        return terminal_page(verdict, exercise, width=width, color=color)

    return screen


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_reads_as_its_golden_files_say(verdict_of, screen, course, request, name):
    golden = CORPUS / "golden"
    rendered = {".txt": screen(name), ".json": render_json(verdict_of(name)) + "\n"}
    for suffix, written in rendered.items():
        text = re.sub(r"after [\d.]+ s \(a check may take [\d.]+ s\)", "after 1.0 s (a check may take 1 s)", written)
        path = golden / f"{name}{suffix}"
        if request.config.getoption("--rewrite-golden"):
            golden.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; if it is meant, --rewrite-golden"


@pytest.mark.parametrize("exercise_id", ["exercise_03", "exercise_25", "exercise_34"])
def test_nothing_else_broke_in_a_file_that_nobody_has_changed(screen, exercise_id):
    """In the starter of exercise_25, one finding belongs to no single defect."""
    assert "nothing else broke so far" in screen(exercise_id)


def test_a_page_does_not_deny_a_regression_while_nothing_explains_a_finding(judge_text):
    """Both defects of exercise_21 are fixed, but the values are turned too."""
    right = judge_text.variant("exercise_21", frozenset())
    turned = right.replace("        q, k = rotary(", "        v = rotary(v, self.base)\n        q, k = rotary(")
    assert turned != right
    verdict = judge_text("exercise_21", turned)
    exercise = load_exercise(judge_text.course.description("exercise_21"))
    assert verdict.regressions == []
    assert "can't tell yet whether anything else broke" in terminal_page(verdict, exercise)


def test_usual_tests_of_one_thing_at_several_sizes_are_named_together():
    defect = load_exercise(CORPUS.parents[1] / "solutions/exercise_24/exercise.yaml").defects[0]
    named = ["the right shapes", "the right numbers with batch=1", "the right numbers with one head", "a falling  loss"]
    tests = [structs.replace(defect.missed_by[0], says=says) for says in named]
    told = "the right shapes; the right numbers with batch=1, or with one head; a falling loss"
    assert missed_tests(structs.replace(defect, missed_by=tests)) == told
    assert missed_tests(structs.replace(defect, missed_by=[])) == ""


def test_the_situations_are_what_they_are_called(verdict_of):
    told = {name: (verdict_of(name).outcome.value, verdict_of(name).score) for name in SITUATIONS}
    assert told == {
        "starter": ("not_fixed", 0),
        "fixed": ("fixed", 10),
        "stretch_left": ("fixed", 10),
        "partial_fixes_and_broken": ("not_fixed", 0),
        "crash_that_hides": ("not_fixed", 0),
        "timed_out": ("not_fixed", 7),
        "syntax_error": ("not_gradable", 0),
    }
    hung = verdict_of("timed_out")
    timed_out = [check.check for check in hung.checks if check.status is Status.TIMED_OUT]
    assert hung.regressions == timed_out
    assert {"refuses_long_sequences", "refusal_gives_both_lengths"} < {*timed_out}
    assert "dropout_only_in_training" in hung.regressions
    assert "samples_do_not_mix" in verdict_of("partial_fixes_and_broken").regressions


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_verdict_on_every_starter_fits_one_screen(screen, exercise_id):
    lines = screen(exercise_id).splitlines()
    assert len(lines) <= SCREEN_LINES, "\n".join(lines)
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("name", [*EXERCISES, *SITUATIONS])
def test_nothing_of_a_reference_or_a_hidden_check_is_shown(course, verdict_of, screen, name):
    verdict = verdict_of(name)
    shown = " ".join((screen(name, 1000) + json.dumps(json.loads(render_json(verdict)), ensure_ascii=False)).split())
    starter_lines = set(telling_lines(course.editable_files(verdict.exercise)[0]))
    secret = set(telling_lines(course.reference(verdict.exercise))) - starter_lines
    for path in course.hidden_tests(verdict.exercise).glob("*.py"):
        secret |= set(telling_lines(path)) - starter_lines
    assert secret
    assert [line for line in secret if line in shown] == []


def telling_lines(path) -> list[str]:
    lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if len(line) >= SHORTEST_TELLING_LINE]


@pytest.mark.parametrize("name", SITUATIONS)
def test_json_is_one_object_of_the_promised_keys(verdict_of, name):
    data = json.loads(render_json(verdict_of(name)))
    promised = "format_version exercise file outcome reason score max_score seed defects regressions checks isolation"
    assert list(data) == [*promised.split(), "seconds"]
    assert data["format_version"] == 1
    assert all({"id", "status", "points", "max_points", "stretch"} <= set(defect) for defect in data["defects"])
    assert all(list(check) == ["id", "status", "finding", "advice", "seconds"] for check in data["checks"])
    assert (data["reason"] is None) == (data["outcome"] != "not_gradable")


@pytest.mark.parametrize(("name", "times"), [("starter", 0), ("stretch_left", 1), ("fixed", 1)])
def test_which_usual_tests_missed_a_defect_is_told_after_its_fix_and_once(verdict_of, screen, course, name, times):
    exercise = load_exercise(course.description(verdict_of(name).exercise))
    html, output = (render(verdict_of(name), exercise) for render in (notebook_section, NotebookVerdict))
    for page in (screen(name), html, repr(output)):
        assert page.count("passes the usual tests") == times


def test_a_page_says_once_that_nothing_could_be_graded(screen):
    assert screen("syntax_error").count("Not gradable") == 1


@pytest.mark.parametrize(("exercise_id", "called"), [("exercise_32", "optimizer"), ("exercise_33", "training step")])
def test_a_page_uses_the_name_of_the_kind(verdict_of, screen, course, exercise_id, called):
    html = notebook_section(verdict_of(exercise_id), load_exercise(course.description(exercise_id)))
    assert f"What your {called} does (" in screen(exercise_id)
    assert f"What your {called} does (" in html


def test_a_defects_note_goes_below_its_row_on_a_narrow_page(judge_text):
    exercise = load_exercise(judge_text.course.description("exercise_32"))
    verdict = judge_text(exercise.id, judge_text.variant(exercise.id, frozenset()))
    lines = terminal_page(verdict, exercise, width=60).splitlines()
    marks = [number for number, line in enumerate(lines) if line.startswith("✓")]
    assert marks[1] - marks[0] > 2
    assert all(line.startswith("  ") for line in lines[marks[0] + 1 : marks[1]])


def test_each_cause_is_shown_once(screen):
    text = screen("crash_that_hides", 1000)
    assert text.count("view(): argument 'size' failed to unpack") == 1
    assert "attention.py, line 36: queries = self.W_q(x).view(" in text


def test_colours_change_nothing_but_the_colours(screen):
    plain, coloured = screen("starter"), screen("starter", color=True)
    assert "\x1b[" in coloured
    assert "\x1b" not in plain


HOSTILE_TEXT = "\x1b[2J\x07\u202eevil\u2066\u200b\x00\x9b\U000e0041"


@pytest.mark.parametrize("place", ["forward", "import"])
def test_control_and_direction_changing_characters_of_a_submission_are_spelled_out(judge_text, course, place):
    text = starter(judge_text, "exercise_03")
    crash = f"raise RuntimeError({HOSTILE_TEXT!r})  # {HOSTILE_TEXT[2:]}".replace("\x00", "")
    before = "        # (B, T, I)\n" if place == "forward" else "import torch\n"
    indent = " " * (len(before) - len(before.lstrip()))
    verdict = judge_text("exercise_03", text.replace(before, f"{indent}{crash}\n", 1))
    shown = terminal_page(verdict, load_exercise(course.description("exercise_03")), width=WIDTH)
    for rendered in (shown, render_json(verdict)):
        assert "evil" in rendered
        assert {unicodedata.category(character) for character in rendered if character != "\n"} & {"Cc", "Cf"} == set()


def test_the_table_of_hunts_has_a_row_for_each_exercise_and_escapes_bars(course):
    exercise = load_exercise(course.description("exercise_03"))
    rows = render_hunts([msgspec.structs.replace(exercise, title="mask | no mask")]).splitlines()
    assert len(rows) == 3
    assert {row.replace(r"\|", "").count("|") for row in rows} == {8}
    assert r"mask \| no mask" in rows[2]
    assert all(f"`{defect.id}`" in rows[2] for defect in exercise.defects)
    assert missed_tests(exercise.defects[0]) in rows[2]
