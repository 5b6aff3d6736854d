"""The usual tests that miss a defect: run on the starter, where they pass, and on the defect alone."""

from pathlib import Path

from grader.author.proof import Step
from grader.course.fragments import put_back
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Defect, Exercise
from grader.examiner.compare import Failure
from grader.examiner.context import Context
from grader.examiner.ladder import rungs_of, walk
from grader.examiner.property import Property
from grader.examiner.proxies import Subject
from grader.examiner.reference import Reference
from grader.examiner.reference_cache import ReferenceCache
from grader.examiner.session import Session, SubjectError
from grader.examiner.workers import WorkerSource
from grader.submission import submission_from_text

SEED = 7


def run_usual_tests(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Each test that a defect is missed by passes with that defect alone, and on the starter."""
    course = Course(root)
    exercise = load_exercise(course.description(exercise_id))
    problems = []
    count = 0
    for defect in exercise.defects:
        for index, usual in enumerate(defect.missed_by):
            count += 1
            for what, defects in (("the starter", exercise.defects), (f"{defect.id} alone", [defect])):
                seen = what_fails(source, course, exercise, defects, usual.test)
                if seen:
                    named = f"{defect.id}: missed_by[{index}]: {usual.test.id or type(usual.test).__name__}"
                    problems.append(f"{named} does not miss it: with {what}, {seen}; take it out")
    return [Step("usual tests", str(count), problems)]


def what_fails(source: WorkerSource, course: Course, exercise: Exercise, defects: list[Defect], test: Property) -> str:
    """What a test says of the reference with these defects put back; nothing where it passes."""
    path = course.reference(exercise.id)
    submission = submission_from_text(put_back(path.read_text(encoding="utf-8"), defects))
    session = Session(source, exercise, submission)
    reference = ReferenceCache(Reference(path, exercise.interface))
    session.renew()
    try:
        walk(test, Context(Subject(session), reference, exercise), rungs_of(test, exercise, SEED))
    except (Failure, SubjectError) as error:
        return str(error)
    finally:
        session.close()
    return ""
