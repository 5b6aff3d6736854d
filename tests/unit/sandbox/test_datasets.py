"""The adapter of datasets: its reply can be sent whatever the dataset's size, and it asks for what a list has."""

import torch
from torch.utils.data import Dataset

from grader.sandbox.probes.dataset import Adapter
from grader.sandbox.protocol import Sequence
from grader.sandbox.subject import Entry
from grader.sandbox.values import from_python


class Pairs(torch.utils.data.IterableDataset):
    """Many items of two tensors, in epochs."""

    def __init__(self, count: int) -> None:
        self.count = count

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        yield from ({"ids": torch.tensor(each), "labels": torch.tensor(each + 1)} for each in range(self.count))


class Words(Dataset):
    """Words by index, also from the end if `counts_back`; past the end, `error` is raised or the last word returned."""

    def __init__(self, words: torch.Tensor, *, counts_back: bool = True, error: type[Exception] | None = IndexError):
        self.words, self.counts_back, self.error = words, counts_back, error

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> torch.Tensor:
        if index >= len(self) and self.error:
            raise self.error
        index = min(index, len(self) - 1)
        return self.words[index if self.counts_back else max(index, 0)]


def run(dataset, **arguments):
    entry = Entry(call=dataset, inputs=(), by_position=False)
    return Adapter(entry, **arguments)()


def test_the_reply_of_a_large_dataset_can_be_sent():
    assert isinstance(from_python(run(Pairs, count=5000)), Sequence)


def test_the_reply_of_a_dataset_with_large_items_can_be_sent():
    def nested(count: int) -> list[tuple]:
        return [tuple(range(120)) for _ in range(count)]

    assert isinstance(from_python(run(nested, count=3)), Sequence)


def test_a_small_dataset_is_listed_whole():
    items = run(Pairs, count=30)
    assert len(items) == 3 * 30 + 2 * (1 + 30)


def test_a_dataset_like_a_list_has_a_last_item_and_an_end():
    words = torch.tensor([3, 1, 4])
    *_, last, ends = run(Words, words=words, like_a_list=True)
    assert (last, ends) == (4, 1)
    *_, last, ends = run(Words, words=words, counts_back=False, error=None, like_a_list=True)
    assert (last, ends) == (3, 0)
    assert len(run(Words, words=words)) == 2 * (1 + 3)
