"""Run the kit's checks and a submission in one process, and cache no answer.

The peers in the benchmark run the checks in this way: without worker, layers, limits and pytest.
"""

import ast
import contextlib
import importlib.util
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from grader.checks.adapters import adapter_of
from grader.checks.case import seed_draws
from grader.checks.context import Context
from grader.checks.proxies import MisfitError, Pass
from grader.checks.reference import LocalModule, Reference, _copied, import_variation
from grader.checks.session import CheckLog, Observed, SubjectRaisedError
from grader.checks.size_cases import size_cases_of
from grader.checks.walk import walk
from grader.sandbox.probes import ProbeFunction, constructor
from grader.sandbox.protocol import Misfit, Raised
from grader.sandbox.subject import Subject
from grader.sandbox.torch_import import stub_compiler
from grader.sandbox.values import WORKER_SEED, flatten, type_name
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course

Check = Callable[[Context], None]

IMPORTED_AS = "submission"
"""The name of a submission's module in `sys.modules`."""


class PlainModule(LocalModule):
    """A module in this process that reports the shapes of its parameters, as the kit's proxies do."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(weight.shape) for name, weight in self.weights().items()}


class OwnModule(PlainModule):
    """A submission's module in this process. A check gets its exceptions in the form that a worker gives them."""

    def __init__(self, subject: Subject, output: io.StringIO) -> None:
        super().__init__(subject)
        self._output = output

    def call(self, method: str, **inputs: Any) -> Any:
        with _as_raised():
            return super().call(method, **inputs)

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        with _as_raised():
            return super().run_probe(probe, inputs, **options)

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        assert cotangents is not None
        with _as_raised():
            self.module.zero_grad(set_to_none=True)
            value, tensors = self._run(method, inputs, requires_grad=True)
            outputs = [output for output in flatten(value) if output.is_floating_point()]
            if [each.shape for each in outputs] != [each.shape for each in cotangents]:
                return Pass(value=_copied(value), cotangents=cotangents, parameters={}, inputs={})
            terms = [(one * other).sum() for one, other in zip(outputs, cotangents, strict=True) if one.requires_grad]
            if terms:
                sum(terms[1:], terms[0]).backward()
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        inputs_gradients = {name: each.grad for name, each in tensors.items()}
        return Pass(value=_copied(value), cotangents=cotangents, parameters=gradients, inputs=inputs_gradients)

    def attribute(self, name: str) -> Any:
        with _as_raised():
            return super().attribute(name)

    def load_from(self, other: LocalModule) -> None:
        with _as_raised():
            super().load_from(other)


class OwnSession:
    """The methods of a session that checks call, except requests, which `OwnSubject` answers."""

    def __init__(self) -> None:
        self.observed, self.log, self.tape = Observed(), CheckLog(), None

    def begin_size_case(self) -> None:
        pass

    def printed(self) -> bytes:
        return b""


class OwnSubject:
    """Builds a submission's class in this process, as `grader.checks.proxies.SubjectFactory` does in a worker."""

    def __init__(self, source: str, exercise: Exercise) -> None:
        self.session = OwnSession()
        self._output = io.StringIO()
        self._namespace = types.ModuleType(IMPORTED_AS)
        self._adapter, self._entry = adapter_of(exercise.interface), exercise.interface.entry()
        self._variations = exercise.variations
        sys.modules[IMPORTED_AS] = self._namespace
        torch.default_generator.manual_seed(WORKER_SEED)
        with contextlib.redirect_stdout(self._output):
            exec(compile(ast.parse(source), f"{IMPORTED_AS}.py", "exec"), vars(self._namespace))

    def __call__(self, **arguments: Any) -> OwnModule:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: Any = None,
        dtype: str = "",
        variation: str = "",
        entry: str = "",
        at_once: bool = True,
    ) -> OwnModule:
        with _as_raised(), contextlib.redirect_stdout(self._output):
            if variation:
                build = vars(import_variation(self._variations[variation], self._namespace))[variation]
            else:
                build = constructor(self._namespace, entry or self._entry, self._adapter)
            module = build(**arguments)
            if dtype:
                module = module.to(getattr(torch, dtype))
        if like is not None:
            _copy(dict(module.named_parameters()), like.weights())
        return OwnModule(Subject(module=module, build=build, arguments=arguments), self._output)


class PlainReference:
    """The reference for checks, without a cache."""

    needs_all_size_cases = False

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def __call__(self, **arguments: Any) -> PlainModule:
        return self.build(arguments)

    def build(self, arguments: dict[str, Any], *, dtype: str = "", variation: str = "", entry: str = "") -> PlainModule:
        built = self._reference.build(arguments, dtype, variation, entry)
        return PlainModule(built.subject, built.constants)

    def draw(self, _name: str, draw: Callable[[], Any]) -> Any:
        return draw()


class Hunt:
    """A loaded exercise: its checks by name, in the kit's order, and its reference."""

    def __init__(self, course: Course, exercise_id: str, seed: int) -> None:
        stub_compiler()  # as in a worker; importing it takes a second
        self.exercise: Exercise = load_exercise(course.description(exercise_id))
        self.reference = PlainReference(Reference(course.reference(exercise_id), self.exercise))
        self.checks: dict[str, Check] = {check.id: _property(check, seed) for check in self.exercise.checks}
        for path in sorted(course.hidden_tests(exercise_id).glob("test_*.py")):
            self.checks |= {name: _hidden(function, name, seed) for name, function in _functions(path)}

    def context(self, source: str) -> Context:
        """Return the submission and the reference. Raise whatever the submission raises while it loads."""
        return Context(subject=OwnSubject(source, self.exercise), reference=self.reference, exercise=self.exercise)


def _property(check: Any, seed: int) -> Check:
    return lambda context: walk(check, context, size_cases_of(check, context.exercise, seed))


def _hidden(function: Callable[..., None], name: str, seed: int) -> Check:
    """Return a test function with its fixtures, to run without pytest."""
    asked = inspect.signature(function).parameters

    def run(context: Context) -> None:
        fixtures = {
            "subject": context.subject,
            "reference": context.reference,
            "gaussian": lambda *shape: torch.randn(shape),
        }
        if "gaussian" in asked:
            seed_draws(f"{seed}/{name}")
        function(**{name: fixtures[name] for name in asked})

    return run


def _functions(path: Path) -> list[tuple[str, Callable[..., None]]]:
    spec = importlib.util.spec_from_file_location(f"hidden_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [(name, value) for name, value in vars(module).items() if name.startswith("test_")]


@contextlib.contextmanager
def _as_raised() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        bases = [type_name(base) for base in type(error).__mro__]
        raise SubjectRaisedError(Raised(type=bases[0], bases=bases, text=str(error))) from error


def _copy(parameters: dict[str, torch.nn.Parameter], weights: dict[str, torch.Tensor]) -> None:
    misfits = [
        Misfit(name=name, expected=list(value.shape))
        for name, value in weights.items()
        if name not in parameters or parameters[name].shape != value.shape
    ]
    if misfits:
        raise MisfitError(misfits)
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)
