"""The pytest plugin: `pytest tests/hidden [--subject PATH]` runs any hidden test or property of an exercise.

Without `--subject` the reference is the subject. The kit's own runner only uses the fixtures (`hidden_tests.py`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from grader.processes.worker_source import open_worker_source
from grader.spec.exercise import Exercise
from grader.spec.exercise_names import EXERCISE_ID
from grader.spec.loading import load_exercise
from grader.spec.paths import find_course
from grader.spec.properties import Property


class Examined(Protocol):
    """The subjects and references of one pytest run."""

    def context(self, exercise_id: str) -> Any:
        """Return the subject and the reference of an exercise: a `checks.context.Context`."""

    def seed(self, exercise_id: str) -> int:
        """Return the seed of the inputs."""

    def close(self) -> None:
        """End all workers."""


EXAMINED = pytest.StashKey[Examined]()


class ExerciseFile(pytest.File):
    """An exercise.yaml; its items are the properties in it."""

    def collect(self) -> Iterator["PropertyItem"]:
        exercise = load_exercise(self.path)
        for record in exercise.checks:
            yield PropertyItem.from_parent(self, name=record.id, record=record, exercise=exercise)


class PropertyItem(pytest.Item):
    """An entry of `checks:`, run at each of its size cases."""

    def __init__(self, *, record: Property, exercise: Exercise, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.record = record
        self.exercise = exercise

    def runtest(self) -> None:
        examined = _examined(self.config)

        from grader.checks.size_cases import size_cases_of  # both load torch
        from grader.checks.walk import walk

        seed = examined.seed(self.exercise.id)
        context = examined.context(self.exercise.id)
        walk(self.record, context, size_cases_of(self.record, context.exercise, seed))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the finding instead of a traceback through the kit."""
        from grader.checks.failure import Failure  # loads torch
        from grader.checks.walk import SizeCaseFailedError

        error = excinfo.value
        if isinstance(error, SizeCaseFailedError) and isinstance(error.error, Failure):
            return f"{error.error}\nwith {error.size_case.sizes}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.exercise.id}: {self.name}"


class HiddenFolder(pytest.Directory):
    """tests/hidden/exercise_NN: its test files, and the properties in exercise.yaml."""

    def collect(self) -> Iterator[pytest.Collector]:
        for path in sorted(self.path.glob("test_*.py")):
            yield pytest.Module.from_parent(self, path=path)
        description = find_course(self.path).description(self.path.name)
        if description.exists():
            yield ExerciseFile.from_parent(self, path=description)


class HiddenRoot(pytest.Directory):
    """tests/hidden: a folder for each exercise with test files, and only the properties of each one without."""

    def collect(self) -> Iterator[pytest.Collector]:
        course = find_course(self.path)
        for exercise_id in course.exercise_ids():
            folder = course.hidden_tests(exercise_id)
            if folder.is_dir():
                yield HiddenFolder.from_parent(self, path=folder)
            elif course.description(exercise_id).exists():
                yield ExerciseFile.from_parent(self, path=course.description(exercise_id))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--subject", type=Path, help="the submission to run hidden checks on (default: the reference)")
    parser.addoption("--seed", type=int, default=0, help="the seed of the random inputs")


def pytest_configure(config: pytest.Config) -> None:
    """With `--subject`, fork the nursery now, before any check is collected."""
    if config.getoption("--subject"):
        _examined(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    if EXAMINED in config.stash:
        config.stash[EXAMINED].close()


def _examined(config: pytest.Config) -> Examined:
    """Return the subjects and references of this run, opened on first use."""
    if EXAMINED not in config.stash:
        source = open_worker_source()

        from grader.checks.plain_pytest import PlainExamined  # after the source: workers must not contain checks

        config.stash[EXAMINED] = PlainExamined(source, config.getoption("--subject"), config.getoption("--seed"))
    return config.stash[EXAMINED]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> HiddenFolder | HiddenRoot | None:
    if EXERCISE_ID.fullmatch(path.name) and path.parent.name == "hidden":
        return HiddenFolder.from_parent(parent, path=path)
    if path.name == "hidden" and path.parent.name == "tests":
        return HiddenRoot.from_parent(parent, path=path)
    return None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ExerciseFile | None:
    if file_path.name == "exercise.yaml":
        return ExerciseFile.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a `--subject` in an exercise's folder, keep only the checks of that exercise."""
    path: Path | None = config.getoption("--subject")
    parts = path.resolve().parts if path is not None else ()
    chosen = {part for part in parts if EXERCISE_ID.fullmatch(part)}
    if chosen:
        items[:] = [item for item in items if exercise_of(item) in {None, *chosen}]


def exercise_of(item: pytest.Item) -> str | None:
    """Return the id of a check's exercise; None outside of tests/hidden/exercise_NN."""
    folder = item.path.parent.name
    return folder if EXERCISE_ID.fullmatch(folder) else None


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Any:
    """The submission: `subject(num_heads=2, ...)` builds its class in a worker."""
    return _context(request).subject


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Any:
    """The reference: `reference(num_heads=2, ...)` builds it in this process."""
    return _context(request).reference


@pytest.fixture
def gaussian(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Draw tensors: `gaussian(2, 5, 12)` has that shape and torch's default dtype, and depends on the run's seed."""
    import torch

    from grader.checks.case import seed_draws

    seed = _examined(request.config).seed(_exercise_of(request))
    seed_draws(f"{seed}/{request.node.name}")
    return lambda *shape: torch.randn(shape)


def _context(request: pytest.FixtureRequest) -> Any:
    return _examined(request.config).context(_exercise_of(request))


def _exercise_of(request: pytest.FixtureRequest) -> str:
    exercise_id = exercise_of(request.node)
    assert exercise_id is not None, "hidden checks live in tests/hidden/exercise_NN"
    return exercise_id
