"""Of all mutants of the references that fail by value, how many get a classic diagnosis, and whether each is true.

    python -m tests.benchmarks.diagnoses [exercise_NN]...

Each diagnosis is read back from its words and computed anew, by other means than those that found it.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import torch

from grader.author.mutants import mutants_of
from grader.checks import diagnoses
from grader.checks.outcome import Status
from grader.checks.runner import Runner
from grader.processes.worker_source import Forker
from grader.sandbox.torch_import import import_torch
from grader.sandbox.values import flatten
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import submission_from_text
from tests.support.paths import ROOT

SEED = 7
CLOSE = 2e-3
"""As close as three digits of a factor let numbers be, in parts of the largest."""

Tensor = torch.Tensor
UNMASKED = "the output is the same as with a mask that hides nothing"


def main() -> None:
    course = Course(root=ROOT)
    chosen = sys.argv[1:] or course.exercise_ids()
    import_torch()
    source = Forker()
    total: Counter[str] = Counter()
    for exercise_id in chosen:
        counted = count(course, source, exercise_id)
        total += counted
        print(line(exercise_id, counted), flush=True)
    print(line("all", total))
    source.close()


def line(name: str, counted: Counter[str]) -> str:
    by_kind = ", ".join(f"{kind} {number}" for kind, number in counted.most_common() if kind not in COUNTED)
    told = ", ".join(f"{counted[each]} {each}" for each in COUNTED)
    return f"{name}: {told} ({by_kind})"


COUNTED = ("mutants", "fail by value", "are diagnosed", "diagnoses are false")


def count(course: Course, source: Forker, exercise_id: str) -> Counter[str]:
    """What becomes of an exercise's mutants, each judged up to the first check that sees it."""
    exercise = load_exercise(course.description(exercise_id))
    mutants = mutants_of(course.reference_text(exercise_id))
    found: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))

    with Runner(course, exercise, source) as runner:
        for mutant in mutants:
            with Listening() as heard:
                seen = runner.examine(submission_from_text(mutant.text), SEED, stops_at_failure=True)
            found["mutants"] += 1
            failed = [each.finding for each in seen.outcomes if each.status is Status.FAILED and each.finding]
            finding = next((each for each in failed if each.kind.partition(":")[0] in ("values", "gradient")), None)
            if finding is None:
                continue
            found["fail by value"] += 1
            if finding.diagnosis:
                found["are diagnosed"] += 1
                found[re.sub(r"-?\d[\d.e+-]*(, \d+)*", "N", finding.diagnosis)] += 1
                if not any(each == finding.diagnosis and is_true(each, *both) for each, both in heard.told):
                    found["diagnoses are false"] += 1
                    print(f"FALSE {exercise_id}: {finding.diagnosis}\n{mutant.diff}", flush=True)
    source.settle()
    return found


class Listening:
    """Hears each diagnosis that is told meanwhile, with the tensors that it is about."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Tensor, Tensor]]] = []

    def __enter__(self) -> Self:
        self._diagnose, self._by_mask = diagnoses.diagnose, diagnoses.diagnose_by_mask
        diagnoses.diagnose, diagnoses.diagnose_by_mask = self._hear, self._hear_by_mask
        return self

    def __exit__(self, *_: object) -> None:
        diagnoses.diagnose, diagnoses.diagnose_by_mask = self._diagnose, self._by_mask

    def _hear(self, seen: Tensor, expected: Tensor, *tolerances: float) -> str:
        words = self._diagnose(seen, expected, *tolerances)
        if words:
            self.told.append((words, (seen.double(), expected.double())))
        return words

    def _hear_by_mask(self, seen: Any, unmasked: Any, *tolerances: float) -> str:
        words = self._by_mask(seen, unmasked, *tolerances)
        alike = [each for each in flatten(unmasked) if isinstance(seen, Tensor) and each.shape == seen.shape]
        if words:
            nearest = min(alike, key=lambda each: float((each - seen).abs().max()))
            self.told.append((words, (seen.double(), nearest.double())))
        return words


def is_true(words: str, seen: Tensor, expected: Tensor) -> bool:
    """Whether the diagnosis, read back, makes of what was expected what was seen."""
    scale = float(expected.abs().max()) or 1.0
    for pattern, computed in READ_BACK.items():
        match = re.fullmatch(pattern, words)
        if match:
            made = computed(seen, expected, *match.groups())
            return made is not None and float((made - seen).abs().max()) <= CLOSE * max(scale, float(seen.abs().max()))
    return False


def _times(_seen: Tensor, expected: Tensor, factor: str) -> Tensor:
    return expected * float(factor)


def _reordered(_seen: Tensor, expected: Tensor, axis: str, order: str) -> Tensor:
    slices = expected.unbind(int(axis))
    return torch.stack([slices[int(each)] for each in order.split(", ")], int(axis))


def _exchanged(_seen: Tensor, expected: Tensor, one: str, other: str) -> Tensor:
    axes = [*range(expected.dim())]
    axes[int(one)], axes[int(other)] = axes[int(other)], axes[int(one)]
    return expected.permute(axes)


def _same_along(seen: Tensor, expected: Tensor, axis: str) -> Tensor | None:
    slices = expected.unbind(int(axis))
    if all(torch.allclose(slices[0], each) for each in slices):
        return None  # it should not differ
    return torch.stack([seen.unbind(int(axis))[-1]] * len(slices), int(axis))


def _dealt(_seen: Tensor, expected: Tensor, blocks: str) -> Tensor:
    features = expected.size(-1)
    size = features // int(blocks)
    return expected[..., [block * size + place for place in range(size) for block in range(int(blocks))]]


def _one_vector(seen: Tensor, expected: Tensor) -> Tensor:
    rows = (seen - expected).reshape(-1, expected.size(-1))
    return expected + rows.mean(0)


def _by_row(seen: Tensor, expected: Tensor, _low: str, _high: str) -> Tensor:
    largest = expected.abs().argmax(-1, keepdim=True)
    return expected * seen.gather(-1, largest) / expected.gather(-1, largest)


def _partly_zero(seen: Tensor, expected: Tensor, number: str) -> Tensor | None:
    gone = (seen == 0) & (expected != 0)
    return expected.masked_fill(gone, 0.0) if int(gone.sum()) == int(number) else None


NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
READ_BACK: dict[str, Callable[..., Tensor | None]] = {
    UNMASKED: lambda _seen, unmasked: unmasked,
    "every element is 0": lambda _seen, expected: torch.zeros_like(expected),
    f"every element is {NUMBER} times what was expected": _times,
    r"along axis (\d+) the right values are in another order: ([\d, ]+)": _reordered,
    r"axes (\d+) and (\d+) of the expected values are exchanged": _exchanged,
    r"the values do not vary along axis (\d+), although they should": _same_along,
    r"the last axis is interleaved: it takes one feature from each of (\d+) blocks in turn": _dealt,
    "each row equals the expected row plus one vector, the same for all rows": _one_vector,
    f"each row equals the expected row times a factor that differs from row to row, from {NUMBER} to {NUMBER}": _by_row,
    r"(\d+) elements are 0 and the others are right": _partly_zero,
}


if __name__ == "__main__":
    main()
