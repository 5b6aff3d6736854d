"""Measure a hunt's model trap beside the grading of the hunt, from the command line."""

from collections.abc import Iterator, Sequence

from grader.spec.paths import Course
from tests.benchmarks.commands import seconds
from tests.benchmarks.table import Target, compared, headline, measured
from tests.support.paths import ROOT

RATIO, LONGEST = Target(bound=3.0), 10.0
IMPORT = ["-c", "import torch"]


def traps(runs: int, exercise_ids: Sequence[str]) -> Iterator[str]:
    """Yield lines about model traps and gradings of references; the commands take turns."""
    yield headline(
        "A model trap beside the grading of its hunt", f"runs of each hunt: {runs}; in turns, whole processes"
    )
    course = Course(root=ROOT)
    trap_times: list[float] = []
    grade_times: list[float] = []
    imports: list[float] = []
    longest: dict[str, float] = {}
    for exercise_id in exercise_ids:
        grade = ["-m", "grader", exercise_id, "--file", str(course.reference(exercise_id))]
        trap = ["-m", "grader", "trap", exercise_id, "--file", str(course.model_trap(exercise_id))]
        seconds(grade)  # caches warm
        for _ in range(runs):
            imports.append(seconds(IMPORT))
            grade_times.append(seconds(grade))
            trap_times.append(seconds(trap))
            longest[exercise_id] = max(longest.get(exercise_id, 0.0), trap_times[-1])
    yield measured("import torch", imports, "s")
    yield measured("grade a hunt", grade_times, "s")
    yield measured("run its trap", trap_times, "s")
    yield compared("run its trap / grade a hunt", trap_times, grade_times, RATIO)
    too_long = [f"{name} {taken:.1f} s" for name, taken in longest.items() if taken > LONGEST]
    yield f"traps of more than {LONGEST:.0f} s: {', '.join(too_long) or 'none'}"
