"""Run checks with the submission in the reference's place, to collect the answers that only right code gives.

The submission gets the weights that the reference had, so that right code answers as the reference did.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from typing import Any

import torch

from grader.checks.context import Context
from grader.checks.proxies import ModuleProxy, Pass, SubjectFactory, Tensors
from grader.checks.questions import BuildModule, CallMethod, Question
from grader.checks.reference import draw_cotangents
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import Session
from grader.checks.size_cases import size_cases_of
from grader.checks.walk import walk
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Exercise
from grader.submission import Submission

Weights = Mapping[str, list[Tensors]]
"""The reference's initial weights: for each check, those of each module in the order in which they are built."""

ANSWERING = ("call", "call_each", "differentiate")


class MirrorReference:
    """Builds the submission's class when a check asks for the reference's."""

    def __init__(self, subject: SubjectFactory, weights: Iterable[Tensors]) -> None:
        self._subject = subject
        self._weights = iter(weights)

    def build(self, arguments: dict[str, Any], dtype: str = "", variation: str = "", entry: str = "") -> "MirrorModule":
        weights = WeightsOnly(next(self._weights))
        module = self._subject.build(arguments, like=weights, dtype=dtype, variation=variation, entry=entry)
        return MirrorModule(module)


class WeightsOnly:
    """A stand-in for a module of which only the weights are known."""

    def __init__(self, weights: Tensors) -> None:
        self._weights = weights

    def weights(self) -> Tensors:
        return self._weights


class MirrorModule:
    """The submission's module in the place of the reference's."""

    def __init__(self, module: ModuleProxy) -> None:
        self._module = module
        self.training = False

    def __getattr__(self, name: str) -> Any:
        """Set the mode that the check has chosen, and return an attribute of the module, such as a method."""
        self._module.training = self.training
        return getattr(self._module, name)

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        """Run a forward and a backward pass, with the same weights of outputs as the reference."""
        if cotangents is None:
            outputs = [each for each in flatten(self.call(method, **inputs)) if isinstance(each, torch.Tensor)]
            cotangents = draw_cotangents(outputs)
        passed: Pass = self.__getattr__("differentiate")(cotangents, method, **inputs)
        return passed


def mirrored_answers(
    exercise: Exercise, source: WorkerSource, submission: Submission, seed: int, weights: Weights
) -> list[torch.Tensor]:
    """Return the submission's answers, in evaluation mode and in order, to the questions that checks ask the reference.

    Only the checks in `weights` run. Each tensor is flat, floating-point and on the CPU. A check that the submission
    fails contributes the answers up to its failure.
    """
    answers: list[torch.Tensor] = []
    with closing(Session(source, exercise, submission)) as session:
        session.load()
        for check in exercise.checks:
            if check.id in weights:
                session.begin_check(has_full_time=True)
                subject = SubjectFactory(session)
                cache = ReferenceCache(MirrorReference(subject, weights[check.id]))
                cache.needs_all_size_cases = True
                cache.begin(check.id, seed, "float32")
                with suppress(Exception):  # after a failure, the answers before it count
                    walk(
                        check,
                        Context(subject=subject, reference=cache, exercise=exercise),
                        size_cases_of(check, exercise, seed),
                    )
                for size_case in cache.questions_and_answers().get(check.id, {}).values():
                    answers += answers_in(size_case)
    return answers


def answers_in(questions_and_answers: Iterable[tuple[Question, Any]]) -> list[torch.Tensor]:
    """Return the tensors that the reference computed in evaluation mode, flat."""
    found: list[torch.Tensor] = []
    for question, answer in questions_and_answers:
        if isinstance(question, CallMethod) and not question.training and question.method in ANSWERING:
            values = [answer.value, answer.parameters, answer.inputs] if isinstance(answer, Pass) else answer
            found += [each.detach().flatten() for each in flatten(values) if each.is_floating_point()]
    return found


def initial_weights(questions_and_answers: Iterable[tuple[Question, Any]]) -> list[Tensors]:
    """Return the weights of each module of one size case at the first request for them, in the order of building."""
    first: dict[int, Tensors] = {}
    built = 0
    for question, answer in questions_and_answers:
        match question:
            case BuildModule():
                built += 1
            case CallMethod(method="weights"):
                first.setdefault(question.module, answer)
    return [first.get(number, {}) for number in range(built)]
