"""`try`, in a process of its own: nothing of the kit's that matters is in its memory, and stdin is the terminal's."""

import gc
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import click

from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.report.console import printable, width
from grader.student.trial import Trial, describe, is_as_told, load, prepare_trial, run_trial, traceback_of, value_at
from grader.worker.torch_import import import_torch, stub_compiler

MORE_THAN_A_CALL = "the call alone does not stop: the check does more than call, a backward pass or a subclass, say"
"""What is said where a check crashed and its call by itself does not."""

COMMENT = "# "


def start_trial(course: Course, trial: Trial) -> int:
    """Run it and wait; the exit code."""
    told = json.dumps({name: getattr(trial, name) for name in trial.__struct_fields__})
    command = [sys.executable, "-m", "grader.commands.trial", str(course.root), told]
    return subprocess.run(command, check=False).returncode


def _run(course: Course, trial: Trial) -> int:
    import_torch()  # and no compiler: as in a worker, in half the time that the student's own import would take
    stub_compiler()
    gc.enable()
    sys.dont_write_bytecode = True  # the file's folder is the student's
    exercise = load_exercise(course.description(trial.exercise))
    prepared = prepare_trial(exercise, trial)
    path = Path(trial.file).absolute()
    try:
        module = load(path)
        click.echo(_comment(printable(trial.note)))
        for line in prepared.in_words():
            click.echo(f">>> {line}")
        value = run_trial(prepared, module)
    except BaseException as error:  # noqa: BLE001 - whatever the student's file raises is theirs to read
        click.echo(traceback_of(error, path), nl=False)
        return 1
    click.echo(describe(value, _width()))
    if trial.crashes:
        click.echo(_comment(MORE_THAN_A_CALL))
    seen = value_at(value, trial.place) if trial.expected else ""
    if seen:
        click.echo(f">>> value{trial.place}{'' if trial.place else '.item()'}")
        is_other = prepared.has_weights() and not is_as_told(seen, trial.note)
        told = "of weights drawn anew, so not the number above" if is_other else f"expected {trial.expected}"
        click.echo(f"{seen}   # {told}")
    return 0


def _comment(text: str) -> str:
    """The text as lines of a comment."""
    room = _width() - len(COMMENT)
    return textwrap.indent(textwrap.fill(text, room, break_long_words=False, break_on_hyphens=False), COMMENT)


def _width() -> int:
    """A terminal's columns; a program gets lines as they are."""
    return width() if sys.stdout.isatty() else sys.maxsize


if __name__ == "__main__":
    sys.exit(_run(Course(Path(sys.argv[1])), Trial(**json.loads(sys.argv[2]))))
