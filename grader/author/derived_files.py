"""Derived files: write the reference, the README and the notebook's story from the exercise.yaml and the starter."""

import ast
import hashlib
import json
from pathlib import Path

import msgspec

from grader.author.readme import write_readme
from grader.author.scaffold import with_story
from grader.errors import SpecError
from grader.spec.exercise import Exercise
from grader.spec.files import read_cache, write_cache, write_product
from grader.spec.fragments import fix_defects
from grader.spec.loading import read_exercise
from grader.spec.paths import Course
from grader.spec.schema import render_schema


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
        written[reference] = _fixed(course, exercise, starter)
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


def _fixed(course: Course, exercise: Exercise, starter: str) -> str:
    """Return the starter with every defect fixed; raise `SpecError` unless the defects can be put back."""
    description = course.description(exercise.id)
    read_exercise(description, starter=starter)
    reference = fix_defects(starter, exercise.defects)
    read_exercise(description, reference)
    return reference


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
