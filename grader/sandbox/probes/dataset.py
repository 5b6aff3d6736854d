"""Run a dataset or sampler: its items and their order over two epochs, and with two workers if it is iterable.

It is built from the inputs and the constructor's arguments, by keyword. If `like_a_list` is true, it is also asked for
the item at -1, and must raise `IndexError` past the end.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import torch

from grader.sandbox.subject import Entry

MAX_ITEMS = 200
"""The most items to ask for in one pass over the dataset."""

MAX_PARTS = 180
"""The most tensors and containers in the items of one pass: a reply contains five passes and at most 1,000 parts."""

WORKERS = 2
SEED = 5


@dataclass(frozen=True, kw_only=True)
class WorkerInfo:
    """What `torch.utils.data.get_worker_info` returns in a loader's worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any = None


class Adapter(torch.nn.Module):
    """Returns all items in order, with the lengths of epochs and the numbers of workers between them."""

    def __init__(self, entry: Entry, *, like_a_list: bool = False, **arguments: Any) -> None:
        super().__init__()
        self.entry, self.arguments = entry, arguments
        self.like_a_list = like_a_list

    def forward(self, *positional: Any, **inputs: Any) -> tuple[Any, ...]:
        inputs = {**dict(zip(self.entry.inputs, positional, strict=False)), **inputs}
        generator_state = torch.get_rng_state()
        torch.default_generator.manual_seed(SEED)
        dataset = self.entry.call(**inputs, **self.arguments)
        values = []
        for epoch in (None, 0, 1) if hasattr(dataset, "set_epoch") else (None, None):
            if epoch is not None:  # the first iteration is without `set_epoch`, as many people call it
                dataset.set_epoch(epoch)
            if hasattr(dataset, "__len__"):
                values.append(torch.tensor(float(len(dataset))))
            values += _items(dataset)
        if hasattr(dataset, "__iter__"):
            for number in range(WORKERS):
                values += [torch.tensor(float(number)), *_items_in_worker(dataset, number)]
        if self.like_a_list:
            values += [_plain(dataset[-1]), torch.tensor(float(_ends(dataset)))]
        torch.set_rng_state(generator_state)
        return tuple(values)


def _ends(dataset: Any) -> bool:
    """Return whether an index past the end raises `IndexError`, which also ends a loop over the dataset."""
    try:
        dataset[len(dataset)]
    except IndexError:
        return True
    return False


def _items_in_worker(dataset: Any, number: int) -> list[Any]:
    """Return the items that one worker of a loader gets."""
    from torch.utils.data._utils import worker  # expensive to import, and few subjects are datasets

    info: Any = WorkerInfo(id=number, num_workers=WORKERS, seed=number)
    before = worker._worker_info  # noqa: SLF001 - torch has no public way
    worker._worker_info = info  # noqa: SLF001 - as above; every name of `get_worker_info` returns it
    try:
        return _items(dataset)
    finally:
        worker._worker_info = before  # noqa: SLF001 - as above


def _items(dataset: Any) -> list[Any]:
    """Return the first items of the dataset."""
    items = (
        itertools.islice(dataset, MAX_ITEMS)
        if hasattr(dataset, "__iter__")
        else (dataset[index] for index in range(min(len(dataset), MAX_ITEMS)))
    )
    plain: list[Any] = []
    count = 0
    for item in map(_plain, items):
        count += _count(item)
        if plain and count > MAX_PARTS:
            break
        plain.append(item)
    return plain


def _count(item: Any) -> int:
    """Return the number of tensors and containers in an item."""
    return 1 + sum(map(_count, item)) if isinstance(item, tuple) else 1


def _plain(item: Any) -> Any:
    if isinstance(item, dict):
        return tuple(_plain(item[name]) for name in sorted(item))
    if isinstance(item, tuple | list):
        return tuple(_plain(each) for each in item)
    return torch.as_tensor(item)
