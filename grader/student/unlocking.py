"""The file of locked explanations in a sealed edition, and how a submission opens it."""

import math
from contextlib import closing
from pathlib import Path

import msgspec
import torch
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from grader.checks.recording import DAMAGE, INDEX, pack, unpack
from grader.errors import KitError
from grader.processes.worker_source import open_worker_source
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.student.locks import Lock, numbers_of
from grader.student.mirror import Weights, mirrored_answers
from grader.submission import Submission

WEIGHTS = "weights"

WEIGHTS_DTYPE = torch.bfloat16
"""The dtype of the weights in the file, so that they take little room."""


class LockedExplanations(Struct, frozen=True, kw_only=True):
    """The file in an edition: the questions that give the keys, as a seed and weights, and the locks by name."""

    seed: int
    weights: Weights
    locks: dict[str, Lock]

    def content(self) -> bytes:
        """Return the bytes of a safetensors file: an index, and the weights of all modules as one compressed tensor."""
        shapes = {
            size_case: [{name: list(weight.shape) for name, weight in module.items()} for module in modules]
            for size_case, modules in self.weights.items()
        }
        flat = [
            weight.flatten() for modules in self.weights.values() for module in modules for weight in module.values()
        ]
        index = msgspec.json.encode(_Index(seed=self.seed, shapes=shapes, locks=self.locks))
        return save(
            {
                INDEX: pack(torch.frombuffer(bytearray(index), dtype=torch.uint8)),
                WEIGHTS: pack(torch.cat([torch.empty(0, dtype=WEIGHTS_DTYPE), *flat])),
            }
        )


class _Index(Struct, frozen=True, kw_only=True):
    """What the file contains besides weights; for each size case, the shapes of the weights of each module."""

    seed: int
    shapes: dict[str, list[dict[str, list[int]]]]
    locks: dict[str, Lock]


def read_locked(path: Path) -> LockedExplanations:
    """Read the file of an edition; raise `KitError` if it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            content = unpack(file.get_tensor(INDEX), torch.uint8).numpy().tobytes()
            index = msgspec.json.decode(content, type=_Index)
            weights = _split(unpack(file.get_tensor(WEIGHTS), WEIGHTS_DTYPE), index.shapes)
        return LockedExplanations(seed=index.seed, weights=weights, locks=index.locks)
    except (OSError, SafetensorError, msgspec.MsgspecError, *DAMAGE) as error:
        raise KitError(f"{path} is damaged ({error}); download the student edition again") from None


def _split(flat: torch.Tensor, shapes: dict[str, list[dict[str, list[int]]]]) -> Weights:
    """Return the weights of each module, by size case, from one flat tensor."""
    sizes = [math.prod(shape) for modules in shapes.values() for module in modules for shape in module.values()]
    parts = iter(torch.split(flat, sizes))
    return {
        size_case: [{name: next(parts).reshape(shape) for name, shape in module.items()} for module in modules]
        for size_case, modules in shapes.items()
    }


def open_locks(
    course: Course, exercise: Exercise, submission: Submission, names: list[str], *, spawn: bool
) -> dict[str, str]:
    """Run the submission and return, by name, the texts of the locks that its answers open."""
    locked = read_locked(course.explanations(exercise.id))
    if not locked.locks.keys() & set(names):
        return {}
    with closing(open_worker_source(course.secret_folders(), spawn=spawn)) as source:
        answers = mirrored_answers(exercise, source, submission, locked.seed, locked.weights)
    numbers = numbers_of(answers.tensors)
    texts = {name: locked.locks[name].open(numbers) for name in names if name in locked.locks}
    return {name: text for name, text in texts.items() if text is not None}
