"""Count how often right submissions are refused at other seeds, by exercise.

    python -m tests.benchmarks.seeds [--seeds N] [--first SEED] [--minutes M] [--alternatives] [exercise_NN]...

Right submissions are the references and, with `--alternatives`, all alternatives. Each is judged at N seeds, or at
fewer if the time is over. The exercises take turns, so that all of them get about as many seeds. Every refusal is
printed with its seed and finding.
"""

import argparse
import time
from collections import Counter

from grader.spec.paths import Course
from grader.verdict.verdict import Result, Verdict
from tests.support.judging import AMPLE, Judge
from tests.support.paths import ROOT

AT_ONCE = 5
"""How many seeds of one exercise run before the next exercise."""


def refused(judge: Judge, exercise_id: str, texts: dict[str, str], seed: int) -> list[str]:
    """Return a line for each right submission that does not get full marks."""
    verdicts = judge.many(exercise_id, [*texts.values()], seed, AMPLE)
    return [
        f"{exercise_id}: {name} is refused at seed {seed}: {why(verdict)}"
        for name, verdict in zip(texts, verdicts, strict=True)
        if (verdict.outcome, verdict.score) != (Result.FIXED, verdict.max_score)
    ]


def why(verdict: Verdict) -> str:
    """Return the findings of a verdict on one line."""
    found = [f"{outcome.check}: {outcome.finding}" for outcome in verdict.checks if outcome.finding]
    return verdict.reason or "; ".join(found)


def right_texts(judge: Judge, exercise_id: str, *, alternatives: bool) -> dict[str, str]:
    """Return the reference and the alternatives of an exercise, by name."""
    paths = [judge.course.reference(exercise_id)]
    paths += sorted(judge.course.alternatives(exercise_id).glob("*.py")) if alternatives else []
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--alternatives", action="store_true")
    parser.add_argument("exercises", nargs="*")
    options = parser.parse_args()
    judge = Judge(Course(root=ROOT))
    exercises = options.exercises or judge.course.exercise_ids()
    texts = {each: right_texts(judge, each, alternatives=options.alternatives) for each in exercises}
    seeds, lines = Counter[str](), Counter[str]()
    started = time.monotonic()
    for first in range(0, options.seeds, AT_ONCE):
        for exercise_id in exercises:
            for seed in range(first, min(first + AT_ONCE, options.seeds)):
                if time.monotonic() - started > 60 * options.minutes:
                    break
                found = refused(judge, exercise_id, texts[exercise_id], options.first + seed)
                seeds[exercise_id] += 1
                lines[exercise_id] += len(found)
                print(*found, sep="\n", end="\n" if found else "", flush=True)
    judge.close()
    for exercise_id in exercises:
        print(f"{exercise_id}  submissions {len(texts[exercise_id])}  seeds {seeds[exercise_id]}", end="  ")
        print(f"refused {lines[exercise_id]}")
    judged = sum(len(texts[each]) * seeds[each] for each in exercises)
    print(f"all  judged {judged}  refused {lines.total()}  minutes {(time.monotonic() - started) / 60:.1f}")


if __name__ == "__main__":
    main()
