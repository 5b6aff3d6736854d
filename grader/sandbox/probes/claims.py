"""Look inside a submission while it runs: list the values of a call, and answer claims about them.

A value is a variable of one of the submission's functions, an attribute of one (`self.mask`), or what a function
returned, which has the name `returned`. The answer to a claim is a pair: True or False with a few words of evidence, or
None with the reason why the claim cannot be answered.
"""

import ast
import copy
import itertools
import linecache
import math
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from grader.sandbox.subject import Subject
from grader.sandbox.values import flatten, version_of

RELATIVE = 1e-4
"""Numbers are equal if their difference is at most this share of them."""

OF_LARGEST = 1e-5
"""Numbers of two tensors are also equal if their difference is at most this share of the largest number."""

NEARLY_ZERO = 1e-6
"""A number equals 0 if it is at most this share of the largest number of its tensor."""

MAX_RECORDED = 2000
"""The most values that are recorded for one name."""

MAX_LISTED = 80
"""The most values that are listed."""

MAX_SHOWN = 8
"""The most numbers in a text of evidence."""

MAX_NUMBERS = 6
"""The numbers of a tensor are listed if it has at most this many."""

MAX_ERROR = 200
"""The most characters of an exception's message."""

RETURNED = "returned"
"""The name of what a function returned."""

Index = Sequence[int | Sequence[int | None] | None]
"""An index along each axis: a number, the two ends of a slice, or None for the whole axis."""

Answer = list[Any]
"""True, False or None, and a text."""

LISTED_TYPES = (torch.Tensor, bool, int, float)
Description = tuple[str, str, list[int] | None, str]


def list_values(subject: Subject, inputs: dict[str, Any], *, name: str, method: str) -> dict[str, Any]:
    """Return the values of one call, and the exception that ended it.

    `values` has a row for each value: function, line, name, text, type, the shape of a tensor, the numbers of a small
    tensor as text, how often the line ran, and how often the function ran. Parameters come last, without a function and
    a line. `error` is the exception's type, its message, and the line of the submission that raised it; empty if the
    call returned. `name` is the submission's module. `method` is the method to call; empty for the module itself.
    """
    lister = _Lister(name)
    error = _run(_called(copied_module(subject), method), inputs, lister.trace)
    parameters = [["", 0, name, *_described(value), 1, 1] for name, value in subject.module.named_parameters()]
    ended = [type(error).__name__, _message(error), _line_of(error, name)] if error is not None else []
    return {"values": [*lister.rows(), *parameters[:MAX_LISTED]], "error": ended}


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
        if missing := next((name for name in (value, *sorted(names)) if not recorded[name]), None):
            return [None, self._why_missing(missing, recorder)]
        if form == "unchanged":
            return _is_unchanged(recorder, claim)
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

    def _why_missing(self, value: str, recorder: "_Recorder") -> str:
        """Return why the call has no value of a name."""
        names = {name for name, _ in self._subject.module.named_parameters()}
        if value.removeprefix("self.") in names:
            return f"{value} is a parameter, and a claim about a parameter has the form no_gradient"
        reason = "the call returned nothing" if value == RETURNED else f"no line that ran assigned {value}"
        error = recorder.error
        if error is None:
            return reason
        line = _line_of(error, self._module_name)
        return f"{reason}; the call ended with {type(error).__name__}" + (f" at line {line}" if line else "")

    def _record(self, module: torch.nn.Module, names: set[str], inputs: dict[str, Any]) -> "_Recorder":
        recorder = _Recorder(self._module_name, names)
        recorder.error = _run(_called(module, self._method), inputs, recorder.trace)
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
        self.runs: Counter[tuple[str, int]] = Counter()
        """How often each statement ran, by function and line. A function's own line counts its calls."""

    def starts(self, line: int) -> set[int]:
        """Return the first line of the statement on a line, in each source that ran."""
        return {first.get(line, line) for first in self._first_lines.values()}

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
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
                self.runs[frame.f_code.co_name, before] += 1
                self.note(frame, before)
            if event == "return":
                self.note_returned(frame, before, argument)
            self._statements[frame] = line
        return self.trace

    def note(self, frame: FrameType, line: int) -> None:
        raise NotImplementedError

    def note_returned(self, frame: FrameType, line: int, value: Any) -> None:
        """Note what a function returned; None after an exception."""
        raise NotImplementedError


class _Recorder(_Tracer):
    """Records the values of some names."""

    def __init__(self, module_name: str, names: set[str]) -> None:
        super().__init__(module_name)
        self.moments: dict[str, list[_Moment]] = {name: [] for name in names}
        self.error: Exception | None = None
        """The exception that ended the call."""

    def note(self, frame: FrameType, line: int) -> None:
        for name in self.moments:
            self._record(name, frame, line, _value_in(frame, name))

    def note_returned(self, frame: FrameType, line: int, value: Any) -> None:
        if RETURNED not in frame.f_locals:  # the student's own variable comes first
            for name in self.moments.keys() & {RETURNED, f"{frame.f_code.co_name}.{RETURNED}"}:
                self._record(name, frame, line, value)

    def _record(self, name: str, frame: FrameType, line: int, value: Any) -> None:
        if value is not None and len(self.moments[name]) < MAX_RECORDED:
            self.moments[name].append(_Moment(self._calls[frame], line, _copied(value)))


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

    def note_returned(self, frame: FrameType, line: int, value: Any) -> None:
        """List what a function returned. An inner function's variable that it returned is listed already."""
        is_inner = any(caller in self._calls for caller in _callers(frame))
        variables = [*frame.f_locals.values()] if is_inner else []
        for name, part in _returned_parts(value):
            if RETURNED not in frame.f_locals and not any(part is each for each in variables):
                self._rows[frame.f_code.co_name, line, name] = _described(part)

    def rows(self) -> list[list[Any]]:
        """Return the rows. A name that several functions use has the function's name in front."""
        functions: dict[str, set[str]] = {}
        calls: Counter[str] = Counter(frame.f_code.co_name for frame in self._calls)
        for function, _, name in self._rows:
            functions.setdefault(name, set()).add(function)
        return [
            [
                function,
                line,
                f"{function}.{name}" if len(functions[name]) > 1 else name,
                *described,
                self.runs[function, line],
                calls[function],
            ]
            for (function, line, name), described in [*self._rows.items()][:MAX_LISTED]
        ]


def _callers(frame: FrameType) -> Iterator[FrameType]:
    """Yield the frames that led to a frame."""
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def _returned_parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the returned value, or the parts of a returned tuple, each with its name in claims."""
    if isinstance(value, LISTED_TYPES):
        yield RETURNED, value
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value[:MAX_SHOWN]):
            if isinstance(part, LISTED_TYPES):
                yield f"{RETURNED}[{number}]", part


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
    """Return the shape or the number as text, the type, the shape of a tensor, and the numbers of a small tensor."""
    if isinstance(value, torch.Tensor):
        shape = [*value.shape]
        return str(shape), _dtype_of(value), shape, _text(value) if 0 < value.numel() <= MAX_NUMBERS else ""
    return repr(value), type(value).__name__, None, ""


def _message(error: Exception) -> str:
    """Return an exception's message on one line; empty if it has none."""
    try:
        return " ".join(str(error).split())[:MAX_ERROR]
    except Exception:  # noqa: BLE001 - `__str__` may be the submission's
        return ""


def _line_of(error: Exception, module_name: str) -> int:
    """Return the innermost line of the submission at which an exception passed; 0 if there is none."""
    steps = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in steps if frame.f_globals.get("__name__") == module_name]
    return lines[-1] if lines else 0


def _run(call: Callable[..., Any], inputs: dict[str, Any], trace: Callable[..., Any]) -> Exception | None:
    """Make a call with a trace function; return the exception that ended it."""
    given = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(**given)
    except Exception as error:  # noqa: BLE001 - what ran before it is on record
        return error
    finally:
        sys.settrace(before)
    return None


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
    if isinstance(value, tuple | list):
        return tuple(each.detach().clone() if isinstance(each, torch.Tensor) else each for each in value)
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _part(value: Any, index: Index) -> Any:
    """Return the part of a value at an index. In the index of a tuple, the first number chooses one of its parts."""
    if not index:
        return value
    if isinstance(value, tuple):
        first = index[0]
        if not isinstance(first, int):
            raise TypeError(_which_part(value))
        return _part(value[first], index[1:])
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"it is {_dtype_of(value)}, not a tensor, so it has no index")
    if len(index) > value.dim():
        raise IndexError(f"it has {value.dim()} axes: {[*value.shape]}")
    return value[tuple(each if isinstance(each, int) else slice(*(each or [None])) for each in index)]


def _which_part(values: tuple[Any, ...]) -> str:
    return f"it has {len(values)} parts; choose one by an index, as in [0]"


def _changed(inputs: dict[str, Any], claim: dict[str, Any]) -> torch.Tensor:
    """Return an input in which all numbers, or those at an index, are other numbers."""
    name = claim["other"]
    given = inputs.get(name)
    if not isinstance(given, torch.Tensor):
        tensors = ", ".join(key for key, value in inputs.items() if isinstance(value, torch.Tensor)) or "none"
        reason = f"its type is {_dtype_of(given)}" if name in inputs else "the call has no such input"
        raise TypeError(f"{name} cannot be changed, because {reason}; the inputs that are tensors: {tensors}")
    changed = given.clone()
    part = _part(changed, claim["other_index"])
    if part.is_floating_point():
        part.copy_(1 - 2 * part.flatten().roll(1).view(part.shape))
    elif part.dtype == torch.bool:
        part.logical_not_()
    else:
        values = given.unique()  # type: ignore[no-untyped-call]  # likewise
        if len(values) == 1:
            raise ValueError(f"{name} cannot be changed, because all of its numbers are {int(values)}")
        part.copy_(values[(torch.searchsorted(values, part.contiguous()) + 1) % len(values)])
    return changed


def _is_unchanged(recorder: _Recorder, claim: dict[str, Any]) -> Answer:
    """Return whether a value was the same before and after the line, each time the line ran."""
    moments, line, index = recorder.moments[claim["value"]], claim["line"], claim["index"]
    starts, calls = recorder.starts(line), dict[int, list[_Moment]]()
    for moment in moments:
        calls.setdefault(moment.call, []).append(moment)
    steps = itertools.chain.from_iterable(map(itertools.pairwise, calls.values()))
    pairs = [(_part(one.value, index), _part(other.value, index)) for one, other in steps if other.line in starts]
    if not pairs:
        return [None, _why_not_before(recorder, claim)]
    changed = [number for number, pair in enumerate(pairs) if not _are_equal(*pair)]
    if not changed:
        runs = f" each of the {len(pairs)} times it ran" if len(pairs) > 1 else ""
        return [True, _equal_words(pairs[-1][0], f"before and after line {line}{runs}")]
    runs = f"line {line} ran {len(pairs)} times and changed it {_times(len(changed))}; the first change: "
    return [False, (runs if len(pairs) > 1 else "") + _difference(*pairs[changed[0]], ("it was", "and it is"))]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _why_not_before(recorder: _Recorder, claim: dict[str, Any]) -> str:
    """Return why a line has no value before it."""
    line, value = claim["line"], claim["value"]
    starts = recorder.starts(line)
    if not any(start in starts for _, start in recorder.runs):
        return f"line {line} did not run"
    if any(moment.line in starts for moment in recorder.moments[value]):
        return f"line {line} gives {value} its first value, so there is no value before the line"
    return f"{value} did not exist when line {line} ran"


def _equals(last: Any, recorded: dict[str, list[_Moment]], claim: dict[str, Any]) -> Answer:
    other = claim["other"]
    if isinstance(other, str):
        other = _part(recorded[other][-1].value, claim["other_index"])
        return [_are_close(last, other), _difference(last, other)]
    whole = recorded[claim["value"]][-1].value
    return _equals_number(last, whole, float(other), claim.get("digits", 0))


def _equals_number(value: Any, whole: Any, number: float, digits: int) -> Answer:
    """Return whether a value is a number. With `digits`, the value is compared after rounding to as many digits.

    `whole` is the tensor of which the value is a part: its largest number decides what counts as 0.
    """
    if not isinstance(value, torch.Tensor | int | float):
        return [False, f"it is {_text(value)}"]
    numbers = value.detach().double() if isinstance(value, torch.Tensor) else torch.tensor(float(value)).double()
    if number:
        unit = 10.0 ** (math.floor(math.log10(abs(number))) + 1 - digits) if digits else 0.0
        tolerance = max(RELATIVE * abs(number), unit / 2 * (1 + RELATIVE))
    else:
        tolerance = NEARLY_ZERO * _largest(whole if isinstance(whole, torch.Tensor) and whole.numel() > 1 else None)
    is_off = ~((numbers - number).abs() <= tolerance)
    if numbers.numel() == 1:
        return [not is_off.any(), f"it is {_text(value)}"]
    is_truth = isinstance(value, torch.Tensor) and value.dtype == torch.bool and number in (0, 1)
    words = str(bool(number)) if is_truth else f"{number:g}"
    if not is_off.any():
        return [True, f"all {numbers.numel()} numbers are {words}"]
    return [False, f"it is {_text(value)}; {_off_words(is_off, 'numbers', f'not {words}')}"]


def _off_words(is_off: torch.Tensor, noun: str, what: str) -> str:
    """Return how many elements differ from what they should be, and where the first of them is."""
    count = int(is_off.sum())
    verb, place = "is" if count == 1 else "are", is_off.nonzero()[0].tolist()
    return f"{count} of {is_off.numel()} {noun} {verb} {what}, the first at {place}"


def _largest(value: torch.Tensor | None) -> float:
    """Return the largest finite absolute number of a tensor; 0 without any."""
    if value is None:
        return 0.0
    numbers = value.detach().double().abs()
    numbers = numbers[numbers.isfinite()]
    return float(numbers.max()) if numbers.numel() else 0.0


def _differs(one: Any, other: Any, which: str) -> Answer:
    if other is None:
        return [None, f"{which} did not reach it"]
    if _are_close(one, other):
        return [False, _equal_words(one, "in both calls", other)]
    return [True, _difference(one, other, ("it is", f"and in {which}"))]


def _sums_to_one(value: Any, _claim: dict[str, Any]) -> Answer:
    sums = _tensor(value).double().sum(-1)
    if not sums.numel():
        return [True, "it has no rows"]
    is_off = ~((sums - 1).abs() <= RELATIVE)
    texts = {_text(each) for each in sums.flatten()[:MAX_RECORDED]}
    if len(texts) == 1:
        return [not is_off.any(), f"{'its rows sum' if sums.dim() else 'it sums'} to {texts.pop()}"]
    if not is_off.any():
        return [True, "its rows sum to 1"]
    return [False, f"its rows sum to {_text(sums)}; {_off_words(is_off, 'sums', 'not 1')}"]


def _is_symmetric(value: Any, _claim: dict[str, Any]) -> Answer:
    tensor = _tensor(value)
    is_square = tensor.dim() > 1 and tensor.size(-1) == tensor.size(-2)
    if not is_square:
        return [False, f"its shape is {[*tensor.shape]}"]
    transpose = tensor.transpose(-1, -2)
    if _are_close(tensor, transpose):
        return [True, _equal_words(tensor, "in it and in its transpose", transpose)]
    return [False, _difference(tensor, transpose)]


def _has_shape(value: Any, claim: dict[str, Any]) -> Answer:
    shape = [*_tensor(value).shape]
    return [shape == [*claim["shape"]], f"its shape is {shape}"]


def _has_dtype(value: Any, claim: dict[str, Any]) -> Answer:
    return [_dtype_of(value) == claim["other"], f"it is {_dtype_of(value)}"]


def _is_finite(value: Any, _claim: dict[str, Any]) -> Answer:
    tensor = _tensor(value)
    is_bad = ~tensor.isfinite()
    if tensor.numel() == 1:
        return [not is_bad.any(), f"it is {_text(tensor)}"]
    if not is_bad.any():
        return [True, f"all {tensor.numel()} numbers are finite"]
    return [False, _off_words(is_bad, "numbers", "infinite or NaN")]


FORMS_OF_ONE_VALUE: dict[str, Callable[[Any, dict[str, Any]], Answer]] = {
    "sums_to_one": _sums_to_one,
    "symmetric": _is_symmetric,
    "shape": _has_shape,
    "dtype": _has_dtype,
    "finite": _is_finite,
}


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, tuple):
        raise TypeError(_which_part(value))
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


def _equal_words(one: Any, where: str, other: Any = None) -> str:
    """Say that a value is equal at two times or places. `other` is the second value, if it is known."""
    if not isinstance(one, torch.Tensor) or one.numel() == 1:
        return f"it is {_text(one)} {where}"
    if isinstance(other, torch.Tensor) and not _are_equal(one, other):
        return f"all {one.numel()} numbers are equal {where}, up to rounding"
    return f"all {one.numel()} numbers are equal {where}"


def _difference(one: Any, other: Any, names: tuple[str, str] = ("it is", "and the other")) -> str:
    """Return how far two values are apart, in words. `names` introduce two single numbers."""
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return f"{names[0]} {_text(one)}, {names[1]} {_text(other)}"
    if one.shape != other.shape:
        return f"its shape is {[*one.shape]}, {names[1]} {[*other.shape]}"
    if one.dtype != other.dtype:
        return f"{names[0]} {_dtype_of(one)}, {names[1]} {_dtype_of(other)}"
    is_off = ~((one == other) | (one.isnan() & other.isnan()))
    if not is_off.any():
        return f"both are {_text(one)}" if one.numel() == 1 else f"all {one.numel()} numbers are equal"
    if one.numel() == 1:
        return f"{names[0]} {_text(one)}, {names[1]} {_text(other)}"
    if _are_close(one, other):
        return f"all {one.numel()} numbers are equal, up to rounding"
    return _gap_words(one.double() - other.double(), is_off)


def _gap_words(gaps: torch.Tensor, is_off: torch.Tensor) -> str:
    """Return how many numbers differ, and by how much."""
    count, total = int(is_off.sum()), is_off.numel()
    finite = gaps[is_off & gaps.isfinite()].abs()
    parts = [f"{count} of {total} numbers {'differs' if count == 1 else 'differ'}"]
    parts += [f"by up to {float(finite.max()):.3g}"] if finite.numel() else []
    parts += [f"{count - finite.numel()} of them by NaN or infinity"] if finite.numel() < count else []
    return ", ".join(parts)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        has_form = one.shape == other.shape and one.dtype == other.dtype
        return has_form and bool(((one == other) | (one.isnan() & other.isnan())).all())
    return one is other or (isinstance(one, int | float) and one == other)


def _are_close(one: Any, other: Any) -> bool:
    """Return whether two values are equal up to rounding, which is relative to the numbers, however small they are."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        tolerance = OF_LARGEST * max(_largest(one), _largest(other))
        return torch.allclose(one.double(), other.double(), RELATIVE, tolerance, equal_nan=True)
    return bool(type(one) is type(other) and one == other)
