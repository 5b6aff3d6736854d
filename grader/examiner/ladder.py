"""Walk a check up its ladder of sizes; the first rung that fails is reported beside the largest that passes."""

from collections.abc import Iterable
from functools import partial

from msgspec import Struct, structs

from grader.course.kinds import Kind
from grader.examiner.case import Case, draw_sizes, is_tried_at_the_ends, make_case, seed_draws
from grader.examiner.compare import Failure
from grader.examiner.context import Context
from grader.examiner.manners import Manner, draw_manners
from grader.examiner.outcome import Tried, last_lines
from grader.examiner.property import Property
from grader.examiner.session import SubjectRaisedError

IN_MANNERS = 2
"""As many of the uppermost rungs of a ladder are tried in a manner too, where all of it is walked."""


class Rung(Struct, frozen=True):
    """Sizes to try a check at. What is drawn for them depends on `name` alone."""

    name: str
    sizes: dict[str, int]
    manner: Manner | None = None
    is_plain: bool = True


def walk(check: Property, context: Context, seed: int) -> None:
    """Try the check's rungs; what the first that fails raises has a note that compares it with the last that passed.

    Where only the ends of the ladder are tried and the upper one fails, the rungs in between tell from where on. Rungs
    whose sizes are drawn come last.
    """
    ladder, drawn = _rungs(check, context, seed)
    if not is_tried_at_the_ends(check) or len(ladder) == 1:
        _try(check, context, [*ladder, *drawn])
        return
    _try(check, context, ladder[:1])
    error = _error_of(check, context, ladder[-1])
    if error is None:
        _try(check, context, drawn, passed=ladder[-1].sizes)
        return
    below = ladder[0]
    if isinstance(error, Failure | SubjectRaisedError):  # the worker still answers
        _try(check, context, ladder[1:-1], passed=below.sizes)
        below = ladder[-2]
    error.add_note(_compare_rungs(below.sizes, ladder[-1].sizes))
    raise error


def _rungs(check: Property, context: Context, seed: int) -> tuple[list[Rung], list[Rung]]:
    """The rungs of the ladder, and those above it whose sizes are drawn."""
    name = f"{seed}/{check.id}"
    ladder = [Rung(f"{name}/{index}", sizes) for index, sizes in enumerate(check.ladder or context.exercise.ladder)]
    if not (check.draws_sizes and context.exercise.drawn):
        return ladder, []
    walks_all = not check.ladder and not is_tried_at_the_ends(check)
    specs = [] if check.ladder else context.exercise.drawn if walks_all else context.exercise.drawn[:1]
    names = [f"{name}/drawn {index}" for index in range(len(specs))]
    has_manners = context.exercise.interface.kind is Kind.MODULE  # there are no manners of calling anything else
    drawn = [
        Rung(each, draw_sizes(spec, each), is_plain=not has_manners or each == names[0])
        for each, spec in zip(names, specs, strict=True)
    ]
    if not has_manners:
        return ladder, drawn
    in_manners = min(IN_MANNERS if walks_all else 1, len(ladder))
    manners = draw_manners(name, in_manners + len(drawn), in_manners + sum(each.is_plain for each in drawn))
    for index, manner in enumerate(manners, start=len(ladder) - in_manners):
        rungs, place = (ladder, index) if index < len(ladder) else (drawn, index - len(ladder))
        rungs[place] = structs.replace(rungs[place], manner=manner)
    return ladder, drawn


def _try(check: Property, context: Context, rungs: Iterable[Rung], passed: dict[str, int] | None = None) -> None:
    """Raise at the first of the rungs that fails; `passed` are the sizes that are known to pass."""
    for rung in rungs:
        error = _error_of(check, context, rung)
        if error is not None:
            error.add_note(_compare_rungs(passed, rung.sizes))
            raise error
        passed = rung.sizes


def _error_of(check: Property, context: Context, rung: Rung) -> Exception | None:
    """What the check raises at a rung."""
    context.read_printed()  # what smaller sizes printed is of no interest
    try:
        check.try_case(context, context.reference.draw(rung.name, partial(_draw_case, context, check, rung)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with a note
        vars(error)["tried"] = Tried(rung.sizes, last_lines(context.read_printed()))
        return error
    return None


def _draw_case(context: Context, check: Property, rung: Rung) -> Case:
    seed_draws(rung.name)
    return make_case(context.exercise, check, rung.sizes, rung.manner, is_plain=rung.is_plain)


def _compare_rungs(passed: dict[str, int] | None, failed: dict[str, int]) -> str:
    if passed is None:
        return "wrong already with " + ", ".join(f"{name}={size}" for name, size in failed.items())
    changed = [name for name in failed if failed[name] != passed.get(name)]
    wrong = ", ".join(f"{name}={failed[name]}" for name in changed)
    right = ", ".join(f"{name}={passed[name]}" for name in changed if name in passed)
    return f"wrong from {wrong} on; right with {right}"
