"""Derived files: write the reference and the README from the exercise.yaml, and compare the starter with both."""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from grader.author.proof import Step
from grader.author.scaffold import with_story
from grader.errors import SpecError
from grader.spec.exercise import Exercise
from grader.spec.fragments import fix_defects, put_back
from grader.spec.loading import read_exercise
from grader.spec.paths import Course, read_cache, write_cache, write_product
from grader.spec.problem import listed
from grader.spec.schema import render_schema
from grader.submission import Unreadable, read_submission


def derive_files(course: Course, exercise: Exercise) -> list[Path]:
    """Write the derived files: the reference from the starter, the README and the notebook's first cell from the story.

    Files that were edited by hand are not changed. Return the files that changed. Raise `SpecError` if a fragment does
    not occur in the starter exactly once.
    """
    starter = read_module(course, course.pristine(course.editable_files(exercise.id)[0]))
    reference = course.reference(exercise.id)
    readme = course.exercise_folder(exercise.id) / "README.md"
    remembered = _remembered(course, exercise.id)
    written = {}
    text = reference.read_text(encoding="utf-8") if reference.exists() else starter
    if text == starter or _digest(text) == remembered.get(reference.name):
        written[reference] = _mended(course, exercise, starter)
    if readme.exists() and _digest(readme.read_text(encoding="utf-8")) == remembered.get(readme.name):
        written[readme] = _write_readme(exercise, course.module_name(exercise.id))
    written |= _with_story(course, exercise, remembered)
    changed = [path for path, new in written.items() if not path.exists() or path.read_text(encoding="utf-8") != new]
    for path in changed:
        path.write_text(written[path], encoding="utf-8", newline="\n")
    if changed:
        remember_written(course, exercise.id, {path.name: new for path, new in written.items()})
    return changed


def derive_schema(course: Course) -> None:
    """Write the schema by which editors complete and check descriptions."""
    path, text = course.root / "solutions" / "exercise.schema.json", render_schema()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_product(path, text.encode())


def _with_story(course: Course, exercise: Exercise, remembered: dict[str, str]) -> dict[Path, str]:
    """Return the notebook and its untouched copy with the current story in the first cell; none if edited by hand."""
    _, notebook = course.editable_files(exercise.id)
    kept = course.pristine(notebook)
    texts = {path.read_text(encoding="utf-8") for path in (notebook, kept) if path.exists()}
    if len(texts) != 1 or _digest(text := texts.pop()) != remembered.get(notebook.name):
        return {}
    new = with_story(text, exercise)
    return {notebook: new, kept: new}


def read_module(course: Course, path: Path) -> str:
    """Return the text of a starter or reference; raise `SpecError` with the place if it cannot be read or parsed."""
    where = path.relative_to(course.root)
    try:
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
    except SyntaxError as error:
        problem = f"{where}:{error.lineno}:{error.offset}: expected Python, got {error.msg}; correct that line"
        raise SpecError([problem]) from error
    except (OSError, ValueError) as error:
        raise SpecError([f"{where}: cannot be read: {error}; put the file there, in UTF-8"]) from error
    return text


def _mended(course: Course, exercise: Exercise, starter: str) -> str:
    """Return the starter with every defect fixed; raise `SpecError` unless the defects can be put back."""
    description = course.description(exercise.id)
    read_exercise(description, starter=starter)
    reference = fix_defects(starter, exercise.defects)
    read_exercise(description, reference)
    return reference


def compare_sources(course: Course, exercise: Exercise) -> Step:
    """Compare the starter and the notebook with the reference in which every defect was put back."""
    module, notebook = (course.pristine(path) for path in course.editable_files(exercise.id))
    reference = course.reference_text(exercise.id)
    expected = put_back(reference, exercise.defects)
    problems = []
    starter = module.read_text(encoding="utf-8")
    where = module.relative_to(course.root)
    if tree_text(starter) != tree_text(expected):
        line = _first_difference(starter, expected)
        problems.append(
            f"{where}:{line}: differs from the reference with every defect put back; correct one of the two"
        )
    elif starter != expected:
        line = _first_difference(starter, expected)
        problems.append(
            f"{where}:{line}: is worded differently from the reference with every defect put back; align them"
        )
    invalid = _why_invalid(notebook)
    if invalid:
        problems.append(
            f"{notebook.relative_to(course.root)}: is not a valid notebook ({invalid}); save it from Jupyter"
        )
    twin = read_submission(notebook, notebook.name)
    if isinstance(twin, Unreadable):
        problems.append(f"{notebook.relative_to(course.root)}: {twin.reason}")
    elif tree_text("\n\n".join(chunk.text for chunk in twin.chunks)) != tree_text(starter):
        problems.append(
            f"{notebook.relative_to(course.root)}: its code cells differ from the module; align them, and tag cells "
            "that only show something as demonstration"
        )
    table = course.root / "exercises" / "README.md"
    has_row = not table.exists() or exercise.id in table.read_text(encoding="utf-8")
    warning = f"{table.relative_to(course.root)}: has no row for {exercise.id}; add one, so that students find it"
    return Step(name="sources", problems=problems, warnings=[] if has_row else [warning])


def _why_invalid(notebook: Path) -> str:
    """Return the error of Jupyter's own reader for a notebook; empty if the notebook is valid."""
    import nbformat  # late: with all of Jupyter installed, the import takes as long as torch's

    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
    except (nbformat.ValidationError, nbformat.reader.NotJSONError, OSError) as error:
        return str(error).split("\n", 1)[0][:200]
    return ""


def without_docstring(text: str) -> ast.Module:
    """Return the syntax tree without the module's docstring, which a notebook has in a text cell."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    return tree


def tree_text(text: str) -> str:
    """Return the same text for sources that differ only in layout, comments and docstring; empty if invalid."""
    try:
        return ast.dump(without_docstring(text))
    except (SyntaxError, ValueError):
        return ""


def _first_difference(one: str, other: str) -> int:
    """Return the number of the first line that differs."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    same = next((number for number, (ours, theirs) in enumerate(lines) if ours != theirs), None)
    return (min(len(one.splitlines()), len(other.splitlines())) if same is None else same) + 1


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _derived(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "derived" / f"{exercise_id}.json"


def _remembered(course: Course, exercise_id: str) -> dict[str, str]:
    """Return the digests of the files that were last written here, by name."""
    try:
        return msgspec.json.decode(read_cache(_derived(course, exercise_id)), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def remember_written(course: Course, exercise_id: str, texts: dict[str, str]) -> None:
    """Store digests of the written files, to recognize later edits by hand."""
    digests = _remembered(course, exercise_id) | {name: _digest(text) for name, text in texts.items()}
    write_cache(_derived(course, exercise_id), json.dumps(digests, indent=1).encode() + b"\n")


def _write_readme(exercise: Exercise, module: str) -> str:
    """Return the exercise's README; `module` is the name of the file to edit."""
    interface = exercise.interface
    kind = interface.kind
    rows = [f"| `{name}` | {_shape(spec)} |" for name, spec in interface.inputs.items()]
    if kind.returns_outputs:
        returned = f"what `{interface.called()}` returns"
        rows += [f"| {returned} | {_shape(shape) if shape else 'a single number'} |" for shape in interface.outputs]
    keywords = [name if value == name else f"{name}={value!r}" for name, value in interface.constructor.items()]
    names = kind.arguments(interface.function, list(interface.inputs), keywords)
    table, signature = "\n".join(rows), f"{interface.entry()}({', '.join(names)})"
    used = _arguments_of_checks(exercise)
    optional = f"\nThe checks also use {listed(f'`{name}`' for name in used)}.\n" if used else ""
    kept = "The names of the parameters must stay, so\nthat saved weights still load." if kind.is_module else ""
    return f"""# {exercise.title}

## The story

{exercise.story.strip()}

## The interface a fix must keep

`{signature}` is {kind.described}.

| what | shape |
| --- | --- |
{table}
{optional}
Everything else is yours: fix a line, or rewrite the code. {kept}

## How to work on it

Edit `{module}`, or the notebook `{Path(module).stem}.ipynb` if you prefer one. Then grade it:

    python -m grader {exercise.id}

Stuck? Each run gives one more hint:

    python -m grader hint {exercise.id}
"""


def _arguments_of_checks(exercise: Exercise) -> list[str]:
    """Return the arguments and inputs that some check uses and the interface does not name."""
    interface = exercise.interface
    named = {*interface.constructor, *interface.inputs, *interface.kind.adapter_arguments}
    used = (name for check in exercise.checks for name in (*check.constructor, *check.inputs, *check.defaults))
    methods = (check.method for check in exercise.checks if check.method and not check.varied_class())
    return [name for name in dict.fromkeys((*used, *methods)) if name not in named]


def _shape(spec: Any) -> str:
    shape = spec if isinstance(spec, list) else getattr(spec, "shape", None)
    if shape is None:
        return f"`{spec!r}`"
    return f"`({', '.join(map(str, shape))})`{_made_of(spec)}"


def _made_of(spec: Any) -> str:
    """Return a description of an input's values, to follow its shape in the README."""
    if isinstance(spec, list):
        return ""
    if spec.is_mask():
        return ", a mask: true where a query may look"
    if spec.zeros:
        return ""
    if spec.between is not None:
        return f", numbers between {spec.between[0]:g} and {spec.between[1]:g}"
    ignored = f", or {spec.ignored} where there is nothing to count" if spec.ignored is not None else ""
    without = "" if spec.inclusive else "and without "
    return f", whole numbers from {spec.start} up to {without}{spec.integers}{ignored}"
