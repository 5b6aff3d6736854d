"""A trial: repeat, in the student's own process, what a failed check did.

The examiner runs the check once more and records its requests (`student/replay.py`). `start_trial` runs this file as a
separate process, which holds no check and no reference, and whose stdin is the terminal. It writes a script that needs
no kit (`student/script.py`) and runs it, so the module's own prints, `input()` and `breakpoint()` work.
"""

import gc
import os
import runpy
import subprocess
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

import click
import msgspec
from msgspec import Struct

from grader.checks.outcome import Status
from grader.checks.tape import FailedCheck
from grader.errors import UsageError
from grader.report.causes import group_causes
from grader.report.check_names import check_name, check_names
from grader.report.console import width
from grader.report.findings import sentence
from grader.report.printable import printable
from grader.sandbox.torch_import import import_torch, stub_compiler
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import PACKAGE, Course
from grader.student.evidence import ORDINARY, ordinary_requests
from grader.submission.choice import Choice
from grader.submission.submission import Unreadable
from grader.verdict.verdict import Verdict

COMMENT = "# "

MAX_COLUMNS = 100
"""The longest line of the script that is shown in full before it runs."""


class Trial(Struct, frozen=True, kw_only=True):
    """What to run: a file, a note on the finding, and the recorded steps of its check as bytes.

    The script fails with `sentence`, which says what the check found. Without a finding, the steps are those of an
    ordinary call. The inputs were drawn from `seed`.
    """

    exercise: str
    file: str
    note: str
    sentence: str
    replay: bytes
    seed: int
    prints_code: bool = False
    """Whether to print the script instead of running it."""


def checks_to_repeat(verdict: Verdict) -> list[str]:
    """Return the check of each cause, in the order in which pages show the causes."""
    return [cause.checks[0] for cause in group_causes(verdict) if cause.status is not Status.NOT_RUN]


def plan_trial(
    course: Course,
    exercise: Exercise,
    choice: Choice,
    verdict: Verdict,
    failed: FailedCheck | None,
    *,
    prints_code: bool = False,
) -> Trial:
    """Return the trial of a failed check; of an ordinary call at the largest fixed sizes if there is none.

    Raise `UsageError` if the file is unreadable.
    """
    file = str(_runnable(course, exercise, choice))
    if failed is None:
        reason = "no failed check can be repeated here" if checks_to_repeat(verdict) else "every check that ran passed"
        note, failure, replay = f"{reason}, so this is an ordinary call", "", _ordinary_call(exercise, verdict)
    else:
        from grader.student.replay import plan_replay

        finding = next(each.finding for each in verdict.checks if each.check == failed.check and each.finding)
        failure = printable(sentence(finding))
        note = f'in "{check_name(failed.check, check_names(exercise))}": {failure}'
        replay = msgspec.msgpack.encode(plan_replay(exercise, failed, _accepted_errors(exercise, failed.check)))
    return Trial(
        exercise=exercise.id,
        file=file,
        note=note,
        sentence=failure,
        replay=replay,
        seed=verdict.seed,
        prints_code=prints_code,
    )


def _accepted_errors(exercise: Exercise, check_id: str) -> list[str]:
    """Return the exceptions that a check wants to be raised."""
    from grader.spec.properties import Raises

    check = next((each for each in exercise.checks if each.id == check_id), None)
    return list(check.errors) if isinstance(check, Raises) else []


def _ordinary_call(exercise: Exercise, verdict: Verdict) -> bytes:
    """Return the steps of a call with the interface's own inputs at the largest fixed sizes."""
    from grader.checks.case import seed_from_name
    from grader.student.replay import BuiltModule, LoadedState, MadeCall, Replay

    draws = f"{verdict.seed}/ordinary"
    build, call = ordinary_requests(exercise, ORDINARY, exercise.fixed_sizes[-1], draws)
    steps: list[BuiltModule | MadeCall | LoadedState] = [
        BuiltModule(number=1, entry=build.entry, arguments=build.arguments),
        MadeCall(module=1, number=0, arguments=call.arguments, is_small=True),
    ]
    return msgspec.msgpack.encode(Replay(adapter=build.adapter, steps=steps, seeds=[seed_from_name(draws)]))


def _runnable(course: Course, exercise: Exercise, choice: Choice) -> Path:
    """Return the student's module. For a notebook, write its graded cells as a module into the state folder."""
    if isinstance(choice.read, Unreadable):
        raise UsageError(f"there is nothing to run: {choice.read.reason}")
    if choice.path.suffix == ".py":
        return choice.path
    cells = [f"# {chunk.label}\n{chunk.text}" for chunk in choice.read.chunks]
    path = course.state_folder() / "try" / exercise.id / course.module_name(exercise.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it could be a pipe, and writing to it would never end
    path.write_text("\n\n".join(cells) + "\n", encoding="utf-8")
    return path


def start_trial(course: Course, trial: Trial) -> int:
    """Run the trial in a separate process and return its exit code."""
    handle, name = tempfile.mkstemp(prefix="grader-try-")
    with open(handle, "wb") as file:
        file.write(msgspec.msgpack.encode(trial))
    command = [sys.executable, "-P", "-m", "grader.student.trial", str(course.root), name]
    kit = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:  # with -P the kit imports nothing from the current folder, which may be the student's
        return subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": kit}).returncode
    finally:
        Path(name).unlink(missing_ok=True)


def _run(course: Course, trial: Trial) -> int:
    """Write the script, and run or print it. Return the exit code: 1 if it shows a failure."""
    import_torch()  # as in a worker, without the compiler: half the time of a plain import
    stub_compiler()
    gc.enable()
    sys.dont_write_bytecode = True  # no __pycache__ in the student's folder

    from grader.checks.reference import import_file
    from grader.student.draws import silent
    from grader.student.replay import Replay
    from grader.student.script import write_script

    exercise = load_exercise(course.description(trial.exercise))
    replay = msgspec.msgpack.decode(trial.replay, type=Replay)
    path = Path(trial.file).absolute()
    seed = _comment(f"the inputs come from seed {trial.seed}; a page with another seed has other numbers")
    note = f"{_comment(printable(trial.note))}\n{seed}"
    try:
        if trial.prints_code:
            with silent():
                module = import_file(path, path.stem)
            click.echo(f"{note}\n{write_script(exercise, replay, module, path, trial.sentence).text()}", nl=False)
            return 0
        module = import_file(path, path.stem)
    except BaseException as error:  # noqa: BLE001 - the student sees any exception, SystemExit included
        click.echo(_traceback_of(error, path), nl=False)
        return 1
    click.echo(note)
    script = write_script(exercise, replay, module, path, trial.sentence)
    return _run_script(script.steps, script.text(), module, path)


def _run_script(steps: Sequence[str], text: str, module: ModuleType, path: Path) -> int:
    """Show the script's steps with long lines cut, and run it. Return 1 if it raises."""
    lines = [line for line in steps if line]
    for line in lines:
        click.echo(f">>> {line}" if len(line) <= MAX_COLUMNS else f">>> {line[: MAX_COLUMNS - 3]}...")
    if any(len(line) > MAX_COLUMNS for line in lines):
        click.echo(_comment("`try --code` prints the long lines in full"))
    sys.modules[path.stem] = module  # the script imports it
    with tempfile.TemporaryDirectory(prefix="grader-try-") as folder:
        file = Path(folder) / "script.py"
        file.write_text(text, encoding="utf-8")
        try:
            runpy.run_path(str(file))
        except BaseException as error:  # noqa: BLE001 - the student sees any exception, SystemExit included
            click.echo(_traceback_of(error, path), nl=False)
            return 1
    return 0


def _comment(text: str) -> str:
    """Wrap the text as lines of a comment."""
    room = _width() - len(COMMENT)
    return textwrap.indent(textwrap.fill(text, room, break_long_words=False, break_on_hyphens=False), COMMENT)


def _width() -> int:
    """Return the terminal's columns; without a terminal, no limit."""
    return width() if sys.stdout.isatty() else sys.maxsize


def _traceback_of(error: BaseException, path: Path) -> str:
    """Return the error's traceback from the first frame in the student's file on; without one, the error alone."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None and Path(frame.tb_frame.f_code.co_filename) != path:
        frame = frame.tb_next
    if frame is None:  # a comparison of the script, or a file that does not parse
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(type(error), error, frame))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    requested = msgspec.msgpack.decode(Path(sys.argv[2]).read_bytes(), type=Trial)
    try:
        code = _run(Course(root=Path(sys.argv[1])), requested)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at the end fails again
        code = 1
    sys.exit(code)
