"""Count wrong attributions of generated half-fixed defects, by exercise.

    python -m tests.benchmarks.attribution [--with-others] [exercise_NN]...

In every submission, one defect is fixed in part and nothing else is wrong. With `--with-others`, another defect is
present. The columns count

- made: submissions; seen: submissions that fail a check that the whole defect fails too;
- fixed: the half-fixed defect is called fixed although such a check fails, or the present defect is called fixed;
- new: the failure of such a check is called a regression;
- present: an absent defect is called present;
- credit: fewer points than for the whole defect, although no other check fails. A partial fix that breaks something
  else may cost points.
"""

import argparse
from collections import Counter

from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.key import variant_name
from grader.verdict.verdict import Verdict
from tests.support.half_fixed import HalfFixed, half_fixed
from tests.support.judging import SEED, Judge
from tests.support.paths import ROOT

COLUMNS = ("made", "seen", "fixed", "new", "present", "credit")


def mistakes(exercise: Exercise, each: HalfFixed, verdict: Verdict, variants: dict[str, Verdict]) -> Counter[str]:
    """Count the false statements in the verdict on a half-fixed submission; `variants` are the verdicts on variants."""
    others, whole = (variants[variant_name(names)] for names in (each.others, each.others | {each.defect}))
    failed, fails_whole = failed_checks(verdict), failed_checks(whole)
    statuses = {defect.id: defect.status for defect in verdict.defects}
    is_seen = bool((failed - failed_checks(others)) & fails_whole)
    absent = {defect.id for defect in exercise.defects} - each.others - {each.defect}
    is_called_fixed = is_seen and statuses[each.defect] is DefectStatus.FIXED
    is_called_fixed |= bool(failed) and any(statuses[name] is DefectStatus.FIXED for name in each.others)
    return Counter(
        {
            "made": 1,
            "seen": int(is_seen),
            "fixed": int(is_called_fixed),
            "new": int(not fails_whole.isdisjoint(verdict.regressions)),
            "present": int(any(statuses[name] is DefectStatus.PRESENT for name in absent)),
            "credit": int(failed <= fails_whole and verdict.score < whole.score),
        }
    )


def failed_checks(verdict: Verdict) -> set[str]:
    """Return the checks that failed."""
    return {outcome.check for outcome in verdict.checks if outcome.finding is not None}


def measured(
    judge: Judge, exercise_id: str, *, with_others: bool, seed: int = SEED, shows: bool = True
) -> Counter[str]:
    """Return the counts of one exercise. Print each submission whose verdict is false."""
    exercise = load_exercise(judge.course.description(exercise_id))
    reference = judge.course.reference_text(exercise_id)
    made = [*half_fixed(exercise, reference, with_others=with_others)]
    subsets = [*exercise.subsets()] if exercise.defects else []
    texts = [judge.variant(exercise_id, subset) for subset in subsets] + [each.text for each in made]
    verdicts = judge.many(exercise_id, texts, seed)
    variants = {variant_name(subset): verdict for subset, verdict in zip(subsets, verdicts, strict=False)}
    found: Counter[str] = Counter()
    for each, verdict in zip(made, verdicts[len(subsets) :], strict=True):
        counts = mistakes(exercise, each, verdict, variants)
        found += counts
        if (
            shows
            and counts.keys() & {"fixed", "new", "present", "credit"}
            and sum(counts[name] for name in COLUMNS[2:])
        ):
            print(describe(each, verdict, +counts), flush=True)
    return found


def describe(each: HalfFixed, verdict: Verdict, counts: Counter[str]) -> str:
    """Return a line about a half-fixed submission: the false statements, and the observed outcomes."""
    false = ", ".join(name for name in COLUMNS[2:] if counts[name])
    statuses = {
        defect.id: (str(defect.status), str(defect.reason and defect.reason.kind)) for defect in verdict.defects
    }
    failed = [f"{outcome.check} ({outcome.signature()})" for outcome in verdict.checks if outcome.finding]
    beside = f" beside {variant_name(each.others)}" if each.others else ""
    place = f"{each.exercise}: {each.defect}{beside}, {each.condition}"
    return f"{false}: {place}: {verdict.score:g} points, {statuses}, new: {verdict.regressions}, failed: {failed}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with-others", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("exercises", nargs="*")
    options = parser.parse_args()
    judge = Judge(Course(root=ROOT))
    total: Counter[str] = Counter()
    for exercise_id in options.exercises or judge.course.exercise_ids():
        found = measured(judge, exercise_id, with_others=options.with_others, seed=options.seed)
        total += found
        print(exercise_id, *(f"{name} {found[name]}" for name in COLUMNS), sep="  ", flush=True)
    print("all", *(f"{name} {total[name]}" for name in COLUMNS), sep="  ")
    judge.close()


if __name__ == "__main__":
    main()
