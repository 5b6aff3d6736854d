"""The proof step for the model trap, whose tests must accept right implementations and catch each defect."""

from pathlib import Path

from grader.author.proof import Step
from grader.processes.pool import ExaminerPool
from grader.processes.workers import WorkerSource
from grader.report.trap import reason_of
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.problem import BLANK
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import read_trap
from grader.trap.result import Caught, DefectResult, Standing, TrapResult

NAME = "model trap"
SEED = 7

_pool = ExaminerPool(most_idle=1)


def judge_model_trap(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Prove that the model trap accepts every right implementation and catches each defect alone.

    For a decoy, the wrong fixes are the defects. The tests run in separate processes, not in those of `source`.
    """
    del source
    course = Course(root=root)
    exercise, path = load_exercise(course.description(exercise_id)), course.model_trap(exercise_id)
    place = course.shown(path)
    if not path.is_file():
        warning = (
            f"there is no {place}, so nothing shows that students can write one; write tests that catch each defect"
        )
        return [Step(name=NAME, figures="0", warnings=[warning])]
    trap = read_trap(course, exercise_id, path)
    result = PooledTrapJudge(_pool, course).judge(exercise_id, trap, SEED, is_proof=True)
    problems = trap_problems(result, exercise, place)
    is_begun = BLANK in trap.text  # `new` wrote it, and nobody has finished it
    return [
        Step(
            name=NAME,
            figures=str(len(result.tests)),
            problems=[] if is_begun else problems,
            warnings=[f"{place} still says {BLANK}; until then its problems are warnings", *problems]
            if is_begun
            else [],
        )
    ]


def trap_problems(result: TrapResult, exercise: Exercise, place: str) -> list[str]:
    """Return what the model trap lacks, each with its place and a remedy."""
    if result.problem:
        return [f"{place}:{result.line or 1}: no test runs: {result.problem}"]
    problems = [
        f"{place}:{test.line or 1}: {test.name} does not count: {reason_of(test)}"
        for test in result.tests
        if test.standing is not Standing.COUNTS
    ]
    names = {number: defect for defect, number in exercise.numbers().items()}
    problems += [
        f"{place}: no test fails on {_name_of(each, names)} at every seed; write one, or state in the interface what "
        "it breaks"
        for each in result.defects
        if each.caught is not Caught.ALWAYS
    ]
    if not result.defects:
        problems.append(f"{place}: there is no defect to catch; add wrong fixes to tests/corpus/wrong_fixes/")
    return problems


def _name_of(defect: DefectResult, names: dict[int, str]) -> str:
    return names.get(defect.number, f"wrong fix {defect.number}")
