"""A trial: the student's file run once as their own code is, with the inputs that a check failed with, and no check.

It runs in a process of its own: nothing of the kit's that matters is in its memory, and stdin is the terminal's.
"""

import gc
import json
import math
import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import click
from msgspec import Struct

from grader.checks.outcome import Status, in_words
from grader.checks.subjects import adapter_of
from grader.errors import UsageError
from grader.report.console import printable, width
from grader.report.findings import sentence
from grader.sandbox.torch_import import import_torch, stub_compiler
from grader.spec.exercise import Exercise
from grader.spec.interface import Interface
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission.choice import Choice
from grader.submission.submission import Unreadable
from grader.verdict.causes import group_causes
from grader.verdict.verdict import Verdict

ROUNDING = 5e-3
"""What rounding to three digits changes at most."""

MORE_THAN_A_CALL = "A plain call works. The check also does something else, such as a backward pass."
"""Shown where a check crashed and its call by itself does not."""

COMMENT = "# "


class Trial(Struct, frozen=True, kw_only=True):
    """What is run: a file, and the check and size case that make the inputs; without a check they are the interface's.

    `size_case` is the size case's name, `in_calling_variant` tells whether its second call is the one that failed,
    and `note` what it was. `value_path` is the index of the number that the note is about in what the call returns,
    with the numbers `expected` and `observed` there; it is None where the note is about no number.
    """

    exercise: str
    file: str
    seed: int
    check: str = ""
    size_case: str = ""
    in_calling_variant: bool = False
    note: str = ""
    value_path: str | None = None
    expected: str = ""
    observed: str = ""
    crashes: bool = False
    """Whether the check ended in an exception."""


def plan_trial(course: Course, exercise: Exercise, choice: Choice, verdict: Verdict) -> Trial:
    """The smallest sizes that fail, of the finding that matters most; where none is known, the largest there are."""
    from grader.checks.size_cases import size_cases_of

    file = str(_runnable(course, exercise, choice))
    for cause in group_causes(verdict):
        finding = cause.finding
        check = next((each for each in exercise.checks if each.id == cause.checks[0] and finding.size_case), None)
        if check is None:
            continue
        size_cases = (size_case for some in size_cases_of(check, exercise, verdict.seed) for size_case in some)
        size_case = next((each for each in size_cases if each.sizes == finding.size_case), None)
        if size_case is not None:
            is_alone = finding.sizes is not None and finding.sizes.without_gradients
            alone = "; wrong under no_grad alone" if is_alone else ""
            return Trial(
                exercise=exercise.id,
                file=file,
                seed=verdict.seed,
                check=check.id,
                size_case=size_case.name,
                in_calling_variant=size_case.calling_variant is not None and finding.calling_variant is not None,
                note=f'in "{in_words(check.id)}": {sentence(finding)}{alone}',
                value_path=finding.value_path,
                expected=finding.expected,
                observed=finding.observed,
                crashes=cause.status is Status.CRASHED,
            )
    has_failed = any(outcome.finding for outcome in verdict.checks)
    why = "none that failed can be repeated here" if has_failed else "no check that ran failed"
    note = f"an ordinary call: {why}"
    return Trial(exercise=exercise.id, file=file, seed=verdict.seed, note=note)


def _runnable(course: Course, exercise: Exercise, choice: Choice) -> Path:
    """Return the file, or a module of a notebook's graded cells in the state folder."""
    if isinstance(choice.read, Unreadable):
        raise UsageError(f"there is nothing to run: {choice.read.reason}")
    if choice.path.suffix == ".py":
        return choice.path
    cells = [f"# {chunk.label}\n{chunk.text}" for chunk in choice.read.chunks]
    path = course.state_folder() / "try" / exercise.id / course.module_name(exercise.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(cells) + "\n", encoding="utf-8")
    return path


def start_trial(course: Course, trial: Trial) -> int:
    """Run it and wait; the exit code."""
    arguments = json.dumps({name: getattr(trial, name) for name in trial.__struct_fields__})
    command = [sys.executable, "-m", "grader.student.trial", str(course.root), arguments]
    return subprocess.run(command, check=False).returncode


def _run(course: Course, trial: Trial) -> int:
    import_torch()  # and no compiler: as in a worker, in half the time that the student's own import would take
    stub_compiler()
    gc.enable()
    sys.dont_write_bytecode = True  # the file's folder is the student's

    from grader.checks.reference import import_file

    exercise = load_exercise(course.description(trial.exercise))
    prepared = _prepare(exercise, trial)
    path = Path(trial.file).absolute()
    try:
        module = import_file(path, path.stem)
        click.echo(_comment(printable(trial.note)))
        for line in prepared.in_words():
            click.echo(f">>> {line}")
        value = _call(prepared, module)
    except BaseException as error:  # noqa: BLE001 - whatever the student's file raises is theirs to read
        click.echo(_traceback_of(error, path), nl=False)
        return 1
    click.echo(describe(value, _width()))
    if trial.crashes:
        click.echo(_comment(MORE_THAN_A_CALL))
    number = "" if trial.value_path is None else _value_at(value, trial.value_path)
    if number:
        click.echo(f">>> value{trial.value_path or '.item()'}")
        is_other = prepared.has_weights() and not is_observed(number, trial.observed)
        remark = "of weights drawn anew, so not the number above" if is_other else f"expected {trial.expected}"
        click.echo(f"{number}   # {remark}")
    return 0


def _comment(text: str) -> str:
    """The text as lines of a comment."""
    room = _width() - len(COMMENT)
    return textwrap.indent(textwrap.fill(text, room, break_long_words=False, break_on_hyphens=False), COMMENT)


def _width() -> int:
    """A terminal's columns; a program gets lines as they are."""
    return width() if sys.stdout.isatty() else sys.maxsize


class PreparedTrial(Struct, frozen=True, kw_only=True):
    """A prepared trial: the subject, its arguments, and the inputs of one or several calls.

    `after_each` is a method to call between these calls.
    """

    interface: Interface
    arguments: dict[str, Any]
    calls: list[dict[str, Any]]
    method: str
    training: bool
    after_each: str = ""
    is_named: bool = False
    """Whether the returned value gets a name, so that the student can inspect it."""

    def in_words(self) -> list[str]:
        """Lines that a student could type, tensors told by their shapes; one line where no module is tried."""
        built = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        handed = [", ".join(f"{name}={_briefly(value)}" for name, value in inputs.items()) for inputs in self.calls]
        entry = self.interface.entry()
        name = "value = " if self.is_named else ""
        if not self.has_weights():
            told = self.interface.kind.trial
            told = told if built else re.sub(r",[^,]*\{arguments\}", "", told)
            return [name + told.format(entry=entry, inputs=each, arguments=built) for each in handed]
        method = f".{self.method}" if self.method else ""
        modules = [f"module.{'train' if self.training else 'eval'}()", *["module"] * len(handed[1:])]
        calls = [f"{name}{module}{method}({each})" for module, each in zip(modules, handed, strict=True)]
        between = [f"module.{self.after_each}()"] if self.after_each else []
        lines = [f"module = {entry}({built})", calls[0]]
        for call in calls[1:]:
            lines += [*between, call]
        return lines

    def has_weights(self) -> bool:
        """Whether the subject starts with random numbers of its own, which differ from those of the finding."""
        return adapter_of(self.interface) is None


def _prepare(exercise: Exercise, trial: Trial) -> PreparedTrial:
    """The same arguments and inputs as the check drew for that size case."""
    from grader.checks.case import make_case, seed_draws
    from grader.checks.properties.states import inputs_of_calls
    from grader.checks.size_cases import SizeCase, size_cases_of
    from grader.spec.properties import CallsInTurn, Property

    plain = Property(id=trial.check or "trial")
    check: Property = next((each for each in exercise.checks if each.id == trial.check), plain)
    size_cases = [size_case for some in size_cases_of(check, exercise, trial.seed) for size_case in some]
    largest = SizeCase(name=f"{trial.seed}/{check.id}/-1", sizes=exercise.fixed_sizes[-1])
    size_case = next((each for each in size_cases if each.name == trial.size_case), largest)
    seed_draws(size_case.name)
    case = make_case(exercise, check, size_case.sizes, size_case.calling_variant, is_plain=size_case.is_plain)
    calls = [case.again if trial.in_calling_variant else case.inputs]
    after_each = ""
    if isinstance(check, CallsInTurn):
        calls, after_each = inputs_of_calls(check, exercise, case), check.after_each
    return PreparedTrial(
        interface=exercise.interface,
        arguments=case.arguments,
        calls=calls,
        method=check.method,
        training=check.training,
        after_each=after_each,
        is_named=trial.value_path is not None,
    )


def _call(prepared: PreparedTrial, module: ModuleType) -> Any:
    """What the last call returns; the submission's own exceptions pass through."""
    from grader.sandbox.probes import constructor

    interface = prepared.interface
    built = constructor(module, interface.entry(), adapter_of(interface))(**prepared.arguments)
    built.train(prepared.training)
    value = None
    for index, inputs in enumerate(prepared.calls):
        if index and prepared.after_each:
            getattr(built, prepared.after_each)()
        value = (getattr(built, prepared.method) if prepared.method else built)(**inputs)
    return value


def _value_at(value: Any, place: str) -> str:
    """The number at an index that a finding names; empty where there is none."""
    try:
        for index in re.findall(r"\[(.*?)\]", place):
            numbers = [int(each) for each in index.split(",")]
            value = value[numbers[0] if len(numbers) == 1 else tuple(numbers)]
        return f"{value.item():.9g}"
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return ""


def is_observed(number: str, observed: str) -> bool:
    """Whether a number is the one that the check observed, which a finding rounds: an edition rounds weights too."""
    return math.isclose(float(number), float(observed), rel_tol=ROUNDING)


def _traceback_of(error: BaseException, path: Path) -> str:
    """The error as Python shows it, from the student's own file on."""
    found: TracebackType | None = error.__traceback__
    while found is not None and Path(found.tb_frame.f_code.co_filename) != path:
        found = found.tb_next
    if found is None and isinstance(error, SyntaxError):  # the file itself, of which no line has run
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(type(error), error, found or error.__traceback__))


def describe(value: Any, width: int) -> str:
    """What came back: the shapes of tensors and how much of them is no number, anything else as it shows itself.

    Of what has several parts, each has a line of its own where one line of `width` columns does not hold all.
    """
    if not isinstance(value, tuple | list):
        return _briefly(value)
    parts = [describe(each, width) for each in value]
    line = f"{type(value).__name__} of {len(value)}: {'; '.join(parts)}"
    if len(line) <= width and "\n" not in line:
        return line
    numbered = (f"[{number}] {part}".replace("\n", "\n  ") for number, part in enumerate(parts))
    return "\n  ".join([f"{type(value).__name__} of {len(value)}:", *numbered])


def _briefly(value: Any) -> str:
    if not hasattr(value, "shape"):
        return repr(value)
    dtype = str(value.dtype).removeprefix("torch.")
    counts = {name: int(getattr(value, f"is{name}")().sum()) for name in ("nan", "inf") if hasattr(value, f"is{name}")}
    told = "".join(f", {count} of {value.numel()} {name}" for name, count in counts.items() if count)
    return f"<tensor {tuple(value.shape)} of {dtype}{told}>"


if __name__ == "__main__":
    sys.exit(_run(Course(Path(sys.argv[1])), Trial(**json.loads(sys.argv[2]))))
