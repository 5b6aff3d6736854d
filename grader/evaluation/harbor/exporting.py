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
    kit = whole_kit()
    return [
        _write_task(course, folder / hunt.id, hunt, form, kit, scheme, with_solutions=with_solutions) for hunt in hunts
    ]


def _write_task(
    course: Course,
    folder: Path,
    hunt: Hunt,
    form: Form,
    kit: dict[Path, bytes],
    scheme: Scheme,
    *,
    with_solutions: bool,
) -> Path:
    templates = text_templates("grader.evaluation")
    templates.filters["toml"] = partial(json.dumps, ensure_ascii=False)  # JSON's strings are strings of TOML
    limits = load_exercise(course.description(hunt.id)).limits
    seconds = VERIFIER_SECONDS + round(limits.seconds.total)
    values = {
        "hunt": hunt,
        "form": form,
        "scheme": scheme,
        "seconds": seconds,
        "answer": FORMS[form].file_name(hunt),
        "task": FORMS[form].task(hunt, course),
    }
    files = {Path(page): templates.get_template(f"harbor/{page}.j2").render(values).encode() for page in PAGES}
    files[Path("environment") / hunt.file_name] = hunt.starter.encode()
    verifier = Path("tests") / "verifier"
    files |= {verifier / path: content for path, content in kit.items()}
    paths = [*course.judged_by(hunt.id), *_starters(course, hunt.id), course.key(hunt.id)]
    paths += FORMS[form].files_for_judge(course, hunt.id)
    for path in paths:
        if path.is_file():
            files[verifier / "course" / path.relative_to(course.root)] = path.read_bytes()
    if with_solutions:
        files[Path("solution") / hunt.file_name] = course.reference(hunt.id).read_bytes()
        script = f'#!/bin/bash\nset -e\ncp "$(dirname "$0")/{hunt.file_name}" /app/{hunt.file_name}\n'
        files[Path("solution") / "solve.sh"] = script.encode()
    try:
        write_files(folder, files)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None
    return folder


def _starters(course: Course, exercise_id: str) -> list[Path]:
    """Return the files of the student's side that the judge needs: the name of the module, and its README."""
    return [*sorted(course.starters(exercise_id).glob("*.py")), course.exercise_folder(exercise_id) / "README.md"]
