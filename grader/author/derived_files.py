"""Derived files: write the reference and the README from the exercise.yaml, and compare the starter with both."""

import ast
import hashlib
import json
from pathlib import Path

import msgspec

from grader.author.proof import Step
from grader.author.readme import write_readme
from grader.author.scaffold import with_story
from grader.author.student_pages import hunts_in
from grader.errors import SpecError
from grader.report.phrases import counted
from grader.spec.exercise import Exercise
from grader.spec.fragments import fix_defects, put_back
from grader.spec.loading import read_exercise
from grader.spec.paths import Course, read_cache, write_cache, write_product
from grader.spec.problem import BLANK
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
        right = written.get(reference, text)
        written[readme] = write_readme(exercise, course.module_name(exercise.id), right, starter)
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
    has_row = not table.exists() or exercise.id in hunts_in(table.read_text(encoding="utf-8"))
    warning = f"{table.relative_to(course.root)}: has no row for {exercise.id}; add one, so that students find it"
    warnings = [] if has_row else [warning]
    page = course.exercise_folder(exercise.id) / "README.md"
    blanks = page.read_text(encoding="utf-8").count(BLANK) if page.exists() else 0
    if blanks:
        warnings.append(
            f"{page.relative_to(course.root)}: says {BLANK} {counted(blanks, 'time')}; complete the contract there, "
            "because students read it"
        )
    return Step(name="sources", problems=problems, warnings=warnings)


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
