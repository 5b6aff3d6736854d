"""An exercise's description -> its README, the page that a student reads first."""

from typing import Any

from grader.course.kinds import Kind
from grader.course.records import Exercise
from grader.examiner.subjects import KINDS


def write_readme(exercise: Exercise) -> str:
    """The page that a student reads first."""
    interface = exercise.interface
    is_module = interface.kind is Kind.MODULE
    rows = [f"| `{name}` | {_shape(spec)} |" for name, spec in interface.inputs.items()]
    if interface.kind in (Kind.MODULE, Kind.FUNCTION, Kind.LOSS):
        what = f"what `{interface.called()}` returns"
        rows += [f"| {what} | {_shape(shape) if shape else 'a single number'} |" for shape in interface.outputs]
    keywords = [name if value == name else f"{name}={value!r}" for name, value in interface.constructor.items()]
    given = [*interface.inputs, *keywords] if interface.function or interface.kind is Kind.DATASET else keywords
    first = {Kind.OPTIMIZER: ["parameters"], Kind.TRAINING_STEP: ["model", "optimizer"]}.get(interface.kind, [])
    names = [*first, *given]
    table, signature = "\n".join(rows), f"{interface.entry()}({', '.join(names)})"
    kept = "The names of the parameters must stay, so\nthat saved weights still load." if is_module else ""
    return f"""# {exercise.title}

## The story

{exercise.story.strip()}

## The interface a fix must keep

`{signature}` is {KINDS[interface.kind].told}.

| what | shape |
| --- | --- |
{table}

Inside these lines everything is yours: mend a line, or write it anew. {kept}

## How to work on it

Edit `attention.py`, or its notebook twin `attention.ipynb` if you would rather experiment, and ask for a verdict:

    python -m grader {exercise.id}

Stuck? Each call gives one more hint:

    python -m grader hint {exercise.id}
"""


def _shape(spec: Any) -> str:
    shape = spec if isinstance(spec, list) else getattr(spec, "shape", None)
    if shape is None:
        return f"`{spec!r}`"
    return f"`({', '.join(map(str, shape))})`{_made_of(spec)}"


def _made_of(spec: Any) -> str:
    """What an input is, beside its shape, for those who read the story."""
    if isinstance(spec, list):
        return ""
    if spec.is_mask():
        return ", a mask: true where a query may look"
    if spec.between is not None:
        return f", numbers between {spec.between[0]:g} and {spec.between[1]:g}"
    ignored = f", or {spec.ignored} where there is nothing to count" if spec.ignored is not None else ""
    return f", whole numbers from {spec.start} up to and without {spec.integers}{ignored}"
