"""Walk a check up its ladder of sizes; the first rung that fails is reported beside the largest that passes."""

from collections.abc import Iterator
from functools import partial

from grader.examiner.case import Case, make_case, rungs_of, seed_draws
from grader.examiner.properties import Bench, try_rung
from grader.exercise.checks import Check


def walk(check: Check, bench: Bench, seed: int) -> None:
    """Try every rung; what the first failing one raises carries a note that compares it with the last that passed."""
    passed: dict[str, int] | None = None
    for case in cases(bench, check, seed):
        try:
            try_rung(check, bench, case)
        except Exception as error:
            error.add_note(_compare_rungs(passed, case.sizes))
            raise
        passed = case.sizes


def cases(bench: Bench, check: Check, seed: int) -> Iterator[Case]:
    """The check's ladder, from the smallest rung up."""
    for rung, sizes in enumerate(rungs_of(bench.exercise, check)):
        name = f"{seed}/{check.id}/{rung}"
        yield bench.reference.draw(name, partial(_draw_case, bench, check, sizes, name))


def _draw_case(bench: Bench, check: Check, sizes: dict[str, int], name: str) -> Case:
    seed_draws(name)
    return make_case(bench.exercise, check, sizes)


def _compare_rungs(passed: dict[str, int] | None, failed: dict[str, int]) -> str:
    if passed is None:
        return "wrong from the smallest sizes on"
    changed = [name for name in failed if failed[name] != passed.get(name)]
    wrong = ", ".join(f"{name}={failed[name]}" for name in changed)
    right = ", ".join(f"{name}={passed[name]}" for name in changed if name in passed)
    return f"wrong from {wrong} on; right with {right}"
