"""Record a test's comparisons of tensors, so that the page can show by how much they failed."""

import ast
import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from msgspec import Struct

from grader.sandbox.protocol import Source

TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
"""The relative and absolute tolerances of `torch.testing.assert_close`; other dtypes must be equal."""


class FailedComparison(Struct, frozen=True, kw_only=True):
    """A failed comparison: the largest difference, and the one that was allowed there."""

    difference: float
    tolerance: float
    lines: frozenset[int]
    """The lines of the trap that were running: that of the comparison, and those of the calls that led to it."""


class Comparisons:
    """The last failed comparison of a test."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._failed: FailedComparison | None = None

    def clear(self) -> None:
        """Discard the recorded comparison."""
        self._failed = None

    def failed_at(self, line: int) -> FailedComparison | None:
        """Return the last failed comparison if the statement at this line of the trap made it."""
        if self._failed is None or self._failed.lines.isdisjoint(_statement_at(self._source.text, line)):
            return None
        return self._failed

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Inside the block, record failed comparisons. `assert_close` is the kit's own, which imports nothing."""
        import torch.testing

        originals = (torch.allclose, torch.equal, torch.testing.assert_close)
        torch.allclose = self._watched(torch.allclose, 1e-5, 1e-8)
        torch.equal = self._watched(torch.equal, 0.0, 0.0)
        torch.testing.assert_close = self._assert_close
        try:
            yield
        finally:
            torch.allclose, torch.equal, torch.testing.assert_close = originals

    def _watched(self, original: Callable[..., bool], rtol: float, atol: float) -> Any:
        def compare(input: Any, other: Any, *positional: Any, **options: Any) -> bool:  # noqa: A002 - torch's own name
            holds = original(input, other, *positional, **options)
            if not holds:
                given = dict(zip(("rtol", "atol"), positional, strict=False)) | options
                self._note(input, other, given.get("rtol", rtol), given.get("atol", atol))
            return holds

        return compare

    def _note(self, one: Any, other: Any, rtol: float, atol: float) -> None:
        with contextlib.suppress(Exception), torch.no_grad():
            differences = (one.double() - other.double()).abs()
            place = int(torch.nan_to_num(differences, nan=torch.inf).argmax())
            allowed = atol + rtol * float(other.double().abs().flatten()[place])
            largest = float(differences.flatten()[place])
            lines = frozenset(_lines_running(self._source.label))
            self._failed = FailedComparison(difference=largest, tolerance=allowed, lines=lines)

    def _assert_close(
        self,
        actual: Any,
        expected: Any,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_dtype: bool = True,
        msg: Any = None,
        **_options: Any,
    ) -> None:
        """Raise `AssertionError` unless two tensors, or sequences or dictionaries of them, are close."""
        if isinstance(actual, dict):
            if not isinstance(expected, dict) or actual.keys() != expected.keys():
                raise AssertionError("The keys of the mappings do not match")
            actual, expected = [*actual.values()], [expected[key] for key in actual]
        if isinstance(actual, tuple | list):
            if len(actual) != len(expected):
                raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
            for one, other in zip(actual, expected, strict=True):
                self._assert_close(
                    one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg
                )
            return
        one, other = torch.as_tensor(actual), torch.as_tensor(expected)
        if one.shape != other.shape:
            raise AssertionError(f"The shapes for compared tensors don't match: {one.shape} != {other.shape}")
        if check_dtype and one.dtype != other.dtype:
            raise AssertionError(f"The values for attribute 'dtype' do not match: {one.dtype} != {other.dtype}")
        rtols, atols = zip(*(TOLERANCES.get(each.dtype, (0.0, 0.0)) for each in (one, other)), strict=True)
        rtol, atol = max(rtols) if rtol is None else rtol, max(atols) if atol is None else atol
        dtype = torch.promote_types(one.dtype, other.dtype)
        one, other = one.to(dtype), other.to(dtype)
        if not bool(torch.isclose(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan).all()):
            self._note(one, other, rtol, atol)
            raise AssertionError(msg if isinstance(msg, str) else "Tensor-likes are not close!")


def _lines_running(label: str) -> Iterator[int]:
    """Yield the line at which each running function of a file is."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way to know them
    while frame is not None:
        if frame.f_code.co_filename == label:
            yield frame.f_lineno
        frame = frame.f_back


def _statement_at(text: str, line: int) -> range:
    """Return the lines of the innermost statement at a line; a block counts up to its first inner statement."""
    spans = [
        range(node.lineno, _end(node) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and node.lineno <= line <= _end(node)
    ]
    return min(spans, key=len, default=range(line, line + 1))


def _end(node: ast.stmt) -> int:
    inner = getattr(node, "body", None)
    return max(node.lineno, inner[0].lineno - 1) if inner else node.end_lineno or node.lineno
