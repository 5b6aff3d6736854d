"""The file of locked explanations is read as it was written, and damage to it is reported."""

import pytest
import torch

from grader.errors import KitError
from grader.student.locks import Lock, Place
from grader.student.unlocking import WEIGHTS_DTYPE, LockedExplanations, read_locked


def test_weights_and_locks_are_read_as_they_were_written(tmp_path):
    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape).to(WEIGHTS_DTYPE)

    weights = {
        "values": [{"to_q.weight": drawn(3, 4), "scale": drawn()}, {}, {"to_q.weight": drawn(2, 5)}],
        "without_weights": [{}],
        "without_modules": [],
    }
    lock = Lock(places=[Place(answer="values/0", index=3, step=0.5)], salt=b"salt", text=b"text")
    written = LockedExplanations(seed=7, weights=weights, locks={"1": lock})
    path = tmp_path / "explanations.safetensors"
    path.write_bytes(written.content())

    read = read_locked(path)

    assert (read.seed, read.locks) == (7, {"1": lock})
    assert read.weights.keys() == weights.keys()
    for check, modules in weights.items():
        assert [each.keys() for each in read.weights[check]] == [each.keys() for each in modules]
        for one, other in zip(read.weights[check], modules, strict=True):
            assert all(torch.equal(one[name], weight) for name, weight in other.items())


def test_a_file_of_explanations_that_was_cut_off_is_reported(tmp_path):
    content = LockedExplanations(seed=7, weights={}, locks={}).content()
    path = tmp_path / "explanations.safetensors"
    for damaged in (content[:-1], content[:-4] + bytes(4), b""):
        path.write_bytes(damaged)
        with pytest.raises(KitError, match="is damaged"):
            read_locked(path)
