"""The definition of a class, collected from a kernel's cells."""

import pytest

from grader.student.definitions import submission_from_cells
from grader.submission import Chunk


def cells(*texts: str) -> list[Chunk]:
    return [Chunk(label=f"In [{number}]", text=text) for number, text in enumerate(texts, 1)]


def code_of(*texts: str, entry: str = "Head") -> str:
    found = submission_from_cells(cells(*texts), entry)
    assert found is not None
    return "\n".join(line for chunk in found.chunks for line in chunk.text.split("\n") if line)


def test_the_last_definition_counts() -> None:
    assert code_of("class Head:\n    a = 1", "class Head:\n    a = 2") == "class Head:\n    a = 2"


def test_names_that_the_class_uses_are_included_and_demonstrations_are_not() -> None:
    code = code_of(
        "import torch\nimport json",
        "SCALE = 2\nOTHER = 3",
        "def helper(x):\n    return x * SCALE",
        "class Head(torch.nn.Module):\n    def forward(self, x):\n        return helper(x)",
        "head = Head()\nprint(head(torch.ones(1)))\nfor step in range(9):\n    print(step)",
    )
    assert "import torch" in code
    assert "SCALE = 2" in code
    assert "def helper" in code
    assert "print" not in code
    assert "OTHER" not in code
    assert "json" not in code


def test_a_method_put_on_the_class_later_counts_and_one_put_on_an_older_class_does_not() -> None:
    patched = code_of("class Head: pass", "def forward(self): return 1", "Head.forward = forward")
    assert "Head.forward = forward" in patched
    assert "def forward" in patched
    assert "Head.forward" not in code_of("class Head: pass", "Head.forward = None", "class Head: pass")


def test_a_statement_that_rebinds_a_name_comes_with_the_earlier_binding() -> None:
    wrapped = code_of("class Head: pass", "Head.forward = None", "def wrap(x): return x", "Head = wrap(Head)")
    assert all(part in wrapped for part in ("class Head: pass", "Head.forward = None", "def wrap", "Head = wrap(Head)"))
    counted = code_of("HEADS = 1\nHEADS = 4", "HEADS *= 2", "class Head:\n    heads = HEADS")
    assert counted == "HEADS = 4\nHEADS *= 2\nclass Head:\n    heads = HEADS"
    recursive = "class Head:\n    def copy(self):\n        return Head()"
    assert code_of("class Head: pass", recursive) == recursive


def test_lines_keep_the_numbers_of_their_cell() -> None:
    found = submission_from_cells(cells("print(1)\n\nclass Head:\n    a = 1"), "Head")
    assert found is not None
    (chunk,) = found.chunks
    assert chunk.label == "In [1]"
    assert chunk.text.split("\n")[2] == "class Head:"


def test_decorators_and_guarded_imports_are_included() -> None:
    code = code_of(
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None", "@keep(\n    np\n)\nclass Head: pass"
    )
    assert "import numpy as np" in code
    assert "@keep(" in code


def test_magics_and_cells_that_are_not_python_are_skipped() -> None:
    assert code_of("%load_ext grader", "this is no python", "class Head: pass") == "class Head: pass"
    assert submission_from_cells(cells("%grade 3", "print(1)"), "Head") is None


@pytest.mark.parametrize(
    "cell",
    [
        "for HEADS in [4]:\n    pass",
        "while True:\n    HEADS = 4\n    break",
        "match 4:\n    case HEADS:\n        pass",
        "with contextlib.nullcontext(4) as HEADS:\n    pass",
        "print(HEADS := 4)",
        "(HEADS, *others) = 4, 5",
        "def choose():\n    global HEADS\n    HEADS = 4",
    ],
)
def test_a_name_may_be_bound_by_any_statement(cell: str) -> None:
    code = code_of("import contextlib", cell, "class Head:\n    def build(self):\n        return HEADS")
    assert cell in code
    assert ("import contextlib" in code) == ("contextlib" in cell)


@pytest.mark.parametrize(
    "cell",
    [
        'OPTIONS["heads"] = 4',
        "OPTIONS.heads = 4",
        "OPTIONS.of.heads = 4",
        "OPTIONS.heads, OPTIONS.width = 4, 8",
        'OPTIONS.update({"heads": 4})',
        "for number in range(4):\n    OPTIONS.append(number)",
        'setattr(OPTIONS, "heads", 4)',
        "del OPTIONS[0]",
    ],
)
def test_what_changes_an_object_that_the_class_uses_is_included(cell: str) -> None:
    assert cell in code_of("OPTIONS = make", cell, "class Head:\n    options = OPTIONS")
    assert cell not in code_of("OPTIONS = make", cell, "OPTIONS = {}", "class Head:\n    options = OPTIONS")


def test_a_function_that_a_decorator_puts_on_the_class_is_included() -> None:
    code = code_of("def add_to(kind): return put", "class Head: pass", "@add_to(Head)\ndef forward(self): return 1")
    assert "def forward" in code
    assert "def add_to" in code


def test_a_branch_that_may_not_run_keeps_the_earlier_value() -> None:
    code = code_of("HEADS = 2", "if False:\n    HEADS = 4", "class Head:\n    heads = HEADS")
    assert "HEADS = 2" in code


def test_names_inside_functions_are_not_those_of_the_notebook() -> None:
    loop = "for x in batches:\n    loss = head(x)\n    loss.backward()"
    method = "    def forward(self, x):\n        loss = x * 2\n        return [x for x in loss]"
    assert code_of(f"class Head:\n{method}", loop) == f"class Head:\n{method}"


def test_calls_of_an_imported_modules_functions_are_not_included() -> None:
    assert "show" not in code_of("import plot", "plot.show()", "class Head:\n    plot = plot")


def test_a_module_keeps_its_changes_when_it_is_imported_again() -> None:
    code = code_of("import plot", "plot.style = 1", "import plot", "class Head:\n    plot = plot")
    assert code == "import plot\nplot.style = 1\nimport plot\nclass Head:\n    plot = plot"
