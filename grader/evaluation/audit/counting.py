"""Count an audit's gradings. Every figure of the page is made here, from the gradings alone."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from msgspec import structs

from grader.evaluation.audit.cases import LAYERS, Case, Corpus
from grader.evaluation.audit.intervals import clopper_pearson
from grader.evaluation.audit.records import AttackRow, Grading, Row, Share
from grader.spec.wrong_fixes import Expectation
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


def grading_of(case: Case, kind: str, verdict: Verdict) -> Grading:
    """Compare a verdict with the truth about its case."""
    expected = expected_statuses(case.expect)
    statuses = {defect.id: defect.status for defect in verdict.defects}
    known = {name: statuses[name] for name in expected if verdict.was_checked() and name in statuses}
    exact = sum(1 for name, status in known.items() if status in expected[name])
    unknown = sum(
        1 for name, status in known.items() if status is DefectStatus.UNKNOWN and status not in expected[name]
    )
    return Grading(
        corpus=case.corpus,
        exercise=case.exercise,
        kind=kind,
        name=case.name,
        seed=verdict.seed,
        outcome=verdict.outcome,
        score=verdict.score,
        max_score=verdict.max_score,
        is_right=case.is_right,
        has_all=verdict.outcome is Result.FIXED and verdict.score == verdict.max_score,
        most_points=case.most_points,
        exact=exact,
        unknown=unknown,
        false=len(known) - exact - unknown,
        seconds=verdict.seconds,
    )


def expected_statuses(expect: Expectation) -> dict[str, set[DefectStatus]]:
    """Map each defect that the expectation names to its allowed statuses."""
    named = [
        (expect.fixed, {DefectStatus.FIXED}),
        (expect.present, {DefectStatus.PRESENT}),
        (expect.unknown, {DefectStatus.UNKNOWN}),
        (expect.unfixed, {DefectStatus.PRESENT, DefectStatus.UNKNOWN}),
    ]
    return {defect: statuses for defects, statuses in named for defect in defects}


def share(count: int, total: int) -> Share:
    """Return a count with its bounds."""
    bounds = clopper_pearson(count, total)
    return Share(count=count, total=total, lower=bounds and bounds[0], upper=bounds and bounds[1])


def rows_by(gradings: Iterable[Grading], key: Callable[[Grading], str]) -> list[Row]:
    """Return a row for each value of the key, in the order of the gradings. Attacks have separate rows."""
    groups: dict[str, list[Grading]] = defaultdict(list)
    for grading in gradings:
        if grading.corpus is not Corpus.ATTACKS:
            groups[key(grading)].append(grading)
    return [_row(name, group) for name, group in groups.items()]


def _row(name: str, gradings: list[Grading]) -> Row:
    cases = _by_case(gradings)
    judged = [[each for each in case if each.outcome is not Result.NOT_JUDGED] for case in cases]
    right = [case for case in judged if case and case[0].is_right]
    wrong = [case for case in judged if case and not case[0].is_right]
    exact, unknown, false = (sum(getattr(each, field) for each in gradings) for field in ("exact", "unknown", "false"))
    known = exact + unknown + false
    return Row(
        name=name,
        gradings=len(gradings),
        right_refused=share(sum(1 for case in right if not all(each.has_all for each in case)), len(right)),
        wrong_passed=share(sum(1 for case in wrong if any(each.has_all for each in case)), len(wrong)),
        exact=share(exact, known),
        unknown=share(unknown, known),
        false=share(false, known),
        not_judged=share(
            sum(1 for case in cases if any(each.outcome is Result.NOT_JUDGED for each in case)), len(cases)
        ),
    )


def flips(gradings: Iterable[Grading]) -> Share:
    """Of the cases with several seeds, return how many got all points at some seeds but not at others."""
    every = _by_case(each for each in gradings if each.corpus is not Corpus.ATTACKS)
    cases = [case for case in every if len(case) > 1]
    return share(sum(1 for case in cases if len({each.has_all for each in case}) > 1), len(cases))


def misjudged(gradings: Iterable[Grading], *, is_right: bool) -> list[str]:
    """Return the right cases that were refused at some seed, or the wrong cases that passed."""
    judged = (each for each in gradings if each.outcome is not Result.NOT_JUDGED)
    wrongly = [
        each for each in judged if each.corpus is not Corpus.ATTACKS and each.is_right is is_right is not each.has_all
    ]
    return list(dict.fromkeys(f"{each.corpus}: {each.exercise}, {each.name}" for each in wrongly))


def attack_rows(gradings: Iterable[Grading]) -> list[AttackRow]:
    """Return a row for each family of attacks."""
    return [
        structs.replace(row, layer=LAYERS.get(row.name, "")) for row in _attack_rows(gradings, lambda family: family)
    ]


def layer_rows(gradings: Iterable[Grading]) -> list[AttackRow]:
    """Return a row for each layer that attacks are aimed at."""
    return _attack_rows(gradings, lambda family: LAYERS.get(family, "other"))


def _attack_rows(gradings: Iterable[Grading], group: Callable[[str], str]) -> list[AttackRow]:
    """Return a row for each group of families."""
    groups: dict[str, list[list[Grading]]] = defaultdict(list)
    for case in _by_case(each for each in gradings if each.corpus is Corpus.ATTACKS):
        groups[group(case[0].name.partition("/")[0])].append(case)
    rows = []
    for name, cases in sorted(groups.items()):
        earning = [case[0].name for case in cases if any(map(_earned_too_much, case))]
        rows.append(AttackRow(name=name, earned=share(len(earning), len(cases)), names=earning))
    return rows


def _earned_too_much(grading: Grading) -> bool:
    return grading.score is not None and grading.score > (grading.most_points or 0.0)


def percentile(values: list[float], portion: float) -> float:
    """Return the smallest value that at least this portion of the values does not exceed; 0 if there are none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(portion * len(ordered)) - 1)] if ordered else 0.0


def _by_case(gradings: Iterable[Grading]) -> list[list[Grading]]:
    """Return the gradings of each case, which differ by their seed."""
    cases: dict[tuple[str, str, str], list[Grading]] = defaultdict(list)
    for each in gradings:
        cases[each.corpus, each.exercise, each.name].append(each)
    return list(cases.values())
