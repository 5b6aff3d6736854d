"""Create the folders of a new exercise from a faulty file."""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

from grader.author.derived_files import derive_schema, remember_written
from grader.author.first_checks import first_checks
from grader.author.first_trap import first_trap
from grader.author.interface import FoundInterface, find_interface
from grader.author.proposal import Proposal, propose
from grader.author.scaffold import clean_cells, describe, grading_cell, join_cells, make_cells, notebook_text
from grader.errors import UsageError
from grader.spec.exercise_names import EXERCISE_ID
from grader.spec.files import write_product
from grader.spec.paths import Course
from grader.spec.problem import BLANK, listed
from grader.submission import Unreadable, read_submission

MODULE_NAME = re.compile(r"[a-z][a-z0-9_]*\.py")


def create_exercise(course: Course, exercise_id: str, source: Path, name: str = "") -> str:
    """Create an exercise from a module or notebook with bugs, and return the next steps.

    `name` is the name of the students' file; the default depends on the kind. Raises `UsageError`, before it writes
    anything, if the exercise exists, the name is not a module's name, or the file has no subject.
    """
    solutions = course.root / "solutions" / exercise_id
    if not EXERCISE_ID.fullmatch(exercise_id):
        raise UsageError(
            f"{exercise_id} is not a name for an exercise; write exercise_ and a number, such as exercise_42"
        )
    for path in (course.exercise_folder(exercise_id), solutions):
        if path.exists():
            place = path.relative_to(course.root)
            raise UsageError(f"{place} exists already, and new overwrites nothing; choose another number")
    _require_module_name(name)
    starter, notebook = _starters(source, exercise_id)
    interface = find_interface(starter, source.name)
    proposal = propose(interface)
    readme = (
        f"# {exercise_id}\n\nThe story and the interface go here: `python -m grader prove {exercise_id}` writes this "
        "page from the description and the reference, until somebody edits the page by hand.\n"
    )
    description = describe(interface, proposal, source.name)
    module = course.exercise_folder(exercise_id) / (name or interface.kind.file)
    twin = module.with_suffix(".ipynb")
    files = {
        module: starter,
        twin: notebook,
        course.pristine(module): starter,
        course.pristine(twin): notebook,
        module.with_name("README.md"): readme,
        solutions / module.name: starter,
        solutions / "exercise.yaml": description,
    }
    trap = first_trap(interface, proposal, first_checks(interface, proposal))
    if trap:
        files[course.model_trap(exercise_id)] = trap
    for path, text in files.items():
        write_product(path, text.encode())
    derive_schema(course)
    remember_written(course, exercise_id, {"README.md": readme, module.name: starter, twin.name: notebook})
    where = "" if Path.cwd().is_relative_to(course.root) else f" --course {course.root}"
    return f"""\
{exercise_id} now has a folder in exercises/ and one in solutions/.
{_finding(interface, proposal)}.
Now edit solutions/{exercise_id}/exercise.yaml: {description.count(BLANK)} places say {BLANK}.
Then run python -m grader prove {exercise_id}{where}.
It names the line of each place that is still to be filled in, writes the reference from the starter
and your fragments, and reports what the checks do not catch yet.
It also writes exercises/{exercise_id}/README.md, with the promises that the checks make. Finally, complete
them there: each place that only you can fill in says {BLANK}."""


def _require_module_name(name: str) -> None:
    """Raise `UsageError` unless this is a module name that no importable library has, or empty."""
    stem = Path(name).stem
    if not name:
        return
    if not MODULE_NAME.fullmatch(name):
        raise UsageError(f"{name} is not a valid module name; choose another, in lower case, such as loss.py")
    if stem in sys.stdlib_module_names or stem in metadata.packages_distributions():
        problem = "is the name of a module that a submission may import"
        raise UsageError(f"{name} {problem}; choose another, in lower case, such as loss.py")


def _starters(source: Path, exercise_id: str) -> tuple[str, str]:
    """Return the module and the notebook that a student gets."""
    if not source.exists():
        raise UsageError(f"there is no file {source}; name the file with the bugs after --from")
    submission = read_submission(source, source.name)
    if isinstance(submission, Unreadable):
        raise UsageError(submission.reason)
    if source.suffix.lower() == ".ipynb":
        cells = clean_cells(json.loads(source.read_text(encoding="utf-8-sig"))["cells"], submission)
        starter = join_cells(cells)
    else:
        starter = submission.chunks[0].text.removesuffix("\n") + "\n"
        cells = make_cells(starter, exercise_id)
    return starter, notebook_text([*cells, grading_cell(exercise_id)])


def _finding(interface: FoundInterface, proposal: Proposal) -> str:
    """Return sentences on the interface that was found, without the last full stop."""
    lists = interface.lists_of_tensors()
    remark = (
        f".\nA check can only pass single tensors as {listed(f'`{name}`' for name in lists)}, not lists of tensors. "
        "Change the file: let it take\npadded tensors and the lengths, and run new again under another number"
        if lists
        else ""
    )
    inputs = ", ".join(proposal.inputs)
    if not interface.kind.is_module:
        return (
            f"{interface.class_name} looks like {interface.kind.phrase()} with these inputs: {inputs or 'none'}{remark}"
        )
    others = f" (the last module with a forward; the others: {', '.join(interface.others)})" if interface.others else ""
    arguments = ", ".join(proposal.constructor) or "nothing"
    return f"{interface.class_name} is built with {arguments} and called with {inputs or 'nothing'}{others}{remark}"
