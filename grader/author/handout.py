"""What a student gets beside the module: its notebook twin and the page that tells the story."""

import ast
from typing import Any

import nbformat

from grader.exercise import Exercise
from grader.submission import DEMONSTRATION, Submission

Cell = dict[str, Any]

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


def make_cells(starter: str, exercise_id: str) -> list[Cell]:
    """Cells around a module: where the story is, the code, and a place to play."""
    story = f"# {exercise_id}\n\nThe story and the interface stand in README.md beside this notebook."
    play = "# A place to try things: the grader does not run this cell."
    code: Cell = {"outputs": [], "execution_count": None}
    return [
        {"cell_type": "markdown", "id": "story", "metadata": {}, "source": story},
        {"cell_type": "code", "id": "code", "metadata": {}, "source": starter.rstrip("\n"), **code},
        {"cell_type": "code", "id": "play", "metadata": {"tags": [DEMONSTRATION]}, "source": play, **code},
    ]


def mend_cells(cells: list[Cell], read: Submission) -> list[Cell]:
    """An author's cells as they are handed out: no outputs, no magics, and what only shows things off tagged so."""
    sources = {chunk.label: chunk.text for chunk in read.chunks}
    mended: list[Cell] = []
    number = 0
    for index, cell in enumerate(cells):
        kept = {"cell_type": cell["cell_type"], "id": f"cell-{index}", "metadata": {}, "source": _text(cell)}
        mended.append(kept)
        if cell["cell_type"] != "code":
            continue
        number += 1
        kept |= {"outputs": [], "execution_count": None}
        source = sources.get(f"code cell {number}")
        if source is not None and _defines(source):
            kept["source"] = _without_stand_ins(source, kept["source"])
        else:
            kept["metadata"] = {"tags": [DEMONSTRATION]}
    return mended


def join_cells(cells: list[Cell]) -> str:
    """The module that handed out cells are the twin of."""
    graded = [cell["source"].strip("\n") for cell in cells if cell["cell_type"] == "code" and not cell["metadata"]]
    return "\n\n\n".join(graded) + "\n"


def notebook_text(cells: list[Cell]) -> str:
    """The cells as a notebook file of format 4.5."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    notebook = nbformat.from_dict(content)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def write_readme(exercise: Exercise) -> str:
    """The page that a student reads first."""
    interface = exercise.interface
    rows = [f"| `{name}` | {_shape(spec)} |" for name, spec in interface.inputs.items()]
    rows += [f"| what `forward` returns | {_shape(shape)} |" for shape in interface.outputs]
    keywords = [name if value == name else f"{name}={value!r}" for name, value in interface.constructor.items()]
    table, signature = "\n".join(rows), f"{interface.class_name}({', '.join(keywords)})"
    return f"""# {exercise.title}

## The story

{exercise.story.strip()}

## The interface a fix must keep

`{signature}` is an `nn.Module`.

| what | shape |
| --- | --- |
{table}

Inside these lines everything is yours: mend a line, or write the class anew. The names of the parameters must stay, so
that saved weights still load.

## How to work on it

Edit `attention.py`, or its notebook twin `attention.ipynb` if you would rather experiment, and ask for a verdict:

    python -m grader {exercise.id}

Stuck? Each call gives one more hint:

    python -m grader hint {exercise.id}
"""


def _text(cell: Cell) -> str:
    source = cell["source"]
    return "".join(source) if isinstance(source, list) else str(source)


def _shape(spec: Any) -> str:
    shape = spec if isinstance(spec, list) else getattr(spec, "shape", None)
    if shape is None:
        return f"`{spec!r}`"
    note = "" if isinstance(spec, list) else ", a mask: true where a query may look"
    return f"`({', '.join(map(str, shape))})`{note}"


def _defines(source: str) -> bool:
    """Whether a cell is more than a demonstration: it imports or defines something, or does nothing but name values."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True  # to be complained of, rather than left out
    if any(isinstance(node, DEFINITIONS) for node in body):
        return True
    return bool(body) and all(isinstance(node, ast.Assign | ast.AnnAssign) for node in body)


def _without_stand_ins(source: str, original: str) -> str:
    """The cell without the lines that stood for magics; inside a block they are needed."""
    lines = zip(source.split("\n"), original.replace("\r\n", "\n").split("\n"), strict=False)
    kept = [line for line, before in lines if line == before or line not in ("pass", "")]
    return "\n".join(kept).strip("\n")
