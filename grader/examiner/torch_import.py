"""Import torch once, single-threaded and without what grading never uses."""

import gc
import os
import sys
import types

from grader.errors import KitError

THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def import_torch() -> None:
    """Import torch and run a first little forward and backward, so that every forked worker starts warm."""
    for name in THREAD_SETTINGS:
        os.environ[name] = "1"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    gc.disable()  # a third of torch's import is the collector walking what is being imported
    import torch

    _warm_up(torch)
    gc.freeze()


def assert_single_thread() -> None:
    """Raise unless this process may fork: a forked copy of a multi-threaded torch hangs."""
    if sys.platform == "linux" and len(os.listdir("/proc/self/task")) != 1:
        raise KitError("torch has started threads, so workers cannot be forked; unset OMP_NUM_THREADS and its kin")


def _warm_up(torch: types.ModuleType) -> None:
    """The kernels and tables that every attention module touches first."""
    layer = torch.nn.Linear(2, 2)
    scores = layer(torch.randn(1, 2, 2)) @ torch.randn(1, 2, 2).transpose(1, 2)
    weights = torch.softmax(scores.masked_fill(torch.ones(2, 2) == 0, float("-inf")), dim=-1)
    torch.nn.functional.dropout(weights, 0.5).sum().backward()
    torch.allclose(weights, weights)
