"""What a student asks for: the list, a verdict, a watch, a hint, a diff, a fresh start."""

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.commands.arguments import course_option, current_course, exercise_argument, require_file
from grader.course.paths import Course
from grader.errors import SpecError
from grader.report.console import ended_by_signals, has_color, has_screen, height, print_report, width
from grader.report.page import printable_lines

if TYPE_CHECKING:
    from grader.verdict.verdict import Verdict


def list_exercises() -> None:
    """Print every exercise with its last state, and the overall progress."""
    from grader.course.loading import load_exercise
    from grader.report.overview import Entry, render_overview
    from grader.student.progress import load_progress

    course = current_course()
    entries = []
    for exercise_id in course.exercise_ids():
        progress = load_progress(course, exercise_id)
        try:
            exercise = load_exercise(course.description(exercise_id))
            entries.append(Entry(exercise_id, exercise.title, progress, exercise.is_public(), exercise.difficulty))
        except SpecError:
            entries.append(Entry(exercise_id, "(grading it says what is wrong with its description)", progress))
    print_report(render_overview(entries, width=width(), color=has_color()))


@click.command()
@exercise_argument()
@course_option
@click.option("--file", "path", type=click.Path(path_type=Path), help="Grade this file instead of the exercise's own.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object and nothing else.")
@click.option("--seed", type=click.IntRange(0), help="Draw the inputs from this seed, to repeat a verdict.")
@click.option("--names", is_flag=True, help="Show the defects' names, which tell what is wrong.")
@click.option("--strict", is_flag=True, help="Refuse to grade where a submission could reach files or the network.")
@click.option("--spawn", is_flag=True, hidden=True, help="Start workers anew instead of forking them.")
@click.pass_context
def grade(
    ctx: click.Context,
    exercise_id: str,
    path: Path | None,
    as_json: bool,
    seed: int | None,
    names: bool,
    strict: bool,
    spawn: bool,
) -> None:
    """Grade one exercise: which defects are fixed, which are still there, what else broke."""
    from grader.examiner.worker_source import CAN_FORK
    from grader.student.progress import remember_verdict
    from grader.submission.choice import choice_of, choose_file
    from grader.verdict import judge as grading

    course = current_course()
    if path is not None:
        require_file(path)
    choice = choice_of(path) if path else choose_file(course, exercise_id)
    if choice.remark:
        click.echo(choice.remark, err=as_json)
    verdict = grading.grade(
        course,
        exercise_id,
        choice,
        seed=seed,
        spawn=spawn or not CAN_FORK,
        strict=strict,
        tell=partial(_print_verdict, course, exercise_id, as_json=as_json, names=names),
    )
    if path is None:
        remember_verdict(course, verdict)
    ctx.exit(verdict.exit_code())


def _print_verdict(course: Course, exercise_id: str, verdict: "Verdict", *, as_json: bool, names: bool) -> None:
    """Print a verdict; what draws it is imported only now, for getting ready beside the judging is no faster."""
    if as_json:
        from grader.report.json import render_json

        click.echo(render_json(verdict))
        return

    from grader.course.loading import load_exercise
    from grader.report.terminal import render_terminal
    from grader.student.progress import load_progress

    exercise = load_exercise(course.description(exercise_id))
    before = load_progress(course, exercise_id)
    page = render_terminal(
        verdict,
        exercise,
        width=width(),
        color=has_color(),
        names=names,
        known=before.fixed(),
        first_seen=before.first_seen,
    )
    print_report(page)


@click.command()
@exercise_argument(required=False)
@course_option
def watch(exercise_id: str | None) -> None:
    """Grade again on every save; without a name, the first exercise not yet fixed, then the next."""
    from grader.watch.screen import Screen, render_event
    from grader.watch.watch import watching

    course = current_course()
    with contextlib.suppress(BrokenPipeError), ended_by_signals(), watching(course, exercise_id) as session:
        for event in session.events():
            screen = Screen(width(), height(), has_color(), clears=has_screen(), has_keys=session.keys.are_read)
            print_report(render_event(event, screen))


@click.command()
@exercise_argument()
@click.argument("number", metavar="[DEFECT]", type=click.IntRange(1), required=False)
@click.option("--all", "only_given", is_flag=True, help="Show the steps given so far, and no new one.")
@course_option
def hint(exercise_id: str, number: int | None, only_given: bool) -> None:
    """Give one step more for the first defect that is still in your file, or for the one of that number."""
    from grader.course.loading import load_exercise
    from grader.report.hint_page import render_hint
    from grader.student.hints import next_hint
    from grader.student.progress import remember_verdict
    from grader.submission.choice import choose_file
    from grader.verdict import judge as grading

    course = current_course()
    exercise = load_exercise(course.description(exercise_id))
    verdict = grading.grade(course, exercise_id, choose_file(course, exercise_id))
    remember_verdict(course, verdict)
    given = next_hint(course, exercise, verdict, number or 0, only_given=only_given)
    print_report(render_hint(given, width=width(), color=has_color()))


@click.command()
@exercise_argument()
@course_option
def diff(exercise_id: str) -> None:
    """Show what you changed since the starter."""
    from grader.student.changes import changes

    difference = changes(current_course(), exercise_id)
    click.echo(printable_lines(difference) or "Nothing has changed since the starter.\n", nl=False)


@click.command()
@exercise_argument()
@course_option
def reset(exercise_id: str) -> None:
    """Put the starter back, keeping a copy of what you have."""
    from grader.student.changes import start_again

    for line in start_again(current_course(), exercise_id):
        click.echo(line)
