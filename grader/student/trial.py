"""A trial: call the student's module once, unsandboxed, with the inputs with which a check failed.

`start_trial` runs this file as a separate process, which holds no check and no reference, and whose stdin is the
terminal. The module's own prints, `input()` and `breakpoint()` therefore work.
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
from msgspec import Struct, structs

from grader.checks.outcome import CallingVariant, Status
from grader.checks.subjects import adapter_of
from grader.errors import UsageError
from grader.report.check_names import check_name, check_names
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
"""The largest relative error of rounding to three digits."""

MORE_THAN_A_CALL = "A plain call works. The check also does something else, such as a backward pass."
"""Shown if a check crashed although its call alone does not."""

COMMENT = "# "


class Trial(Struct, frozen=True, kw_only=True):
    """A trial: the file to run, and the check and the size case's name from which the inputs are drawn.

    Without a check, the inputs are those of an ordinary call. `calling_variant` is the number of the calling variant
    that failed; None if the plain call did. `note` is the finding in words. `value_path` is the index, within the
    returned value, of the number that the finding is about, where the check found `observed` instead of `expected`;
    None if the finding is about no number.
    """

    exercise: str
    file: str
    seed: int
    check: str = ""
    size_case: str = ""
    calling_variant: int | None = None
    note: str = ""
    value_path: str | None = None
    expected: str = ""
    observed: str = ""
    crashes: bool = False
    """Whether the check ended in an exception."""


def plan_trial(course: Course, exercise: Exercise, choice: Choice, verdict: Verdict) -> Trial:
    """Choose the smallest failing sizes of the most important finding.

    If there is no finding with sizes, choose an ordinary call at the largest fixed sizes. Raise `UsageError` if the
    file is unreadable.
    """
    from grader.checks.size_cases import size_cases_of

    file = str(_runnable(course, exercise, choice))
    for cause in group_causes(verdict):
        finding = cause.finding
        check = next((each for each in exercise.checks if each.id == cause.checks[0] and finding.size_case), None)
        if check is None:
            continue
        size_cases = size_cases_of(check, exercise, verdict.seed).all()
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
                calling_variant=_number_of(finding.calling_variant, size_case.calling_variants),
                note=f'in "{check_name(check.id, check_names(exercise))}": {sentence(finding)}{alone}',
                value_path=finding.value_path,
                expected=finding.expected,
                observed=finding.observed,
                crashes=cause.status is Status.CRASHED,
            )
    has_failed = any(outcome.finding for outcome in verdict.checks)
    reason = "none that failed can be repeated here" if has_failed else "no check that ran failed"
    note = f"an ordinary call: {reason}"
    return Trial(exercise=exercise.id, file=file, seed=verdict.seed, note=note)


def _runnable(course: Course, exercise: Exercise, choice: Choice) -> Path:
    """Return the student's module. For a notebook, write its graded cells as a module into the state folder."""
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
    """Run the trial in a process of its own and return its exit code."""
    arguments = json.dumps({name: getattr(trial, name) for name in trial.__struct_fields__})
    command = [sys.executable, "-m", "grader.student.trial", str(course.root), arguments]
    return subprocess.run(command, check=False).returncode


def _run(course: Course, trial: Trial) -> int:
    """Make the call and print it, its result or the traceback. Return the exit code."""
    import_torch()  # as in a worker, without the compiler: half the time of a plain import
    stub_compiler()
    gc.enable()
    sys.dont_write_bytecode = True  # no __pycache__ in the student's folder

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
    except BaseException as error:  # noqa: BLE001 - the student sees any exception, SystemExit included
        click.echo(_traceback_of(error, path), nl=False)
        return 1
    click.echo(describe(value, _width()))
    if trial.crashes:
        click.echo(_comment(MORE_THAN_A_CALL))
    number = "" if trial.value_path is None else _value_at(value, trial.value_path)
    if number:
        click.echo(f">>> value{trial.value_path or '.item()'}")
        has_new_weights = prepared.has_weights() and not is_observed(number, trial.observed)
        remark = "with new random weights, so not the number above" if has_new_weights else f"expected {trial.expected}"
        click.echo(f"{number}   # {remark}")
    return 0


def _comment(text: str) -> str:
    """Wrap the text as lines of a comment."""
    room = _width() - len(COMMENT)
    return textwrap.indent(textwrap.fill(text, room, break_long_words=False, break_on_hyphens=False), COMMENT)


def _width() -> int:
    """Return the terminal's columns; without a terminal, no limit."""
    return width() if sys.stdout.isatty() else sys.maxsize


class PreparedTrial(Struct, frozen=True, kw_only=True):
    """A prepared trial: the subject, its constructor's arguments, and the inputs of one or several calls.

    `after_each` is the name of a method to call between these calls.
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
        """Return the calls as lines of Python, with shapes in place of tensors."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        inputs = [", ".join(f"{name}={_briefly(value)}" for name, value in each.items()) for each in self.calls]
        entry = self.interface.entry()
        name = "value = " if self.is_named else ""
        if not self.has_weights():
            line = self.interface.kind.trial
            line = line if arguments else re.sub(r",[^,]*\{arguments\}", "", line)
            return [name + line.format(entry=entry, inputs=each, arguments=arguments) for each in inputs]
        method = f".{self.method}" if self.method else ""
        modules = [f"module.{'train' if self.training else 'eval'}()", *["module"] * len(inputs[1:])]
        calls = [f"{name}{module}{method}({each})" for module, each in zip(modules, inputs, strict=True)]
        between = [f"module.{self.after_each}()"] if self.after_each else []
        lines = [f"module = {entry}({arguments})", calls[0]]
        for call in calls[1:]:
            lines += [*between, call]
        return lines

    def has_weights(self) -> bool:
        """Return whether the subject is a module with random weights, which differ from those of the finding."""
        return adapter_of(self.interface) is None


def _number_of(variant: CallingVariant | None, variants: tuple[CallingVariant, ...]) -> int | None:
    """Return the number of a finding's calling variant among those of a size case, whatever their modes."""
    if variant is None:
        return None
    return next((n for n, each in enumerate(variants) if structs.replace(each, mode=variant.mode) == variant), None)


def _prepare(exercise: Exercise, trial: Trial) -> PreparedTrial:
    """Draw the arguments and inputs that the check drew at this size case."""
    from grader.checks.case import make_case, seed_draws
    from grader.checks.properties.states import inputs_of_calls
    from grader.checks.size_cases import SizeCase, size_cases_of
    from grader.spec.properties import CallsInTurn, Property

    plain = Property(id=trial.check or "trial")
    check: Property = next((each for each in exercise.checks if each.id == trial.check), plain)
    size_cases = size_cases_of(check, exercise, trial.seed).all()
    largest = SizeCase(name=f"{trial.seed}/{check.id}/-1", sizes=exercise.fixed_sizes[-1])
    size_case = next((each for each in size_cases if each.name == trial.size_case), largest)
    seed_draws(size_case.name)
    case = make_case(exercise, check, size_case.sizes, size_case.calling_variants, is_plain=size_case.is_plain)
    calls = [case.inputs if trial.calling_variant is None else case.inputs_of(trial.calling_variant)]
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
    """Build the subject and make the calls. Return the last value; exceptions of the submission propagate."""
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


def _value_at(value: Any, value_path: str) -> str:
    """Return the number at a path such as `[0][1, 2]`; empty if the value has none there."""
    try:
        for index in re.findall(r"\[(.*?)\]", value_path):
            numbers = [int(each) for each in index.split(",")]
            value = value[numbers[0] if len(numbers) == 1 else tuple(numbers)]
        return f"{value.item():.9g}"
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return ""


def is_observed(number: str, observed: str) -> bool:
    """Return whether a number is the observed one, which findings round (a sealed edition also rounds weights)."""
    return math.isclose(float(number), float(observed), rel_tol=ROUNDING)


def _traceback_of(error: BaseException, path: Path) -> str:
    """Return the error's traceback, from the first frame in the student's file on."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None and Path(frame.tb_frame.f_code.co_filename) != path:
        frame = frame.tb_next
    if frame is None and isinstance(error, SyntaxError):  # in the student's file, which has no frame yet
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(type(error), error, frame or error.__traceback__))


def describe(value: Any, width: int) -> str:
    """Describe a value: a tensor by its shape, dtype and number of NaN and infinities, anything else by `repr`.

    The parts of a tuple or list share a line if it is at most `width` columns; otherwise each has its own.
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
    invalid = "".join(f", {count} of {value.numel()} {name}" for name, count in counts.items() if count)
    return f"<tensor {tuple(value.shape)} of {dtype}{invalid}>"


if __name__ == "__main__":
    sys.exit(_run(Course(root=Path(sys.argv[1])), Trial(**json.loads(sys.argv[2]))))
