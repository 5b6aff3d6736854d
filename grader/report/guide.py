"""The text of a guided hunt: cards, questions, the values of a call, the forms of claims."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby

from msgspec import Struct
from rich.text import Text

from grader.checks.outcome import Picture
from grader.report.page import INDENT, Line, beside, indented
from grader.report.picture import shaded
from grader.report.printable import printable
from grader.spec.exercise import Exercise
from grader.spec.fields import shape_of

MAX_TEXT = 600
OPTION_WIDTH, MARK_WIDTH = 5, 4
LINE_WIDTH = 6
MAX_NAME = 40

FORMS = (
    ("{kept} unchanged {line}", "the code on line {line} leaves it as it was"),
    ("{tensor} equals {other}", "the two values are equal; the second may be a number, as in {tensor}{index} equals 0"),
    ("{tensor} shape {shape}", "it has this shape"),
    ("{weights} sums_to_one", "the sums over its last axis are 1"),
    ("{square} symmetric", "it equals its transpose"),
    ("{tensor} dtype {dtype}", "it has this dtype or type"),
    ("{tensor} finite", "it contains no NaN and no infinity"),
    ("{dependent} depends {input}", "it changes if the input {input} changes; {input}{index} is a part of the input"),
    ("{parameter} no_gradient", "no gradient reaches this parameter"),
    ("{tensor} varies", "two calls with the same input give different values"),
)
"""The forms of claims, each with its meaning."""


WEIGHTS = re.compile(r"weight|attn|attention|prob|soft|alpha|share")
"""Names of values whose rows may sum to 1."""

ANY_NAME = "NAME"
"""Stands for a value's name in the example of a form that fits no value of the call."""


class ClaimAnswer(Struct, frozen=True, kw_only=True):
    """Whether a claim is true, and a few words of evidence; None if it has no answer, with the reason."""

    is_true: bool | None
    evidence: str


class ListedValue(Struct, frozen=True, kw_only=True):
    """A value of a call: the function and line that made it, its name, its shape or number as text, and its type.

    A parameter has no function and no line. A number has no `shape`, and only small tensors have `numbers`.
    """

    function: str
    line: int
    name: str
    described: str
    type: str
    shape: list[int] | None = None
    numbers: str = ""
    line_runs: int = 1
    """How often the line ran in the call; the row is about the last time."""
    function_runs: int = 1

    def is_tensor(self) -> bool:
        """Return whether the value is a tensor."""
        return self.shape is not None

    def is_parameter(self) -> bool:
        """Return whether the value is a parameter of the module."""
        return not self.function


class CallError(Struct, frozen=True, kw_only=True):
    """The exception that ended a call: its type, its message, and the line of the file that raised it, 0 if unknown."""

    type: str
    message: str = ""
    line: int = 0


class ListedCall(Struct, frozen=True, kw_only=True):
    """The values of a call in the order in which they were made, and the exception that ended it, if one did."""

    values: list[ListedValue] = []
    error: CallError | None = None

    def has_values(self) -> bool:
        """Return whether the call made a value that is not a parameter."""
        return any(not each.is_parameter() for each in self.values)


class Example(Struct, frozen=True, kw_only=True):
    """Names of a student's file for the examples of claims."""

    tensor: str
    other: str
    """A value of the same shape and type, or a number."""
    weights: str
    """A value whose rows may sum to 1."""
    square: str
    """A value whose last two axes are equally long."""
    dtype: str
    kept: str
    """A value that exists when `line` runs."""
    line: int
    dependent: str
    """A value other than `input`."""
    shape: str
    index: str
    input: str
    parameter: str
    """Empty if there are no parameters."""


def card_title(number: int, name: str, aim: str) -> list[Line]:
    """Return the heading of a card."""
    return [Text(), Text.assemble((f"{number} {name}", "bold"), (f" · {aim}", "dim"))]


def defect_title(title: str) -> list[Line]:
    """Return the heading of a fixed defect's explanation."""
    return [Text(), Text(f"You fixed: {printable(title, MAX_TEXT)}.")]


def question_lines(text: str, options: Sequence[str]) -> list[Line]:
    """Return a question with its numbered options."""
    numbered = [
        beside(Text(f"{number:>3}", "bold"), Text(printable(option, MAX_TEXT)), OPTION_WIDTH)
        for number, option in enumerate(options, 1)
    ]
    return [Text(), Text(printable(text, MAX_TEXT)), *numbered]


def answered_lines(*, is_right: bool | None, right: str, label: str = "Right answer") -> list[Line]:
    """Return whether an answer was right, and the right one; `is_right` is None for a skipped question."""
    mark = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}[is_right]
    return [beside(Text.assemble(mark), Text(f"{label}: {printable(right, MAX_TEXT)}"), 2)]


def happens_lines(happens: str, picture: Picture | None, width: int) -> list[Line]:
    """Return what the student's file does, with a picture if there is one that fits."""
    drawn = shaded(picture, width - INDENT) if picture else []
    for line in drawn:
        line.no_wrap = True
    text = beside(Text(), Text(f"Your file: {printable(happens, MAX_TEXT)}"), 2)
    return [text, *(indented(line) for line in drawn)]


def value_lines(listed: ListedCall, notes: Sequence[str]) -> list[Line]:
    """Return the values of a call, by function: line, name, shape or number, type, and the numbers of small tensors.

    Then name the exception that ended the call, and the parameters.
    """
    parameters, values = _parameters_and_others(listed.values)
    lines: list[Line] = [*plain_lines(*notes)]
    for function, group in groupby(values, key=lambda each: each.function):
        rows = [*group]
        runs = min(rows[0].function_runs, *(each.line_runs for each in rows))  # classes may share a function's name
        count = f" (runs {runs} times; the last one is shown)" if runs > 1 else ""
        lines.append(Text(f"in {printable(function, MAX_NAME)}{count}", "dim"))
        lines += [_value_line(each, runs) for each in rows]
    lines += plain_lines(*error_texts(listed.error), style="yellow")
    return [*lines, *plain_lines(f"parameters: {', '.join(parameters)}", style="dim")] if parameters else lines


def _value_line(value: ListedValue, function_runs: int) -> Line:
    """Return the line of a value, which names the runs of its line if these are more than those of its function."""
    name = Text.assemble((f"{value.line:>{LINE_WIDTH}}", "dim"), f"  {printable(value.name, MAX_NAME):<20} ")
    numbers = f": {printable(value.numbers, MAX_TEXT)}" if value.numbers else ""
    runs = f" (last of {value.line_runs} runs)" if value.line_runs > function_runs else ""
    return beside(name, Text.assemble(f"{value.described} ", (value.type, "dim"), numbers, (runs, "dim")), len(name))


def error_texts(error: CallError | None) -> list[str]:
    """Return a sentence about the exception that ended a call; none if the call returned."""
    if error is None:
        return []
    place = f" at line {error.line}" if error.line else ""
    return [f"The call ends{place} with {error.type}{f': {error.message}' if error.message else '.'}"]


def example_of(exercise: Exercise, values: Sequence[ListedValue]) -> Example:
    """Return names for the examples: values for which the forms make sense, if the call has such values.

    The arguments of the call, which are on the first line, and values of other functions are the last choice. At least
    one of the values is not a parameter.
    """
    parameters, values = _parameters_and_others(values)
    inputs = exercise.interface.inputs
    shaped = [name for name, spec in inputs.items() if shape_of(spec)]
    gaussian = [name for name in shaped if isinstance(inputs[name], list)]
    tensors = [each for each in values if each.is_tensor()] or [*values]
    tensors = [each for each in tensors if "[" not in each.name] or tensors
    made = [each for each in tensors if each.line != tensors[0].line] or tensors
    own = [each for each in made if each.function == tensors[0].function] or made
    numbers = [each for each in own if "float" in each.type and len(each.shape or []) > 1] or own
    numbers = sorted(
        numbers, key=lambda each: ("returned" in each.name, each.name.startswith("self."), each.name in inputs)
    )
    first = numbers[0]
    same_form = (each.name for each in (*own, *tensors) if (each.shape, each.type) == (first.shape, first.type))
    other = next((name for name in same_form if name != first.name), "0.5")
    square = (each.name for each in made if _is_square(each))
    with_rows = [each.name for each in numbers if (each.shape or [1])[-1] > 1 and each.name not in inputs]
    kept, line = next(_kept_values([*numbers, *made], values), (ANY_NAME, first.line))
    changed = next(iter([*gaussian, *shaped]), tensors[0].name)
    return Example(
        tensor=first.name,
        other=other,
        weights=next((name for name in with_rows if WEIGHTS.search(name)), next(iter(with_rows), ANY_NAME)),
        square=next(square, ANY_NAME),
        dtype=first.type,
        kept=kept,
        line=line,
        dependent=next((each.name for each in [*numbers, *made] if each.name != changed), ANY_NAME),
        shape=" ".join(map(str, first.shape or [])) or "2 3",
        index="[0]" if first.is_tensor() else "",
        input=changed,
        parameter=parameters[0] if parameters else "",
    )


def _is_square(value: ListedValue) -> bool:
    """Return whether a tensor's last two axes are equally long, and longer than 1."""
    last_axes = (value.shape or [])[-2:]
    return len(last_axes) > 1 and last_axes[0] == last_axes[1] > 1


def _kept_values(candidates: Sequence[ListedValue], values: Sequence[ListedValue]) -> Iterator[tuple[str, int]]:
    """Yield the values that exist when a later line of their function runs, each with such a line."""
    for each in candidates:
        later = (other.line for other in values if other.function == each.function and other.line > each.line)
        if (line := min(later, default=0)) and "returned" not in each.name:
            yield each.name, line


def _parameters_and_others(values: Sequence[ListedValue]) -> tuple[list[str], list[ListedValue]]:
    """Return the names of the parameters, and the other values."""
    parameters = [each.name for each in values if each.is_parameter()]
    return parameters, [each for each in values if not each.is_parameter()]


def forms_with(example: Example) -> list[tuple[str, str]]:
    """Return the forms of claims, each with its meaning, with the names of an example."""
    names = {name: getattr(example, name) for name in example.__struct_fields__}
    forms = [each for each in FORMS if example.parameter or "{parameter}" not in each[0]]
    return [(form.format(**names), meaning.format(**names)) for form, meaning in forms]


def form_lines(example: Example) -> list[Line]:
    """Return the forms of claims, with names of the student's file in the examples."""
    pairs = forms_with(example)
    widest = max(len(form) for form, _ in pairs) + 2
    return [
        Text(),
        Text("Which of these values looks wrong? Make a claim about it, and the grader runs your file to answer:"),
        *(beside(Text(f"  {form}"), Text(meaning, "dim"), widest + 2) for form, meaning in pairs),
        *plain_lines(
            f'The word "not" negates a claim: {example.tensor} not varies. '
            'A claim is about the last value of a name; the name "returned" stands for what the call returned. '
            "A name with dots reaches further: self.NAME is an attribute or a buffer of the module, self.LAYER.NAME is "
            "an attribute of a layer. A claim cannot compute: first assign an expression to a name in your file.",
            style="dim",
        ),
    ]


def claim_lines(answer: ClaimAnswer) -> list[Line]:
    """Return the answer to a claim."""
    words = {True: ("true", "bold green"), False: ("false", "bold red"), None: ("no answer", "yellow")}
    return [beside(Text(), Text.assemble(words[answer.is_true], f": {printable(answer.evidence, MAX_TEXT)}"), 2)]


class Meaning(Enum):
    """What follows from an answer to a claim, given again in the same call after the student's edits."""

    CHANGED = "Your edits changed this answer, so it was a trace of a bug."
    CHANGED_EARLIER = "An earlier edit changed this answer, so it was a trace of a bug."
    RIGHT = "This answer did not change, and your file is right: the value was not wrong."
    UNDECIDED = "Either this value is right, or a bug that affects it remains: read the code that computes it."
    REMOVED = "Your edits removed this value. Make a claim about its replacement: {command}"
    UNREACHED = "The call no longer gives this answer, so it cannot be compared with the earlier one."
    NOT_STORED = "The call in which you made this claim is not stored, so the answers cannot be compared."

    def is_trace(self) -> bool:
        """Return whether the earlier answer was a trace of a bug."""
        return self in (Meaning.CHANGED, Meaning.CHANGED_EARLIER)


def answer_now_lines(
    claim: str, *, before: bool, now: ClaimAnswer, line: int, meaning: Meaning, command: str, call: str = ""
) -> list[Line]:
    """Return the answer to a claim before and after the student's edits, and what follows from it.

    `line` is where the claim's line is now, 0 if it has not moved. `call` describes the call if the claim was made in
    several. `command` asks for new claims.
    """
    words = {before: f"still {str(before).lower()}", not before: str(not before).lower()}
    answer = f"no answer, because {now.evidence}" if now.is_true is None else f"{words[now.is_true]}: {now.evidence}"
    mark = Text(" ✓", "green") if meaning.is_trace() else Text(" ·", "dim")
    moved = f" (line {line} now)" if line else ""
    texts = (
        f"{printable(claim, MAX_TEXT)}{moved}",
        *([printable(call, MAX_TEXT)] if call else []),
        f"before your edits: {str(before).lower()}",
        f"now: {printable(answer, MAX_TEXT)}",
        meaning.value.format(command=command),
    )
    return [beside(mark, Text("\n".join(texts)), MARK_WIDTH)]


def plain_lines(*texts: str, style: str = "") -> list[Line]:
    """Return texts as lines."""
    return [Text(printable(text, MAX_TEXT), style) for text in texts]
