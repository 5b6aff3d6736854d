"""What a test may give to the subject, and how the rest is refused."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.remotes import subject_of


def seen(value: Any) -> str:
    return repr(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((number * 2 for number in range(3)), [0, 2, 4]),
        (map(str, (1, 2)), ["1", "2"]),
        (zip("ab", (1, 2), strict=True), [("a", 1), ("b", 2)]),
        (range(1, 6, 2), [1, 3, 5]),
        ({7}, [7]),
        (frozenset([7]), [7]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        ({"a": 1}.items(), [("a", 1)]),
        ([{"inner": iter([1])}], [{"inner": [1]}]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_subject_gets_the_items_of_iterators_and_sets_as_a_list(value: Any, expected: Any) -> None:
    assert subject_of(seen)(value) == repr(expected)


def test_the_parameters_of_a_model_arrive() -> None:
    model = torch.nn.Linear(3, 2)
    shapes = subject_of(lambda parameters: [tuple(each.shape) for each in parameters])(model.parameters())
    assert shapes == [(2, 3), (2,)]


def test_an_endless_iterator_is_refused() -> None:
    def endless() -> Any:
        while True:
            yield 1

    with pytest.raises(TypeError, match=r"the subject cannot get an object of type generator with more than .* items"):
        subject_of(seen)(endless())


def test_a_generator_of_the_subject_is_not_run() -> None:
    ran = []

    def subject() -> Any:
        return (ran.append(number) for number in range(3))

    assert repr(subject_of(subject)()) == "<an object of type generator>"
    assert ran == []


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value], lambda value: {"a": (value,)}])
def test_an_object_is_refused_wherever_it_is(wrap: Any) -> None:
    remote = subject_of(seen)
    with pytest.raises(
        TypeError, match="the subject cannot get an object of type object; give it tensors and plain values"
    ):
        remote(wrap(object()))
    assert remote._remote.raised == []  # it is the test's mistake, not a crash of the subject


def test_a_sparse_tensor_is_refused_in_words() -> None:
    with pytest.raises(
        TypeError,
        match=r"^the subject cannot get a tensor of layout torch.sparse_coo; "
        r"give it a dense CPU tensor of a usual dtype, of at most 32 MiB$",
    ):
        subject_of(seen)(torch.eye(2).to_sparse())


def test_a_function_of_the_test_cannot_return_an_object() -> None:
    with pytest.raises(TypeError, match="the subject cannot get an object of type object"):
        subject_of(lambda function: function())(lambda: [object()])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.bool_(True), True),
        ([np.int32(3)], [3]),
        (np.arange(2).shape, (2,)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_numbers_of_numpy_arrive_as_numbers_of_python(value: Any, expected: Any) -> None:
    assert subject_of(seen)(value) == repr(expected)


def test_a_number_of_numpy_returns() -> None:
    assert type(subject_of(lambda: np.float64(0.5))()) is float


def test_an_array_of_numpy_is_refused_in_words() -> None:
    with pytest.raises(
        TypeError, match=r"^the subject cannot get a numpy array; give it a tensor: torch.from_numpy\(array\)$"
    ):
        subject_of(seen)([np.ones(3)])
