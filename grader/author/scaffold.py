"""Make the exercise.yaml of a new exercise from a proposal, with blanks for the author."""

import ast
import json
from typing import Any

import yaml

from grader.author.first_checks import first_checks
from grader.author.interface import FoundInterface
from grader.author.proposal import Proposal
from grader.author.sizes import propose_random_sizes
from grader.spec.document import Dumper
from grader.spec.exercise import Exercise
from grader.spec.kinds import USUAL_KIND
from grader.spec.problem import blank
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


def grading_cell(exercise_id: str) -> Cell:
    """The last cell of a notebook: it asks for a verdict, and is not run when the notebook is handed in."""
    asks = f"%load_ext grader\n%grade {exercise_id}"
    cell: Cell = {"cell_type": "code", "id": "grade", "metadata": {"tags": [DEMONSTRATION]}, "source": asks}
    return cell | {"outputs": [], "execution_count": None}


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
            kept["source"] = _without_placeholders(source, kept["source"])
        else:
            kept["metadata"] = {"tags": [DEMONSTRATION]}
    return mended


def join_cells(cells: list[Cell]) -> str:
    """The module that handed out cells are the twin of."""
    graded = [cell["source"].strip("\n") for cell in cells if cell["cell_type"] == "code" and not cell["metadata"]]
    return "\n\n\n".join(graded) + "\n"


def with_story(text: str, exercise: Exercise) -> str:
    """A notebook that `make_cells` began, with the exercise's title and story in its first cell."""
    cells = json.loads(text)["cells"]
    if cells and cells[0].get("id") == "story":
        where = "The interface that a fix must keep stands in README.md beside this notebook."
        cells[0]["source"] = f"# {exercise.title}\n\n{exercise.story.strip()}\n\n{where}"
    return notebook_text(cells)


def notebook_text(cells: list[Cell]) -> str:
    """The cells as a notebook file of format 4.5."""
    import nbformat  # here, for most of what is made needs no notebook

    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    notebook = nbformat.from_dict(content)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def _text(cell: Cell) -> str:
    source = cell["source"]
    return "".join(source) if isinstance(source, list) else str(source)


def _defines(source: str) -> bool:
    """Whether a cell is more than a demonstration: it imports or defines something, or does nothing but name values."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True  # to be complained of, rather than left out
    if any(isinstance(node, DEFINITIONS) for node in body):
        return True
    return bool(body) and all(isinstance(node, ast.Assign | ast.AnnAssign) for node in body)


def _without_placeholders(source: str, original: str) -> str:
    """The cell without the lines that stood for magics; inside a block they are needed."""
    lines = zip(source.split("\n"), original.replace("\r\n", "\n").split("\n"), strict=False)
    kept = [line for line, before in lines if line == before or line not in ("pass", "")]
    return "\n".join(kept).strip("\n")


TEMPLATE = """\
# yaml-language-server: $schema=../exercise.schema.json
format_version: 1
title: {title}
difficulty: 2   # 1 (a first hunt) to 5
theme: ""   # the heading in the list under which it stands, as in exercises/README.md
source:
  title: {source}
story: >
  {story}

# Found by reading {name}; see that it is right.
interface:
{entry}
  constructor:   # a value that is the name of a size below stands for that size
{constructor}
  inputs:   # {called}: Gaussian tensors of these shapes, masks, whole numbers{left_out}
{inputs}
  outputs:
{outputs}

# The sizes that every check walks through, from ones up. Within a size case, keep all sizes but ones distinct.
sizes:
{fixed_sizes}
  # random in each run: any sizes, long ones, many samples, sizes that are equal
{drawn}

# One entry for each defect: was stands once in the starter, fix is what takes its place in the reference.
defects:
  - id: {defect_id}
    title: {defect_title}
    points: 7   # with nothing_else_broke and the other defects, ten
    was: {was}
    fix: {fix}
    hints:
      - {hint_1}
      - {hint_2}
      - {hint_3}
    why: >
      {why}

nothing_else_broke: 3

# Built-in properties.
checks:
{checks}
"""

BLANKS = {
    "title": "one line for the list, on what people notice rather than on its cause",
    "source": "the public document that the code comes from",
    "story": "one paragraph on who uses the code and what they noticed",
    "defect_id": "a short name, such as softmax-over-queries",
    "defect_title": "what is wrong, in one line, shown once it is fixed",
    "was": "the line or part of a line as it stands in the starter, once",
    "fix": "what takes its place in the reference",
    "hint_1": "a nudge, such as an experiment that shows the behaviour",
    "hint_2": "a question that leads to the place",
    "hint_3": "nearly the answer",
    "why": "what it did and why nobody saw it, shown once it is fixed",
}


def describe(interface: FoundInterface, proposal: Proposal, name: str) -> str:
    """The text of the exercise.yaml; `name` is the file that the interface was found in."""
    constructor = dict(proposal.constructor)
    for keyword in proposal.blanks:
        constructor[keyword] = blank(f"a number, a truth value, a word or null for {keyword}")
    names = [name for name in proposal.left_out if name not in constructor]
    left_out = f"; left out: {', '.join(names)}" if names else ""
    drawn = propose_random_sizes(
        interface.kind,
        list(proposal.fixed_sizes[0]),
        in_pairs=interface.halves_features,
        widths=interface.widths.values(),
    )
    return TEMPLATE.format(
        name=name,
        entry=_entry(interface),
        constructor=_mapping(constructor, 4) or "    {}",
        left_out=left_out,
        inputs=_mapping(proposal.inputs, 4) or "    {}",
        outputs=_items(proposal.outputs, 4),
        fixed_sizes=_items(proposal.fixed_sizes, 2),
        called=interface.kind.inputs_are,
        drawn=_items(drawn, 2),
        checks="\n".join(map(render_check, first_checks(interface, proposal))),
        **{field: blank(what) for field, what in BLANKS.items()},
    )


def _entry(interface: FoundInterface) -> str:
    kind = interface.kind
    lines = [] if kind.name is USUAL_KIND else [f"kind: {kind.name}"]
    lines.append(f"{'function' if kind.offers_function else 'class'}: {interface.class_name}")
    return "\n".join(f"  {line}" for line in lines)


def render_check(check: dict[str, Any]) -> str:
    """A check as it stands under `checks:`."""
    lines = [f"{_flow(key)}: {_flow(value)}" for key, value in check.items()]
    return "  - " + "\n    ".join(lines)


def _mapping(data: dict[str, Any], indent: int) -> str:
    return "\n".join(f"{' ' * indent}{_flow(key)}: {_flow(value)}" for key, value in data.items())


def _items(data: list[Any], indent: int) -> str:
    return "\n".join(f"{' ' * indent}- {_flow(item)}" for item in data)


def _flow(value: Any) -> str:
    """A value on one line of YAML."""
    text: str = yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()
