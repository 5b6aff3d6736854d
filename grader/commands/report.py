"""The report: one HTML file with all that a verdict says, to keep or to hand round."""

from pathlib import Path

import click

from grader.commands.arguments import course_option, current_course, exercise_argument
from grader.course.records import Exercise
from grader.errors import UsageError


@click.command()
@exercise_argument()
@course_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file to write, report-EXERCISE.html if not given."
)
def report(exercise_id: str, output: Path | None) -> None:
    """Grade the exercise and write the verdict as one HTML page: pictures, checks, your attempts."""
    from grader.course.loading import load_exercise
    from grader.report.html import render_report
    from grader.student.progress import load_progress, remember_verdict
    from grader.submission.choice import choose_file
    from grader.verdict.judge import grade

    course = current_course()
    exercise = load_exercise(course.description(exercise_id))
    path = output or Path(f"report-{exercise_id}.html")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written; name a file in a folder that exists")
    verdict = grade(course, exercise_id, choose_file(course, exercise_id))
    remember_verdict(course, verdict)
    attempts = load_progress(course, exercise_id).attempts
    path.write_text(render_report(verdict, exercise, looks_at(exercise), attempts), encoding="utf-8")
    click.echo(f"{path} holds the report; open it in a browser.")


def looks_at(exercise: Exercise) -> dict[str, str]:
    """What each check of the description looks at, in one sentence: its property's."""
    return {check.id: (type(check).__doc__ or "").split("\n\n")[0] for check in exercise.checks}
