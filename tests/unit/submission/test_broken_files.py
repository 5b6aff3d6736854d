"""A file that cannot be graded gets one clear sentence with the next step, never a traceback of the kit."""

import re

import pytest

from grader.spec.loading import load_exercise
from grader.submission import MAX_SOURCE_BYTES
from grader.submission.choice import choice_of
from grader.verdict.attribution import DefectStatus
from grader.verdict.judging_files import judge_file
from grader.verdict.verdict import Result
from tests.support.forgetting import forget_descriptions
from tests.support.notebooks import code, markdown, notebook
from tests.support.pages import terminal_page
from tests.support.sampling import others_slow

EXERCISE = "exercise_03"
HEADER = "import torch\nimport torch.nn as nn\n"


@pytest.fixture(scope="module")
def starter(course):
    return course.editable_files(EXERCISE)[0].read_text(encoding="utf-8")


@pytest.fixture
def grade(course, tmp_path):
    """The verdict on a file with this content, and its screen with wrapped lines joined."""

    def grade(content: str | bytes, name: str = "attention.py"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        forget_descriptions()  # a test may grade several files
        verdict = judge_file(course, EXERCISE, choice_of(path), seed=5)
        screen = terminal_page(verdict, load_exercise(course.description(EXERCISE)), width=400)
        assert "Traceback" not in screen
        assert verdict.exit_code() == (0 if verdict.outcome is Result.FIXED else 1)
        return verdict, screen

    return grade


def refused(verdict):
    """The reason of a verdict without any check."""
    assert verdict.outcome is Result.NOT_GRADABLE
    assert (verdict.score, verdict.max_score, verdict.checks, verdict.regressions) == (0.0, 10.0, [], [])
    assert {defect.status for defect in verdict.defects} == {DefectStatus.UNKNOWN}
    return verdict.reason


@pytest.mark.parametrize(
    ("before", "after", "reason", "shown"),
    [
        (
            "values = self.W_value(x)",
            "values = self.W_value(x",
            "SyntaxError: '(' was never closed; fix (attention.py, line 35, column 30)",
            "    35 │         values = self.W_value(x\n       │                              ^\n",
        ),
        (
            "def forward(self, x):",
            "def forward(self, x)",
            "SyntaxError: expected ':'; fix (attention.py, line 28, column 25)",
            "    28 │     def forward(self, x)\n       │                         ^\n",
        ),
        (
            "        keys = self.W_key(x)",
            "       keys = self.W_key(x)",
            "IndentationError: unindent does not match any outer indentation level; fix ({0}, line 33, column 28)",
            "    33 │        keys = self.W_key(x)\n",
        ),
        (
            "        keys = self.W_key(x)",
            "\tkeys = self.W_key(x)",
            "TabError: inconsistent use of tabs and spaces in indentation; fix (attention.py, line 33, column 1)",
            "    33 │     keys = self.W_key(x)\n",
        ),
    ],
    ids=["unclosed bracket", "missing colon", "indentation", "tab"],
)
def test_a_syntax_error_is_shown_with_line_column_and_caret(grade, starter, before, after, reason, shown):
    verdict, screen = grade(starter.replace(before, after))
    reason = reason.format("attention.py").replace("fix (", "fix that line (")
    assert refused(verdict) == f"it cannot be compiled: {reason}"
    assert shown in screen


def test_a_caret_stands_under_its_column_where_tabs_come_before(grade):
    verdict, screen = grade("if True:\n\tx = (1\n")
    assert refused(verdict).endswith("(attention.py, line 2, column 6)")
    assert "     2 │     x = (1\n       │         ^\n" in screen


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (
            "class CausalSelfAttention",
            "class CausalAttention",
            "there is no class {0}; the classes found: CausalAttention; name your class {0}",
        ),
        (
            "CausalSelfAttention(nn.Module)",
            "CausalSelfAttention",
            "{0} is not a subclass of torch.nn.Module; derive it from nn.Module",
        ),
        (
            "import torch\n",
            "import numppy\n",
            "it raises while it is loading: ModuleNotFoundError: No module named 'numppy'; fix (attention.py, line 6)",
        ),
        (
            "    def forward",
            "    1 / 0\n    def forward",
            "it raises while it is loading: ZeroDivisionError: division by zero; fix (attention.py, line 28)",
        ),
    ],
    ids=["class missing", "no module", "import fails", "raises"],
)
def test_a_file_without_its_class_is_refused_with_what_was_found_instead(grade, starter, before, after, reason):
    verdict, screen = grade(starter.replace(before, after, 1))
    reason = reason.format("CausalSelfAttention").replace("fix (", "fix that line (")
    assert refused(verdict) == reason
    assert f"Not gradable: {reason}\n" in screen


def test_a_file_with_no_class_at_all_says_so(grade):
    verdict, _ = grade("x = 1\n")
    assert "the classes found: none; name your class" in refused(verdict)


def test_a_file_without_its_function_is_refused_with_those_that_it_has(course, tmp_path):
    path = tmp_path / "attention.py"
    starter = course.editable_files("exercise_31")[0].read_text(encoding="utf-8")
    for content, found in (
        (starter.replace("def critic_loss", "def critic_los"), "generalised_advantages, critic_los"),
        ("x = 1\n", "none"),
    ):
        path.write_text(content, encoding="utf-8")
        forget_descriptions()
        verdict = judge_file(course, "exercise_31", choice_of(path), seed=5)
        reason = f"there is no function critic_loss; the functions found: {found}; name your function critic_loss"
        assert refused(verdict) == reason


def test_a_wrong_constructor_signature_is_reported_with_the_expected_arguments(grade, starter):
    verdict, screen = grade(starter.replace("input_dim", "d_in"))
    assert verdict.outcome is Result.NOT_FIXED
    assert "TypeError: CausalSelfAttention.__init__() got an unexpected keyword argument 'input_dim'" in screen
    keywords = "input_dim, output_dim, context_length, dropout"
    assert f"It is built with the keywords {keywords}: keep the interface's signature" in " ".join(screen.split())


def test_a_wrong_forward_signature_is_reported_with_the_expected_arguments(grade, starter):
    verdict, screen = grade(starter.replace("def forward(self, x):", "def forward(self, tokens):\n        x = tokens"))
    assert verdict.outcome is Result.NOT_FIXED
    assert "got an unexpected keyword argument 'x'" in screen
    assert "orward is called with the keywords x: keep the interface's signature" in " ".join(screen.split())


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    others_slow(
        [
            ("W_key", "W_k", "its parameters differ from the interface's: there is no parameter W_key.weight"),
            ("        return context_vec\n", "", "expected a tensor, got None"),
            ("return context_vec", "return context_vec, attn_weights", "expected a tensor, got a tuple of 2"),
            ("        super().__init__()\n", "", "AttributeError: cannot assign module before Module.__init__() call"),
            ("return context_vec", "return context_vec @ x", "attention.py, line 49: return context_vec @ x\n"),
        ]
    ),
    ids=["renamed parameter", "nothing returned", "tuple returned", "super not called", "crash in forward"],
)
def test_a_class_of_another_form_is_graded_and_the_finding_says_how_it_differs(grade, starter, before, after, finding):
    verdict, screen = grade(starter.replace(before, after))
    assert verdict.outcome is Result.NOT_FIXED
    assert verdict.score == 0
    assert verdict.regressions
    assert finding in screen


def test_a_notebook_points_at_the_cell_and_the_line_the_student_sees(grade, starter):
    crashing = "%matplotlib inline\n\n" + starter.replace("self.W_value(x)", "W(x)")
    cells = [markdown("# Story"), code(HEADER), code(crashing)]
    verdict, screen = grade(notebook(*cells), "attention.ipynb")
    assert verdict.outcome is Result.NOT_FIXED
    assert "code cell 2, line 37: values = W(x)\n" in screen
    cells[2]["source"] = starter.replace("self.W_value(x)", "self.W_value(x")
    verdict, screen = grade(notebook(*cells), "attention.ipynb")
    assert refused(verdict).endswith("(code cell 2, line 35, column 30)")
    assert "    35 │         values = self.W_value(x\n       │                              ^\n" in screen


def test_an_exception_in_the_class_cell_of_a_notebook_is_located(grade, starter):
    verdict, screen = grade(notebook(code("x = undefined\n" + starter), code("print(1)")), "attention.ipynb")
    assert refused(verdict) == (
        "a cell raises before there is a class CausalSelfAttention: NameError: name 'undefined' is not defined; "
        "fix that line (code cell 1, line 1)"
    )
    assert "     1 │ x = undefined\n" in screen


@pytest.mark.slow
def test_of_a_class_defined_twice_the_last_one_counts(grade, starter):
    fixed = starter.replace("attn_scores.masked_fill", "attn_scores = attn_scores.masked_fill")
    first, _ = grade(notebook(code(fixed), code(starter)), "attention.ipynb")
    last, _ = grade(notebook(code(starter), code(fixed)), "attention.ipynb")
    assert (first.score, first.defects[0].status) == (0, DefectStatus.PRESENT)
    assert (last.score, last.defects[0].status) == (10, DefectStatus.FIXED)


def test_a_demonstration_is_not_run_and_another_cell_may_fail(grade, starter):
    demonstration = code("raise SystemExit\nclass CausalSelfAttention: pass", tags=["demonstration"])
    verdict, _ = grade(notebook(code(starter), code("plot()"), demonstration), "attention.ipynb")
    assert verdict.outcome is Result.NOT_FIXED
    assert verdict.regressions == []
    assert {defect.status for defect in verdict.defects} == {DefectStatus.PRESENT}


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["model(", "exit()", "raise KeyboardInterrupt", "these are my notes", "class A:"])
def test_what_another_cell_of_a_notebook_does_costs_a_right_fix_nothing(grade, course, cell):
    verdict, _ = grade(notebook(code(course.reference_text("exercise_03")), code(cell)), "attention.ipynb")
    assert (verdict.outcome, verdict.score) == (Result.FIXED, 10)


@pytest.mark.slow
def test_magics_of_an_exported_notebook_have_no_effect(grade, course):
    verdict, _ = grade(
        f"get_ipython().run_line_magic('matplotlib', 'inline')\n{course.reference_text('exercise_03')}", "attention.py"
    )
    assert (verdict.outcome, verdict.score) == (Result.FIXED, 10)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.py", None, "there is no file missing.py; check the path"),
        ("empty.py", b"", "is empty; save it again"),
        ("text.py", b"\n\n\n# caf\xe9\n", "is not UTF-8 text (line 4); save it as UTF-8"),
        (
            "plain.ipynb",
            b"class",
            "is not JSON, so it is not a notebook; save it again from Jupyter, or hand in the .py file",
        ),
        ("prose.ipynb", notebook(markdown("# hi")).encode(), "has no code cell to grade; put your code into one"),
        (
            "old.ipynb",
            b'{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}',
            "is a notebook of format 3; open it in Jupyter and save it again (format 4)",
        ),
        (
            "large.py",
            b"#" * (MAX_SOURCE_BYTES + 1),
            (
                f"has {MAX_SOURCE_BYTES + 1:,} bytes of source, and at most {MAX_SOURCE_BYTES:,} are graded; "
                "remove data and code that the exercise does not need"
            ),
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_not_gradable(course, tmp_path, name, content, sentence):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert refused(judge_file(course, EXERCISE, choice_of(path))).removeprefix(f"{name} ") == sentence


def test_the_command_line_ends_with_one_and_no_traceback_for_broken_files(run_cli, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "bracket.py").write_text("x = (\n")
    folder = run_cli(EXERCISE, "--file", tmp_path / "folder")
    assert (folder.returncode, folder.stderr) == (1, "")
    assert "Not gradable: folder is a directory; name the file in it\n" in folder.stdout
    bracket = run_cli(EXERCISE, "--file", tmp_path / "bracket.py")
    assert (bracket.returncode, bracket.stderr) == (1, "")
    assert re.search(r"'\(' was never closed; .*\n +1 │ x = \(\n +│     \^\n", bracket.stdout, re.DOTALL)
    assert "Traceback" not in folder.stdout + bracket.stdout
