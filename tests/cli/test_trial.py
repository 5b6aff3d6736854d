"""Trials: a student's own run of the file, and the printed output of a failing check."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.checks.outcome import FailureKind
from grader.spec.fragments import make_variant
from grader.spec.loading import load_exercise
from grader.student.progress import load_progress
from grader.verdict.verdict import Result
from tests.support.commands import run_program
from tests.support.findings import sentence_pattern
from tests.support.pages import terminal_page
from tests.support.paths import ROOT
from tests.support.wrong_fixes import wrong_fix

EXERCISE = "exercise_03"
DECOY = "exercise_36"
WITH_VARIATION = {
    "exercise_27": "buffers_left",
    "exercise_31": "gamma_of_zero_is_the_default",
    "exercise_32": "betas_of_the_first_group",
    "exercise_34": "hundred_words",
}
"""For each exercise, a wrong fix that a variation detects first: of a module, a loss, an optimizer and a function."""
PLACE = "        # (B, T, I)\n"


def edited(course, line: str, exercise_id: str = EXERCISE) -> None:
    module, _ = course.editable_files(exercise_id)
    text = module.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    module.write_text(text.replace(PLACE, f"        {line}\n"), encoding="utf-8")


def test_the_failed_check_is_repeated_with_its_own_numbers(own_course, run_cli):
    edited(own_course, "print('mine', tuple(x.shape))")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stderr) == (1, "")
    why, *lines = done.stdout.splitlines()
    parts = {"action": "changing token 1", "place": "token 0", "observed": r"(\S+)", "expected": "no change"}
    pattern = sentence_pattern(FailureKind.LEAK, item="output", **parts)
    claim = re.fullmatch(rf'# in "future does not leak": ({pattern})', why)
    assert claim, why
    assert re.fullmatch(r"# the inputs come from seed \d+; a page with another seed has other numbers", lines[0])
    assert ">>> module = CausalSelfAttention(input_dim=4, output_dim=6, context_length=8, dropout=0.0)" in lines
    assert lines.count("mine (1, 3, 4)") == 2
    moved = next(
        line for line in lines if line.startswith("token 1 changed; the output changed at token [0, 1, 2] by: ")
    )
    assert float(moved.partition("tensor([")[2].partition(",")[0]) == pytest.approx(float(claim[2]), rel=0.01)
    assert lines[-1] == f"AssertionError: {claim[1]}"


@pytest.mark.slow
def test_a_script_moves_no_axis_to_where_it_is(own_course, run_cli):
    """The samples of exercise_13 are on axis 0, the tokens of exercise_03 on axis 1."""
    samples, tokens = (
        next(
            line
            for line in run_cli("try", name, "--code", cwd=own_course.root).stdout.splitlines()
            if "moved =" in line
        )
        for name in ("exercise_13", "exercise_03")
    )
    assert "movedim" not in samples
    assert ".movedim(1, 0)" in tokens


def written_scripts(own_course, run_cli, exercise_ids: list[str], folder: Path) -> dict[str, tuple[str, Path, Path]]:
    """For each exercise the page's finding, the script for the starter, and the same script for the reference."""
    scripts = {}
    for exercise_id in exercise_ids:
        done = run_cli("try", exercise_id, "--code", cwd=own_course.root)
        assert (done.returncode, done.stderr) == (0, ""), (exercise_id, done.stderr)
        module, _ = own_course.editable_files(exercise_id)
        right = folder / f"right_{exercise_id}"
        right.mkdir()
        shutil.copy(own_course.reference(exercise_id), right / module.name)
        mine, theirs = folder / f"{exercise_id}.py", folder / f"{exercise_id}_right.py"
        mine.write_text(done.stdout, encoding="utf-8")
        theirs.write_text(done.stdout.replace(repr(str(module.parent)), repr(str(right))), encoding="utf-8")
        assert "grader" not in done.stdout.replace(str(own_course.root), "")
        scripts[exercise_id] = done.stdout.splitlines()[0], mine, theirs
    return scripts


def errors_of(*scripts: Path) -> dict[str, str]:
    """Run scripts in an interpreter without the kit."""
    command = [sys.executable, str(ROOT / "tests/support/run_scripts.py"), *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])


def require_failures_of_the_page(own_course, run_cli, exercise_ids: list[str], folder: Path) -> None:
    """Each script fails on the starter as the page says, and passes on the reference."""
    scripts = written_scripts(own_course, run_cli, exercise_ids, folder)
    errors = errors_of(*(path for _, *paths in scripts.values() for path in paths))
    for exercise_id, (note, mine, theirs) in scripts.items():
        if note == "# every check that ran passed, so this is an ordinary call":
            assert errors[str(mine)] == "", exercise_id
        else:
            claim = note.partition('": ')[2]
            shown = " ".join(errors[str(mine)].removeprefix("AssertionError: ").split())
            assert shown[:150] == claim[:150], exercise_id
        assert errors[str(theirs)] == "", exercise_id


@pytest.mark.slow
def test_a_script_shows_the_failure_without_the_kit_and_passes_on_the_reference(own_course, run_cli, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    require_failures_of_the_page(own_course, run_cli, ["exercise_03", "exercise_31"], folder)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_script_of_every_starter_shows_the_failure_of_its_page(own_course, run_cli, tmp_path_factory, part):
    folder = tmp_path_factory.mktemp("scripts")
    require_failures_of_the_page(own_course, run_cli, own_course.exercise_ids()[part::4], folder)


@pytest.mark.slow
def test_a_script_has_the_variation_of_its_check(course, own_course, run_cli, tmp_path_factory):
    for exercise_id, name in WITH_VARIATION.items():
        module, _ = own_course.editable_files(exercise_id)
        module.write_text(wrong_fix(course, exercise_id, name), encoding="utf-8")
    folder = tmp_path_factory.mktemp("scripts")
    require_failures_of_the_page(own_course, run_cli, [*WITH_VARIATION], folder)
    for exercise_id in WITH_VARIATION:
        script = (folder / f"{exercise_id}.py").read_text(encoding="utf-8")
        classes = [check.variation_class() for check in load_exercise(own_course.description(exercise_id)).checks]
        assert [name for name in classes if name and f"class {name}(" in script], exercise_id


@pytest.mark.slow
def test_a_state_dict_that_does_not_fit_is_loaded_again(own_course, run_cli):
    exercise = load_exercise(own_course.description("exercise_05"))
    module, _ = own_course.editable_files(exercise.id)
    reference = own_course.reference_text(exercise.id)
    module.write_text(make_variant(reference, exercise, {"mask-in-state-dict"}), encoding="utf-8")
    done = run_cli("try", exercise.id, cwd=own_course.root)
    assert done.returncode == 1
    assert ">>> module1.load_state_dict(module2.state_dict())" in done.stdout
    assert "size mismatch for causal_mask" in done.stdout


@pytest.mark.slow
def test_a_trial_of_a_starter_that_is_right_claims_nothing(own_course, run_cli):
    run_cli("try", DECOY, cwd=own_course.root)
    progress = load_progress(own_course, DECOY)
    assert (progress.outcome, progress.is_solved()) == (Result.NOT_FIXED, False)


@pytest.mark.slow
def test_a_trial_whose_reader_is_gone_ends_without_a_traceback_of_the_kit(own_course):
    command = f"{sys.executable} -m grader try {EXERCISE} | head -1"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", command], cwd=own_course.root, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


IN_VARIANTS = {
    "in float64": "x = x.float()",
    "in training mode": "x = x + self.training",
    "under no_grad": "x = x if torch.is_grad_enabled() else x + 1",
    "inputs transposed in memory": "x = x if x.is_contiguous() else x + 1",
    "as a frozen deepcopy": "x = x if any(each.requires_grad for each in self.parameters()) else x + 1",
    "between other calls": "x = self.__dict__.setdefault('first', x.clone())",
    "after a call under inference_mode": "x = self.__dict__.setdefault('first', x.clone())",
}
"""Lines that make a right module fail in some calling variants alone, by the words of one of them."""


FIRST, *OTHERS = dict.fromkeys(IN_VARIANTS.values())


@pytest.mark.slow
@pytest.mark.parametrize("line", [FIRST, *(pytest.param(line, marks=pytest.mark.slow) for line in OTHERS)])
def test_a_calling_variant_is_repeated_with_its_mode_dtype_layout_and_history(own_course, run_cli, tmp_path, line):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_bytes(own_course.reference(EXERCISE).read_bytes())
    edited(own_course, line)
    scripts = written_scripts(own_course, run_cli, [EXERCISE], tmp_path)
    note, mine, theirs = scripts[EXERCISE]
    errors = errors_of(mine, theirs)
    assert errors[str(mine)], (note, mine.read_text())
    assert errors[str(theirs)] == "", theirs.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "is_plain"),
    [("x = x.detach()", True), ("x = x.detach() if x.requires_grad and not x.is_leaf else x", False)],
)
def test_an_input_without_a_gradient_is_repeated_after_a_plain_call(own_course, run_cli, tmp_path, line, is_plain):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_bytes(own_course.reference(EXERCISE).read_bytes())
    edited(own_course, line)
    note, mine, theirs = written_scripts(own_course, run_cli, [EXERCISE], tmp_path)[EXERCISE]
    assert "the input x gets no gradient" in note
    errors = errors_of(mine, theirs)
    assert errors[str(mine)].startswith("AssertionError: the input x gets no gradient") == is_plain
    assert errors[str(theirs)] == ""


@pytest.mark.slow
def test_an_error_is_shown_from_the_students_own_line_on(own_course, run_cli):
    edited(own_course, "1 / 0")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero" in done.stdout
    assert "grader" not in done.stdout.partition("Traceback")[2].replace(str(own_course.root), "")


def test_a_file_that_does_not_parse_shows_its_line_and_no_line_of_the_kit(own_course, run_cli):
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
    assert "out = tensor(" in told


@pytest.mark.slow
def test_the_notebook_is_tried_when_it_counts(own_course, run_cli):
    _, notebook = own_course.editable_files(EXERCISE)
    text = notebook.read_text(encoding="utf-8")
    notebook.write_text(text.replace("# (B, T, I)", "print('from a cell')"), encoding="utf-8")
    assert "from a cell" in run_cli("try", EXERCISE, cwd=own_course.root).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("call", "name"), [("breakpoint()", "breakpoint()"), ("input('go on? ')", "input()")])
def test_code_that_waits_for_input_gets_an_alternative(own_course, call, name):
    edited(own_course, call)
    page = " ".join(run_program(EXERCISE, cwd=own_course.root).stdout.split())
    assert f"it calls {name}, but nobody can answer during grading; python -m grader try runs your file" in page


def test_the_last_lines_that_were_printed_are_shown_with_the_sizes_and_escaped(judge_text):
    text = judge_text.variant(EXERCISE, frozenset({"mask-discarded"}))
    told = "for i in range(30): print('line', i, tuple(x.shape), chr(27) + '[31m')"
    verdict = judge_text(EXERCISE, text.replace(PLACE, f"        {told}\n"))
    page = terminal_page(verdict, load_exercise(judge_text.course.description(EXERCISE)), width=200)
    lines = [line.strip() for line in page.splitlines() if line.strip().startswith("│")]
    assert lines == [f"│ line {number} (1, 3, 4) \\x1b[31m" for number in range(20, 30)]
    assert "it printed with batch=1, tokens=3, input_dim=4, output_dim=6, context_length=8:" in page


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention (1).py", "my-fix.py", "class.py"])
def test_a_file_whose_name_is_no_identifier_is_tried(own_course, run_cli, tmp_path, name):
    file = tmp_path / name
    file.write_bytes(own_course.editable_files(EXERCISE)[0].read_bytes())
    own_process = ("try", EXERCISE, "--file", file, "--trusted")
    done = run_cli(*own_process, cwd=own_course.root)
    assert done.returncode == 1
    assert "SyntaxError" not in done.stdout + done.stderr
    script = run_cli(*own_process, "--code", cwd=own_course.root).stdout
    alone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert "AssertionError" in alone.stderr.splitlines()[-1]


def test_where_references_are_no_file_of_somebody_else_runs_outside_the_sandbox(own_course, run_cli, tmp_path):
    file, trace = tmp_path / "attention.py", tmp_path / "trace"
    file.write_text(f"open({str(trace)!r}, 'w')\n", encoding="utf-8")
    for more in ((), ("--code",)):
        done = run_cli("try", EXERCISE, "--file", file, *more, cwd=own_course.root)
        refused = f"grader: try runs {file} as you, without a sandbox; add --trusted if you trust its author\n"
        assert (done.returncode, done.stderr) == (2, refused)
    assert not trace.exists()


@pytest.mark.slow
def test_a_trial_that_compares_values_prints_no_warning(own_course, run_cli):
    done = run_cli("try", "exercise_12", cwd=own_course.root)
    assert (done.returncode, done.stderr) == (1, "")
    assert "at batch 0, queries " in done.stdout


@pytest.mark.slow
def test_a_trial_imports_nothing_of_the_kits_from_the_current_folder(own_course, run_cli):
    (own_course.root / "click.py").write_text("raise SystemExit('a file of the student was imported')\n")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stderr) == (1, "")
    assert "AssertionError" in done.stdout


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
def test_a_trial_says_if_nothing_fails(own_course, run_cli, judge_text):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_text(judge_text.variant(EXERCISE, frozenset()), encoding="utf-8")
    done = run_cli("try", EXERCISE, cwd=own_course.root)
    assert (done.returncode, done.stderr) == (0, "")
    first, *others = done.stdout.splitlines()
    assert first == "# every check that ran passed, so this is an ordinary call"
    assert any(line.startswith(">>> torch.manual_seed(") for line in others)


@pytest.mark.slow
def test_no_compiler_is_imported_for_a_trial(own_course, run_cli):
    module, _ = own_course.editable_files("exercise_32")
    text = module.read_text(encoding="utf-8")
    at_the_end = "import atexit, sys\natexit.register(lambda: print('torch._dynamo.guards' in sys.modules))\n"
    module.write_text(text + at_the_end, encoding="utf-8")
    done = run_cli("try", "exercise_32", cwd=own_course.root)
    assert done.returncode == 1, done.stdout
    assert done.stdout.splitlines()[-1] == "False"
    assert not (module.parent / "__pycache__").exists()
