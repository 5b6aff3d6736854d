"""The reference as a check sees it: modules in the examiner's own process."""

import contextlib
import importlib.abc
import importlib.util
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.checks.proxies import Pass, Tensors
from grader.checks.subjects import adapter_of
from grader.errors import KitError
from grader.sandbox.probes import ProbeFunction, constructor
from grader.sandbox.subject import Subject
from grader.sandbox.torch_import import stub_compiler
from grader.sandbox.values import flatten, map_tensors
from grader.spec.interface import Interface


class LocalModule:
    """The reference, in this process."""

    def __init__(self, subject: Subject) -> None:
        self.training, self.grad = False, True
        self.subject = subject
        self.module = subject.module
        self._after: Tensors = {}
        self._output = io.StringIO()

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            return _detached(self._run(method, inputs, requires_grad=False)[0])

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            return _detached(self._run("", inputs, requires_grad=False, probe=probe, options=options)[0])

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        with torch.set_grad_enabled(grad):
            return [self.call("", **each) for each in inputs]

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        self.module.zero_grad(set_to_none=True)
        value, tensors = self._run(method, inputs, requires_grad=True)
        outputs = [output for output in flatten(value) if output.is_floating_point()]
        if cotangents is None:
            cotangents = cotangents_for(outputs)
        terms = [(one * other).sum() for one, other in zip(outputs, cotangents, strict=True) if one.requires_grad]
        if terms:
            sum(terms, torch.zeros(())).backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        input_gradients = {name: tensor.grad for name, tensor in tensors.items() if tensor.requires_grad}
        return Pass(value=_detached(value), cotangents=cotangents, parameters=gradients, inputs=input_gradients)

    def inputs_after(self) -> Tensors:
        return self._after

    def weights(self) -> Tensors:
        return {name: parameter.detach() for name, parameter in self.module.named_parameters()}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(parameter.shape) for name, parameter in self.module.named_parameters()}

    def attribute(self, name: str) -> Any:
        return _detached(getattr(self.module, name))

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
                value = probe(self.subject, copies, **(options or {}))
            else:
                value = (getattr(self.module, method) if method else self.module)(**copies)
        tensors = {name: value for name, value in copies.items() if isinstance(value, torch.Tensor)}
        self._after = {name: tensor.detach() for name, tensor in tensors.items()}
        return value, tensors


def cotangents_for(value: Any) -> list[torch.Tensor]:
    """What outputs are weighted with: whatever was drawn to compute them, the same at one place of a check."""
    torch.default_generator.manual_seed(torch.default_generator.initial_seed() + 1)
    outputs = [output for output in flatten(value) if output.is_floating_point()]
    return [torch.randn(output.shape).to(output.dtype) for output in outputs]


class Reference:
    """Builds the reference's class in this process."""

    def __init__(self, path: Path, interface: Interface) -> None:
        self._module = import_file(path, f"reference_of_{path.parent.name}")
        self._adapter, self._entry = adapter_of(interface), interface.entry()
        if self._adapter:
            stub_compiler()  # which optimizers ask for, and which takes a second to import

    def build(self, arguments: dict[str, Any], dtype: str = "", probe: str = "", entry: str = "") -> LocalModule:
        """The reference with fresh weights; `probe` is source run beside it, which may define another `entry` class."""
        if probe:
            build = vars(import_probe(probe, self._module))[entry]
        else:
            build = constructor(self._module, entry or self._entry, self._adapter)
        with contextlib.redirect_stdout(io.StringIO()):
            module = build(**arguments)
        if dtype:
            module = module.to(getattr(torch, dtype))
        return LocalModule(Subject(module=module, build=build, arguments=arguments))


class AbsentReference:
    """Takes the place of the reference in a sealed edition."""

    def build(self, *_arguments: Any) -> LocalModule:
        raise KitError("a check asks for the reference, which a student edition does not have")


def import_file(path: Path, name: str) -> ModuleType:
    """Run a file as a module of this name and return it. Exceptions pass through."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _ProbeLoader(importlib.abc.InspectLoader):
    """Imports a probe's text as a module."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the loader serves one module
        return self._source


def import_probe(source: str, submission: ModuleType) -> ModuleType:
    """A probe's text run as a module, beside the one that it calls `submission`."""
    loader = _ProbeLoader(source)
    spec = importlib.util.spec_from_loader("probe", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(submission=submission, torch=torch)
    loader.exec_module(module)
    return module


def _detached(value: Any) -> Any:
    return map_tensors(value, torch.Tensor.detach)
