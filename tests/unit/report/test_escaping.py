"""Names, messages and file names of a submission are shown as text and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from grader.checks.outcome import FailureKind, Finding, Location, Outcome, Status
from grader.report.json import render_json
from grader.report.printable import printable, printable_line, printable_lines
from grader.spec.loading import load_exercise
from grader.verdict.attribution import DefectStatus, Reason, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict
from tests.support.hostile import at_import, starter
from tests.support.pages import terminal_page

NASTY = (
    "\x1b[2J\x1b]0;owned\x07"  # clears the screen, names the window
    "[bold red]10 of 10[/]"  # a terminal library's markup
    "\r\n\v\f\x85\u2028\u2029"  # every end of a line
    "\u202e\u2066gnp.exe\u2069"  # turned round
    "\u200b\u2060\ufeff\xad\u00a0\u3000"  # there, and not to be seen
    "\x00\x08\x7f\x9b1m\udcff\ue000\ufffe\U000e0041"  # controls, halves, nobody's
    "</script><b>&amp;\"'`]]>\\"
)

VISIBLE = "[bold red]10 of 10[/]"


def is_plain(text: str) -> bool:
    return all(character.isprintable() for character in text)


def verdict_of(text: str, outcome: Result) -> Verdict:
    """A verdict with the text in every field that a submission can influence."""
    finding = Finding(
        kind=FailureKind.OTHER,
        detail=text,
        message=text,
        location=Location(label=text, line=3, text=text, column=7),
    )
    checks = [
        Outcome(
            check="returns_shapes", status=status, finding=msgspec.structs.replace(finding, detail=f"{text}{status}")
        )
        for status in (Status.FAILED, Status.CRASHED, Status.TIMED_OUT, Status.NOT_RUN)
    ]
    defects = [
        DefectVerdict(
            id="a-defect",
            status=DefectStatus.UNKNOWN,
            points=0.0,
            max_points=1.0,
            stretch=False,
            reason=Reason(kind=UnknownReason.BEHIND_CRASH),
        )
    ]
    return Verdict(
        exercise="exercise_03",
        file=text,
        outcome=outcome,
        reason=f"{text} ({finding.location})",
        score=0.0,
        max_score=10.0,
        seed=1,
        defects=defects,
        regressions=[],
        checks=checks,
        isolation={},
        seconds=0.1,
        causes={},
        unloadable=finding,
    )


@pytest.fixture(scope="module")
def exercise(course):
    exercise = load_exercise(course.description("exercise_03"))
    return msgspec.structs.replace(exercise, defects=[msgspec.structs.replace(exercise.defects[0], id="a-defect")])


@pytest.mark.parametrize("outcome", list(Result))
def test_a_terminal_gets_nothing_but_text_and_our_own_colours(exercise, outcome):
    screen = terminal_page(verdict_of(NASTY, outcome), exercise, width=4000)
    assert all(map(is_plain, screen.removesuffix("\n").split("\n"))), screen
    assert VISIBLE in screen
    assert len(screen.splitlines()) == len(terminal_page(verdict_of("x", outcome), exercise, width=4000).splitlines())
    coloured = terminal_page(verdict_of(NASTY, outcome), exercise, width=4000, color=True)
    codes = {part.partition("m")[0] for part in coloured.split("\x1b[")[1:]}
    assert codes <= {"0", "1", "2", "31", "32", "33", "1;31", "1;32", "1;33"}
    assert is_plain(coloured.replace("\x1b[", "").replace("\n", ""))


@pytest.mark.parametrize("outcome", list(Result))
def test_json_holds_nothing_but_visible_characters_and_says_the_same(outcome):
    text = render_json(verdict_of(NASTY, outcome))
    assert is_plain(text.replace("\n", ""))
    data = json.loads(text)
    for shown in (data["file"], data["reason"], *(check["finding"] for check in data["checks"])):
        assert VISIBLE in shown
        assert is_plain(shown)


@pytest.mark.parametrize("outcome", list(Result))
def test_a_text_without_end_is_cut_and_the_cut_is_counted(exercise, outcome):
    verdict = verdict_of("x y" * 1_000_000, outcome)
    for shown in (terminal_page(verdict, exercise), render_json(verdict)):
        assert len(shown) < 30_000
        assert " more characters)" in shown


def test_omitted_characters_are_counted_but_not_omitted_spaces():
    assert printable("a" * 400) == "a" * 400
    assert printable("a" * 500) == "a" * 400 + " ... (100 more characters)"
    assert printable("a" + " " * 1000 + "b") == "a b"
    assert printable("a" * 1_000_000, 10) == "a" * 10 + " ... (999,990 more characters)"
    assert printable_line("\tx = 1" + " " * 200) == "    x = 1" + " " * 111 + " ... (89 more characters)"
    assert printable_line("é\u202e\x1b") == "é\\u202e\\x1b"
    assert printable_lines("a\tb \x1b\n\nc\r") == "a\tb \\x1b\n\nc\\r"


def test_a_text_is_not_cut_if_the_notice_would_be_longer():
    notice = len(" ... (26 more characters)")
    assert printable("a" * 400 + "b" * notice) == "a" * 400 + "b" * notice
    assert printable("a" * 400 + "b" * (notice + 1)) == "a" * 400 + f" ... ({notice + 1} more characters)"
    assert printable_line("a" * 120 + "b" * notice) == "a" * 120 + "b" * notice
    assert printable_line("a" * 121 + "b" * notice) == "a" * 120 + f" ... ({notice + 1} more characters)"


NAME = "a\x1b[31m\u202e\n[red].py"


def test_a_file_of_a_nasty_name_is_graded_and_named_in_plain_text(run_cli, tmp_path):
    path = tmp_path / NAME
    path.write_text(at_import("raise ValueError(chr(27) + '[2J' + chr(0x202e) + '[bold]')"))
    for arguments, shown in (((), "text"), (("--json",), "json")):
        done = run_cli("exercise_03", "--file", str(path), *arguments)
        assert (done.returncode, done.stderr) == (1, ""), shown
        assert is_plain(done.stdout.replace("\n", "")), shown
        assert "\\x1b[2J\\u202e[bold]" in done.stdout.replace("\\\\", "\\")
        assert "a\\x1b[31m\\u202e" in done.stdout.replace("\\\\", "\\")
    path.unlink()
    assert is_plain(run_cli("exercise_03", "--file", str(path)).stdout.replace("\n", ""))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux allows file names that are not UTF-8")
@pytest.mark.parametrize("content", [starter(), "x = 1\0", "("], ids=["starter", "NUL", "syntax error"])
def test_a_file_whose_name_is_no_text_is_graded(content, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xe9.py"
    Path(os.fsdecode(path)).write_text(content)
    done = subprocess.run(
        [sys.executable, "-m", "grader", "exercise_03", "--json", "--file", path], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["file"].endswith("\\udcff\\udce9.py")


def test_names_that_a_submission_gives_are_shown_as_text(judge_text):
    renamed = starter().replace("class CausalSelfAttention", "class Other") + "\nOther.__name__ = 'x'\n"
    renamed += f"for each in range(3): globals()[{NASTY.encode('utf-8', 'replace').decode()!r} + str(each)] = Other\n"
    odd = starter() + (
        f"\nclass Odd(Exception): pass\nOdd.__qualname__ = {NASTY.encode('utf-8', 'replace').decode()!r}\n"
        "def forward(self, x): raise Odd('here')\nCausalSelfAttention.forward = forward\n"
    )
    for source in (renamed, odd):
        verdict = judge_text("exercise_03", source)
        data = render_json(verdict)
        assert verdict.score == 0
        assert VISIBLE in data
        assert is_plain(data.replace("\n", ""))


def test_a_difference_shows_what_cannot_be_seen(own_course, run_cli):
    path = own_course.editable_files("exercise_03")[0]
    path.write_text(path.read_text() + "# \x1b[2J\u202e\tx\n")
    done = run_cli("diff", "exercise_03", cwd=own_course.root)
    assert done.stdout.splitlines()[-1] == "+# \\x1b[2J\\u202e\tx"


def test_error_messages_of_the_kit_are_plain_text_too(run_cli, tmp_path):
    done = run_cli("exercise_03", "--file", str(tmp_path / NAME), cwd=tmp_path)
    assert is_plain(done.stdout.replace("\n", "") + done.stderr.replace("\n", ""))
    done = run_cli("\x1b[2J\u202e")
    assert done.returncode == 2
    assert is_plain(done.stderr.replace("\n", ""))
