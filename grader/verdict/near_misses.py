"""Recognize near misses: known wrong fixes, each with its own hint. They change no status and no score."""

from collections.abc import Callable, Iterator

from grader.checks.outcome import Examination
from grader.errors import SpecError
from grader.spec.exercise import Exercise
from grader.spec.fragments import make_near_miss
from grader.verdict.attribution import VariantComparison
from grader.verdict.key import defects_in, variant_name
from grader.verdict.matching import is_same


def near_miss_texts(exercise: Exercise, reference: str) -> Iterator[tuple[str, str]]:
    """Yield each near miss, alone and beside other defects: its name and its text.

    Defects whose fragments overlap those of the near miss are left out.
    """
    for near_miss, subset in exercise.near_miss_variants():
        defects = [defect for defect in exercise.defects if defect.id in subset]
        try:
            yield variant_name(subset | {near_miss.id}), make_near_miss(reference, near_miss, defects)
        except SpecError:
            if not subset:
                raise


def find_near_miss(comparison: VariantComparison, examine: Callable[[str, set[str]], Examination]) -> str:
    """Return the id of the near miss that the submission behaves like; empty if there is none.

    The submission must fail the same checks in the same way and with the same numbers. If a variant already
    explains every failure, no near miss is looked for. `examine` takes a near miss's name and the checks to run on it.
    """
    examination = comparison.examination
    ids = {each.id for each in comparison.exercise.near_misses}  # none in an edition without hints
    own, near_misses = examination.signatures(), comparison.key.near_misses
    if not own or not comparison.unexplained:
        return ""
    for name in [name for name, signatures in near_misses.items() if signatures == own and ids & defects_in(name)]:
        deviations = examine(name, {*own}).deviations
        if all(is_same(value, deviations.get(check)) for check, value in examination.deviations.items()):
            return next(iter(ids & defects_in(name)))
    return ""
