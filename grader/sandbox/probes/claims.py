"""Look inside a submission while it runs: list the values of a call, and answer claims about them.

A value is a variable of one of the submission's functions, or an attribute of one (`self.mask`). The answer to a claim
is a pair: True or False with a few words of evidence, or None with the reason why the claim cannot be answered.
"""

import ast
import copy
import itertools
import linecache
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch

from grader.sandbox.subject import Subject
from grader.sandbox.values import flatten, version_of

RELATIVE, ABSOLUTE = 1e-4, 1e-5

MAX_RECORDED = 2000
"""The most values that are recorded for one name."""

MAX_LISTED = 80
"""The most values that are listed."""

MAX_SHOWN = 8
"""The most numbers in a text of evidence."""

Answer = list[Any]
"""True, False or None, and a text."""

LISTED_TYPES = (torch.Tensor, bool, int, float)
Description = tuple[str, str, list[int] | None]


def list_values(subject: Subject, inputs: dict[str, Any], *, name: str, method: str) -> list[list[Any]]:
    """Return a row for each value of one call: function, line, name, text, type, and its shape if it is a tensor.

    Parameters come last, without a function and a line. `name` is the submission's module. `method` is the method to
    call; empty for the module itself.
    """
    lister = _Lister(name)
    _run(_called(copied_module(subject), method), inputs, lister.trace)
    parameters = [["", 0, name, *_described(value)] for name, value in subject.module.named_parameters()]
    return [*lister.rows(), *parameters[:MAX_LISTED]]


def answer_claims(
    subject: Subject, inputs: dict[str, Any], *, claims: list[dict[str, Any]], name: str, method: str
) -> list[Answer]:
    """Return the answer to each claim. A claim has a `form`, a `value`, and what its form needs."""
    return [_Call(subject, inputs, name, method).answer(claim) for claim in claims]


class _Call:
    """A call that may be repeated, each time by a copy of the module in the same state."""

    def __init__(self, subject: Subject, inputs: dict[str, Any], module_name: str, method: str) -> None:
        self._subject, self._inputs, self._module_name, self._method = subject, inputs, module_name, method

    def answer(self, claim: dict[str, Any]) -> Answer:
        """Return the answer to a claim."""
        try:
            return self._answer(claim)
        except (IndexError, TypeError, ValueError, RuntimeError) as error:
            return [None, str(error)]

    def _answer(self, claim: dict[str, Any]) -> Answer:
        form, value = claim["form"], claim["value"]
        if form == "no_gradient":
            return self._has_no_gradient(value)
        names = {value} | ({claim["other"]} if form == "equals" and isinstance(claim["other"], str) else set())
        module = copied_module(self._subject)
        state = torch.get_rng_state()
        recorder = self._record(module, names, self._inputs)
        recorded = recorder.moments
        if not recorded[value]:
            return [None, f"no line that ran assigned {value}"]
        if form == "unchanged":
            return _is_unchanged(recorded[value], claim["line"], recorder.starts(claim["line"]), claim["index"])
        last = _part(recorded[value][-1].value, claim["index"])
        if form == "equals":
            return _equals(last, recorded, claim)
        if form == "varies":
            return _differs(last, self._last(module, claim, self._inputs), "the second call")
        if form == "depends":
            torch.set_rng_state(state)
            changed = {**self._inputs, claim["other"]: _changed(self._inputs, claim)}
            return _differs(last, self._last(copied_module(self._subject), claim, changed), "the call after the change")
        return FORMS_OF_ONE_VALUE[form](last, claim)

    def _record(self, module: torch.nn.Module, names: set[str], inputs: dict[str, Any]) -> "_Recorder":
        recorder = _Recorder(self._module_name, names)
        _run(_called(module, self._method), inputs, recorder.trace)
        return recorder

    def _last(self, module: torch.nn.Module, claim: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Return the last value of the claim's name in another call; None if the call does not reach it."""
        moments = self._record(module, {claim["value"]}, inputs).moments[claim["value"]]
        return _part(moments[-1].value, claim["index"]) if moments else None

    def _has_no_gradient(self, parameter: str) -> Answer:
        """Return whether no gradient reaches a parameter, given with or without the leading `self.`."""
        path = parameter.removeprefix("self.")
        own = dict(self._subject.module.named_parameters())
        names = [name for name in own if name == path or name.startswith(f"{path}.")]
        if not names:
            return [None, f"there is no parameter {path}; there are: {', '.join(own) or 'none'}"]
        self._subject.module.zero_grad(set_to_none=True)
        state = torch.get_rng_state()
        with torch.enable_grad():
            value = _called(self._subject.module, self._method)(**self._inputs)
            outputs = [each for each in flatten(value) if each.requires_grad]
            if outputs:
                loss = torch.stack([(each * torch.randn_like(each)).sum() for each in outputs]).sum()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        torch.set_rng_state(state)
        gradients = [gradient for name in names if (gradient := own[name].grad) is not None]
        largest = max((float(gradient.abs().max()) for gradient in gradients), default=0.0)
        return [largest == 0, f"its largest gradient is {largest:.3g}"]


class _Moment:
    """A value after a statement: the number of the function's call, and the statement's first line."""

    def __init__(self, call: int, line: int, value: Any) -> None:
        self.call, self.line, self.value = call, line, value


class _Tracer:
    """Calls `note` after each statement of the submission's functions, and when a function begins."""

    def __init__(self, module_name: str) -> None:
        self._module_name = module_name
        self._statements: dict[FrameType, int] = {}
        self._calls: dict[FrameType, int] = {}
        self._first_lines: dict[str, dict[int, int]] = {}
        """The first line of the statement on each line, for each source."""

    def starts(self, line: int) -> set[int]:
        """Return the first line of the statement on a line, in each source that ran."""
        return {first.get(line, line) for first in self._first_lines.values()}

    def trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Follow frames of the submission's functions only; this is a function for `sys.settrace`."""
        if frame.f_globals.get("__name__") != self._module_name or frame.f_code.co_name.startswith("<"):
            return None
        label = frame.f_code.co_filename
        first = self._first_lines.get(label) or self._first_lines.setdefault(label, _first_lines(label))
        if event == "call":
            self._calls[frame], self._statements[frame] = len(self._calls), frame.f_code.co_firstlineno
        elif event in ("line", "return"):
            line, before = first.get(frame.f_lineno, frame.f_lineno), self._statements[frame]
            if event == "return" or line != before:  # a statement on several lines has several events
                self.note(frame, before)
            self._statements[frame] = line
        return self.trace

    def note(self, frame: FrameType, line: int) -> None:
        raise NotImplementedError


class _Recorder(_Tracer):
    """Records the values of some names."""

    def __init__(self, module_name: str, names: set[str]) -> None:
        super().__init__(module_name)
        self.moments: dict[str, list[_Moment]] = {name: [] for name in names}

    def note(self, frame: FrameType, line: int) -> None:
        for name, moments in self.moments.items():
            value = _value_in(frame, name)
            if value is not None and len(moments) < MAX_RECORDED:
                moments.append(_Moment(self._calls[frame], line, _copied(value)))


class _Lister(_Tracer):
    """Lists every value that a statement makes or changes."""

    def __init__(self, module_name: str) -> None:
        super().__init__(module_name)
        self._known: dict[tuple[FrameType, str], tuple[Any, int]] = {}
        self._rows: dict[tuple[str, int, str], Description] = {}

    def note(self, frame: FrameType, line: int) -> None:
        for name, value in _visible_values(frame):
            state = value, version_of(value) if isinstance(value, torch.Tensor) else 0
            before = self._known.get((frame, name))
            self._known[frame, name] = state
            if before is None or before[0] is not value or before[1] != state[1]:
                self._rows[frame.f_code.co_name, line, name] = _described(value)

    def rows(self) -> list[list[Any]]:
        """Return the rows. A name that several functions use has the function's name in front."""
        functions: dict[str, set[str]] = {}
        for function, _, name in self._rows:
            functions.setdefault(name, set()).add(function)
        return [
            [function, line, f"{function}.{name}" if len(functions[name]) > 1 else name, *described]
            for (function, line, name), described in [*self._rows.items()][:MAX_LISTED]
        ]


def _visible_values(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the variables of a function, and the numbers and tensors that its object has as attributes."""
    for name, value in frame.f_locals.items():
        if isinstance(value, LISTED_TYPES) and name != "_":
            yield name, value
    own = frame.f_locals.get("self")
    for attributes in (vars(own), vars(own).get("_buffers", {})) if isinstance(own, torch.nn.Module) else ():
        for name, value in attributes.items():
            if isinstance(value, LISTED_TYPES) and not name.startswith("_") and name not in MODULE_ATTRIBUTES:
                yield f"self.{name}", value


MODULE_ATTRIBUTES = frozenset(vars(torch.nn.Module()))


def _described(value: Any) -> Description:
    """Return the shape or the number as text, the type, and the shape of a tensor."""
    if isinstance(value, torch.Tensor):
        shape = [*value.shape]
        return str(shape), _dtype_of(value), shape
    return repr(value), type(value).__name__, None


def _run(call: Callable[..., Any], inputs: dict[str, Any], trace: Callable[..., Any]) -> None:
    """Make a call with a trace function; an exception of the submission ends it."""
    given = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(**given)
    except Exception:  # noqa: BLE001, S110 - what ran before it is on record
        pass
    finally:
        sys.settrace(before)


def _called(module: torch.nn.Module, method: str) -> Callable[..., Any]:
    called: Callable[..., Any] = getattr(module, method) if method else module
    return called


def copied_module(subject: Subject) -> torch.nn.Module:
    """Return a copy of the module, or the module itself if it cannot be copied."""
    try:
        return copy.deepcopy(subject.module)
    except Exception:  # noqa: BLE001 - `__deepcopy__` may be the submission's
        return subject.module


def _first_lines(label: str) -> dict[int, int]:
    """Map each line of a source to the first line of the innermost statement that it belongs to."""
    try:
        tree = ast.parse("".join(linecache.getlines(label)))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    lines: dict[int, int] = {}
    for node in ast.walk(tree):  # breadth first, so that inner statements come later
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            lines |= dict.fromkeys(range(node.lineno, max(last, node.lineno) + 1), node.lineno)
    return lines


def _value_in(frame: FrameType, name: str) -> Any:
    """Return the value of a name with dots in a frame, with or without the function's name in front."""
    first, *path = name.split(".")
    if first not in frame.f_locals and first == frame.f_code.co_name and path:
        first, *path = path
    value = frame.f_locals.get(first)
    for part in path:
        value = getattr(value, part, None)
    return value


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _part(value: Any, index: list[int | None]) -> Any:
    """Return an element or a part of a tensor. None in the index stands for a whole axis."""
    if not index:
        return value
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"it is {_dtype_of(value)}, not a tensor, so it has no index")
    if len(index) > value.dim():
        raise IndexError(f"it has {value.dim()} axes: {[*value.shape]}")
    return value[tuple(slice(None) if each is None else each for each in index)]


def _changed(inputs: dict[str, Any], claim: dict[str, Any]) -> torch.Tensor:
    """Return an input in which all numbers, or those at an index, are other numbers."""
    given = inputs.get(claim["other"])
    if not isinstance(given, torch.Tensor):
        tensors = [name for name, value in inputs.items() if isinstance(value, torch.Tensor)]
        raise TypeError(f"{claim['other']} is not an input of this call; its inputs are: {', '.join(tensors)}")
    changed = given.clone()
    part = _part(changed, claim["other_index"])
    if part.is_floating_point():
        part.copy_(1 - 2 * part.flatten().roll(1).view(part.shape))
    elif part.dtype == torch.bool:
        part.logical_not_()
    else:
        values = given.unique()  # type: ignore[no-untyped-call]  # likewise
        part.copy_(values[(torch.searchsorted(values, part.contiguous()) + 1) % len(values)])
    return changed


def _is_unchanged(moments: list[_Moment], line: int, starts: set[int], index: list[int | None]) -> Answer:
    """Return whether a value was the same before and after the line, each time the line ran."""
    calls: dict[int, list[_Moment]] = {}
    for moment in moments:
        calls.setdefault(moment.call, []).append(moment)
    steps = itertools.chain.from_iterable(map(itertools.pairwise, calls.values()))
    pairs = [(one, other) for one, other in steps if other.line in starts]
    if not pairs:
        return [None, f"line {line} did not run, or the value did not exist yet when it ran"]
    values = [(_part(one.value, index), _part(other.value, index)) for one, other in pairs]
    return [all(_are_equal(*each) for each in values), _difference(*values[-1])]


def _equals(last: Any, recorded: dict[str, list[_Moment]], claim: dict[str, Any]) -> Answer:
    other = claim["other"]
    if isinstance(other, str):
        if not recorded[other]:
            return [None, f"no line that ran assigned {other}"]
        other = _part(recorded[other][-1].value, claim["other_index"])
    elif isinstance(last, torch.Tensor):
        number = torch.tensor(float(other), dtype=torch.float64)
        return [bool(torch.allclose(last.double(), number, RELATIVE, ABSOLUTE)), f"it is {_text(last)}"]
    else:
        is_number = isinstance(last, int | float)
        return [is_number and abs(last - other) <= ABSOLUTE + RELATIVE * abs(other), f"it is {_text(last)}"]
    return [_are_close(last, other), _difference(last, other)]


def _differs(one: Any, other: Any, which: str) -> Answer:
    if other is None:
        return [None, f"{which} did not reach it"]
    return [not _are_close(one, other), _difference(one, other)]


def _sums_to_one(value: Any, _claim: dict[str, Any]) -> Answer:
    sums = _tensor(value).double().sum(-1)
    return [bool(torch.allclose(sums, torch.ones(()).double(), RELATIVE, ABSOLUTE)), f"its rows sum to {_text(sums)}"]


def _is_symmetric(value: Any, _claim: dict[str, Any]) -> Answer:
    tensor = _tensor(value)
    is_square = tensor.dim() > 1 and tensor.size(-1) == tensor.size(-2)
    if not is_square:
        return [False, f"its shape is {[*tensor.shape]}"]
    return [_are_close(tensor, tensor.transpose(-1, -2)), _difference(tensor, tensor.transpose(-1, -2))]


def _has_shape(value: Any, claim: dict[str, Any]) -> Answer:
    shape = [*_tensor(value).shape]
    return [shape == [*claim["shape"]], f"its shape is {shape}"]


def _has_dtype(value: Any, claim: dict[str, Any]) -> Answer:
    return [_dtype_of(value) == claim["other"], f"it is {_dtype_of(value)}"]


def _is_finite(value: Any, _claim: dict[str, Any]) -> Answer:
    tensor = _tensor(value)
    bad = int((~tensor.isfinite()).sum())
    return [not bad, f"{bad} of {tensor.numel()} numbers are infinite or NaN"]


FORMS_OF_ONE_VALUE: dict[str, Callable[[Any, dict[str, Any]], Answer]] = {
    "sums_to_one": _sums_to_one,
    "symmetric": _is_symmetric,
    "shape": _has_shape,
    "dtype": _has_dtype,
    "finite": _is_finite,
}


def _tensor(value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"it is {_dtype_of(value)}, not a tensor")
    return value


def _dtype_of(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__


def _text(value: Any) -> str:
    """Return the first numbers of a tensor, or the value."""
    if not isinstance(value, torch.Tensor):
        return repr(value)[:80]
    numbers = value.detach().flatten()[:MAX_SHOWN].tolist()
    more = ", ..." if value.numel() > MAX_SHOWN else ""
    return ", ".join(f"{each:.5g}" if isinstance(each, float) else str(each) for each in numbers) + more


def _difference(one: Any, other: Any) -> str:
    """Return how far two values are apart, in words."""
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return f"{_text(one)} and {_text(other)}"
    if one.shape != other.shape:
        return f"shapes {[*one.shape]} and {[*other.shape]}"
    if one.dtype != other.dtype:
        return f"{_dtype_of(one)} and {_dtype_of(other)}"
    is_off = ~((one == other) | (one.isnan() & other.isnan()))
    if not is_off.any():
        return f"all {one.numel()} numbers are equal"
    largest = (one.double() - other.double())[is_off].abs().max()
    return f"{int(is_off.sum())} of {one.numel()} numbers differ, by up to {float(largest):.3g}"


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        has_form = one.shape == other.shape and one.dtype == other.dtype
        return has_form and bool(((one == other) | (one.isnan() & other.isnan())).all())
    return one is other or (isinstance(one, int | float) and one == other)


def _are_close(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        has_form = one.shape == other.shape and one.dtype == other.dtype
        return has_form and bool(torch.allclose(one.double(), other.double(), RELATIVE, ABSOLUTE, equal_nan=True))
    return bool(type(one) is type(other) and one == other)
