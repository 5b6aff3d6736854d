"""Grade a stream of submissions through `grade_many(ordered=False)`: throughput, tail, memory, and endless loops."""

import itertools
import os
import threading
import time
from collections.abc import Iterator

from msgspec import Struct

from grader import api
from grader.api import grade_many
from grader.evaluation.audit.counting import percentile
from grader.spec.paths import Course
from tests.benchmarks.memory import MEGABYTE, family_of, held_bytes
from tests.benchmarks.table import Target, compared, headline, measured
from tests.support.paths import ROOT

LOOP_EVERY = 200
"""One of this many submissions never ends by itself."""

LOOP = "\nwhile True:\n    pass\n"
PARTS = 4
EVERY_SECONDS = 0.5
FLAT = Target(bound=1.10)


class Arrival(Struct, frozen=True, kw_only=True):
    """A verdict, and the time at which it came."""

    is_loop: bool
    seconds: float
    at: float
    outcome: str


def unordered(count: int, jobs: int, exercises: list[str]) -> Iterator[str]:
    """Yield lines about one stream of submissions."""
    yield headline("Unordered", f"{count:,} submissions, {jobs} jobs; one in {LOOP_EVERY} is an endless loop")
    course = Course(root=ROOT)
    for each in exercises:  # keys made, references examined
        api.grade(each, course.reference(each), course=ROOT)
    submissions = itertools.islice(_stream(course, exercises), count)
    arrivals: list[Arrival] = []
    held: list[tuple[int, float]] = []
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.wait(EVERY_SECONDS):
            held.append((len(arrivals), sum(map(held_bytes, family_of(os.getpid()))) / MEGABYTE))

    thread = threading.Thread(target=sample)
    thread.start()
    started = time.monotonic()
    try:
        for is_loop, verdict in grade_many(submissions, course=ROOT, jobs=jobs, ordered=False, seed=1):
            now = time.monotonic() - started
            arrivals.append(Arrival(is_loop=is_loop, seconds=verdict.seconds, at=now, outcome=verdict.outcome))
    finally:
        is_over.set()
        thread.join()
        api._pool.close()
    yield from _lines(arrivals, held, jobs)


def _stream(course: Course, exercises: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield references and starters in turns, with an endless loop now and then."""
    sources = [
        (each, path.read_text(encoding="utf-8"))
        for each in exercises
        for path in (course.reference(each), course.starters(each) / course.module_name(each))
    ]
    for number, (exercise_id, source) in enumerate(itertools.cycle(sources), 1):
        is_loop = number % LOOP_EVERY == 0
        yield exercise_id, source + LOOP if is_loop else source, is_loop


def _lines(arrivals: list[Arrival], held: list[tuple[int, float]], jobs: int) -> Iterator[str]:
    total = arrivals[-1].at
    others = [each for each in arrivals if not each.is_loop]
    yield measured("verdicts", [len(arrivals)], "")
    yield measured("not judged", [sum(1 for each in arrivals if each.outcome == "not_judged")], "")
    yield measured("gradings per second, all jobs", [len(arrivals) / total], "")
    yield measured("seconds of a grading, loops aside", [each.seconds for each in others], "s")
    yield measured("99th percentile", [percentile([each.seconds for each in others], 0.99)], "s")
    parts = [
        [mb for done, mb in held if len(arrivals) * part <= PARTS * done < len(arrivals) * (part + 1)]
        for part in range(PARTS)
    ]
    if all(parts):
        yield measured("memory of all processes", [mb for _, mb in held], "MB")
        yield compared("memory in the last quarter, by the second", [min(parts[-1])], [min(parts[1])], FLAT)
    delays = list(_delays(arrivals))
    if jobs > 1 and delays:
        yield measured("loops", [len(arrivals) - len(others)], "")
        yield measured("delay of a verdict while a loop runs", delays, "s")
        yield measured("delays above 0.1 s", [sum(1 for each in delays if each > 0.1)], f"of {len(delays)}")


def _delays(arrivals: list[Arrival]) -> Iterator[float]:
    """Yield, for each verdict that came while a loop ran, the wait since the verdict before it, beyond its own time."""
    spans = [(each.at - each.seconds, each.at) for each in arrivals if each.is_loop]
    for before, after in itertools.pairwise([each for each in arrivals if not each.is_loop]):
        if any(start <= before.at and after.at <= end for start, end in spans):
            yield max(0.0, after.at - before.at - after.seconds)
