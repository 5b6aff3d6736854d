"""Import torch once, single-threaded and without its slow parts: lazy imports, and a stub in place of the compiler.

Code for tensors without data (the meta device) takes a fifth of torch's import. It is imported on first use: when one
of its names is looked up, or when the first generator or the first tensor on the meta device is made. The kit's own
kernels make these tensors until then. A version of torch in which this is not possible is imported whole. The compiler
is never imported, because this takes a second and writes files, which a worker must not do. Code that asks for
compilation runs uncompiled, with the same values.
"""

import contextlib
import copy
import ctypes
import gc
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, ClassVar, Self

LAZY = "torch._meta_registrations"
"""The module that runs when one of its names is first looked up."""

META_FACTORIES = ("empty.memory_format", "empty_strided", "tril_indices", "triu_indices")
"""The operators that make tensors on the meta device without using another tensor there."""

STUBBED = ("torch._dynamo", "torch._inductor")
"""The compiler's packages."""

NEED_META = {*STUBBED, "torch._export", "torch.export", "torch.onnx"}
"""The packages that use the meta device before they are imported whole, so that it must be imported first."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
MADV_COLLAPSE = 25
LARGE_PAGE = 2 << 20

_undo: list[Callable[[], None]] = []
"""Functions that restore torch's own kernels and names, while torch is incomplete."""


def import_torch(*, for_many: bool = False) -> None:
    """Import torch, where possible without `LAZY`, and warm up the operations that every worker uses.

    With `for_many`, spend 0.1 s to make forks of this process cheaper.
    """
    for name in THREAD_SETTINGS:
        os.environ[name] = "1"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    os.environ["THP_MEM_ALLOC_ENABLE"] = "1"  # large tensors on large pages: a tenth of the page faults
    gc.disable()  # the collector takes a third of torch's import
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _LazyFinder())
    import torch  # noqa: F401 - later imports are then fast

    if not is_complete():
        _complete_on_use_or_now()
    warm_up()
    if for_many:
        _gather_memory()
    gc.freeze()


def is_complete() -> bool:
    """Return whether torch's meta device is imported."""
    return "_waiting_loader" not in vars(sys.modules.get(LAZY, sys))


def complete_torch() -> None:
    """Import the rest of the meta device."""
    if is_complete():
        return
    import torch

    _restore_names()
    with torch._C.DisableTorchFunction():  # noqa: SLF001 - the caller may be in a mode
        getattr(sys.modules[LAZY], "activate_meta", None)  # looking up a name runs the module
    gc.freeze()


@contextlib.contextmanager
def left_incomplete() -> Iterator[None]:
    """Inside the block, the meta device stays incomplete; the code must handle missing kernels."""
    was_waiting = bool(_undo)
    _restore_names()
    try:
        yield
    finally:
        if was_waiting and not is_complete():
            _complete_on_use()


def _complete_on_use_or_now() -> None:
    """Complete torch on use, or at once in a version that does not have the functions for it."""
    try:
        _complete_on_use()
    except (AttributeError, KeyError, TypeError, RuntimeError):
        complete_torch()


def _complete_on_use() -> None:
    """Complete torch when its first generator or tensor on the meta device is made."""
    if _undo:
        return
    import torch

    make_library: Any = torch.library.Library
    library = make_library("aten", "IMPL", "Meta")
    _undo.append(library._destroy)  # noqa: SLF001 - the only way to restore the former kernels
    for name in META_FACTORIES:
        library.impl(name, _completing(name), allow_override=True)

    names = vars(torch)
    generator, find = names.pop("Generator"), names["__getattr__"]

    def find_name(name: str) -> Any:
        if name != "Generator":
            return find(name)
        if "torch._prims" not in sys.modules:  # generators need it, and it may be half imported
            complete_torch()
        return generator

    names["__getattr__"] = find_name
    _undo.append(lambda: names.update({"Generator": generator, "__getattr__": find}))


def _restore_names() -> None:
    while _undo:
        _undo.pop()()


def _completing(name: str) -> Callable[..., Any]:
    """Return a kernel that completes torch and then calls torch's own kernel."""

    def kernel(*arguments: Any, **options: Any) -> Any:
        import torch

        complete_torch()
        operator: Any = torch.ops.aten
        for part in name.split("."):
            operator = getattr(operator, part)
        return operator(*arguments, **options)

    return kernel


def warm_up() -> None:
    """Run the operations of attention modules once, so that they are initialized before the first request."""
    import torch

    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 4))
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    heads = layers(torch.randn(2, 3, 4)).view(2, 3, 2, 2).transpose(1, 2)
    scores = heads @ heads.transpose(2, 3) / 2**0.5
    weights = torch.softmax(scores.masked_fill(torch.ones(3, 3).triu(1) == 1, -torch.inf), dim=-1)
    mixed = (weights @ heads).transpose(1, 2).reshape(2, 3, 4)
    (mixed * mixed).sum().backward()
    torch.allclose(mixed, mixed)
    layers.load_state_dict(copy.deepcopy(layers).state_dict())
    layers.eval().double()(mixed.double())


def _gather_memory() -> None:
    """Move allocated memory to large pages, so that a fork copies a few hundred page table entries.

    With small pages, a fork would copy tens of thousands of entries.

    Do nothing if large pages are not available (before Linux 6.1, or if they are switched off).
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            areas = [line.split() for line in file]
    except OSError:
        return
    for span, modes, _offset, _device, inode, *_name in areas:
        if modes == "rw-p" and inode == "0":
            start, end = (int(address, 16) for address in span.split("-"))
            for page in range(-(-start // LARGE_PAGE) * LARGE_PAGE, end - LARGE_PAGE + 1, LARGE_PAGE):
                advise(page, LARGE_PAGE, MADV_COLLAPSE)


class _LazyModule(ModuleType):
    """A module that runs when one of its names is first looked up."""

    def __getattr__(self, name: str) -> object:
        if (name.startswith("__") and name.endswith("__")) or "_waiting_loader" not in vars(self):
            raise AttributeError(name)
        vars(self).pop("_waiting_loader").run(self)
        return getattr(self, name)


class LazyLoader(importlib.abc.Loader):
    """Delays running a module until one of its names is looked up."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_waiting_loader"] = self

    def run(self, module: ModuleType) -> None:
        """Run the delayed module."""
        self._loader.exec_module(module)


class _LazyFinder(importlib.abc.MetaPathFinder):
    """Finds the module `LAZY` with a loader that delays running it, and runs it before an import that needs it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in NEED_META:
            complete_torch()
        spec = PathFinder.find_spec(fullname, path, target) if fullname == LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


class Nothing:
    """A value of a stub: false, empty, with every attribute. As a context manager or a decorator it has no effect."""

    def __call__(self, function: Any = None, *_arguments: object, **_options: object) -> Any:
        return function if callable(function) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Do not suppress the exception."""

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Stub(ModuleType):
    """A stub of a package or a module: every name is `Nothing`, and attributes can be set."""

    __path__: ClassVar[list[str]] = []  # type: ignore[misc]  # typeshed declares it on instances

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds any module of a stubbed package."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_stubbed = any(fullname == name or fullname.startswith(f"{name}.") for name in STUBBED)
        return ModuleSpec(fullname, self, is_package=True) if is_stubbed else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stub has no code."""


def _compiled(model: Any = None, **_options: object) -> Any:
    """Replace `torch.compile`: return the model or the function itself; without one, a decorator."""
    return _compiled if model is None else model


def stub_compiler() -> None:
    """Replace the compiler by stubs: code that compiles, optimizers and functional transforms run without it."""
    import torch

    if any(isinstance(finder, _StubFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _StubFinder())
    for name in STUBBED:
        module = importlib.import_module(name)
        vars(torch)[name.rpartition(".")[2]] = module
    vars(sys.modules["torch._dynamo"])["is_dynamo_supported"] = lambda: True  # otherwise flex_attention and cond raise
    vars(torch)["compile"] = _compiled
