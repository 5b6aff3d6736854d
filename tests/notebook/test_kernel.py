"""The magics in a real kernel: what a cell defines is judged outside of it, and shown as text and as static HTML."""

import re
import shutil
from pathlib import Path

import nbclient
import nbformat
import pytest

from grader.checks.outcome import FailureKind
from grader.notebook import GraderMagics
from grader.student.definitions import submission_from_cells
from grader.submission import Chunk
from tests.support.findings import sentence_pattern
from tests.support.paths import ROOT
from tests.support.traps import PAST

STARTER = (ROOT / "exercises/exercise_03/.starter/attention.py").read_text(encoding="utf-8")
REFERENCE = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
LYING_KERNEL = (
    "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\ntorch.Tensor.__eq__ = lambda *a: True"
)

TRAP = f"""{PAST}

def test_the_shape(subject, gaussian):
    assert subject(4, 6, 8, 0.0)(gaussian(2, 5, 4)).shape == (2, 5, 6)
"""

CELLS = {
    "load": "%load_ext grader\nimport time\nstarted = time.monotonic()",
    "graded and not run": f"%%grade exercise_03\n{STARTER}",
    "nothing ran": "%grade exercise_03",
    "hint about what was graded": "%hint exercise_03",
    "trial": "%try exercise_03",
    "code": "%try exercise_03 --code",
    "an option that nobody knows": "%try exercise_03 --cod",
    "a word too many": "%try exercise_03 code",
    "cell": f"%%grade exercise_03\n{STARTER}",
    "first time": "print(time.monotonic() - started)",
    "fixed": f"%%grade 3\n%matplotlib inline\n!nvidia-smi\n{REFERENCE}",
    "define": STARTER,
    "an import in another cell": "import torch",
    "diff": "%diff exercise_03",
    "lie": LYING_KERNEL,
    "definitions": "found = %grade exercise_03\nfound",
    "asked": "print(found.outcome, found.score, [each.name for each in found.defects], len(found.findings) > 0)",
    "hint": "%hint exercise_03",
    "hint by number": "%hint exercise_03 1",
    "guide": "%guide exercise_03 --card 1 --card 2 --answer 2 --answer '' --answer '' "
    "--answer 'attn_weights sums_to_one'",
    "guide without answers": "%guide exercise_03 --card 1",
    "unknown": "%grade exercise_99",
    "trap": f"%%trap exercise_03\n{TRAP}",
    "trap without tests": "%%trap exercise_03\nx = 1",
    "broken": "%%grade exercise_03\nclass CausalSelfAttention(:",
    "function": (ROOT / "solutions/exercise_29/loss.py").read_text(encoding="utf-8"),
    "of a function": "%grade exercise_29",
    "hint about a function": "%hint 29",
    "again": "started = time.monotonic()\nagain = %grade exercise_03\nprint(time.monotonic() - started)\nagain",
    "attempts": "from pathlib import Path\nfrom grader.spec.paths import find_course\n"
    "from grader.student.progress import load_progress\n"
    "print(len(load_progress(find_course(Path.cwd()), 'exercise_03').attempts))",
    "change": STARTER.replace("attn_scores.masked_fill(", "attn_scores = attn_scores.masked_fill(  # \x1b[2J\n    "),
    "other folder": "%cd -q exercises/exercise_03",
    "diff of what was changed": "%diff",
    "code of what was changed": "%try --code",
    "no course's folder": "%cd -q ../..",
    "no name": "%diff",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[nbformat.NotebookNode]]:
    """What each cell shows, run from top to bottom by a kernel in the folder of a course."""
    course = tmp_path_factory.mktemp("course")
    for folder in ("exercises", "solutions", "tests/hidden", ".grader/proven"):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, course / folder)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(course)}}).execute()
    return dict(zip(CELLS, [cell.outputs for cell in notebook.cells], strict=True))


def shown(outputs: list[nbformat.NotebookNode], kind: str) -> str:
    return "".join(output["data"][kind] for output in outputs if "data" in output)


def said(outputs: list[nbformat.NotebookNode]) -> str:
    return "".join(output["text"] for output in outputs if output["output_type"] == "stream")


def test_a_cell_is_judged_as_written_and_shown_as_text_and_html(outputs) -> None:
    text, html = shown(outputs["cell"], "text/plain"), shown(outputs["cell"], "text/html")
    assert "defect 1 · still there" in text
    assert "Not yet · 0 of 10 points" in text
    assert "\x1b" not in text
    assert "<caption>Defects and points</caption>" in html
    assert "still there" in html
    assert not re.search(r"<script|<link|https?://(?!www\.w3\.org)|url\((?!#)", html)


def test_the_reference_in_a_cell_is_fixed(outputs) -> None:
    assert "Fixed · 10 of 10 points" in shown(outputs["fixed"], "text/plain")


def test_a_function_that_ran_is_judged_like_a_class(outputs) -> None:
    assert "Fixed · 10 of 10 points" in shown(outputs["of a function"], "text/plain"), said(outputs["of a function"])
    assert "Every defect of exercise_29 is fixed" in said(outputs["hint about a function"])


def test_a_trap_in_a_cell_is_judged_outside_of_a_lying_kernel(outputs) -> None:
    page = said(outputs["trap"])
    assert "defect 1  caught by test_the_past" in page
    assert "test_the_shape catches nothing" in page
    assert "Trap: 7 of 8 points" in page
    assert "mask" not in page
    assert "No test ran: there is no test in it" in said(outputs["trap without tests"])


def test_a_kernel_whose_comparisons_lie_gets_the_verdict_that_everybody_gets(outputs) -> None:
    assert "Not yet · 0 of 10 points" in shown(outputs["definitions"], "text/plain")
    assert said(outputs["asked"]).strip() == "not_fixed 0.0 ['', ''] True"


def test_neither_page_names_a_defect_that_is_still_there(outputs) -> None:
    for kind in ("text/plain", "text/html"):
        assert "mask-discarded" not in shown(outputs["definitions"], kind)
        assert "result is thrown away" not in shown(outputs["definitions"], kind)


def test_hints_and_differences_are_printed_as_text(outputs) -> None:
    assert "Hint 1 of 3. For the next hint: %hint exercise_03 1" in said(outputs["hint about what was graded"])
    assert "Hint 2 of 3" in said(outputs["hint"])
    assert "Hint 3 of 3. That was the last hint. For defect 2: %hint exercise_03 2" in said(outputs["hint by number"])
    assert said(outputs["diff"]).strip() == "Nothing has changed since the starter."


def test_a_cell_that_was_graded_and_did_not_run_defines_nothing(outputs) -> None:
    assert said(outputs["nothing ran"]).startswith(
        "grader: no cell that ran defines CausalSelfAttention; a cell under %%grade does not run; run the cell"
    )


def test_the_first_failed_check_is_repeated_in_a_process_of_its_own(outputs) -> None:
    trial, code = said(outputs["trial"]), said(outputs["code"])
    finding = sentence_pattern(FailureKind.LEAK, action="changing token 1", item="output", place="token 0")
    assert re.search(f"AssertionError: {finding}", trial)
    assert "import torch" in code
    assert "torch.manual_seed" in code


def test_a_trial_reads_its_option_with_and_without_a_name(outputs) -> None:
    assert "torch.manual_seed" in said(outputs["code of what was changed"])
    assert said(outputs["an option that nobody knows"]) == "grader: %try takes only the option --code, got --cod\n"
    assert said(outputs["a word too many"]).startswith("grader: there is no exercise 'exercise_03 code' here")


def test_a_notebook_suggests_magics_and_never_a_reset(outputs) -> None:
    for name in ("cell", "definitions", "broken"):
        for kind in ("text/plain", "text/html"):
            page = shown(outputs[name], kind)
            assert "python -m grader" not in page
            assert "reset" not in page
    assert "Next: ask for a hint: %hint exercise_03" in shown(outputs["cell"], "text/plain")
    assert "<code>%try exercise_03</code>" in shown(outputs["cell"], "text/html")
    assert "Next: fix this cell, line 2, column 27, then grade again: %grade exercise_03" in shown(
        outputs["broken"], "text/plain"
    )


def test_the_folder_names_the_exercise_and_what_a_terminal_obeys_is_spelled_out(outputs) -> None:
    assert "# \\x1b[2J\n" in said(outputs["diff of what was changed"])
    assert "name the exercise, as in %grade exercise_03" in said(outputs["no name"])


def test_the_guide_answers_about_the_cells_and_skips_what_nobody_answers(outputs) -> None:
    page = said(outputs["guide"])
    assert "✓ What happens: at batch=1, tokens=3" in page
    assert "claim> attn_weights sums_to_one\n  true: its rows sum to 1" in page
    assert "· What should happen: at this sample alone" in said(outputs["guide without answers"])


def test_verdicts_are_attempts_and_hints_are_none(outputs) -> None:
    graded = [name for name, source in CELLS.items() if "%grade exercise_03" in source or "%%grade 3" in source]
    graded.remove("nothing ran")
    assert said(outputs["attempts"]).strip() == str(len(graded))


def test_a_wrong_magic_gives_one_sentence_and_no_traceback(outputs) -> None:
    assert said(outputs["unknown"]).startswith("grader: there is no exercise 'exercise_99' here")


@pytest.mark.parametrize("magic", ["grade_cell", "trap_cell"])
def test_half_a_character_in_a_cell_is_named_with_its_line_and_no_traceback(magic, monkeypatch, capsys) -> None:
    monkeypatch.chdir(ROOT)
    getattr(GraderMagics(shell=None), magic)("exercise_03", "x = 1\ny = '\ud800'\n")
    assert capsys.readouterr().out == (
        "grader: this cell, line 3: half a character (a lone surrogate) is not text; delete it\n"
    )


@pytest.mark.parametrize("text", ["y = '\ud800'", "y = 1  # \ud800"])
def test_a_cell_with_half_a_character_never_ran_and_defines_nothing(text: str) -> None:
    cells = [Chunk(label="In [1]", text=f"x = 1\n{text}\ndef loss(): return x\n")]
    assert submission_from_cells(cells, "loss") is None


def test_a_syntax_error_is_placed_in_the_cell_as_it_is_counted_on_the_screen(outputs) -> None:
    assert "this cell, line 2" in shown(outputs["broken"], "text/plain")


def test_a_warm_verdict_costs_a_fraction_of_the_first(outputs) -> None:
    first, again = (float(said(outputs[name])) for name in ("first time", "again"))
    print(f"first {first:.2f} s, then {again:.2f} s")
    assert again < first / 3


def test_a_kernel_draws_all_inputs_from_one_seed_as_a_watch_does(outputs) -> None:
    seeds = {re.search(r"seed (\d+)", shown(outputs[name], "text/plain"))[1] for name in ("cell", "fixed", "again")}
    assert len(seeds) == 1


def test_a_notebook_handed_in_with_its_magics_is_judged_by_its_cells(judge_text, tmp_path: Path) -> None:
    from grader.submission import read_submission

    cells = [nbformat.v4.new_code_cell(CELLS[name]) for name in ("load", "fixed", "definitions")]
    path = tmp_path / "attention.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert judge_text("exercise_03", read_submission(path, path.name)).outcome == "fixed"
