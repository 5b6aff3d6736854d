"""Whether an exercise's files say the same: starter, reference with all defects put back, and notebook."""

import ast
from pathlib import Path

import nbformat

from grader.author.proof import Step
from grader.course import Course
from grader.exercise import Exercise, put_back
from grader.submission import Unreadable, read_submission


def compare_sources(course: Course, exercise: Exercise) -> Step:
    """Starter and notebook against the reference with every defect put back."""
    module, notebook = (course.pristine(path) for path in course.twins(exercise.id))
    reference = course.reference(exercise.id).read_text(encoding="utf-8")
    expected = put_back(reference, exercise.defects)
    problems = []
    starter = module.read_text(encoding="utf-8")
    where = module.relative_to(course.root)
    if _tree(starter) != _tree(expected):
        line = _first_difference(starter, expected)
        problems.append(f"{where}:{line}: is not the reference with every defect put back; mend either")
    elif starter != expected:
        line = _first_difference(starter, expected)
        problems.append(f"{where}:{line}: is in other words than the reference with every defect put back; align them")
    invalid = _why_invalid(notebook)
    if invalid:
        problems.append(f"{notebook.relative_to(course.root)}: is no valid notebook ({invalid}); save it from Jupyter")
    twin = read_submission(notebook, notebook.name)
    if isinstance(twin, Unreadable):
        problems.append(f"{notebook.relative_to(course.root)}: {twin.reason}")
    elif _tree("\n\n".join(chunk.text for chunk in twin.chunks)) != _tree(starter):
        problems.append(
            f"{notebook.relative_to(course.root)}: its code cells are not the module; align them, and tag what only "
            "shows things off as demonstration"
        )
    return Step("sources", problems=problems)


def _why_invalid(notebook: Path) -> str:
    """What Jupyter's own reader has against a notebook that is to be handed out; empty where it has nothing."""
    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
    except (nbformat.ValidationError, nbformat.reader.NotJSONError, OSError) as error:
        return str(error).split("\n", 1)[0][:200]
    return ""


def _tree(text: str) -> str:
    """The syntax tree without the module's docstring, which a notebook has in a text cell."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    return ast.dump(tree)


def _first_difference(one: str, other: str) -> int:
    """The number of the first line that differs."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    same = next((number for number, (ours, theirs) in enumerate(lines) if ours != theirs), None)
    return (min(len(one.splitlines()), len(other.splitlines())) if same is None else same) + 1
