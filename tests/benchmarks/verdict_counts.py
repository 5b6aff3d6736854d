"""How true the verdicts on all committed corpora are, counted.

    python -m tests.benchmarks.verdict_counts [--seed N] [exercise_NN]...

References and alternatives are right and must get full marks; wrong fixes must not. A defect is attributed exactly if
its status is the one that the corpus names, or, in a variant, the variant's own.
"""

import argparse
from collections import Counter

from grader.evaluation.audit.counting import expected_statuses
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.wrong_fixes import load_wrong_fixes
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import AMPLE, SEED, Judge
from tests.support.paths import ROOT
from tests.support.wrong_fixes import is_refused

COLUMNS = ("right accepted", "right refused", "wrong refused", "wrong passed", "exact", "unknown", "told wrongly")


def counted(judge: Judge, exercise_id: str, seed: int) -> Counter[str]:
    """Return the count of each column."""
    right = [judge.course.reference(exercise_id), *sorted(judge.course.alternatives(exercise_id).glob("*.py"))]
    wrong = load_wrong_fixes(judge.course, exercise_id)
    subsets = [*load_exercise(judge.course.description(exercise_id)).subsets()]
    texts = [path.read_text(encoding="utf-8") for path in right] + [fix.text for fix in wrong]
    texts += [judge.variant(exercise_id, subset) for subset in subsets]
    verdicts = judge.many(exercise_id, texts, seed, AMPLE)
    found: Counter[str] = Counter()
    for path, verdict in zip(right, verdicts, strict=False):
        is_accepted = (verdict.outcome, verdict.score) == (Result.FIXED, verdict.max_score)
        found["right accepted" if is_accepted else "right refused"] += 1
        print_unless(is_accepted, f"{exercise_id}: refused: {path.name}")
    for fix, verdict in zip(wrong, verdicts[len(right) :], strict=False):
        statuses = {each.id: each.status for each in verdict.defects}
        refused = is_refused(verdict, fix.expect)
        found["wrong refused" if refused else "wrong passed"] += 1
        print_unless(refused, f"{exercise_id}: passed: {fix.name}")
        found += compared(statuses, expected_statuses(fix.expect), f"{exercise_id}: {fix.name}")
    for subset, verdict in zip(subsets, verdicts[len(right) + len(wrong) :], strict=True):
        statuses = {each.id: each.status for each in verdict.defects}
        own = {each: {DefectStatus.PRESENT if each in subset else DefectStatus.FIXED} for each in statuses}
        found += compared(statuses, own, f"{exercise_id}: {'+'.join(sorted(subset))}")
    return found


def compared(statuses: dict[str, DefectStatus], expected: dict[str, set[DefectStatus]], where: str) -> Counter[str]:
    """Return how many statuses are as expected, are unknown, or are wrong."""
    found: Counter[str] = Counter()
    for defect, right in expected.items():
        seen = statuses[defect]
        how = "exact" if seen in right else "unknown" if seen is DefectStatus.UNKNOWN else "told wrongly"
        found[how] += 1
        print_unless(how == "exact", f"{where}: {defect} is {seen}, expected {' or '.join(sorted(right))}")
    return found


def print_unless(is_right: bool, text: str) -> None:
    """Print what is wrong, if anything is."""
    if not is_right:
        print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("exercises", nargs="*")
    options = parser.parse_args()
    judge = Judge(Course(root=ROOT))
    total: Counter[str] = Counter()
    for exercise_id in options.exercises or judge.course.exercise_ids():
        found = counted(judge, exercise_id, options.seed)
        total += found
        print(exercise_id, *(f"{name} {found[name]}" for name in COLUMNS), sep="  ", flush=True)
    print("all", *(f"{name} {total[name]}" for name in COLUMNS), sep="  ")
    judge.close()


if __name__ == "__main__":
    main()
