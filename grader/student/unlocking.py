"""The file of locked explanations in a sealed edition, and how a submission opens it."""

from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from grader.checks.proxies import Tensors
from grader.errors import KitError
from grader.processes.worker_source import open_worker_source
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.student.locks import Lock, as_numbers
from grader.student.mirror import Weights, mirrored_answers
from grader.submission import Submission


class LockedExplanations(Struct, frozen=True, kw_only=True):
    """The file in an edition: the questions that give the keys, as a seed and weights, and the locks by name."""

    seed: int
    weights: Weights
    locks: dict[str, Lock]

    def content(self) -> bytes:
        """Return the bytes of the safetensors file."""
        tensors = {
            f"{check}/{number}/{name}": tensor.contiguous().clone()
            for check, modules in self.weights.items()
            for number, module in enumerate(modules)
            for name, tensor in module.items()
        }
        modules = {check: len(modules) for check, modules in self.weights.items()}
        index = {"seed": self.seed, "modules": modules, "locks": self.locks}
        return save(tensors, {name: msgspec.json.encode(value).decode() for name, value in index.items()})


def read_locked(path: Path) -> LockedExplanations:
    """Read the file of an edition; raise `KitError` if it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            index = file.metadata()
            modules = msgspec.json.decode(index["modules"], type=dict[str, int])
            weights: dict[str, list[Tensors]] = {check: [{} for _ in range(count)] for check, count in modules.items()}
            for key in file.keys():  # noqa: SIM118 - a file cannot be iterated over
                check, number, name = key.split("/", 2)
                weights[check][int(number)][name] = file.get_tensor(key)
        locks = msgspec.json.decode(index["locks"], type=dict[str, Lock])
        return LockedExplanations(seed=int(index["seed"]), weights=weights, locks=locks)
    except (OSError, SafetensorError, msgspec.MsgspecError, KeyError, IndexError, TypeError, ValueError) as error:
        raise KitError(f"{path} is damaged ({error}); download the student edition again") from None


def open_locks(
    course: Course, exercise: Exercise, submission: Submission, names: list[str], *, spawn: bool
) -> dict[str, str]:
    """Run the submission; return the texts of the named locks that its answers open."""
    locked = read_locked(course.explanations(exercise.id))
    if not locked.locks.keys() & set(names):
        return {}
    with closing(open_worker_source(course.secret_folders(), spawn=spawn)) as source:
        answers = as_numbers(mirrored_answers(exercise, source, submission, locked.seed, locked.weights))
    texts = {name: locked.locks[name].open(answers) for name in names if name in locked.locks}
    return {name: text for name, text in texts.items() if text is not None}
