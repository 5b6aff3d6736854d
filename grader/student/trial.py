"""A trial: the student's file run once as their own code is, with the inputs that a check failed with, and no check."""

import importlib.util
import re
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from msgspec import Struct

from grader.course.paths import Course
from grader.course.records import Exercise, Interface
from grader.errors import UsageError
from grader.examiner.outcome import in_words
from grader.examiner.subjects import KINDS, adapter_of
from grader.submission.choice import Choice
from grader.submission.submission import Unreadable
from grader.verdict.causes import group_causes
from grader.verdict.verdict import Verdict

MODULE_NAME = "attention"
"""What a submission's module is called, here as in a worker."""


class Trial(Struct, frozen=True):
    """What is run: a file, and the check and rung that make the inputs; without a check they are the interface's.

    `rung` is the rung's name, `in_manner` tells whether its second call is the one that failed, and `note` what it was.
    """

    exercise: str
    file: str
    seed: int
    check: str = ""
    rung: str = ""
    in_manner: bool = False
    note: str = ""


def plan_trial(course: Course, exercise: Exercise, choice: Choice, verdict: Verdict) -> Trial:
    """The smallest sizes that fail, of the finding that matters most; where none is known, the largest there are."""
    from grader.examiner.ladder import rungs_of

    file = str(_runnable(course, exercise, choice))
    for cause in group_causes(verdict):
        finding = cause.finding
        check = next((each for each in exercise.checks if each.id == cause.checks[0] and finding.at), None)
        if check is None:
            continue
        rungs = (rung for some in rungs_of(check, exercise, verdict.seed) for rung in some)
        rung = next((each for each in rungs if each.sizes == finding.at), None)
        if rung is not None:
            in_manner = rung.manner is not None and finding.text.startswith(rung.manner.described())
            note = f"in {in_words(check.id)}: {finding.text}"
            return Trial(exercise.id, file, verdict.seed, check.id, rung.name, in_manner, note)
    return Trial(exercise.id, file, verdict.seed)


def _runnable(course: Course, exercise: Exercise, choice: Choice) -> Path:
    """The file itself, or the graded cells of a notebook as a module beside what the kit remembers."""
    if choice.path.suffix == ".py":
        return choice.path
    if isinstance(choice.read, Unreadable):
        raise UsageError(f"there is nothing to run: {choice.read.reason}")
    cells = [f"# {chunk.label}\n{chunk.text}" for chunk in choice.read.chunks]
    path = course.state_folder() / "try" / exercise.id / "attention.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(cells) + "\n", encoding="utf-8")
    return path


class Prepared(Struct, frozen=True):
    """A trial made ready: what is built with what, and what is called with what."""

    interface: Interface
    arguments: dict[str, Any]
    inputs: dict[str, Any]
    method: str
    training: bool

    def in_words(self) -> list[str]:
        """Lines that a student could type, tensors told by their shapes; one line where no module is tried."""
        built = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        handed = ", ".join(f"{name}={_briefly(value)}" for name, value in self.inputs.items())
        adapter, entry = adapter_of(self.interface)
        if adapter:
            told = KINDS[self.interface.kind].trial
            told = told if built else re.sub(r",[^,]*\{arguments\}", "", told)
            return [told.format(entry=self.interface.entry(), inputs=handed, arguments=built)]
        mode = "train" if self.training else "eval"
        call = f"module.{mode}(){f'.{self.method}' if self.method else ''}({handed})"
        return [f"module = {entry}({built})", call]


def prepare_trial(exercise: Exercise, trial: Trial) -> Prepared:
    """The same arguments and inputs as the check drew for that rung."""
    from grader.course.checks import Check
    from grader.examiner.case import make_case, seed_draws
    from grader.examiner.ladder import Rung, rungs_of
    from grader.examiner.properties import Property

    plain = Property(id=trial.check or "trial")
    check: Check = next((each for each in exercise.checks if each.id == trial.check), plain)
    assert isinstance(check, Property)
    rungs = [rung for some in rungs_of(check, exercise, trial.seed) for rung in some]
    largest = Rung(f"{trial.seed}/{check.id}/-1", exercise.ladder[-1])
    rung = next((each for each in rungs if each.name == trial.rung), largest)
    seed_draws(rung.name)
    case = make_case(exercise, check, rung.sizes, rung.manner, is_plain=rung.is_plain)
    inputs = case.again if trial.in_manner else case.inputs
    return Prepared(exercise.interface, case.arguments, inputs, check.method, check.training)


def run_trial(prepared: Prepared, module: ModuleType) -> Any:
    """What the call returns; the submission's own exceptions pass through."""
    from grader.examiner.reference import run_probe

    adapter, entry = adapter_of(prepared.interface)
    built = getattr(run_probe(adapter, module) if adapter else module, entry)(**prepared.arguments)
    built.train(prepared.training)
    return (getattr(built, prepared.method) if prepared.method else built)(**prepared.inputs)


def traceback_of(error: BaseException, path: Path) -> str:
    """The error as Python shows it, from the student's own file on."""
    found: TracebackType | None = error.__traceback__
    while found is not None and Path(found.tb_frame.f_code.co_filename) != path:
        found = found.tb_next
    if found is None and isinstance(error, SyntaxError):  # the file itself, of which no line has run
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(type(error), error, found or error.__traceback__))


def load(path: Path) -> ModuleType:
    """The student's file as a module; what it raises meanwhile passes through."""
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(value: Any) -> str:
    """What came back: the shapes of tensors and how much of them is no number, anything else as it shows itself."""
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}: {'; '.join(map(describe, value))}"
    return _briefly(value)


def _briefly(value: Any) -> str:
    if not hasattr(value, "shape"):
        return repr(value)
    dtype = str(value.dtype).removeprefix("torch.")
    counts = {name: int(getattr(value, f"is{name}")().sum()) for name in ("nan", "inf") if hasattr(value, f"is{name}")}
    told = "".join(f", {count} of {value.numel()} {name}" for name, count in counts.items() if count)
    return f"<tensor {tuple(value.shape)} of {dtype}{told}>"
