"""Measure every hunt, and write the table into solutions/README.md.

python -m tests.benchmarks.hunts_table
"""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.author.difficulty import Fault, difficulty_of, measure_faults
from grader.checks.runner import Runner
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import submission_from_text
from tests.support.judging import SEED, Judge
from tests.support.paths import ROOT

PAGE = ROOT / "solutions" / "README.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
RUNS = 5
COLUMNS = ("exercise", "source", "kind", "difficulty", "defects", "shows", "missed by", "ms")
DECOY = "none: its starter is right; what is told of are wrong mends"


class Hunt(Struct, frozen=True):
    """What was measured of one hunt; `ms` are those that a grading of the starter takes in a running examiner."""

    exercise: Exercise
    faults: list[Fault]
    ms: float


def write_page(page: Path, course: Course) -> None:
    """Put a fresh table between the page's two marks."""
    judge = Judge(course)
    try:
        hunts = [measure(judge, exercise_id) for exercise_id in course.exercise_ids()]
    finally:
        judge.close()
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    text = "\n".join([BEGIN, *table(hunts), END])
    page.write_text(before + text + rest.partition(END)[2], encoding="utf-8")


def measure(judge: Judge, exercise_id: str) -> Hunt:
    """The facts about one hunt, and the median of some gradings."""
    course = judge.course
    exercise = load_exercise(course.description(exercise_id))
    starter = course.pristine(course.editable_files(exercise_id)[0]).read_text(encoding="utf-8")
    faults = measure_faults(judge.source, course, exercise)
    submission = submission_from_text(starter)
    with Runner(course, exercise, judge.source) as runner:
        seconds = [runner.examine(submission, SEED).seconds for _ in range(RUNS)]
    return Hunt(exercise, faults, 1000 * statistics.median(seconds))


def table(hunts: list[Hunt]) -> Iterator[str]:
    """The rows, one a hunt."""
    yield _row(COLUMNS)
    yield _row(["---"] * (len(COLUMNS) - 1) + ["--:"])
    for hunt in hunts:
        yield _row([*facts_of(hunt.exercise, hunt.faults), f"{hunt.ms:.0f}"])


def facts_of(exercise: Exercise, faults: list[Fault]) -> list[str]:
    """What does not depend on the machine: all cells but the last."""
    source = f"[{exercise.source.title}]({exercise.source.url})" if exercise.source.url else exercise.source.title
    difficulty = str(difficulty_of(faults))
    told = [f"`{fault.name}`" for fault in faults] if exercise.defects else [DECOY]
    shows = _each([fault.shows_from() for fault in faults], exercise)
    missed = _each([", ".join(fault.missed_by) or "none" for fault in faults], exercise)
    return [exercise.id, source, str(exercise.interface.kind_name), difficulty, "<br>".join(told), shows, missed]


def _each(cells: list[str], exercise: Exercise) -> str:
    """A line for each defect; for wrong mends, and where all are the same, each once."""
    once = list(dict.fromkeys(cells))
    return "<br>".join(once if len(once) == 1 or not exercise.defects else cells)


def _row(cells: "list[str] | tuple[str, ...]") -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    started = time.monotonic()
    write_page(PAGE, Course(ROOT))
    print(f"{PAGE.relative_to(ROOT)}: measured in {time.monotonic() - started:.0f} s")
