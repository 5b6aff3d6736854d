"""A student's own run of their file, and what they see of a failing check's prints."""

import re
import subprocess
import sys

import pytest
import torch

from grader.report.terminal import render_terminal
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.student.trial import describe, is_observed
from tests.support.commands import run_program
from tests.support.paths import ROOT

EXERCISE = "exercise_03"
PLACE = "        # (B, T, I)\n"


def edited(course, line: str, exercise_id: str = EXERCISE) -> None:
    module, _ = course.editable_files(exercise_id)
    text = module.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    module.write_text(text.replace(PLACE, f"        {line}\n"), encoding="utf-8")


def test_a_file_is_run_once_at_the_smallest_sizes_that_fail(own_course, run_cli):
    edited(own_course, "print('mine', tuple(x.shape))")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stderr) == (0, "")
    why, *lines = done.stdout.splitlines()
    assert why.startswith('# in "future does not leak": changing token 1 changed the output at token 0 by ')
    assert lines == [
        ">>> module = CausalSelfAttention(input_dim=4, output_dim=6, context_length=8, dropout=0.0)",
        ">>> module.eval()(x=<tensor (1, 3, 4) of float32>)",
        "mine (1, 3, 4)",
        "<tensor (1, 3, 6) of float32>",
    ]


def test_no_line_about_a_trial_is_wider_than_the_terminal(own_course, terminal):
    shown = terminal(own_course, ["try", "exercise_33"], "").rpartition("\x1b[K")[2]  # what follows "Judging ..."
    lines = shown.splitlines()
    why = lines[: next(number for number, line in enumerate(lines) if line.startswith(">>> "))]
    assert len(why) > 1
    assert all(line.startswith("# ") and len(line) <= 100 for line in why)
    parts = lines[lines.index("tuple of 12:") + 1 :]
    assert [line.split()[0] for line in parts[:12]] == [f"[{number}]" for number in range(12)]


def test_what_fits_a_line_stands_in_one():
    value = torch.ones(2), (None, None)
    line = "tuple of 2: <tensor (2,) of float32>; tuple of 2: None; None"
    parts = ["tuple of 2:", "  [0] <tensor (2,) of float32>", "  [1] tuple of 2: None; None"]
    assert describe(value, len(line)).splitlines() == [line]
    assert describe(value, len(line) - 1).splitlines() == parts


@pytest.mark.slow
def test_calls_in_turn_are_made_in_turn_and_the_place_of_the_finding_is_looked_at(own_course, run_cli):
    exercise = load_exercise(own_course.description("exercise_19"))
    without_crash = [each for each in exercise.defects if exercise.numbers()[each.id] == 1]
    reference = own_course.reference(exercise.id).read_text(encoding="utf-8")
    own_course.editable_files(exercise.id)[0].write_text(put_back(reference, without_crash), encoding="utf-8")
    done = run_cli("try", "exercise_19", cwd=own_course.root)
    why, *lines = done.stdout.splitlines()
    place = re.search(r"the last call's output at (\[[\d, ]+\]): expected ", why)
    assert place, why
    assert re.fullmatch(r">>> value = module\.eval\(\)\(x=<tensor \(1, 4, 6\) of float32>, more=True\)", lines[1])
    assert re.fullmatch(r">>> value = module\(x=<tensor \(1, 3, 6\) of float32>, more=True\)", lines[2])
    assert lines[3:5] == ["<tensor (1, 3, 6) of float32>", f">>> value{place[1]}"]
    assert re.fullmatch(r"-?[\d.e-]+   # with new random weights, so not the number above", lines[5])


@pytest.mark.slow
@pytest.mark.parametrize(("exercise_id", "which"), [("exercise_29", ".item()"), ("exercise_31", "[0]")])
def test_of_what_has_no_weights_the_expected_number_stands_beside_the_one_seen(own_course, run_cli, exercise_id, which):
    """With the very inputs of the check, so that it is the number of the finding."""
    done = run_cli("try", exercise_id, cwd=own_course.root)
    why, *lines = done.stdout.splitlines()
    numbers = re.search(r"expected (\S+), got ([-\d.e]+)", why)
    assert numbers, why
    assert lines[-2] == f">>> value{which}"
    seen, _, expected = lines[-1].partition("   # expected ")
    assert (float(seen), expected) == (pytest.approx(float(numbers[2]), rel=0.01, abs=1e-6), numbers[1])


def test_an_error_is_shown_from_the_students_own_line_on(own_course, run_cli):
    edited(own_course, "1 / 0")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero" in done.stdout
    assert "grader" not in done.stdout.partition("Traceback")[2].replace(str(own_course.root), "")


@pytest.mark.slow
def test_what_is_no_number_is_counted(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    text = module.read_text(encoding="utf-8")
    module.write_text(
        text + "\n_forward = CausalSelfAttention.forward\n"
        "CausalSelfAttention.forward = lambda self, x: _forward(self, x) * float('nan')\n"
    )
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert re.search(r"<tensor \(.*\) of float32, (\d+) of \1 nan>$", done.stdout.strip())


def test_of_a_file_that_does_not_parse_the_line_is_shown_and_no_call_or_line_of_the_kits(own_course, run_cli):
    edited(own_course, "x = (")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert done.returncode == 1
    assert done.stdout.startswith(f'  File "{own_course.editable_files(EXERCISE)[0]}", line ')
    assert done.stdout.rstrip().splitlines()[-1].startswith("SyntaxError")
    assert ">>>" not in done.stdout


def test_breakpoint_and_input_are_answered_from_the_terminal(own_course, terminal):
    edited(own_course, "answer = input('who? '); breakpoint()")
    told = terminal(own_course, ["try", EXERCISE], "somebody\np answer\nc\n")
    assert "'somebody'" in told
    assert "<tensor" in told


@pytest.mark.slow
def test_the_notebook_is_tried_when_it_counts(own_course, run_cli):
    _, notebook = own_course.editable_files(EXERCISE)
    text = notebook.read_text(encoding="utf-8")
    notebook.write_text(text.replace("# (B, T, I)", "print('from a cell')"), encoding="utf-8")
    assert "from a cell" in run_cli("try", EXERCISE, cwd=own_course.root).stdout


@pytest.mark.parametrize(("call", "name"), [("breakpoint()", "breakpoint()"), ("input('go on? ')", "input()")])
def test_what_waits_for_somebody_is_named_with_what_to_do_instead(own_course, call, name):
    edited(own_course, call)
    page = " ".join(run_program(EXERCISE, cwd=own_course.root).stdout.split())
    assert f"it calls {name}, but nobody can answer during grading; python -m grader try runs your file" in page


def test_the_last_lines_that_were_printed_are_shown_with_the_sizes_and_escaped(judge_text):
    text = judge_text.variant(EXERCISE, frozenset({"mask-discarded"}))
    told = "for i in range(30): print('line', i, tuple(x.shape), chr(27) + '[31m')"
    verdict = judge_text(EXERCISE, text.replace(PLACE, f"        {told}\n"))
    page = render_terminal(verdict, load_exercise(judge_text.course.description(EXERCISE)), width=200)
    lines = [line.strip() for line in page.splitlines() if line.strip().startswith("│")]
    assert lines == [f"│ line {number} (1, 3, 4) \\x1b[31m" for number in range(20, 30)]
    assert "it printed with batch=1, tokens=3, input_dim=4, output_dim=6, context_length=8:" in page


def test_the_solution_is_shown_beside_ones_own_only_after_a_question(own_course, run_cli):
    asked = run_cli("solution", EXERCISE, cwd=own_course.root)
    assert asked.returncode == 130
    assert "masked_fill" not in asked.stdout
    command = [sys.executable, "-m", "grader", "solution", EXERCISE, "--course", str(own_course.root)]
    declined = subprocess.run(command, cwd=ROOT, input="n\n", capture_output=True, text=True, check=False, timeout=60)
    assert (declined.returncode, "masked_fill" in declined.stdout) == (1, False)
    shown = run_cli("solution", EXERCISE, "--yes", cwd=own_course.root).stdout
    assert "+        attn_scores = attn_scores.masked_fill" in shown
    module, _ = own_course.editable_files(EXERCISE)
    module.write_bytes(own_course.reference(EXERCISE).read_bytes())
    run_cli(EXERCISE, cwd=own_course.root)
    shown = run_cli("solution", EXERCISE, cwd=own_course.root).stdout
    assert shown.count("+        attn_scores = attn_scores.masked_fill") == 2


@pytest.mark.parametrize(
    ("exercise_id", "told"),
    [
        (
            "exercise_29",
            "language_loss(logits=<tensor (1, 2, 3) of float32>, tokens=<tensor (1, 2) of int64>)",
        ),
        ("exercise_32", "PocketAdamW([matrix="),
        pytest.param(
            "exercise_33", "training_step(model, optimizer, ...) for each step of x=<tensor ", marks=pytest.mark.slow
        ),
        pytest.param("exercise_34", "likely_words(logits=", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_module_is_tried_as_the_checks_try_it(own_course, run_cli, exercise_id, told):
    done = run_cli("try", exercise_id, cwd=own_course.root)
    why, first, *shown = done.stdout.splitlines()
    assert why.startswith("# ")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert first.removeprefix(">>> ").removeprefix("value = ").startswith(told)
    assert "<tensor" in shown[0]


def test_a_file_that_is_not_there_is_refused_without_a_traceback(own_course, run_cli):
    for path in own_course.editable_files(EXERCISE):
        path.unlink()
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is nothing to run: there is no file attention.py" in " ".join(done.stderr.split())


def test_a_notebook_that_cannot_be_read_is_refused_as_a_mistake_and_not_as_the_kits_fault(own_course, run_cli):
    _, notebook = own_course.editable_files(EXERCISE)
    notebook.write_text(notebook.read_text(encoding="utf-8")[:-30], encoding="utf-8")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is nothing to run: attention.ipynb is not JSON" in done.stderr


@pytest.mark.slow
def test_of_a_file_in_which_nothing_fails_a_trial_says_so(own_course, run_cli, judge_text):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_text(judge_text.variant(EXERCISE, frozenset()), encoding="utf-8")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert done.stdout.startswith("# an ordinary call: no check that ran failed\n>>> module = ")


@pytest.mark.slow
def test_no_compiler_is_imported_for_a_trial(own_course, run_cli):
    module, _ = own_course.editable_files("exercise_32")
    text = module.read_text(encoding="utf-8")
    at_the_end = "import atexit, sys\natexit.register(lambda: print('torch._dynamo.guards' in sys.modules))\n"
    module.write_text(text + at_the_end, encoding="utf-8")
    done = run_cli("try", "exercise_32", cwd=own_course.root)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "False"
    assert not (module.parent / "__pycache__").exists()


def test_a_number_is_told_to_be_another_than_above_only_where_it_is():
    assert is_observed("-0.223975033", "-0.224")
    assert not is_observed("-0.0691", "-0.224")
    assert not is_observed("0.224", "-0.224")
