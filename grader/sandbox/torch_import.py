"""Import torch once, single-threaded, with a stub in place of its compiler.

Importing the compiler takes a second and writes files, which a worker must not. Compiled code runs uncompiled, with
the same values.
"""

import copy
import gc
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar, Self

STUBBED = ("torch._dynamo", "torch._inductor")
"""The compiler's packages."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def import_torch() -> None:
    """Import torch, and run the operations that every worker uses once."""
    for name in THREAD_SETTINGS:
        os.environ[name] = "1"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    gc.disable()  # the collector takes a third of torch's import
    import torch  # noqa: F401 - later imports are then fast

    warm_up()
    gc.freeze()


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
    vars(torch)["compile"] = Nothing()
