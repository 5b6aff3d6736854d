"""A reference whose answers can be recorded, because they are copies that later calls cannot change."""

from typing import Any

import torch
from msgspec import structs

from grader.checks.proxies import Pass
from grader.checks.reference import LocalModule, Reference
from grader.checks.reference_cache import ReferenceCache
from grader.sandbox.probes import ProbeFunction
from grader.sandbox.values import map_tensors
from grader.spec.exercise import Exercise
from grader.spec.paths import Course


def copying_reference(course: Course, exercise: Exercise) -> ReferenceCache:
    """Return the reference of an exercise, with no answers yet."""
    return ReferenceCache(CopyingReference(course.reference(exercise.id), exercise.interface))


class CopyingReference(Reference):
    """A reference that answers with copies, so that later calls cannot change answers before they are recorded."""

    def build(self, arguments: dict[str, Any], dtype: str = "", probe: str = "", entry: str = "") -> LocalModule:
        module = super().build(arguments, dtype, probe, entry)
        return _CopyingModule(module.subject, module.constants)


class _CopyingModule(LocalModule):
    def call(self, method: str, **inputs: Any) -> Any:
        return map_tensors(super().call(method, **inputs), torch.Tensor.clone)

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        passed = super().differentiate(cotangents, method, **inputs)
        return structs.replace(passed, value=map_tensors(passed.value, torch.Tensor.clone))

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        return map_tensors(super().run_probe(probe, inputs, **options), torch.Tensor.clone)

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: weight.clone() for name, weight in super().weights().items()}

    def attribute(self, name: str) -> Any:
        return map_tensors(super().attribute(name), torch.Tensor.clone)
