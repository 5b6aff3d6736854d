"""Write exercises as Harbor task folders."""

import json
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from grader.author.kit import whole_kit, write_files
from grader.errors import UsageError
from grader.evaluation.catalogue import Hunt
from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.environments.questions import hunts_of
from grader.evaluation.rewards import Scheme
from grader.report.rendering import text_templates
from grader.spec.loading import load_exercise
from grader.spec.paths import Course

PAGES = ("task.toml", "instruction.md", "environment/Dockerfile", "tests/Dockerfile", "tests/test.sh")
"""The files that are made from templates."""

VERIFIER_SECONDS = 120
"""The verifier's time in addition to the exercise's own limit: importing torch takes long on a busy machine."""


def export_tasks(
    course: Course,
    folder: Path,
    exercise_ids: Iterable[str] = (),
    *,
    form: Form = Form.FIX,
    scheme: Scheme = Scheme.ALL_OR_NOTHING,
    with_solutions: bool = False,
) -> list[Path]:
    """Write a task folder for each exercise that has this form, and return the folders.

    `environment/` is the agent's side, with only the starter. `tests/` is the verifier's side, an image of its own with
    the kit, the reference and the checks. `with_solutions` adds `solution/` for Harbor's oracle, in the form of fixes.
    Raise `UsageError` for an unknown exercise, a course without references, a folder in use, solutions in another form,
    or a scheme that cannot reward this form.
    """
    FORMS[form].require_scheme(scheme)
    if with_solutions and form is not Form.FIX:
        raise UsageError(f"there are no solutions in the form {form}; leave out --with-solutions")
    hunts = hunts_of(dict.fromkeys(exercise_ids), course.root, form)
    for exercise_id in [hunt.id for hunt in hunts]:
        if not course.reference(exercise_id).is_file():
            raise UsageError(f"{exercise_id} has no reference here; export from a course with solutions/")
        if (folder / exercise_id).exists():
            raise UsageError(f"{folder / exercise_id} exists, and nothing is overwritten; name a new folder")
    kit = {Path("tests") / "verifier" / path: content for path, content in whole_kit().items()}
    for hunt in hunts:
        files = _files_of_task(course, hunt, form, scheme) | kit
        files |= _files_of_solution(course, hunt) if with_solutions else {}
        _write(folder / hunt.id, files)
    return [folder / hunt.id for hunt in hunts]


def _files_of_task(course: Course, hunt: Hunt, form: Form, scheme: Scheme) -> dict[Path, bytes]:
    """Return the files of a task by their paths, without the kit."""
    templates = text_templates("grader.evaluation")
    templates.filters["toml"] = partial(json.dumps, ensure_ascii=False)  # JSON's strings are strings of TOML
    limits = load_exercise(course.description(hunt.id)).limits
    values = {
        "hunt": hunt,
        "form": form,
        "scheme": scheme,
        "seconds": VERIFIER_SECONDS + round(limits.seconds.total),
        "answer": FORMS[form].file_name(hunt),
        "task": FORMS[form].task(hunt, course),
    }
    files = {Path(page): templates.get_template(f"harbor/{page}.j2").render(values).encode() for page in PAGES}
    files[Path("environment") / hunt.file_name] = hunt.starter.encode()
    paths = [*course.judged_by(hunt.id), *_starters(course, hunt.id), course.key(hunt.id)]
    paths += FORMS[form].files_for_judge(course, hunt.id)
    verified = {path.relative_to(course.root): path.read_bytes() for path in paths if path.is_file()}
    return files | {Path("tests") / "verifier" / "course" / path: content for path, content in verified.items()}


def _files_of_solution(course: Course, hunt: Hunt) -> dict[Path, bytes]:
    """Return the reference, and the script by which Harbor's oracle puts it in place."""
    script = f'#!/bin/bash\nset -e\ncp "$(dirname "$0")/{hunt.file_name}" /app/{hunt.file_name}\n'
    return {
        Path("solution") / hunt.file_name: course.reference(hunt.id).read_bytes(),
        Path("solution") / "solve.sh": script.encode(),
    }


def _write(folder: Path, files: dict[Path, bytes]) -> None:
    """Write a task folder. If that fails, leave no part of it and raise `UsageError`."""
    try:
        write_files(folder, files)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None


def _starters(course: Course, exercise_id: str) -> list[Path]:
    """Return the files of the student's side that the judge needs: the name of the module, and its README."""
    return [*sorted(course.starters(exercise_id).glob("*.py")), course.exercise_folder(exercise_id) / "README.md"]
