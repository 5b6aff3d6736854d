"""Run checks with the submission in the reference's place, to collect the answers that only right code gives.

The submission gets the weights that the reference had, so that right code answers as the reference did.
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import torch
from msgspec import Struct

from grader.checks.context import Context
from grader.checks.outcome import FailurePoint
from grader.checks.proxies import MisfitError, ModuleProxy, Pass, SubjectFactory, Tensors
from grader.checks.questions import BuildModule, CallMethod, Question
from grader.checks.reference import draw_cotangents
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import Session, SubjectRaisedError
from grader.checks.size_cases import size_cases_of
from grader.checks.walk import SizeCaseFailedError, run_at
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Exercise
from grader.submission import Submission

Weights = Mapping[str, list[Tensors]]
"""The reference's initial weights: for each size case, those of each module in the order in which they are built."""

ANSWERING = ("call", "call_each", "differentiate")

TO_THE_END = sys.maxsize
"""The number of comparisons that may fail. No check reaches it, so a wrong submission gets all questions."""


class Answers(Struct, frozen=True, kw_only=True):
    """A submission's answers to the questions that checks ask the reference.

    `tensors` has the answers of each size case in order, flat, floating-point and on the CPU. `incomplete` names the
    size cases that a failed check ended: the submission may know more answers there. A size case that the submission
    ended, by an exception or by parameters that do not fit, is complete.
    """

    tensors: dict[str, list[torch.Tensor]] = {}
    incomplete: frozenset[str] = frozenset()


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
) -> Answers:
    """Return the submission's answers, in evaluation mode, at the size cases in `weights`."""
    tensors: dict[str, list[torch.Tensor]] = {}
    incomplete = set()
    with closing(Session(source, exercise, submission)) as session:
        session.load()
        for check in exercise.checks:
            plan = size_cases_of(check, exercise, seed)
            answered = [each for each in plan.all() if each.name in weights]
            if answered:
                session.begin_check(has_full_time=True)
            for size_case in answered:
                subject = SubjectFactory(session)
                cache = ReferenceCache(MirrorReference(subject, weights[size_case.name]))
                cache.begin(check.id, seed, "float32")
                point = FailurePoint(size_case=size_case.name, grad=size_case.grad, comparisons=TO_THE_END)
                try:
                    run_at(check, Context(subject=subject, reference=cache, exercise=exercise), plan, point)
                except SizeCaseFailedError as failed:
                    if not isinstance(failed.error, SubjectRaisedError | MisfitError):
                        incomplete.add(size_case.name)
                asked = cache.questions_and_answers().get(check.id, {}).get(size_case.name, ())
                tensors[size_case.name] = answers_in(asked)
    return Answers(tensors=tensors, incomplete=frozenset(incomplete))


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
