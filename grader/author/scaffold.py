"""Make the exercise.yaml and the notebook of a new exercise."""

import ast
import json
from typing import Any

import yaml

from grader.author.first_checks import first_checks
from grader.author.interface import FoundInterface
from grader.author.proposal import Proposal
from grader.report.rendering import text_templates
from grader.spec.document import Dumper
from grader.spec.exercise import Exercise
from grader.spec.problem import blank
from grader.student.notebook_file import notebook_content
from grader.submission import DEMONSTRATION, Submission

Cell = dict[str, Any]

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


def describe(interface: FoundInterface, proposal: Proposal, source: str) -> str:
    """Return the text of the exercise.yaml; `source` is the name of the file with the interface."""
    blanks = {name: blank(f"a number, a truth value, a word or null for {name}") for name in proposal.blanks}
    in_variants = interface.kind.has_calling_variants
    templates = text_templates("grader.author", trim_blocks=True)
    templates.filters["yaml"] = _flow
    return templates.get_template("exercise.yaml.j2").render(
        blank=blank,
        source=source,
        kind=interface.kind,
        interface=interface,
        proposal=proposal,
        constructor=proposal.constructor | blanks,
        keyword_only=in_variants
        and any(each.is_keyword_only for each in interface.forward if each.name in proposal.inputs),
        constructor_keyword_only=in_variants and not interface.takes_by_position(proposal.constructor),
        left_out=[name for name in proposal.left_out if name not in proposal.constructor],
        checks=map(render_check, first_checks(interface, proposal)),
    )


def render_check(check: dict[str, Any]) -> str:
    """Return a check as an entry of `checks:`."""
    return "  - " + "\n    ".join(f"{key}: {_flow(value)}" for key, value in check.items())


def _flow(value: Any) -> str:
    """Return a value on one line of YAML."""
    text: str = yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()


def make_cells(starter: str, exercise_id: str) -> list[Cell]:
    """Return the cells for a module: one for the story, the code, and one for experiments."""
    story = f"# {exercise_id}\n\nThe story and the interface are in README.md beside this notebook."
    play = "# A place to try things: the grader does not run this cell."
    return [
        _cell("markdown", "story", story),
        _cell("code", "code", starter.rstrip("\n")),
        _demonstration("play", play),
    ]


def grading_cell(exercise_id: str) -> Cell:
    """Return the last cell of a notebook, which shows a verdict and is not graded."""
    return _demonstration("grade", f"%load_ext grader\n%grade {exercise_id}")


def clean_cells(cells: list[Cell], submission: Submission) -> list[Cell]:
    """Return an author's cells without outputs and magics. Cells that define nothing are tagged as demonstrations."""
    sources = {chunk.label: chunk.text for chunk in submission.chunks}
    cleaned: list[Cell] = []
    number = 0
    for index, cell in enumerate(cells):
        original = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        number += cell["cell_type"] == "code"
        source = sources.get(f"code cell {number}")
        if cell["cell_type"] != "code":
            cleaned.append(_cell(cell["cell_type"], f"cell-{index}", original))
        elif source is not None and _defines(source):
            cleaned.append(_cell("code", f"cell-{index}", _without_placeholders(source, original)))
        else:
            cleaned.append(_demonstration(f"cell-{index}", original))
    return cleaned


def join_cells(cells: list[Cell]) -> str:
    """Return the module with the code of the graded cells."""
    graded = [cell["source"].strip("\n") for cell in cells if cell["cell_type"] == "code" and not cell["metadata"]]
    return "\n\n\n".join(graded) + "\n"


def with_story(text: str, exercise: Exercise) -> str:
    """Return a notebook that `make_cells` began, with the exercise's title and story in its first cell."""
    cells = json.loads(text)["cells"]
    if cells and cells[0].get("id") == "story":
        where = "The interface that a fix must keep is in README.md, beside this notebook."
        cells[0]["source"] = f"# {exercise.title}\n\n{exercise.story.strip()}\n\n{where}"
    return notebook_text(cells)


def notebook_text(cells: list[Cell]) -> str:
    """Return the cells as a notebook file of format 4.5."""
    import nbformat  # here, because most derived files need no notebook

    notebook = nbformat.from_dict(notebook_content(cells))
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def _cell(cell_type: str, cell_id: str, source: str) -> Cell:
    code: Cell = {"outputs": [], "execution_count": None} if cell_type == "code" else {}
    return {"cell_type": cell_type, "id": cell_id, "metadata": {}, "source": source, **code}


def _demonstration(cell_id: str, source: str) -> Cell:
    return _cell("code", cell_id, source) | {"metadata": {"tags": [DEMONSTRATION]}}


def _defines(source: str) -> bool:
    """Return whether a cell imports or defines something, or only assigns names; otherwise it is a demonstration."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True  # so that the error is reported
    is_definition = any(isinstance(node, DEFINITIONS) for node in body)
    return is_definition or (bool(body) and all(isinstance(node, ast.Assign | ast.AnnAssign) for node in body))


def _without_placeholders(source: str, original: str) -> str:
    """Return the cell without the lines that replaced magics; inside a block they are needed."""
    lines = zip(source.split("\n"), original.replace("\r\n", "\n").split("\n"), strict=False)
    kept = [line for line, before in lines if line == before or line not in ("pass", "")]
    return "\n".join(kept).strip("\n")
