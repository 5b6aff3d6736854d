"""What a submission imports at its top: libraries that draw are stubs, others are imported lazily.

Notebooks import libraries for their demonstrations, which are not judged. One that draws or shows progress does
nothing, installed or not: it would look for a folder to write to. Any other known one is imported when something is
first asked of it. Where it is not installed, that raises `ModuleNotFoundError`, and its import does not, unless the
import stands in a `try`: then there is another way.
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
"""Libraries that draw, show progress, keep a record or look at types, and change no value."""

TENSORBOARD = "torch.utils.tensorboard."
"""Torch's own part that keeps a record."""

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
"""Libraries that people import beside torch; those that are installed may be used."""

MAY_USE = "submissions may use Python's library, torch and numpy"


def import_lazily(trees: list[ast.Module]) -> None:
    """Have what these sources import at their top imported so from here on."""
    sys.meta_path.insert(0, _Finder({name.partition(".")[0] for tree in trees for name in _imported_at_top(tree)}))


def _imported_at_top(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a known library: to be run later, or a stub of it."""

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
    """Runs a library with its own imports as usual."""

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
        """There is nothing in it."""


class _Absent(ModuleType):
    """A library that is not there: whoever uses a name of it is told."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(self.__name__.partition(".")[0])


class _Missing:
    """A name of a library that is not there: it may be imported, and no more."""

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
    """A library that draws: every name of it may be called, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Pen(name)

    def __call__(self, *arguments: object, **options: object) -> Any:  # `import tqdm` and `tqdm(...)` are mixed up
        return _Pen(self.__name__)(*arguments, **options)


class _Pen(Nothing):
    """What such a library hands out: figures, axes, bars. As many values as are asked for in known cases."""

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
            return arguments[0]  # what it decorates
        if self._name == "plot":
            return [_Pen()]
        if self._name == "hist":
            return _Pen(), _Pen(), _Pen()
        return _Pen()

    def __getitem__(self, _index: object) -> Any:
        return _Pen()

    def __setitem__(self, _index: object, _value: object) -> None:
        """It is drawn nowhere."""

    def __or__(self, _other: object) -> Any:
        return self

    __ror__ = __or__


class _Progress(Nothing):
    """A progress bar that shows nothing: what is iterated over, as it is."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __enter__(self) -> Self:
        return self


def _grid(*arguments: Any, **options: Any) -> Any:
    """The axes of `subplots`: one, or an array of them."""
    import numpy as np

    rows, columns = (*arguments, 1, 1)[:2]
    rows, columns = options.get("nrows", rows), options.get("ncols", columns)
    axes = np.empty((rows, columns), dtype=object)
    for index in np.ndindex(rows, columns):
        axes[index] = _Pen()
    return axes if not options.get("squeeze", True) else axes.squeeze() if axes.size > 1 else axes[0, 0]
