"""The `assert_close` of a trap's tests decides as torch's own does."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.sandbox.protocol import Source
from grader.sandbox.traps.comparisons import Comparisons

ONE = torch.ones(3)
NEAR = 1 + 5e-7
CASES: dict[str, tuple[tuple[Any, Any], dict[str, Any]]] = {
    "equal": ((ONE, ONE), {}),
    "within float32's tolerance": ((ONE, ONE * (1 + 1e-6)), {}),
    "beyond float32's tolerance": ((ONE, ONE * (1 + 1e-4)), {}),
    "beyond float64's tolerance": ((ONE.double(), ONE.double() * (1 + 1e-6)), {}),
    "within bfloat16's tolerance": ((ONE.bfloat16(), ONE.bfloat16() * 1.0078125), {}),
    "within complex64's tolerance": ((ONE.cfloat(), ONE.cfloat() * NEAR), {}),
    "beyond complex128's tolerance": ((ONE.cdouble(), ONE.cdouble() * NEAR), {}),
    "integers": ((ONE.long(), ONE.long() + 1), {}),
    "another shape": ((ONE, ONE[:2]), {}),
    "another dtype": ((ONE, ONE.double()), {}),
    "another dtype, allowed": ((ONE, ONE.double()), {"check_dtype": False}),
    "another dtype, allowed, with other values": ((ONE, ONE.double() * 1.001), {"check_dtype": False}),
    "float16 beside float32": ((ONE.half(), ONE * 1.0005), {"check_dtype": False}),
    "tolerances of its own": ((ONE, ONE + 0.05), {"rtol": 0.0, "atol": 0.1}),
    "NaN": ((ONE * torch.nan, ONE * torch.nan), {}),
    "NaN, allowed": ((ONE * torch.nan, ONE * torch.nan), {"equal_nan": True}),
    "a list": (([ONE, ONE], [ONE, ONE]), {}),
    "a longer list": (([ONE, ONE], [ONE]), {}),
    "a dictionary in another order": (({"a": ONE, "b": 2 * ONE}, {"b": 2 * ONE, "a": ONE}), {}),
    "a dictionary with one more key": (({"a": ONE}, {"a": ONE, "b": ONE}), {}),
    "a dictionary with a key less": (({"a": ONE, "b": ONE}, {"a": ONE}), {}),
}


def passes(assert_close: Callable[..., None], pair: tuple[Any, Any], options: dict[str, Any]) -> bool:
    try:
        assert_close(*pair, **options)
    except AssertionError:
        return False
    return True


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("case", CASES)
def test_assert_close_decides_as_torch_does(case: str) -> None:
    pair, options = CASES[case]
    right = passes(torch.testing.assert_close, pair, options)
    with Comparisons(Source(label="trap.py", text="")).watching():
        assert passes(torch.testing.assert_close, pair, options) is right


TRAP = """
import torch

def close(one, other):
    return torch.allclose(one, other)

def test_other():
    assert not close(torch.zeros(2), torch.ones(2))
    assert [0] == [1]

def test_close():
    assert close(
        torch.zeros(2), torch.ones(2)
    )
"""


@pytest.mark.parametrize(("name", "line", "difference"), [("test_other", 9, None), ("test_close", 12, 1.0)])
def test_a_difference_belongs_to_the_statement_that_compared(name: str, line: int, difference: float | None) -> None:
    comparisons, namespace = Comparisons(Source(label="trap.py", text=TRAP)), dict[str, Any]()
    with comparisons.watching():
        exec(compile(TRAP, "trap.py", "exec"), namespace)
        with pytest.raises(AssertionError):
            namespace[name]()
    failed = comparisons.failed_at(line)
    assert (failed and failed.difference) == difference
