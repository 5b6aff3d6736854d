"""What a parameter may be given besides its default, as its name, its default and the file's conditions tell."""

import re
from collections.abc import Iterator
from math import copysign, isinf

from grader.author.interface import SCALARS
from grader.author.parameters import Constant, Parameter

NO_OTHER = re.compile(
    r"dropout|drop_?p|^ignore_index$|verbose|debug|print|device|dtype|vocab|(^|_)(generator|rng|dim|axis|classes)$"
)
"""Names of what is tried otherwise, would show in nothing that is compared, or has to fit the inputs."""
TINY = re.compile(r"(^|_)eps")
NUMBER = re.compile(r"clip|scale|limit|bound|cap$|ratio")
SOME_SHARE, SMALLER, SOME_EPS, SMALL, SOME_FILL = 0.25, 0.6, 0.01, 3, 9.0


def other_values(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Values that a parameter with a default may be given besides, each with how a check with it may be called."""
    name, default = parameter.name, parameter.default
    if parameter.is_required or parameter.is_unread or NO_OTHER.search(name.lower()):
        return
    yield from _values_that_tell(parameter)
    if isinstance(default, bool):
        yield f"{name}_{'off' if default else 'on'}", not default
    elif isinstance(default, str):
        for word in dict.fromkeys((*parameter.words, *(NO_REDUCTION if name == "reduction" else ()))):
            if word != default:
                yield f"{name}_{re.sub(r'[^A-Za-z0-9_-]+', '_', word)}", word
    elif isinstance(default, float):
        yield f"other_{name}", _other_float(name, default)
    elif isinstance(default, int) and default >= 0:
        yield f"other_{name}", default // 2 | 1 if default > SMALL else default + 1
    elif default is None and re.search(r"float|int", parameter.annotation):
        yield f"{name}_given", 2 if "int" in parameter.annotation else SOME_SHARE
    elif default is None and not parameter.annotation and (SCALARS.search(name) or NUMBER.search(name)):
        yield f"{name}_given", 2 if COUNT.search(name) else SOME_SHARE


def _values_that_tell(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Values at which the file begins to do something else."""
    for bound in parameter.bounds:
        if bound != parameter.default and bound not in (parameter.refused or ())[:1]:
            yield f"{parameter.name}_{_told(bound)}", bound
    if parameter.is_capped and isinstance(parameter.default, int):
        yield f"{parameter.name}_beyond_all", BEYOND_ALL


NO_REDUCTION = ("none",)
"""What a loss is told that compares its reduction with the others alone."""

BEYOND_ALL = 1000
"""More than there is of anything that is tried."""

COUNT = re.compile(r"^(k|num_.*|n_.*|.*(size|len|length|steps|stride|offset|every|index))$")
"""Names of whole numbers."""


def _told(number: float) -> str:
    """A number as part of a check's name."""
    return re.sub(r"[^0-9]", "_", f"{number:g}".replace("-", "minus_"))


def _other_float(name: str, default: float) -> float:
    if isinf(default):
        return copysign(SOME_FILL, default)
    if TINY.search(name):
        return SOME_EPS
    return float(f"{default * SMALLER:.2g}") if default else SOME_SHARE
