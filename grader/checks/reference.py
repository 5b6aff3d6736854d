"""The reference: modules in the examiner's own process, with the same interface as the submission's proxies."""

import contextlib
import importlib.abc
import importlib.util
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.checks.adapters import adapter_of
from grader.checks.proxies import Pass, Tensors
from grader.errors import KitError
from grader.sandbox.probes import ProbeFunction, constructor
from grader.sandbox.subject import Subject
from grader.sandbox.torch_import import stub_compiler
from grader.sandbox.values import flatten, map_tensors
from grader.spec.exercise import Exercise

FROM_CONSTANT = 0.5
"""The scale of the random numbers that are added to parameters with a constant initial value."""


LARGE_PARAMETER, BLOCK = 16_384, 4_093
"""Parameters with more than so many elements repeat a block of so many random numbers."""


class LocalModule:
    """A module of the reference in this process. It returns copies, which its later calls cannot change.

    `constants` are the values of the parameters that the class fills with zeros or ones, and that are random here.
    """

    def __init__(self, subject: Subject, constants: dict[str, float] | None = None) -> None:
        self.training = False
        self.subject = subject
        self.constants = constants or {}
        self.module = subject.module
        self._after: Tensors = {}
        self._output = io.StringIO()

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return _copied(self._run(method, inputs, requires_grad=False)[0])

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        return _copied(self._run("", inputs, requires_grad=False, probe=probe, options=options)[0])

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        with torch.set_grad_enabled(grad):
            return [self.call("", **each) for each in inputs]

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        self.module.zero_grad(set_to_none=True)
        value, tensors = self._run(method, inputs, requires_grad=True)
        outputs = [output for output in flatten(value) if output.is_floating_point()]
        if cotangents is None:
            cotangents = draw_cotangents(outputs)
        terms = [(one * other).sum() for one, other in zip(outputs, cotangents, strict=True) if one.requires_grad]
        if terms:
            sum(terms, torch.zeros(())).backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        input_gradients = {name: tensor.grad for name, tensor in tensors.items() if tensor.requires_grad}
        return Pass(value=_copied(value), cotangents=cotangents, parameters=gradients, inputs=input_gradients)

    def inputs_after(self) -> Tensors:
        return self._after

    def weights(self) -> Tensors:
        return {name: parameter.detach().clone() for name, parameter in self.module.named_parameters()}

    def initial_weights(self) -> Tensors:
        return {
            name: torch.full_like(value, self.constants[name]) if name in self.constants else value
            for name, value in self.weights().items()
        }

    def attribute(self, name: str) -> Any:
        return _copied(getattr(self.module, name))

    def printed(self) -> str:
        text = self._output.getvalue()
        self._output.seek(0)
        self._output.truncate()
        return text

    def load_from(self, other: "LocalModule") -> None:
        self.module.load_state_dict(other.module.state_dict())

    def _run(
        self,
        method: str,
        inputs: dict[str, Any],
        *,
        requires_grad: bool,
        probe: ProbeFunction | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Tensors]:
        self.module.train(self.training)
        copies = {
            name: value.clone().requires_grad_(requires_grad and value.is_floating_point())
            if isinstance(value, torch.Tensor)
            else value
            for name, value in inputs.items()
        }
        with contextlib.redirect_stdout(self._output):
            if probe:
                value = probe(self.subject, copies, **map_tensors(options or {}, torch.clone))
            else:
                value = (getattr(self.module, method) if method else self.module)(**copies)
        tensors = {name: value for name, value in copies.items() if isinstance(value, torch.Tensor)}
        self._after = {name: tensor.detach() for name, tensor in tensors.items()}
        return value, tensors


def draw_cotangents(value: Any) -> list[torch.Tensor]:
    """Draw a cotangent for each floating-point output, of the output's shape.

    They depend only on the seed of the current question, not on random numbers that the module has drawn.
    """
    torch.default_generator.manual_seed(torch.default_generator.initial_seed() + 1)
    outputs = [output for output in flatten(value) if output.is_floating_point()]
    return [torch.randn(output.shape).to(output.dtype) for output in outputs]


class Reference:
    """Builds the reference's class in this process."""

    def __init__(self, path: Path, exercise: Exercise) -> None:
        self._module = import_file(path, f"reference_of_{path.parent.name}")
        self._adapter, self._entry = adapter_of(exercise.interface), exercise.interface.entry()
        self._variations = exercise.variations
        if self._adapter:
            stub_compiler()  # optimizers import the compiler, which takes a second

    def build(self, arguments: dict[str, Any], dtype: str = "", variation: str = "", entry: str = "") -> LocalModule:
        """Build the reference, a variation of it or its part `entry`, with random weights."""
        if variation:
            build = vars(import_variation(self._variations[variation], self._module))[variation]
        else:
            build = constructor(self._module, entry or self._entry, self._adapter)
        with contextlib.redirect_stdout(io.StringIO()):
            module = build(**arguments)
        constants = _randomize_constants(module)
        _repeat_blocks(module)
        if dtype:
            module = module.to(getattr(torch, dtype))
        return LocalModule(Subject(module=module, build=build, arguments=arguments), constants)


def _randomize_constants(module: torch.nn.Module) -> dict[str, float]:
    """Add random numbers to parameters of zeros or ones; return the constants by name.

    Otherwise no check would notice a missing norm or bias.
    """
    constants = {}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            value = parameter.flatten()[:1]
            if value.tolist() in ([0.0], [1.0]) and bool((parameter == value).all()):
                constants[name] = value.item()
                parameter.add_(parameter.new_empty(parameter.shape).uniform_(-FROM_CONSTANT, FROM_CONSTANT))
    return constants


def _repeat_blocks(module: torch.nn.Module) -> None:
    """Let each large parameter repeat its first numbers, so that the recorded answers of a sealed edition stay small.

    The length of a block is prime, so rows of equal numbers are unlikely.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.numel() > LARGE_PARAMETER:
                blocks = parameter.flatten()[:BLOCK].repeat(-(-parameter.numel() // BLOCK))
                parameter.copy_(blocks[: parameter.numel()].view_as(parameter))


class AbsentReference:
    """Replaces the reference in a sealed edition, where recorded answers should answer every question."""

    def build(self, *_arguments: Any) -> LocalModule:
        raise KitError("a check needs the reference, which a student edition does not contain")


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file as a module of this name. Its exceptions are not caught."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _VariationLoader(importlib.abc.InspectLoader):
    """Imports a variation's source as a module."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the loader serves one module
        return self._source


def import_variation(source: str, submission: ModuleType) -> ModuleType:
    """Run a variation's source as a module, with `submission` and `torch` as globals, and return the module."""
    loader = _VariationLoader(source)
    spec = importlib.util.spec_from_loader("variation", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(submission=submission, torch=torch)
    loader.exec_module(module)
    return module


def _copied(value: Any) -> Any:
    return map_tensors(value, lambda tensor: tensor.detach().clone())
