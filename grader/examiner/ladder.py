"""Walk a check up its ladder of sizes; the first rung that fails is reported beside the largest that passes."""

from collections.abc import Iterable
from functools import partial

from grader.examiner.case import Case, is_tried_at_the_ends, make_case, seed_draws
from grader.examiner.compare import Failure
from grader.examiner.context import Context
from grader.examiner.outcome import Tried, last_lines
from grader.examiner.property import Property
from grader.examiner.session import SubjectRaisedError


def walk(check: Property, context: Context, seed: int) -> None:
    """Try the check's rungs; what the first that fails raises has a note that compares it with the last that passed.

    Where only the ends of the ladder are tried and the upper one fails, the rungs in between tell from where on.
    """
    ladder = check.ladder or context.exercise.ladder
    if not is_tried_at_the_ends(check) or len(ladder) == 1:
        _try(check, context, seed, range(len(ladder)))
        return
    _try(check, context, seed, [0])
    error = _error_of(check, context, seed, len(ladder) - 1)
    if error is None:
        return
    below = ladder[0]
    if isinstance(error, Failure | SubjectRaisedError):  # the worker still answers
        _try(check, context, seed, range(1, len(ladder) - 1), passed=below)
        below = ladder[-2]
    error.add_note(_compare_rungs(below, ladder[-1]))
    raise error


def _try(
    check: Property, context: Context, seed: int, rungs: Iterable[int], passed: dict[str, int] | None = None
) -> None:
    """Raise at the first of the rungs that fails; `passed` are the sizes that are known to pass."""
    for rung in rungs:
        error = _error_of(check, context, seed, rung)
        sizes = (check.ladder or context.exercise.ladder)[rung]
        if error is not None:
            error.add_note(_compare_rungs(passed, sizes))
            raise error
        passed = sizes


def _error_of(check: Property, context: Context, seed: int, rung: int) -> Exception | None:
    """What the check raises at a rung."""
    sizes = (check.ladder or context.exercise.ladder)[rung]
    name = f"{seed}/{check.id}/{rung}"
    context.read_printed()  # what smaller sizes printed is of no interest
    try:
        check.try_case(context, context.reference.draw(name, partial(_draw_case, context, check, sizes, name)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with a note
        vars(error)["tried"] = Tried(sizes, last_lines(context.read_printed()))
        return error
    return None


def _draw_case(context: Context, check: Property, sizes: dict[str, int], name: str) -> Case:
    seed_draws(name)
    return make_case(context.exercise, check, sizes)


def _compare_rungs(passed: dict[str, int] | None, failed: dict[str, int]) -> str:
    if passed is None:
        return "wrong already with " + ", ".join(f"{name}={size}" for name, size in failed.items())
    changed = [name for name in failed if failed[name] != passed.get(name)]
    wrong = ", ".join(f"{name}={failed[name]}" for name in changed)
    right = ", ".join(f"{name}={passed[name]}" for name in changed if name in passed)
    return f"wrong from {wrong} on; right with {right}"
