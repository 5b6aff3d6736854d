"""Walk a check up its size cases; the first size case that fails is reported beside the last that passed."""

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.checks.case import Case, make_case, seed_draws
from grader.checks.compare import Failure
from grader.checks.context import Context
from grader.checks.outcome import Tried, last_lines
from grader.checks.pictures import beside, recorded
from grader.checks.properties import try_case
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import NO_GRAD_ALONE, FixedAndRandom, SizeCase, is_tried_at_the_ends
from grader.sandbox.text import as_arguments
from grader.spec.properties import Property

WITH_GRAD = 0.5
"""The share of size cases that are tried with gradients on, where none are asked."""


class Passed(Struct, frozen=True):
    """What passed: its sizes, and what was compared equal there."""

    sizes: dict[str, int]
    compared: dict[str, tuple[Any, Any]]


def walk(check: Property, context: Context, size_cases: FixedAndRandom) -> None:
    """Try a check's size cases, as `size_cases_of` gives them; an error has a note that compares it with the last
    that passed.

    Where only the ends of the sizes are tried and the upper one fails, the size cases in between are tried too. Size
    cases whose sizes are drawn come last.
    """
    fixed_sizes, drawn = size_cases
    if context.reference.is_asked_all or not is_tried_at_the_ends(check) or len(fixed_sizes) == 1:
        _try(check, context, [*fixed_sizes, *drawn])
        return
    below = _try(check, context, fixed_sizes[:1])
    result = _try_size_case(check, context, fixed_sizes[-1])
    if isinstance(result, Passed):
        _try(check, context, drawn, result)
        return
    if isinstance(result, Failure | SubjectRaisedError):  # the worker still answers
        below = _try(check, context, fixed_sizes[1:-1], below)
    _tell_sizes(check, result, below, fixed_sizes[-1])
    raise result


def _try(
    check: Property, context: Context, size_cases: Iterable[SizeCase], passed: Passed | None = None
) -> Passed | None:
    """Raise at the first of the size cases that fails; `passed`, and what is returned, is the last that passed."""
    for size_case in size_cases:
        result = _try_size_case(check, context, size_case)
        if isinstance(result, Exception):
            _tell_sizes(check, result, passed, size_case)
            raise result
        passed = result
    return passed


def _try_size_case(check: Property, context: Context, size_case: SizeCase) -> Passed | Exception:
    """What passed, or what the check raises at a size case; one of two is tried without gradients, where none are
    asked.
    """
    has_grad = size_case.calling_variant is not None or random.Random(f"{size_case.name}/grad").random() < WITH_GRAD  # noqa: S311 - see `draw_calling_variants`
    result = _try_once(check, context, size_case, grad=has_grad)
    if has_grad or not isinstance(result, Failure | SubjectRaisedError):
        return result
    with_grad = _try_once(check, context, size_case, grad=True)
    if isinstance(with_grad, Passed):
        result.add_note(NO_GRAD_ALONE)
        return result
    return with_grad


def _try_once(check: Property, context: Context, size_case: SizeCase, *, grad: bool) -> Passed | Exception:
    """What passed, or what the check raises, with gradients or without."""
    context.read_printed()  # what smaller sizes printed is of no interest
    with recorded() as compared:
        try:
            case = context.reference.draw(size_case.name, partial(_draw_case, context, check, size_case))
            try_case(check, context, structs.replace(case, grad=grad))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with a note
            wrong = error.wrong if isinstance(error, Failure) else None
            place = wrong.within(context.last_returned()) if wrong else None
            expected = wrong.expected if wrong and place is not None else ""
            vars(error)["tried"] = Tried(size_case.sizes, last_lines(context.read_printed()), place or "", expected)
            return error
    return Passed(size_case.sizes, compared)


def _draw_case(context: Context, check: Property, size_case: SizeCase) -> Case:
    seed_draws(size_case.name)
    return make_case(context.exercise, check, size_case.sizes, size_case.calling_variant, is_plain=size_case.is_plain)


def _tell_sizes(check: Property, error: Exception, passed: Passed | None, failed: SizeCase) -> None:
    """Add a note that compares the sizes, and to a picture what it is like at those that pass.

    It names the two that were tried and claims nothing of those in between, which no size case has.

    Only what the call was made with is told: what the check gives in place of a size stands for it, and where only a
    calling variant fails, in which no smaller sizes were tried, there is nothing to compare with.
    """
    sizes, built = check.sizes_of_calls(failed.sizes), _built_with(check, failed.sizes)
    if failed.calling_variant is not None and str(error).startswith(failed.calling_variant.described()):
        error.add_note(f"wrong with {as_arguments(sizes)}{built}")
        return
    if passed is None:
        error.add_note(
            f"wrong already with {as_arguments(sizes)}{built}" if sizes else f"wrong{built.replace(',', '', 1)}"
        )
        return
    changed = [name for name in sizes if sizes[name] != passed.sizes.get(name)]
    wrong = {name: sizes[name] for name in changed}
    right = as_arguments({name: passed.sizes[name] for name in changed if name in passed.sizes})
    error.add_note(f"wrong with {as_arguments(wrong)}; right with {right}")
    if isinstance(error, Failure) and error.picture and error.pictured in passed.compared:
        error.picture = beside(error.picture, *passed.compared[error.pictured], right)


def _built_with(check: Property, sizes: dict[str, int]) -> str:
    """What the check builds the module with besides, or leaves out."""
    plain = {
        name: sizes.get(value, value) if isinstance(value, str) else value for name, value in check.constructor.items()
    }
    given = as_arguments(plain)
    left_out = " and ".join(check.defaults)
    return f", built with {given}" * bool(given) + f", {left_out} left at the default" * bool(left_out)
