"""Import torch once, single-threaded, and let the part of it wait that few submissions need."""

import ctypes
import gc
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from grader.errors import KitError

DEFERRED = ("torch._meta_registrations", "torch.export")
"""What may wait until one of its names is asked for; `grader.worker.torch_parts` asks when the first is needed."""

MADV_COLLAPSE = 25
LARGE_PAGE = 2 << 20

THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def import_torch(*, for_many: bool = False) -> None:
    """Import torch but for `DEFERRED`, and warm up what every worker uses.

    `for_many` workers, memory is made cheap to fork, in a tenth of a second.
    """
    for name in THREAD_SETTINGS:
        os.environ[name] = "1"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    gc.disable()  # a third of torch's import is the collector walking what is being imported
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _DeferringFinder())
    import torch

    _warm_up(torch)
    if for_many:
        _gather_memory()
    gc.freeze()


def assert_single_thread() -> None:
    """Raise unless this process may fork: a forked copy of a multi-threaded torch hangs."""
    if sys.platform == "linux" and len(os.listdir("/proc/self/task")) != 1:
        raise KitError("torch has started threads, so workers cannot be forked; unset OMP_NUM_THREADS and its kin")


def _warm_up(torch: ModuleType) -> None:
    """The kernels and tables that every attention module touches first."""
    layer = torch.nn.Linear(2, 2)
    scores = layer(torch.randn(1, 2, 2)) @ torch.randn(1, 2, 2).transpose(1, 2)
    weights = torch.softmax(scores.masked_fill(torch.ones(2, 2) == 0, float("-inf")), dim=-1)
    torch.nn.functional.dropout(weights, 0.5).sum().backward()
    torch.allclose(weights, weights)


def _gather_memory() -> None:
    """Have the kernel keep what is allocated in large pages: a fork copies a table of hundreds, not of ten thousands.

    Where it cannot (before Linux 6.1, or where it is switched off), all stays as it is.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        areas = [line.split() for line in file]
    for span, modes, _offset, _device, inode, *_name in areas:
        if modes == "rw-p" and inode == "0":
            start, end = (int(address, 16) for address in span.split("-"))
            for page in range(-(-start // LARGE_PAGE) * LARGE_PAGE, end - LARGE_PAGE + 1, LARGE_PAGE):
                advise(page, LARGE_PAGE, MADV_COLLAPSE)


class _Deferred(ModuleType):
    """A module that runs when one of its names is first asked for."""

    def __getattr__(self, name: str) -> object:
        if (name.startswith("__") and name.endswith("__")) or "_waiting_loader" not in vars(self):
            raise AttributeError(name)
        vars(self).pop("_waiting_loader").exec_module(self)
        return getattr(self, name)


class _DeferringLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Deferred(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_waiting_loader"] = self._loader


class _DeferringFinder(importlib.abc.MetaPathFinder):
    """Finds the deferred module as usual, and lets it wait."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in DEFERRED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _DeferringLoader(spec.loader)
        return spec
