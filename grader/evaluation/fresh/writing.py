"""Write a fresh hunt into a course folder: the same files as every hunt has."""

import json
import shutil
import textwrap
from functools import cache
from typing import Any

import msgspec
import yaml
from msgspec import structs, to_builtins

from grader.author.scaffold import grading_cell, make_cells
from grader.evaluation.fresh.made import Made
from grader.spec.document import Dumper
from grader.spec.exercise import Exercise
from grader.spec.paths import HOW_TO_WORK, Course
from grader.student.notebook_file import notebook_content
from grader.verdict.digest import key_digest
from grader.verdict.key import Key, encode_key

THEME = "Fresh hunts"
INTERFACE = "## The interface a fix must keep"

LINE = 120
"""The most characters in a line of a README."""

README = """\
# {title}

## The story

{story}

What the checks observed:

{symptoms}

{interface}
{how_to_work}

Edit `{file}`, or the notebook `{notebook}`. Then grade it, in the folder of this course:

    python -m grader {id}
"""


def write_hunt(base_course: Course, course: Course, made: Made, seed: int, number: int) -> None:
    """Write the files of a hunt: those that a student edits, and those that the grader needs."""
    exercise, base = made.exercise, made.origin.base
    title = f"Fresh hunt {number} of seed {seed}: {exercise.interface.entry()}"
    story = (
        f"Somebody tidied up `{exercise.interface.entry()}` and committed it without running it. It runs, and it is "
        "wrong. Find out what was damaged, and repair it."
    )
    module = course.exercise_folder(exercise.id) / base_course.module_name(base)
    notebook = module.with_suffix(".ipynb")
    solution = course.root / "solutions" / exercise.id
    starter = made.starter()
    cells = _notebook([*make_cells(starter, exercise.id), grading_cell(exercise.id)])
    readme = README.format(
        title=title,
        story=_wrapped(story),
        symptoms="\n".join(_wrapped(each, "- ") for each in made.symptoms),
        interface=INTERFACE + base_course.story(base).partition(INTERFACE)[2].rstrip(),
        how_to_work=HOW_TO_WORK,
        file=module.name,
        notebook=notebook.name,
        id=exercise.id,
    )
    origin = {"seed": seed, "number": number, **structs.asdict(made.origin)}
    files = {
        module: starter,
        notebook: cells,
        course.pristine(module): starter,
        course.pristine(notebook): cells,
        module.with_name("README.md"): readme,
        solution / module.name: made.reference,
        solution / "exercise.yaml": _description(exercise, title, story, seed, number),
        solution / "origin.json": msgspec.json.format(msgspec.json.encode(origin), indent=1).decode() + "\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    if (variations := base_course.variations(base)).is_file():
        shutil.copy(variations, course.variations(exercise.id))
    hidden = base_course.hidden_tests(base)
    if hidden.is_dir():
        shutil.copytree(hidden, course.hidden_tests(exercise.id), ignore=shutil.ignore_patterns("__pycache__"))
    key = Key(digest=key_digest(course, exercise.id), signatures=made.signatures, methods=made.methods)
    course.key(exercise.id).write_bytes(encode_key(key))


def _wrapped(text: str, bullet: str = "") -> str:
    """Break a text into lines of a README. The lines after the first are indented by the width of the bullet."""
    indent = " " * len(bullet)
    return textwrap.fill(text, LINE, initial_indent=bullet, subsequent_indent=indent, break_long_words=False)


def remove_hunt(course: Course, exercise_id: str) -> None:
    """Remove a hunt's files."""
    for folder in (
        course.exercise_folder(exercise_id),
        course.description(exercise_id).parent,
        course.hidden_tests(exercise_id),
    ):
        shutil.rmtree(folder, ignore_errors=True)


def _description(exercise: Exercise, title: str, story: str, seed: int, number: int) -> str:
    """Return the text of the exercise.yaml. The works that the base is adapted from stay."""
    origin = f"a module that the kit made from seed {seed}, number {number}"
    own: dict[str, Any] = {
        "format_version": 1,
        "title": title,
        "theme": THEME,
        "difficulty": exercise.difficulty,
        "source": to_builtins(structs.replace(exercise.source, title=origin, url="")),
        "story": story,
        "nothing_else_broke": exercise.nothing_else_broke,
        "defects": [
            {name: value for name, value in to_builtins(defect).items() if value not in (False, [])}
            for defect in exercise.defects
        ],
    }
    shared = (exercise.interface, exercise.sizes, exercise.checks, exercise.limits)
    return _dump(own) + _shared_part(msgspec.json.encode(shared))


@cache
def _shared_part(content: bytes) -> str:
    """Return the part of the exercise.yaml that all hunts of one base share; writing YAML is slow."""
    interface, sizes, checks, limits = msgspec.json.decode(content)
    return _dump({"interface": interface, "sizes": sizes, "checks": checks, "limits": limits})


def _dump(values: dict[str, Any]) -> str:
    text: str = yaml.dump(values, Dumper=Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return text


def _notebook(cells: list[dict[str, Any]]) -> str:
    return json.dumps(notebook_content(cells), indent=1, ensure_ascii=False) + "\n"
