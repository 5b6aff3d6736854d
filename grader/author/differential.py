"""Differential testing: run two sources side by side in workers, with random weights, sizes and masks."""

import random
import warnings
from pathlib import Path
from typing import Any, Self

import torch
from msgspec import Struct, structs

from grader.author.mutants import Mutant, plain_lines
from grader.checks.case import Case, make_case, seed_draws
from grader.checks.proxies import MisfitError, ModuleProxy, SubjectFactory
from grader.checks.reference import Reference
from grader.checks.session import Session, SubjectError, SubjectRaisedError
from grader.checks.size_cases import SizeCase
from grader.checks.tolerances import FLOAT32_GRADIENT, FLOAT64, Tolerance
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Equivalent, Exercise
from grader.spec.fields import MadeInput, MaskKind
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.submission import submission_from_text


class Matching(Struct, frozen=True, kw_only=True):
    """Mutants that are declared equivalent, the other mutants, and declarations that match no mutant."""

    declared: list[Mutant]
    others: list[Mutant]
    unmatched: list[Equivalent]


def match_equivalents(mutants: list[Mutant], equivalents: list[Equivalent]) -> Matching:
    """Match mutants with declarations by their lines before and after the change."""
    changes = {(plain_lines(each.was), plain_lines(each.becomes)) for each in equivalents}
    declared = [mutant for mutant in mutants if mutant.change() in changes]
    others = [mutant for mutant in mutants if mutant.change() not in changes]
    made = {mutant.change() for mutant in declared}
    unmatched = [each for each in equivalents if (plain_lines(each.was), plain_lines(each.becomes)) not in made]
    return Matching(declared=declared, others=others, unmatched=unmatched)


ROUNDS = 60
LARGEST = 9
"""The largest random size, except for multiples of other sizes."""

ODD_SHARE = 0.1
"""The share of experiments with sizes that may not fit together, so that refusals are compared too."""

Observed = dict[str, Any]
"""The observable effects of a call, by name."""


class Beyond(Struct, frozen=True, kw_only=True):
    """Calls beyond those of the checks: without optional inputs, and with other arguments of the constructor."""

    optional_inputs: list[str] = []
    arguments: list[dict[str, Any]] = []


CHECKS_ALONE = Beyond()
BEYOND_SHARE = 0.5
"""The share of experiments that leave out an optional input, and the share that change an argument."""


class Experiment(Struct, frozen=True, kw_only=True):
    """One call to compare: a case, the method, the mode and the dtype of all tensors."""

    case: Case
    method: str
    training: bool
    dtype: str
    described: str


def find_differences(source: WorkerSource, root: Path, exercise_id: str, texts: list[str]) -> list[str]:
    """Return for each source the first difference from the reference, or nothing."""
    course = Course(root=root)
    with SourceComparison(source, course, load_exercise(course.description(exercise_id))) as comparison:
        return [comparison.first_difference(text) for text in texts]


class SourceComparison:
    """The reference in one worker, compared with one source after another in a second worker."""

    def __init__(self, source: WorkerSource, course: Course, exercise: Exercise) -> None:
        path = course.reference(exercise.id)
        limits = structs.replace(exercise.limits, seconds=structs.replace(exercise.limits.seconds, total=600.0))
        self._source = source
        self._exercise = structs.replace(exercise, limits=limits)
        self._local = Reference(path, exercise)
        self._reference = Session(source, self._exercise, submission_from_text(path.read_text(encoding="utf-8")))
        self._experiments: dict[tuple[int, bool], tuple[Experiment, Observed]] = {}
        self._in_float64 = FLOAT64 if exercise.is_precise else FLOAT32_GRADIENT  # as the checks compare

    def __enter__(self) -> Self:
        self._reference.load()
        return self

    def __exit__(self, *_: object) -> None:
        self._reference.close()

    def first_difference(self, text: str, rounds: int = ROUNDS, beyond: Beyond = CHECKS_ALONE) -> str:
        """Return the first difference from the reference in so many experiments, or nothing."""
        session = Session(self._source, self._exercise, submission_from_text(text))
        try:
            session.load()
            for seed in range(rounds):
                experiment, expected = self._experiment(seed, beyond)
                observed = _observe(session, self._local, experiment)
                tolerance = self._in_float64 if experiment.dtype == "float64" else FLOAT32_GRADIENT
                differing = [name for name in expected if not _agree(observed.get(name), expected[name], tolerance)]
                if differing:
                    return f"{differing[0]} differs with {experiment.described}"
        except SubjectError as error:
            return f"it failed: {error}"
        finally:
            session.close()
        return ""

    def _experiment(self, seed: int, beyond: Beyond) -> tuple[Experiment, Observed]:
        """Return an experiment and its observations of the reference."""
        key = seed, beyond is CHECKS_ALONE
        if key not in self._experiments:
            experiment = _make_experiment(self._exercise, seed)
            if beyond is not CHECKS_ALONE:
                experiment = _vary(experiment, beyond, seed)
            self._experiments[key] = experiment, _observe(self._reference, self._local, experiment)
        return self._experiments[key]


def _make_experiment(exercise: Exercise, seed: int) -> Experiment:
    """Make a case like those of the checks, with other sizes and other masks."""
    draw = random.Random(seed)  # noqa: S311 - experiments, not secrets
    check: Property = draw.choice(exercise.checks)
    sizes = _draw_sizes(draw, exercise, check)
    inputs = {name: _draw_mask(draw, spec) for name, spec in check.inputs.items()}
    seed_draws(f"find_differences/{seed}")
    case = make_case(exercise, structs.replace(check, inputs=inputs), SizeCase(sizes=sizes))
    dtype = draw.choice(("float32", "float64"))
    if dtype == "float64":
        doubled = {name: tensor.double() for name, tensor in case.tensors().items()}
        case = structs.replace(case, inputs={**case.inputs, **doubled})
    training = draw.choice((True, False))
    described = f"{sizes}, {case.arguments}, in {dtype}, {'training' if training else 'eval'} mode"
    return Experiment(case=case, method=check.method, training=training, dtype=dtype, described=described)


def _vary(experiment: Experiment, beyond: Beyond, seed: int) -> Experiment:
    """Leave out optional inputs of forward, or change an argument of the constructor, or both."""
    draw = random.Random(f"{seed} beyond")  # noqa: S311 - experiments, not secrets
    case = experiment.case
    optional = [] if experiment.method else [name for name in beyond.optional_inputs if name in case.inputs]
    left_out = [name for name in optional if draw.random() < BEYOND_SHARE]
    other = draw.choice(beyond.arguments) if beyond.arguments and draw.random() < BEYOND_SHARE else {}
    inputs = {name: value for name, value in case.inputs.items() if name not in left_out}
    described = experiment.described + (f", other arguments {other}" if other else "")
    return structs.replace(
        experiment,
        case=structs.replace(case, inputs=inputs, arguments={**case.arguments, **other}),
        described=described + "".join(f", without {name}" for name in left_out),
    )


def _draw_sizes(draw: random.Random, exercise: Exercise, check: Property) -> dict[str, int]:
    """Take a size case, multiply the sizes of the constructor by one factor, and draw the other sizes."""
    size_case = draw.choice(exercise.fixed_sizes_of(check))
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


def _observe(session: Session, local: Reference, experiment: Experiment) -> Observed:
    """Observe one call: outputs, gradients, parameters, exceptions, prints and changed inputs."""
    session.begin_check(has_full_time=True)  # on a busy machine a second is too short
    seed_draws(experiment.described)
    try:
        with warnings.catch_warnings(action="ignore"):  # torch warns of sizes of zero
            weights = local.build(experiment.case.arguments, dtype=experiment.dtype)
    except Exception:  # noqa: BLE001 - the reference refuses these sizes; the workers observe how
        weights = None
    try:
        module = SubjectFactory(session).build(experiment.case.arguments, like=weights, dtype=experiment.dtype)
        return _observe_call(module, experiment)
    except SubjectRaisedError as error:
        return {"the exception": error.raised.type}
    except MisfitError as error:
        return {"the parameters": str(error)}


def _observe_call(module: ModuleProxy, experiment: Experiment) -> Observed:
    module.training = experiment.training
    module.printed()
    inputs, method = experiment.case.inputs, experiment.method
    first, second = (module.call(method, **inputs) for _ in range(2))
    observed: Observed = {
        "the list of parameters": sorted(module.shapes()),
        "printed text": bool(module.printed().strip()),
        "an input after the call": list(module.inputs_after().values()),
        "the number of outputs": len(flatten(first)),
    }
    if not _agree(flatten(first), flatten(second), FLOAT32_GRADIENT):
        return observed  # dropout may draw its random numbers in another way
    outputs = [output for output in flatten(first) if output.is_floating_point()]
    passed = module.differentiate([torch.randn(each.shape).to(each.dtype) for each in outputs], method, **inputs)
    gradients = {f"the gradient of {name}": grad for name, grad in {**passed.parameters, **passed.inputs}.items()}
    return {**observed, "the output": flatten(first), **gradients}


def _agree(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_agree(*pair, tolerance) for pair in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        fits = one.shape == other.shape and one.dtype == other.dtype
        return fits and torch.allclose(one, other, tolerance.relative, tolerance.absolute, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
