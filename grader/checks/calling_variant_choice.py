"""Choose calling variants: by position, in training mode, without gradients, in other layouts, ...

A right module returns the same values however it is called. The calling variants of an exercise are the rows of one
covering array; checks and size cases are two of its axes. So in every run, any two values of different axes occur
together in some call.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from grader.checks.covering import covering_array
from grader.sandbox.calling_variants import (
    Arguments,
    CallingVariant,
    Dtype,
    GradientMode,
    History,
    MemoryLayout,
    Mode,
    Scale,
    Sharing,
)

AXES: dict[str, tuple[StrEnum, ...]] = {
    "history": (*History,),
    "gradients": (*GradientMode,),
    "layout": (*MemoryLayout,),
    "mode": (*Mode,),
    "dtype": (*Dtype,),
    "arguments": (*Arguments,),
    "sharing": (*Sharing,),
}

FIRST: tuple[dict[str, StrEnum], ...] = (
    {
        "history": History.AFTER_OTHERS,  # caches are mostly used in evaluation, without gradients
        "mode": Mode.UNCHANGED,
        "gradients": GradientMode.NO_GRAD,
        "dtype": Dtype.FLOAT32,
        "layout": MemoryLayout.CONTIGUOUS,
    },
)
"""Combinations of more than two values that occur in every check."""


LARGE_AXES: dict[str, tuple[StrEnum, ...]] = {
    "layout": (*MemoryLayout,),
    "gradients": (*GradientMode,),
    "mode": (*Mode,),
    "dtype": (*Dtype,),
}
"""The axes of calls with large inputs. Other axes do not vary, because a saturated softmax can hide a stale cache."""


OF_FUNCTIONS = {History.FRESH, History.SETTINGS, History.AFTER_OTHERS, History.INFERENCE_FIRST, Mode.UNCHANGED}
"""The histories and the mode of functions, which have neither a state nor a dtype of their own."""


class CallingVariantCheck(Struct, frozen=True, kw_only=True):
    """A check that calls the module in calling variants.

    `places` are the size cases in which it does so. `sharing` are the places at which several inputs may be one tensor.
    """

    id: str
    places: tuple[Hashable, ...]
    sharing: frozenset[Hashable]
    by_position: bool
    """Whether inputs may be passed by position."""
    built_by_position: bool
    """Whether constructor arguments may be passed by position."""
    of_function: bool
    """Whether the subject is a function."""
    trains_after_inference: bool


@functools.lru_cache(maxsize=64)
def choose_calling_variants(
    checks: tuple[CallingVariantCheck, ...],
) -> dict[tuple[str, Hashable], tuple[CallingVariant, ...]]:
    """Return the calling variants of each check at each of its places.

    The calls with large inputs are the rows of a second covering array; each check has at least one such call.
    """
    places = list(dict.fromkeys(place for check in checks for place in check.places))
    axes: dict[str, Sequence[Any]] = {"check": checks, "place": places, **AXES}
    names = list(axes)
    fits = _fits(axes)
    first = [
        {names.index(name): axes[name].index(value) for name, value in {"check": check, **row}.items()}
        for check in checks
        for row in FIRST
    ]
    chosen: dict[tuple[str, Hashable], list[CallingVariant]] = {}
    for numbers in covering_array([len(values) for values in axes.values()], fits, first):
        row = {name: axes[name][number] for name, number in zip(names, numbers, strict=True)}
        check, place = row.pop("check"), row.pop("place")
        chosen.setdefault((check.id, place), []).append(CallingVariant(**row))
    of_function = any(check.of_function for check in checks)
    large = [*dict.fromkeys(fitting(each, of_function=of_function) for each in _large_variants())]
    for number in range(max(len(checks), len(large)) if checks else 0):
        check = checks[number % len(checks)]
        place = check.places[number % len(check.places)]
        chosen.setdefault((check.id, place), []).append(large[number % len(large)])
    return {where: tuple(sorted(variants, key=_is_in_inference)) for where, variants in chosen.items()}


def fitting(variant: CallingVariant, *, of_function: bool) -> CallingVariant:
    """Return the calling variant. For a function, replace a mode or a history that only modules have by the plain
    one.
    """
    if not of_function:
        return variant
    history = variant.history if variant.history in OF_FUNCTIONS else History.FRESH
    return structs.replace(variant, mode=Mode.UNCHANGED, history=history)


def _large_variants() -> list[CallingVariant]:
    """Return calling variants with large inputs."""
    names = list(LARGE_AXES)
    rows = covering_array([len(values) for values in LARGE_AXES.values()], lambda *_: True)
    values = [{name: LARGE_AXES[name][number] for name, number in zip(names, row, strict=True)} for row in rows]
    return [CallingVariant(**dict[str, Any](each), scale=Scale.LARGE) for each in values]


def _is_in_inference(variant: CallingVariant) -> bool:
    """Return whether a call may leave inference tensors, which training cannot use. Such calls come last."""
    return variant.gradients is GradientMode.INFERENCE_MODE


def _fits(axes: dict[str, Sequence[Any]]) -> Callable[[int, int, int, int], bool]:
    """Return a function that tells whether two values of different axes, given by number, may be in one row."""
    values = list(axes.values())
    sharing = frozenset((check, place) for check in axes["check"] for place in check.sharing)

    def fits(axis: int, number: int, other: int, others_number: int) -> bool:
        one, two = values[axis][number], values[other][others_number]
        match one, two:
            case CallingVariantCheck(), Arguments():
                return one.by_position or two is Arguments.BY_KEYWORD
            case CallingVariantCheck(), History.REBUILT | History.SETTINGS if not one.built_by_position:
                return False
            case CallingVariantCheck(), Mode() | History():
                return two in OF_FUNCTIONS if one.of_function else two is not History.SETTINGS
            case CallingVariantCheck(), Sharing():
                return bool(one.sharing) or two is Sharing.SEPARATE
            case CallingVariantCheck(), _ if axis == 0 and other == 1:
                return two in one.places
            case _, Sharing() if axis == 1:
                return two is Sharing.SEPARATE or any(place == one for _, place in sharing)
            case History.INFERENCE_FIRST, GradientMode():
                # without the class, the pattern would match the value "" of any axis
                trains = any(check.trains_after_inference for check in axes["check"])
                return (two is GradientMode.RECORDED) == trains
            case History.CONVERTED, Dtype():
                return two is Dtype.FLOAT64
        return True

    return fits
