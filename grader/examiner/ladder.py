"""Walk a check up its ladder of sizes; the first rung that fails is reported beside the last that passed."""

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.course.checks import Drawn, names_in
from grader.course.records import Exercise
from grader.examiner.case import Case, inputs_alike, make_case, seed_draws
from grader.examiner.compare import Failure
from grader.examiner.manners import Manner, draw_manners
from grader.examiner.outcome import Tried, last_lines
from grader.examiner.pictures import beside, recorded
from grader.examiner.properties import Context, Property
from grader.examiner.session import SubjectRaisedError
from grader.examiner.subjects import KINDS
from grader.worker.text import as_arguments

WITH_GRAD = 0.5
"""The share of rungs that are tried with gradients on, where none are asked."""

NO_GRAD_ALONE = "wrong under no_grad alone"

IN_MANNERS = 2
"""As many of the uppermost rungs of a ladder are tried in a manner too, where all of it is walked."""

MOST_TRIES = 50
"""As often sizes are drawn for all of them to differ."""


class Passed(Struct, frozen=True):
    """What passed: its sizes, and what was compared equal there."""

    sizes: dict[str, int]
    compared: dict[str, tuple[Any, Any]]


class Rung(Struct, frozen=True):
    """Sizes to try a check at. What is drawn for them depends on `name` alone."""

    name: str
    sizes: dict[str, int]
    manner: Manner | None = None
    is_plain: bool = True


Rungs = tuple[list[Rung], list[Rung]]
"""The rungs of a ladder, and those above it whose sizes are drawn."""


def walk(check: Property, context: Context, rungs: Rungs) -> None:
    """Try a check's rungs, as `rungs_of` gives them; an error has a note that compares it with the last that passed.

    Where only the ends of the ladder are tried and the upper one fails, the rungs in between are tried too. Rungs
    whose sizes are drawn come last.
    """
    ladder, drawn = rungs
    if context.reference.is_asked_all or not _is_tried_at_the_ends(check) or len(ladder) == 1:
        _try(check, context, [*ladder, *drawn])
        return
    below = _try(check, context, ladder[:1])
    result = _try_rung(check, context, ladder[-1])
    if isinstance(result, Passed):
        _try(check, context, drawn, result)
        return
    if isinstance(result, Failure | SubjectRaisedError):  # the worker still answers
        below = _try(check, context, ladder[1:-1], below)
    _tell_sizes(check, result, below, ladder[-1])
    raise result


def rungs_of(check: Property, exercise: Exercise, seed: int) -> Rungs:
    """The rungs of the ladder, and those above it whose sizes are drawn."""
    name = f"{seed}/{check.id}"
    ladder = [Rung(f"{name}/{index}", sizes) for index, sizes in enumerate(check.ladder or exercise.ladder)]
    if check.draws_equal_sizes and not check.ladder:
        return ladder, [Rung(f"{name}/drawn", draw_sizes(spec, f"{name}/drawn")) for spec in _most_equal(exercise)]
    longest = _longest(exercise)
    once_more = [Rung(f"{name}/longest", draw_sizes(longest, f"{name}/longest"))] if longest else []
    if check.draws_longest and longest and longest.keys() == ladder[0].sizes.keys():
        return ladder, once_more
    if not (check.draws_sizes and exercise.drawn):
        return ladder, []
    walks_all = not check.ladder and not _is_tried_at_the_ends(check)
    specs = [] if check.ladder else exercise.drawn if walks_all else _some_of(exercise, check)
    names = [f"{name}/drawn {index}" for index in range(len(specs))]
    has_manners = KINDS[exercise.interface.kind].has_manners
    drawn = [
        Rung(each, draw_sizes(spec, each), is_plain=not has_manners or each == names[0])
        for each, spec in zip(names, specs, strict=True)
    ]
    if not has_manners:
        return ladder, drawn
    in_manners = min(IN_MANNERS if walks_all else 1, len(ladder))
    surely = "rebuilt" if check.constructor else ""  # arguments have an order
    manners = draw_manners(name, in_manners + len(drawn), in_manners + len(drawn[:1]), surely)
    for index, manner in enumerate(manners, start=len(ladder) - in_manners):
        rungs, place = (ladder, index) if index < len(ladder) else (drawn, index - len(ladder))
        can_share = inputs_alike(exercise, check, rungs[place].sizes)
        rungs[place] = structs.replace(rungs[place], manner=manner if can_share else manner.without("shared"))
    return ladder, [*drawn, *once_more] if walks_all else drawn


def _is_tried_at_the_ends(check: Property) -> bool:
    """Whether the smallest and the largest sizes hold all there is to see, so that only these are tried.

    The comparison with the reference walks the whole ladder; a check that brings a ladder of its own walks all of that.
    """
    return not check.ladder and not (check.walks_all_rungs and check.is_plain())


def draw_sizes(spec: dict[str, Any], name: str) -> dict[str, int]:
    """The sizes of a drawn rung, all different where that can be; they depend on `name` alone."""
    draw = random.Random(name)  # noqa: S311 - the seed is a run's own, and secret
    factors_first = sorted(spec, key=lambda size: isinstance(spec[size], list) and isinstance(spec[size][0], str))
    sizes: dict[str, int] = {}
    for _ in range(MOST_TRIES):
        sizes = {}
        for size in factors_first:
            *factor, low, high = spec[size] if isinstance(spec[size], list) else (spec[size], spec[size])
            sizes[size] = draw.randint(low, high) * (sizes[factor[0]] if factor else 1)
        if len(set(sizes.values())) == len(sizes):
            break
    return {size: sizes[size] for size in spec}


def _some_of(exercise: Exercise, check: Property) -> Drawn:
    """The first of the drawn rungs; for inputs or arguments of the check's own also the longest and the most equal."""
    first, longest = exercise.drawn[:1], _longest(exercise)
    if check.is_plain() or not longest or not KINDS[exercise.interface.kind].has_manners:
        return first
    return [*first, longest, *(spec for spec in _most_equal(exercise) if spec is not longest)]


def _most_equal(exercise: Exercise) -> Drawn:
    """Of the drawn rungs that in which most sizes are the same, if there is any."""

    def different(spec: dict[str, Any]) -> int:
        sizes = draw_sizes(spec, "most equal")
        return len({*sizes.values()}) - len(sizes)

    return sorted(exercise.drawn, key=different)[:1]


def _longest(exercise: Exercise) -> dict[str, int | list[str | int]] | None:
    """Of the drawn rungs after the first, that of the longest inputs."""
    names = set().union(*map(names_in, exercise.interface.inputs.values()))

    def longest(spec: dict[str, int | list[str | int]]) -> int:
        ends = [size[-1] if isinstance(size, list) else size for name, size in spec.items() if name in names]
        return max((end for end in ends if isinstance(end, int)), default=0)

    return max(exercise.drawn[1:], key=longest, default=None)


def _try(check: Property, context: Context, rungs: Iterable[Rung], passed: Passed | None = None) -> Passed | None:
    """Raise at the first of the rungs that fails; `passed`, and what is returned, is the last that passed."""
    for rung in rungs:
        result = _try_rung(check, context, rung)
        if isinstance(result, Exception):
            _tell_sizes(check, result, passed, rung)
            raise result
        passed = result
    return passed


def _try_rung(check: Property, context: Context, rung: Rung) -> Passed | Exception:
    """What passed, or what the check raises at a rung; one of two is tried without gradients, where none are asked."""
    has_grad = rung.manner is not None or random.Random(f"{rung.name}/grad").random() < WITH_GRAD  # noqa: S311 - see `draw_manners`
    result = _try_once(check, context, rung, grad=has_grad)
    if has_grad or not isinstance(result, Failure | SubjectRaisedError):
        return result
    with_grad = _try_once(check, context, rung, grad=True)
    if isinstance(with_grad, Passed):
        result.add_note(NO_GRAD_ALONE)
        return result
    return with_grad


def _try_once(check: Property, context: Context, rung: Rung, *, grad: bool) -> Passed | Exception:
    """What passed, or what the check raises, with gradients or without."""
    context.read_printed()  # what smaller sizes printed is of no interest
    with recorded() as compared:
        try:
            case = context.reference.draw(rung.name, partial(_draw_case, context, check, rung))
            check.try_case(context, structs.replace(case, grad=grad))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with a note
            wrong = error.wrong if isinstance(error, Failure) else None
            place = wrong.within(context.last_returned()) if wrong else None
            expected = wrong.expected if wrong and place is not None else ""
            vars(error)["tried"] = Tried(rung.sizes, last_lines(context.read_printed()), place or "", expected)
            return error
    return Passed(rung.sizes, compared)


def _draw_case(context: Context, check: Property, rung: Rung) -> Case:
    seed_draws(rung.name)
    return make_case(context.exercise, check, rung.sizes, rung.manner, is_plain=rung.is_plain)


def _tell_sizes(check: Property, error: Exception, passed: Passed | None, failed: Rung) -> None:
    """Add a note that compares the sizes, and to a picture what it is like at those that pass.

    It names the two that were tried and claims nothing of those in between, which no rung has.

    Only what the call was made with is told: what the check gives in place of a size stands for it, and where only a
    manner fails, in which no smaller sizes were tried, there is nothing to compare with.
    """
    sizes, built = check.sizes_of_calls(failed.sizes), _built_with(check, failed.sizes)
    if failed.manner is not None and str(error).startswith(failed.manner.described()):
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
