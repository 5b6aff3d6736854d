"""Top-level imports of a submission: plotting libraries become stubs, other known libraries load lazily.

Notebooks import libraries for demonstrations, which are not graded. Plotting and progress libraries are always replaced
by stubs, because the real ones look for a folder to write to. Other known libraries are imported on first use. If such
a library is not installed, its import succeeds and its first use raises `ModuleNotFoundError`. An import inside a `try`
fails at once, because the submission has a fallback.
"""

import ast
import importlib.abc
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Self

from grader.sandbox.torch_import import LazyLoader, Nothing

DRAWING = (
    "matplotlib",
    "seaborn",
    "plotly",
    "bokeh",
    "altair",
    "tqdm",
    "IPython",
    "ipywidgets",
    "graphviz",
    "bertviz",
    "torchviz",
    "torchinfo",
    "torchsummary",
    "tensorboard",
    "tensorboardX",
    "wandb",
    "mlflow",
    "loguru",
    "ipdb",
    "jaxtyping",
    "torchtyping",
    "beartype",
    "typeguard",
)
"""Libraries that plot, show progress, log or check types; none of them changes a computed value."""

TENSORBOARD = "torch.utils.tensorboard."
"""Torch's own logging library."""

COMPUTING = (
    "pandas",
    "scipy",
    "sklearn",
    "einops",
    "torchvision",
    "torchaudio",
    "torchtext",
    "torchmetrics",
    "lightning",
    "pytorch_lightning",
    "transformers",
    "tokenizers",
    "accelerate",
    "timm",
    "xformers",
    "flash_attn",
    "datasets",
    "tiktoken",
    "nltk",
    "PIL",
    "cv2",
    "skimage",
)
"""Libraries often imported with torch; a submission may use the installed ones."""

MAY_USE = "submissions may use the standard library, torch and numpy"


def import_lazily(trees: list[ast.Module]) -> None:
    """Install the import hook for the top-level imports of these sources."""
    sys.meta_path.insert(0, _Finder({name.partition(".")[0] for tree in trees for name in _imported_at_top(tree)}))


def _imported_at_top(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds known libraries: returns a stub, or a spec that loads lazily."""

    def __init__(self, at_top: set[str]) -> None:
        self.is_busy = False
        self._libraries = at_top.intersection(COMPUTING)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = fullname.partition(".")[0]
        if self.is_busy:
            return None
        if library in DRAWING or f"{fullname}.".startswith(TENSORBOARD):
            return ModuleSpec(fullname, _StubLoader(_Drawing), is_package=True)
        if library not in self._libraries:
            return None
        known = sys.modules.get(library)
        if isinstance(known, _Absent):
            return ModuleSpec(fullname, _StubLoader(_Absent), is_package=True)
        self.is_busy = True  # a module is not lazy for the library's own imports
        try:
            spec = PathFinder.find_spec(fullname, path, target)
        finally:
            self.is_busy = False
        if spec is None:
            return ModuleSpec(fullname, _StubLoader(_Absent), is_package=True) if known is None else None
        if type(spec.loader) is SourceFileLoader:
            spec.loader = _LibraryLoader(spec.loader, self)
        return spec


class _LibraryLoader(LazyLoader):
    """Loads a library lazily, but the library's own imports normally."""

    def __init__(self, loader: importlib.abc.Loader, finder: _Finder) -> None:
        super().__init__(loader)
        self._finder = finder

    def run(self, module: ModuleType) -> None:
        was_busy, self._finder.is_busy = self._finder.is_busy, True
        try:
            super().run(module)
        finally:
            self._finder.is_busy = was_busy


class _StubLoader(importlib.abc.Loader):
    def __init__(self, kind: type[ModuleType]) -> None:
        self._kind = kind

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._kind(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stub has no code."""


class _Absent(ModuleType):
    """A library that is not installed: using one of its names raises `ModuleNotFoundError`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(self.__name__.partition(".")[0])


class _Missing:
    """A name from a library that is not installed: importing it works, using it raises."""

    def __init__(self, library: str) -> None:
        vars(self)["_library"] = library

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def __call__(self, *_arguments: object, **_options: object) -> Any:
        raise self._error()

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        raise self._error()

    def _error(self) -> ModuleNotFoundError:
        library = vars(self)["_library"]
        return ModuleNotFoundError(f"No module named {library!r}: it is not installed here; {MAY_USE}", name=library)


class _Drawing(ModuleType):
    """A stub of a plotting library: every name is callable and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Pen(name)

    def __call__(
        self, *arguments: object, **options: object
    ) -> Any:  # users confuse `import tqdm` with `from tqdm import tqdm`
        return _Pen(self.__name__)(*arguments, **options)


class _Pen(Nothing):
    """A stub figure, axes or bar. Known functions return the expected number of values."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Pen(name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._name in {"tqdm", "trange", "auto", "notebook", "tqdm_notebook", "track"}:
            return _Progress(range(*arguments) if self._name == "trange" else next(iter(arguments), ()))
        if self._name == "subplots":
            return _Pen(), _grid(*arguments, **options)
        if len(arguments) == 1 and not options and callable(arguments[0]):
            return arguments[0]  # the decorated function
        if self._name == "plot":
            return [_Pen()]
        if self._name == "hist":
            return _Pen(), _Pen(), _Pen()
        return _Pen()

    def __getitem__(self, _index: object) -> Any:
        return _Pen()

    def __setitem__(self, _index: object, _value: object) -> None:
        """Ignore the value."""

    def __or__(self, _other: object) -> Any:
        return self

    __ror__ = __or__


class _Progress(Nothing):
    """A stub progress bar: iterates over the items and shows nothing."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __enter__(self) -> Self:
        return self


def _grid(*arguments: Any, **options: Any) -> Any:
    """Return the axes of `subplots`: a single one or an array."""
    import numpy as np

    rows, columns = (*arguments, 1, 1)[:2]
    rows, columns = options.get("nrows", rows), options.get("ncols", columns)
    axes = np.empty((rows, columns), dtype=object)
    for index in np.ndindex(rows, columns):
        axes[index] = _Pen()
    return axes if not options.get("squeeze", True) else axes.squeeze() if axes.size > 1 else axes[0, 0]
