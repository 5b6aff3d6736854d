"""Differential testing: two sources side by side in workers, on random weights, sizes and masks."""

import random
import warnings
from pathlib import Path
from typing import Any, Self

import torch
from msgspec import Struct, structs

from grader.author.mutants import Mutant, plain_lines
from grader.checks.case import Case, make_case, seed_draws
from grader.checks.compare import FLOAT32_GRADIENT, FLOAT64, Tolerance
from grader.checks.proxies import MisfitError, ModuleProxy, Subject
from grader.checks.reference import Reference
from grader.checks.session import Session, SubjectError, SubjectRaisedError
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Equivalent, Exercise
from grader.spec.fields import MadeInput, MaskKind
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import KeepsDtype, Property
from grader.submission import submission_from_text


class Matching(Struct, frozen=True):
    """The mutants that are declared equivalent, the others, and the declarations that match none."""

    declared: list[Mutant]
    others: list[Mutant]
    idle: list[Equivalent]


def match_equivalents(mutants: list[Mutant], equivalents: list[Equivalent]) -> Matching:
    """Sort mutants by whether a declaration has their lines before and after the change."""
    changes = {(plain_lines(each.was), plain_lines(each.becomes)) for each in equivalents}
    declared = [mutant for mutant in mutants if mutant.change() in changes]
    others = [mutant for mutant in mutants if mutant.change() not in changes]
    made = {mutant.change() for mutant in declared}
    idle = [each for each in equivalents if (plain_lines(each.was), plain_lines(each.becomes)) not in made]
    return Matching(declared, others, idle)


ROUNDS = 60
LARGEST = 9
"""Sizes that are not tied to others are drawn from 1 to here."""

ODD_SHARE = 0.1
"""The share of rounds in which sizes need not fit together, so that refusals are compared too."""

Seen = dict[str, Any]


class Round(Struct, frozen=True):
    """One experiment: a case, the method called, the mode, and the dtype that everything is in."""

    case: Case
    method: str
    training: bool
    dtype: str
    described: str


def find_differences(source: WorkerSource, root: Path, exercise_id: str, texts: list[str]) -> list[str]:
    """For each text what first told it from the reference, or nothing."""
    course = Course(root)
    with Comparison(source, course, load_exercise(course.description(exercise_id))) as comparison:
        return [comparison.first_difference(text) for text in texts]


class Comparison:
    """The reference in a worker, beside which one text after another is run."""

    def __init__(self, source: WorkerSource, course: Course, exercise: Exercise) -> None:
        path = course.reference(exercise.id)
        limits = structs.replace(exercise.limits, seconds=structs.replace(exercise.limits.seconds, total=600.0))
        self._source = source
        self._exercise = structs.replace(exercise, limits=limits)
        self._local = Reference(path, exercise.interface)
        self._reference = Session(source, self._exercise, submission_from_text(path.read_text(encoding="utf-8")))
        self._rounds: dict[int, tuple[Round, Seen]] = {}
        is_precise = any(isinstance(check, KeepsDtype) and check.precise for check in exercise.checks)
        self._in_float64 = FLOAT64 if is_precise else FLOAT32_GRADIENT  # as the checks compare

    def __enter__(self) -> Self:
        self._reference.load()
        return self

    def __exit__(self, *_: object) -> None:
        self._reference.close()

    def first_difference(self, text: str, rounds: int = ROUNDS) -> str:
        """What first told the text from the reference in so many rounds, or nothing."""
        session = Session(self._source, self._exercise, submission_from_text(text))
        try:
            session.load()
            for seed in range(rounds):
                round_, expected = self._round(seed)
                seen = _observe(session, self._local, round_)
                near = self._in_float64 if round_.dtype == "float64" else FLOAT32_GRADIENT
                differing = [name for name in expected if not _agree(seen.get(name), expected[name], near)]
                if differing:
                    return f"{differing[0]} differs with {round_.described}"
        except SubjectError as error:
            return f"it {error}"
        finally:
            session.close()
        return ""

    def _round(self, seed: int) -> tuple[Round, Seen]:
        """A round, and what the reference shows in it."""
        if seed not in self._rounds:
            round_ = _make_round(self._exercise, seed)
            self._rounds[seed] = round_, _observe(self._reference, self._local, round_)
        return self._rounds[seed]


def _make_round(exercise: Exercise, seed: int) -> Round:
    """A case like those that the checks use, at other sizes, with other masks."""
    draw = random.Random(seed)  # noqa: S311 - experiments, not secrets
    check: Property = draw.choice(exercise.checks)
    sizes = _draw_sizes(draw, exercise, check)
    inputs = {name: _draw_mask(draw, spec) for name, spec in check.inputs.items()}
    seed_draws(f"find_differences/{seed}")
    case = make_case(exercise, structs.replace(check, inputs=inputs), sizes)
    dtype = draw.choice(("float32", "float64"))
    if dtype == "float64":
        doubled = {name: tensor.double() for name, tensor in case.tensors().items()}
        case = structs.replace(case, inputs={**case.inputs, **doubled})
    training = draw.choice((True, False))
    described = f"{sizes}, {case.arguments}, in {dtype}, {'training' if training else 'eval'} mode"
    return Round(case, check.method, training, dtype, described)


def _draw_sizes(draw: random.Random, exercise: Exercise, check: Property) -> dict[str, int]:
    """A size case's sizes, those of the constructor all multiplied by one factor, the others drawn anew."""
    size_case = draw.choice(check.sizes or exercise.fixed_sizes)
    tied = {value for value in exercise.interface.constructor.values() if isinstance(value, str)}
    factor = draw.choice((1, 2, 3))
    if draw.random() < ODD_SHARE:
        return {name: draw.randint(1, LARGEST) for name in size_case}
    return {
        name: size * factor if name in tied else draw.randint(1, min(size, LARGEST)) for name, size in size_case.items()
    }


def _draw_mask(draw: random.Random, spec: Any) -> Any:
    if not (isinstance(spec, MadeInput) and spec.is_mask()):
        return spec
    return structs.replace(spec, mask=draw.choice(list(MaskKind)), integers=draw.choice((True, False)))


def _observe(session: Session, local: Reference, round_: Round) -> Seen:
    """Everything that a caller can see of one call: what is returned, raised, printed, changed and differentiated."""
    session.begin_check()
    seed_draws(round_.described)
    try:
        with warnings.catch_warnings(action="ignore"):  # torch's, of sizes of zero
            weights = local.build(round_.case.arguments, dtype=round_.dtype)
    except Exception:  # noqa: BLE001 - sizes that the reference refuses; the workers say how
        weights = None
    try:
        module = Subject(session).build(round_.case.arguments, like=weights, dtype=round_.dtype)
        return _observe_call(module, round_)
    except SubjectRaisedError as error:
        return {"what is raised": error.raised.type}
    except MisfitError as error:
        return {"parameters": str(error)}


def _observe_call(module: ModuleProxy, round_: Round) -> Seen:
    module.training = round_.training
    module.printed()
    inputs, method = round_.case.inputs, round_.method
    first, again = (module.call(method, **inputs) for _ in range(2))
    seen: Seen = {
        "names of parameters": sorted(module.shapes()),
        "whether it prints": bool(module.printed().strip()),
        "an input after the call": list(module.inputs_after().values()),
        "the number of outputs": len(flatten(first)),
    }
    if not _agree(flatten(first), flatten(again), FLOAT32_GRADIENT):
        return seen  # dropout: what is drawn need not be drawn alike
    outputs = [output for output in flatten(first) if output.is_floating_point()]
    passed = module.differentiate([torch.randn(each.shape).to(each.dtype) for each in outputs], method, **inputs)
    gradients = {f"the gradient of {name}": grad for name, grad in {**passed.parameters, **passed.inputs}.items()}
    return {**seen, "the output": flatten(first), **gradients}


def _agree(one: Any, other: Any, near: Tolerance) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_agree(*pair, near) for pair in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        fits = one.shape == other.shape and one.dtype == other.dtype
        return fits and torch.allclose(one, other, near.relative, near.absolute, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
