"""The pytest plugin: hidden checks as items, with `subject` and `reference` as fixtures.

Under plain pytest (`pytest tests/hidden [--subject PATH]`) it needs nothing else; without `--subject` the reference is
the subject.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import EXERCISE_ID, find_course
from grader.spec.properties import Property

if TYPE_CHECKING:
    from grader.checks.context import Context
    from grader.checks.size_cases import FixedAndRandom


class Contexts:
    """What the items of one run share: a context for each exercise, and the seed of its inputs."""

    def context(self, exercise_id: str) -> "Context":
        """Subject and reference of an exercise."""
        raise NotImplementedError

    def seed_of(self, exercise_id: str) -> int:
        """What the inputs of an exercise's checks are drawn from."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back what the contexts hold."""


CONTEXTS = pytest.StashKey[Contexts]()


class ExerciseFile(pytest.File):
    """An exercise.yaml, as the checks it names."""

    def collect(self) -> Iterator["PropertyItem"]:
        exercise = load_exercise(self.path)
        for check in exercise.checks:
            yield PropertyItem.from_parent(self, name=check.id, check=check, exercise=exercise)


class PropertyItem(pytest.Item):
    """One line of `checks:`, tried at every size case of its sizes."""

    def __init__(self, *, check: Property, exercise: Exercise, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.check = check
        self.exercise = exercise
        self._size_cases: tuple[int, Exercise, FixedAndRandom] | None = None

    def runtest(self) -> None:
        from grader.checks.size_cases import size_cases_of
        from grader.checks.walk import walk

        contexts = _contexts_of(self.config)
        context, seed = contexts.context(self.exercise.id), contexts.seed_of(self.exercise.id)
        if self._size_cases is None or self._size_cases[0] != seed or self._size_cases[1] is not context.exercise:
            self._size_cases = seed, context.exercise, size_cases_of(self.check, context.exercise, seed)
        walk(self.check, context, self._size_cases[2])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The finding; the property's own traceback helps nobody."""
        from grader.checks.compare import Failure

        if isinstance(excinfo.value, Failure):
            return "\n".join([str(excinfo.value), *getattr(excinfo.value, "__notes__", [])])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.exercise.id}: {self.name}"


class HiddenFolder(pytest.Directory):
    """tests/hidden/exercise_NN: its test files, and the properties that the exercise's YAML names."""

    def collect(self) -> Iterator[pytest.Collector]:
        for path in sorted(self.path.glob("test_*.py")):
            yield pytest.Module.from_parent(self, path=path)
        description = find_course(self.path).description(self.path.name)
        if description.exists():
            yield ExerciseFile.from_parent(self, path=description)


class HiddenRoot(pytest.Directory):
    """tests/hidden: a folder for each exercise that has test files, and the properties alone of one that has none."""

    def collect(self) -> Iterator[pytest.Collector]:
        course = find_course(self.path)
        for exercise_id in course.exercise_ids():
            folder = course.hidden_tests(exercise_id)
            if folder.is_dir():
                yield HiddenFolder.from_parent(self, path=folder)
            elif course.description(exercise_id).exists():
                yield ExerciseFile.from_parent(self, path=course.description(exercise_id))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--subject", type=Path, help="the submission that hidden checks examine (default: the reference)")
    parser.addoption("--seed", type=int, default=0, help="the seed of the inputs that hidden checks draw")


def pytest_configure(config: pytest.Config) -> None:
    """With `--subject`, open the contexts now: the nursery is forked before any check is collected."""
    if config.getoption("--subject"):
        _contexts_of(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    if CONTEXTS in config.stash:
        config.stash[CONTEXTS].close()


def _contexts_of(config: pytest.Config) -> Contexts:
    """The contexts of this run, opened when first asked for."""
    if CONTEXTS not in config.stash:
        from grader.checks.pytest_session import PlainContexts

        config.stash[CONTEXTS] = PlainContexts(config.getoption("--subject"), config.getoption("--seed"))
    return config.stash[CONTEXTS]


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
    """With `--subject`, keep the checks of the exercise whose folder the subject lies in, where it lies in one."""
    path: Path | None = config.getoption("--subject")
    parts = path.resolve().parts if path is not None else ()
    chosen = {part for part in parts if EXERCISE_ID.fullmatch(part)}
    if chosen:
        items[:] = [item for item in items if exercise_of(item) in {None, *chosen}]


def exercise_of(item: pytest.Item) -> str | None:
    """The exercise that a check belongs to."""
    folder = item.path.parent.name
    return folder if EXERCISE_ID.fullmatch(folder) else None


def compares_values(item: pytest.Item) -> bool:
    """Whether passing a check takes the reference's values."""
    if isinstance(item, PropertyItem):
        return item.check.compares_values()
    return "reference" in getattr(item, "fixturenames", ())


def is_slow(item: pytest.Item) -> bool:
    """Whether a check may take the most that any may."""
    return isinstance(item, PropertyItem) and item.check.is_slow


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
    """Draws tensors: `gaussian(2, 5, 12)` has that shape and depends on the run's seed."""
    import torch

    from grader.checks.case import seed_draws

    seed = _contexts_of(request.config).seed_of(_exercise_of(request))
    seed_draws(f"{seed}/{request.node.name}")
    return lambda *shape: torch.randn(shape)


def _context(request: pytest.FixtureRequest) -> "Context":
    return _contexts_of(request.config).context(_exercise_of(request))


def _exercise_of(request: pytest.FixtureRequest) -> str:
    exercise_id = exercise_of(request.node)
    assert exercise_id is not None, "hidden checks live in tests/hidden/exercise_NN"
    return exercise_id
