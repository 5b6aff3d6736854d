"""A faulty file -> the folders of a new exercise."""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

from grader.author.derived_files import derive_schema, remember_written
from grader.author.interface import FoundInterface, find_interface
from grader.author.proposal import Proposal, propose
from grader.author.scaffold import describe, grading_cell, join_cells, make_cells, mend_cells, notebook_text
from grader.errors import UsageError
from grader.spec.paths import EXERCISE_ID, Course, write_product
from grader.spec.problem import BLANK
from grader.submission import Unreadable, read_submission

MODULE_NAME = re.compile(r"[a-z][a-z0-9_]*\.py")


def create_exercise(course: Course, exercise_id: str, source: Path, name: str = "") -> str:
    """Create an exercise from a module or notebook with bugs, and return the next steps.

    `name` is the name of the students' file; the default depends on the kind. Raises `UsageError`, having written
    nothing,
    where the exercise exists, a module cannot be called so, or the file holds no module.
    """
    _require_free(course, exercise_id)
    if name:
        _require_module_name(name)
    starter, notebook = _starters(source, exercise_id)
    interface = find_interface(starter, source.name)
    proposal = propose(interface)
    readme = (
        f"# {exercise_id}\n\nThe story goes here: `python -m grader prove {exercise_id}` writes this page from the "
        "description, for as long as nobody has edited it by hand.\n"
    )
    description = describe(interface, proposal, source.name)
    module = course.exercise_folder(exercise_id) / (name or interface.kind.file)
    twin = module.with_suffix(".ipynb")
    files = {
        module: starter,
        twin: notebook,
        course.pristine(module): starter,
        course.pristine(twin): notebook,
        module.parent / "README.md": readme,
        course.root / "solutions" / exercise_id / module.name: starter,
        _description(course, exercise_id): description,
    }
    for path, text in files.items():
        write_product(path, text.encode())
    derive_schema(course)
    remember_written(course, exercise_id, {"README.md": readme, module.name: starter, twin.name: notebook})
    return _next_steps(course, exercise_id, interface, proposal, description.count(BLANK))


def _require_free(course: Course, exercise_id: str) -> None:
    if not EXERCISE_ID.fullmatch(exercise_id):
        raise UsageError(f"{exercise_id} is no exercise's name; call it exercise_ and a number, such as exercise_42")
    for path in (course.exercise_folder(exercise_id), course.root / "solutions" / exercise_id):
        if path.exists():
            place = path.relative_to(course.root)
            raise UsageError(f"{place} is there already, and nothing is overwritten; choose another number")


def _require_module_name(name: str) -> None:
    """Raise `UsageError` unless this is a module name that no importable library has."""
    stem = Path(name).stem
    why = ""
    if not MODULE_NAME.fullmatch(name):
        why = "is no module's name"
    elif stem in sys.stdlib_module_names or stem in metadata.packages_distributions():
        why = "is the name of a module that a submission may import"
    if why:
        raise UsageError(f"{name} {why}; choose another, in small letters, such as loss.py")


def _description(course: Course, exercise_id: str) -> Path:
    return course.root / "solutions" / exercise_id / "exercise.yaml"


def _starters(source: Path, exercise_id: str) -> tuple[str, str]:
    """The module and the notebook that a student gets."""
    if not source.exists():
        raise UsageError(f"there is no file {source}; name the file with a fault in it after --from")
    read = read_submission(source, source.name)
    if isinstance(read, Unreadable):
        raise UsageError(read.reason)
    if source.suffix == ".ipynb":
        cells = mend_cells(json.loads(source.read_text(encoding="utf-8-sig"))["cells"], read)
        return join_cells(cells), notebook_text([*cells, grading_cell(exercise_id)])
    text = read.chunks[0].text
    starter = text if text.endswith("\n") else f"{text}\n"
    return starter, notebook_text([*make_cells(starter, exercise_id), grading_cell(exercise_id)])


def _next_steps(course: Course, exercise_id: str, interface: FoundInterface, proposal: Proposal, blanks: int) -> str:
    where = "" if Path.cwd().is_relative_to(course.root) else f" --course {course.root}"

    def joined(names: list[str]) -> str:
        return ", ".join(names) or "nothing"

    found = (
        f"{interface.class_name} is built with {joined(list(proposal.constructor))} and called with "
        f"{joined(list(proposal.inputs))}"
    )
    if not interface.kind.is_module:
        kind = interface.kind.phrase()
        found = f"{interface.class_name} is taken for {kind}, tried with {joined(list(proposal.inputs))}"
    if interface.others:
        found += f" (the last module with a forward; the others: {joined(interface.others)})"
    return "\n".join(
        [
            f"{exercise_id} is laid out in exercises/ and solutions/.",
            f"{found}.",
            f"Now edit solutions/{exercise_id}/exercise.yaml and nothing else: {blanks} places say {BLANK}.",
            f"Then run python -m grader prove {exercise_id}{where}.",
            "It names the line of each place still to be filled in, writes the reference from the starter",
            "and your fragments, and says what the checks do not see yet.",
        ]
    )
