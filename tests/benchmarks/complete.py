"""Check that a batch's gradebook is complete: every submission has the verdict that it gets alone."""

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.classroom.gradebook.gradebook import NOT_JUDGED
from grader.processes.pool import ExaminerPool
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.submission.submission import unix_lines
from grader.verdict.pooled_judge import PooledJudge
from tests.benchmarks.commands import SEED, rows
from tests.benchmarks.submissions import Sample

SPOTS = 25
"""How many submissions are judged again, alone."""


def completeness(course: Course, gradebook: Path, lines: Path, count: int) -> Iterator[str]:
    """Yield lines about a new gradebook after one batch, and about new verdicts on some of its submissions."""
    yield from recorded_verdicts(gradebook, count)
    yield from _differing_results(gradebook, lines)
    wrong, judged = _judged_alone(course, gradebook, lines, count)
    yield f"judged again by themselves: {judged}, otherwise than in the gradebook: {len(wrong)}"
    yield from (f"  {each}" for each in wrong)


def recorded_verdicts(gradebook: Path, count: int) -> Iterator[str]:
    """Yield lines on whether the gradebook has each submission once, with its outcome and checks."""
    outcomes = rows(gradebook, "SELECT outcome, count(*) FROM current GROUP BY outcome ORDER BY 2 DESC")
    total, verdicts = sum(number for _, number in outcomes), rows(gradebook, "SELECT count(*) FROM verdicts")[0][0]
    bare = rows(
        gradebook,
        "SELECT count(*) FROM current WHERE outcome <> 'not_gradable'"
        " AND NOT EXISTS (SELECT 1 FROM checks WHERE verdict = judged_in)",
    )[0][0]
    sound = rows(gradebook, "PRAGMA integrity_check")[0][0] == "ok"
    judged = total - dict(outcomes).get(NOT_JUDGED, 0)
    word = "complete" if judged == count == verdicts and not bare and sound else "NOT COMPLETE"
    yield f"gradebook: {', '.join(f'{number:,} {outcome}' for outcome, number in outcomes)}"
    yield f"{judged:,} of {count:,} have their verdict, {bare} of them without checks: {word}"


def _differing_results(gradebook: Path, lines: Path) -> Iterator[str]:
    """Yield lines on whether all submissions that were made from one module have the same outcome and score."""
    kept = {row[:2]: row[2:] for row in rows(gradebook, "SELECT student, exercise, outcome, score FROM current")}
    by_base: dict[str, set[tuple]] = defaultdict(set)
    with lines.open("rb") as file:
        for line in file:
            sample = msgspec.json.decode(line, type=Sample)
            by_base[sample.base].add(kept.get((sample.student, sample.exercise), ()))
    apart = sorted(base for base, results in by_base.items() if len(results) > 1)
    yield f"made of {len(by_base)} modules; of {len(apart)} of them not all got the same outcome and score"
    yield from (f"  {base}: {sorted(by_base[base])}" for base in apart[:10])


def _judged_alone(course: Course, gradebook: Path, lines: Path, count: int) -> tuple[list[str], int]:
    """Judge some submissions alone. Return those with another verdict than in the gradebook, and the number judged."""
    wrong = []
    chosen = set(random.Random(2).sample(range(count), min(SPOTS, count)))
    with lines.open("rb") as file, ExaminerPool() as pool:
        judge = PooledJudge(pool, course)
        for line in (line for number, line in enumerate(file) if number in chosen):
            sample = msgspec.json.decode(line, type=Sample)
            submission = submission_from_text(unix_lines(sample.source))
            verdict = judge.judge(sample.exercise, submission, "attention.py", SEED)
            defects = sorted((each.id, each.status.value) for each in verdict.defects)
            if (verdict.outcome, verdict.score, defects) != _recorded(gradebook, sample):
                wrong.append(f"{sample.student}, {sample.base}")
    return wrong, len(chosen)


def _recorded(gradebook: Path, sample: Sample) -> tuple[str, float, list[tuple[str, str]]]:
    student = sample.student.replace("'", "''")
    about = f"WHERE student = '{student}' AND exercise = '{sample.exercise}'"
    outcome, score = rows(gradebook, f"SELECT outcome, score FROM current {about}")[0]
    return outcome, score, rows(gradebook, f"SELECT defect, status FROM current_defects {about} ORDER BY defect")
