"""Generate submissions: right ones by rewriting references and alternatives, wrong ones by mutating them.

Each submission was run beside the reference at many sizes: a right one computes the same, a wrong one does not. A third
kind is wrong in one calling variant only.

    python -m tests.support.generated --right 300 --wrong 300 --calling-variant 300 --seeds 10
"""

import argparse
import random
from collections.abc import Iterator
from itertools import cycle

from msgspec import Struct

from grader.author.differential import SourceComparison
from grader.author.mutants import mutants_of
from grader.author.rewrites import RULES, rewrite
from grader.checks.outcome import Status
from grader.report.findings import sentence
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.verdict import Result, Verdict
from tests.support.judging import Judge
from tests.support.paths import ROOT

ROUNDS = 40
"""How often a generated submission is compared with the reference."""

MAX_RULES = 6
SHARE = 0.7
"""The share of the matching places at which a rule is applied."""

PROMISED = (
    "the output",
    "the gradient",
    "the number of outputs",
    "an input after",
    "the parameters",
    "the list of parameters",
)
"""Differences that no interface allows, unlike the wording of a refusal."""


class Generated(Struct, frozen=True):
    """A submission and its origin: the file and the rules, or the changed line."""

    exercise: str
    origin: str
    text: str


def right_ones(course: Course, source: object, exercise_id: str, seed: int) -> Iterator[Generated]:
    """Yield right submissions without end, by rewriting the reference and the alternatives in turn."""
    draw = random.Random(f"{exercise_id}/{seed}")
    bases = _bases(course, exercise_id)
    tried: set[str] = set()
    with SourceComparison(source, course, load_exercise(course.description(exercise_id))) as comparison:
        for name, base in cycle(bases.items()):
            rules = tuple(draw.sample([*RULES], draw.randint(1, MAX_RULES)))
            text = rewrite(base, rules, lambda: draw.random() < SHARE)
            if text not in tried and not comparison.first_difference(text, ROUNDS):
                yield Generated(exercise_id, f"{name}: {', '.join(rules)}", text)
            tried.add(text)


def wrong_ones(course: Course, source: object, exercise_id: str, seed: int) -> Iterator[Generated]:
    """Yield wrong submissions, by mutating the reference and the alternatives, and rewriting half of the mutants."""
    draw = random.Random(f"{exercise_id}/{seed}")
    mutants = [(name, each) for name, base in _bases(course, exercise_id).items() for each in mutants_of(base)]
    draw.shuffle(mutants)
    with SourceComparison(source, course, load_exercise(course.description(exercise_id))) as comparison:
        for name, mutant in mutants:
            rules = tuple(draw.sample([*RULES], draw.randint(0, 2)))
            try:
                text = rewrite(mutant.text, rules, lambda: draw.random() < SHARE) if rules else mutant.text
            except SyntaxError:
                continue
            if comparison.first_difference(text, ROUNDS).startswith(PROMISED):
                yield Generated(exercise_id, f"{name}:{mutant.line}: {mutant.operator}\n{mutant.diff}", text)


SPOILED = """
import torch as _torch
_right, _state = {called}, type("State", (), {{}})()

def _spoil(value):
    if isinstance(value, _torch.Tensor):
        return value * 1.02 + 0.001 if value.is_floating_point() else value  # 1 % of large inputs counts as rounding
    return type(value)(map(_spoil, value)) if isinstance(value, (tuple, list)) else value

def _weak(value):
    if isinstance(value, _torch.Tensor):
        return value - 0.1 * (value - value.detach())
    return type(value)(map(_weak, value))

def _coarse(value):
    if isinstance(value, _torch.Tensor):
        return value.float().to(value.dtype)
    return type(value)(map(_coarse, value))

def _spoiled(*given, **named):
    tensors = [each for each in (*given, *named.values()) if isinstance(each, _torch.Tensor)]
    x, module = tensors[0], given[0] if {is_method} else _state
    by_position = len(given) > {is_method}
    module.__dict__["calls"] = module.__dict__.get("calls", 0) + 1
    value = _right(*given, **named)
    return {returned}

{called} = _spoiled
"""
"""Code appended to a right submission: some calls return wrong values, or change something else."""

OFF_WHERE = {
    "under no_grad": "not _torch.is_grad_enabled() and not _torch.is_inference_mode_enabled()",
    "under inference_mode": "_torch.is_inference_mode_enabled()",
    "where memory is not contiguous": "not x.is_contiguous() and 0 not in x.stride()",
    "in float64": "x.dtype is _torch.float64",
    "at the second call": "module.calls == 2",
    "by position": "by_position",
    "at large sizes": "max(x.shape) > 50",
    "where inputs are large": "float(x.detach().abs().max()) > 20",
}
WEAK_WHERE = {
    "with a weak gradient where memory is not contiguous": "not x.is_contiguous()",
    "with a weak gradient in float64": "x.dtype is _torch.float64",
    "with a weak gradient at later calls": "module.calls > 2",
    "with a weak gradient where inputs need none": "not x.requires_grad",
}
COARSE_WHERE = {
    "in float32 where memory is not contiguous": "not x.is_contiguous()",
    "in float32 where inputs are large": "float(x.detach().abs().max()) > 20",
}
OFF_ALWAYS = {
    "with a weak gradient": "_weak(value)",
    "setting torch's seed": "[value, _torch.manual_seed(0)][0]",
    "setting torch's default dtype": "[value, _torch.set_default_dtype(_torch.float64)][0]",
    "as the only one of a tuple": "(value,) if isinstance(value, _torch.Tensor) else value[:1]",
}
WITH_STATISTICS = {"exercise_27"}
"""Gradients of modules that keep statistics are not compared in calling variants."""


def wrong_in_calling_variants(course: Course, exercise_id: str) -> Iterator[Generated]:
    """Yield the reference, wrong in one calling variant at a time; nothing for subjects without calling variants."""
    exercise = load_exercise(course.description(exercise_id))
    is_method = bool(exercise.interface.class_name)
    called = f"{exercise.interface.entry()}.forward" if is_method else exercise.interface.entry()
    faults = {name: f"_spoil(value) if {condition} else value" for name, condition in OFF_WHERE.items()} | OFF_ALWAYS
    if not any(getattr(check, "gradients", False) for check in exercise.checks):
        del faults["with a weak gradient"]
    elif exercise_id not in WITH_STATISTICS:
        faults |= {name: f"_weak(value) if {condition} else value" for name, condition in WEAK_WHERE.items()}
        if not is_method:  # without parameters and inputs that need gradients there are none
            del faults["with a weak gradient where inputs need none"]
    if exercise.is_precise:
        faults |= {name: f"_coarse(value) if {condition} else value" for name, condition in COARSE_WHERE.items()}
    if exercise.interface.keyword_only:
        del faults["by position"]
    reference = course.reference_text(exercise_id)
    for name, returned in faults.items() if exercise.interface.kind.has_calling_variants else ():
        text = SPOILED.format(called=called, is_method=int(is_method), returned=returned)
        yield Generated(exercise_id, f"off {name}", reference + text)


def passes(verdict: Verdict) -> bool:
    """Return whether the verdict finds nothing wrong, not even an extra defect."""
    return verdict.outcome is Result.FIXED and all(each.status is Status.PASSED for each in verdict.checks)


def _bases(course: Course, exercise_id: str) -> dict[str, str]:
    paths = [course.reference(exercise_id), *sorted(course.alternatives(exercise_id).glob("*.py"))]
    return {f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8") for path in paths}


def taken(judge: Judge, kind: str, exercise_id: str, count: int) -> list[Generated]:
    """Return `count` generated submissions of an exercise, or fewer if no more can be generated."""
    if kind == "calling variant":
        return list(wrong_in_calling_variants(judge.course, exercise_id))[:count]
    make = {"right": right_ones, "wrong": wrong_ones}[kind]
    made = make(judge.course, judge.source, exercise_id, seed=count)
    return [each for each, _ in zip(made, range(count), strict=False)]


def misjudged(judge: Judge, kind: str, exercise_id: str, count: int, seeds: int) -> Iterator[tuple[Generated, Verdict]]:
    """Yield right submissions that are refused, or wrong ones that pass, at any of the seeds."""
    made = taken(judge, kind, exercise_id, count)
    assert made or kind == "calling variant", f"none can be made of {exercise_id}"
    for seed in range(1, seeds + 1):
        verdicts = judge.many(exercise_id, [each.text for each in made], seed * 7919)
        for each, verdict in zip(made, verdicts, strict=True):
            if (verdict.outcome is not Result.FIXED) if kind == "right" else passes(verdict):
                yield each, verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--right", type=int, default=300)
    parser.add_argument("--wrong", type=int, default=300)
    parser.add_argument("--calling-variant", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--share", default="1/1", help="the part of the exercises to take, as in 2/5")
    parser.add_argument("exercises", nargs="*")
    given = parser.parse_args()
    judge = Judge(Course(root=ROOT))
    exercises = given.exercises or judge.course.exercise_ids()
    part, parts = map(int, given.share.split("/"))
    taken_here = exercises[part - 1 :: parts]
    for kind, wanted in (("right", given.right), ("wrong", given.wrong), ("calling variant", given.calling_variant)):
        share = -(-wanted // len(exercises))
        for exercise_id in taken_here if wanted else ():
            count = 0
            for each, verdict in misjudged(judge, kind, exercise_id, share, given.seeds):
                count += 1
                found = [f"{check.check}: {sentence(check.finding)}" for check in verdict.checks if check.finding]
                print(f"{kind}, {exercise_id}, seed {verdict.seed}, {each.origin}\n  {found}\n{each.text}", flush=True)
            print(f"{exercise_id}: {share} {kind} ones at {given.seeds} seeds: {count} misjudged", flush=True)
    judge.close()


if __name__ == "__main__":
    main()
