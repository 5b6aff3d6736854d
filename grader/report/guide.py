"""The text of a guided hunt: cards, questions, the values of a call, the forms of claims."""

import re
from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from grader.checks.outcome import Picture
from grader.report.page import INDENT, Line, beside, indented
from grader.report.picture import shaded
from grader.report.printable import printable
from grader.spec.exercise import Exercise
from grader.spec.fields import shape_of

MAX_TEXT = 600
OPTION_WIDTH = 4
LINE_WIDTH = 6
MAX_NAME = 40

FORMS = (
    ("{tensor} unchanged {line}", "the code on line {line} leaves it as it was"),
    ("{tensor} equals {other}", "the two values are equal; the second may be a number, as in {tensor}{index} equals 0"),
    ("{tensor} shape {shape}", "it has this shape"),
    ("{weights} sums_to_one", "the sums over its last axis are 1"),
    ("{square} symmetric", "it equals its transpose"),
    ("{tensor} dtype {dtype}", "it has this dtype or type"),
    ("{tensor} finite", "it contains no NaN and no infinity"),
    ("{tensor} depends {input}", "it changes if the input {input} changes; {input}{index} is a part of the input"),
    ("{parameter} no_gradient", "no gradient reaches this parameter"),
    ("{tensor} varies", "two calls with the same input give different values"),
)
"""The forms of claims, each with its meaning."""


WEIGHTS = re.compile(r"weight|attn|attention|prob|soft|alpha|share")
"""Names of values whose rows may sum to 1."""


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
    """A value whose last two axes are equally long, if there is one."""
    dtype: str
    line: int
    shape: str
    index: str
    input: str
    parameter: str
    """Empty if there are no parameters."""


def card_title(number: int, name: str, aim: str) -> list[Line]:
    """Return the heading of a card."""
    return [Text(), Text.assemble((f"{number} {name}", "bold"), (f" · {aim}", "dim"))]


def question_lines(text: str, options: Sequence[str]) -> list[Line]:
    """Return a question with its numbered options."""
    numbered = [
        beside(Text(f"{number:>3}", "bold"), Text(f" {printable(option, MAX_TEXT)}"), OPTION_WIDTH)
        for number, option in enumerate(options, 1)
    ]
    return [Text(), Text(printable(text, MAX_TEXT)), *numbered]


def answered_lines(*, is_right: bool | None, right: str, label: str = "Right answer") -> list[Line]:
    """Return whether an answer was right, and the right one; `is_right` is None for a skipped question."""
    mark = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}[is_right]
    return [Text.assemble(mark, f" {label}: {printable(right, MAX_TEXT)}")]


def happens_lines(happens: str, picture: Picture | None, width: int) -> list[Line]:
    """Return what the student's file does, with a picture if there is one that fits."""
    drawn = shaded(picture, width - INDENT) if picture else []
    for line in drawn:
        line.no_wrap = True
    return [Text(f"  Your file: {printable(happens, MAX_TEXT)}"), *(indented(line) for line in drawn)]


def value_lines(values: Sequence[ListedValue], note: str) -> list[Line]:
    """Return the values of a call, by function: line, name, shape or number, and type. Then name the parameters."""
    parameters, values = _parameters_and_others(values)
    lines: list[Line] = [Text(note)]
    function = ""
    for value in values:
        if value.function != function:
            function = value.function
            lines.append(Text(f"in {printable(function, MAX_NAME)}", "dim"))
        number, name = f"{value.line:>{LINE_WIDTH}}", f"  {printable(value.name, MAX_NAME):<20} "
        lines.append(Text.assemble((number, "dim"), name, f"{value.described} ", (value.type, "dim")))
    return [*lines, *plain_lines(f"parameters: {', '.join(parameters)}", style="dim")] if parameters else lines


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
    made = [each for each in tensors if each.line != tensors[0].line] or tensors
    own = [each for each in made if each.function == tensors[0].function] or made
    numbers = [each for each in own if "float" in each.type and len(each.shape or []) > 1] or own
    numbers = sorted(numbers, key=lambda each: (each.name.startswith("self."), each.name in inputs))
    first = numbers[0]
    same_form = (each.name for each in (*own, *tensors) if (each.shape, each.type) == (first.shape, first.type))
    other = next((name for name in same_form if name != first.name), "0.5")
    square = (each for each in made if len(each.shape or []) > 1 and len({*(each.shape or [])[-2:]}) == 1)
    return Example(
        tensor=first.name,
        other=other,
        weights=next((each.name for each in numbers if WEIGHTS.search(each.name)), first.name),
        square=next(square, first).name,
        dtype=first.type,
        line=next((each.line for each in own if each.line > first.line), first.line),
        shape=" ".join(map(str, first.shape or [])) or "2 3",
        index="[0]" if first.is_tensor() else "",
        input=next(iter([*gaussian, *shaped]), tensors[0].name),
        parameter=parameters[0] if parameters else "",
    )


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
        Text(f'The word "not" negates a claim: {example.weights} not sums_to_one.', "dim"),
    ]


def claim_lines(answer: ClaimAnswer) -> list[Line]:
    """Return the answer to a claim."""
    words = {True: ("true", "bold green"), False: ("false", "bold red"), None: ("no answer", "yellow")}
    return [Text.assemble("  ", words[answer.is_true], f": {printable(answer.evidence, MAX_TEXT)}")]


def answer_now_lines(
    claim: str, *, before: bool, now: ClaimAnswer, line: int, is_fixed: bool, command: str
) -> list[Line]:
    """Return the answer to a claim before and after the student's edits, and what follows from it.

    `line` is where the claim's line is now, 0 if it has not moved. `command` asks for new claims.
    """
    is_changed = now.is_true is not None and now.is_true is not before
    if now.is_true is None:
        answer = f"no answer, because {now.evidence}"
        meaning = f"Your edits removed this value or line. Make a claim about its replacement: {command}"
    elif is_changed:
        answer = f"{str(now.is_true).lower()}: {now.evidence}"
        meaning = "Your edits changed this answer, so it was a trace of a bug."
    else:
        answer = f"still {str(now.is_true).lower()}: {now.evidence}"
        meaning = (
            "This answer did not change, and your file is right: the value was not wrong."
            if is_fixed
            else "Either this value is right, or a bug that affects it remains: read the code that computes it."
        )
    mark = Text(" ✓", "green") if is_changed else Text(" ·", "dim")
    moved = f" (line {line} now)" if line else ""
    texts = (
        f"{printable(claim, MAX_TEXT)}{moved}",
        f"before your edits: {str(before).lower()}",
        f"now: {printable(answer, MAX_TEXT)}",
        meaning,
    )
    return [beside(mark, Text("\n".join(texts)), OPTION_WIDTH)]


def plain_lines(*texts: str, style: str = "") -> list[Line]:
    """Return texts as lines."""
    return [Text(printable(text, MAX_TEXT), style) for text in texts]
