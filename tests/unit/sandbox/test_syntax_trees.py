"""Sources with equal syntax trees are equal if behaviour depends on nothing else; crashes name the operation."""

import sys

import pytest

from grader.sandbox.protocol import Source
from grader.sandbox.syntax_trees import fingerprint, operation_at
from tests.support.paths import CORPUS, ROOT

RIGHT = "import torch\n\nclass A(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


def tree_of(text: str) -> str:
    return fingerprint([Source(label="attention.py", text=text)])


def test_layout_and_comments_alone_make_no_difference() -> None:
    assert tree_of(RIGHT) == tree_of("# mine\n" + RIGHT.replace("\n\n", "\n\n\n")) != ""
    assert tree_of(RIGHT) != tree_of(RIGHT.replace("return x", "return 2 * x"))


@pytest.mark.parametrize(
    "looks",
    [
        "import linecache",
        "from inspect import getsource",
        "import sys\nline = sys._getframe().f_lineno",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    line = error.__traceback__.tb_lineno",
        "text = open(__file__).read()",
        "line = A.forward.__code__.co_firstlineno",
        "import warnings\nwarnings.warn('x', stacklevel=2)",
        "import sys\nframe = getattr(sys, '_getframe')",
        "import sys\nframe = getattr(sys, '_get' + 'frame')",
        "frame = vars(torch)['sys']",
        "exec('x = 1')",
        "module = __import__('lin' + 'ecache')",
    ],
)
def test_code_that_may_read_its_own_text_or_location_equals_no_other(looks: str) -> None:
    assert tree_of(f"{RIGHT}\n{looks}\n") == ""


def test_submissions_of_students_have_syntax_trees() -> None:
    files = [*ROOT.glob("solutions/*/*.py"), *CORPUS.glob("alternatives/*/*.py")]
    without = [path for path in files if not tree_of(path.read_text(encoding="utf-8"))]
    assert len(without) < len(files) / 20, without


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        ("[].vies", "vies"),
        ("x = [1].vies(2, 3)", "vies"),
        ("x = (\n    [1]\n    .vies(2)\n)", "vies"),
        ("int('one')", "int"),
        ("'é'; 'a' @ 'b'", "MatMult"),
        ("[][3]", "Subscript"),
        ("raise AttributeError('no')", "statement"),
    ],
)
def test_a_crash_names_what_was_being_done(statement: str, operation: str) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of any kind
        exec(compile(statement, "attention.py", "exec"), {})
    trace = raised.value.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert sys.version_info >= (3, 11)
    assert operation_at(trace.tb_frame.f_code, trace.tb_lasti, statement.split("\n")) == operation
