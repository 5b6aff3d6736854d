"""Commands for instructors: write, prove and release exercises; grade a class and export its gradebook."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from grader.commands.arguments import (
    Command,
    course_option,
    current_course,
    exercise_argument,
    require_exercise,
    seed_option,
)
from grader.errors import SpecError, UsageError
from grader.report.console import has_color, print_report, printable, progress_bar, width

PROOF_WIDTH = 130
"""Columns that the table of a proof takes."""


@click.command()
@click.argument("exercise_id", metavar="EXERCISE")
@course_option
@click.option("--from", "source", type=click.Path(path_type=Path), required=True, help="The file with the bugs.")
@click.option(
    "--name", default="", metavar="NAME.py", help="The name of the students' file; the default depends on the kind."
)
def new(exercise_id: str, source: Path, name: str) -> None:
    """Create an exercise from a .py or .ipynb file with bugs, with a first exercise.yaml."""
    from grader.author.new import create_exercise

    click.echo(create_exercise(current_course(), exercise_id, source, name))


@click.command()
@exercise_argument(required=False, many=True)
@course_option
@click.option("--fresh", is_flag=True, help="Prove everything again and ignore stored results.")
@click.pass_context
def prove(ctx: click.Context, exercise_ids: tuple[str, ...], fresh: bool) -> None:
    """Prove exercises: every subset of defects is identified, and no mutant survives."""
    from grader.author.proof import render_proofs
    from grader.author.prove import prove as prove_all

    course = current_course()
    with progress_bar("proving") as advance:
        proofs = prove_all(course, list(exercise_ids) or course.exercise_ids(), advance, fresh=fresh)
    print_report(render_proofs(proofs, width=max(width(), PROOF_WIDTH), color=has_color()))
    wrong = SpecError.exit_code if not all(proof.is_described for proof in proofs) else 1
    ctx.exit(0 if all(proof.holds() for proof in proofs) else wrong)


@click.command()
@course_option
def hunts() -> None:
    """Print a table of all hunts with their defects (spoilers)."""
    from grader.report.tables import render_hunts
    from grader.spec.loading import load_exercise

    course = current_course()
    exercises = [load_exercise(course.description(exercise_id)) for exercise_id in course.exercise_ids()]
    click.echo(render_hunts(exercises), nl=False)


@click.command()
def schema() -> None:
    """Print the JSON Schema of exercise.yaml, by which editors complete and check it."""
    from grader.spec.schema import render_schema

    click.echo(render_schema(), nl=False)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@exercise_argument(required=False, many=True)
@course_option
@click.option("--without-hints", is_flag=True, help="Leave out the hints, and every word about them.")
def release(folder: Path, exercise_ids: tuple[str, ...], without_hints: bool) -> None:
    """Write the student edition: everything students may have, and nothing that spoils a hunt."""
    from grader.author.release import release as write_edition

    click.echo(write_edition(current_course(), folder, with_hints=not without_hints, only=exercise_ids))


def _known_platform(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    from grader.author.autograder import PLATFORMS  # here, for other commands need none of it

    if value not in PLATFORMS:
        raise click.BadParameter(f"{value!r} is none of {', '.join(PLATFORMS)}")
    return value


@click.command()
@exercise_argument()
@course_option
@click.option("--for", "platform", metavar="PLATFORM", required=True, callback=_known_platform, help="gradescope, ...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder or .zip file to write."
)
@click.option(
    "--judge",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="As a package does: judge what this folder holds, and write the platform's results to --output.",
)
def autograder(exercise_id: str, platform: str, output: Path, folder: Path | None) -> None:
    """Write an exercise as an autograder for a course platform: classroom50, gradescope, nbgrader or prairielearn."""
    from grader.author.autograder import write_autograder
    from grader.author.platform_grading import judge_folder

    course = current_course()
    if folder is None:
        click.echo(write_autograder(course, exercise_id, platform, output), nl=False)
    else:
        click.echo(judge_folder(course, exercise_id, platform, folder, output))


GRADEBOOK = click.Path(path_type=Path)


def _batch_options(command: Command) -> Command:
    """Where a class is judged, and how many at once."""
    for option in (
        click.option("--jobs", type=click.IntRange(1), help="How many examiners work at once; else one a core."),
        click.option("--engine", type=click.Choice(["local", "dask"]), default="local", help="Here or on a cluster."),
        click.option("--scheduler", metavar="tcp://HOST:PORT", help="The cluster's scheduler."),
        click.option("--allow-open", is_flag=True, help="Grade even where a submission could reach files or network."),
        click.option("--no-share", is_flag=True, help="Judge submissions that are like another one by themselves."),
    ):
        command = option(command)
    return command


def _layout_options(command: Command) -> Command:
    """How submissions lie."""
    for option in (
        click.option(
            "--layout",
            metavar="NAME",
            default="",
            callback=_known_layout,
            help="How submissions lie: canvas, moodle, ... (found out if not given).",
        ),
        click.option("--pattern", default="", metavar="'{student}_*_{exercise}.py'", help="How files are called."),
        click.option("--exercise", callback=_known_exercise, help="The exercise, where no name tells it."),
        click.option("--roster", type=click.Path(path_type=Path), help="The class list: a CSV of id, name, group."),
    ):
        command = option(command)
    return command


def _known_layout(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value:
        from grader.classroom.layouts import NAMES  # here, for other commands need none of it

        if value not in NAMES:
            raise click.BadParameter(f"{value!r} is none of {', '.join(NAMES)}")
    return value


def _known_format(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value:
        from grader.report.exports import export_names

        if value not in export_names():
            raise click.BadParameter(f"{value!r} is none of {', '.join(export_names())}")
    return value


def _known_exercise(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    return require_exercise(current_course(), value) if value else ""


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@course_option
@click.option("--gradebook", type=GRADEBOOK, required=True, help="The SQLite file of verdicts.")
@_layout_options
@_batch_options
@seed_option("Draw the inputs from this seed instead of the gradebook's own.")
@click.pass_context
def batch(ctx: click.Context, /, submissions: Path, gradebook: Path, **told: Any) -> None:
    """Grade a class: every submission in a folder, a zip or a .jsonl file that the gradebook holds no verdict on."""
    from grader.classroom.grading import Options
    from grader.classroom.layouts import LayoutOptions
    from grader.classroom.roster import Roster, read_roster

    layout = LayoutOptions(told["layout"], told["pattern"], told["exercise"])
    roster = read_roster(told["roster"]) if told["roster"] else Roster()
    options = Options(told["seed"], not told["no_share"], told["allow_open"], layout, roster)
    ctx.exit(_grade(submissions, gradebook, options, told))


@click.command()
@course_option
@click.option("--gradebook", type=GRADEBOOK, required=True, help="The SQLite file of verdicts.")
@click.option("--exercise", callback=_known_exercise, required=True, help="The exercise to judge again.")
@click.option("--student", help="Of this student alone.")
@click.option("--reason", required=True, help="Why; it is kept with the new verdicts.")
@click.option("--submissions", type=click.Path(path_type=Path), help="Where they lie now, if they were moved.")
@_batch_options
@click.pass_context
def regrade(
    ctx: click.Context, /, gradebook: Path, exercise: str, student: str | None, reason: str, **told: Any
) -> None:
    """Judge an exercise again, of all or of one student; older verdicts stay, and the reason with the new ones."""
    from grader.classroom.grading import Options
    from grader.classroom.regrade import request_regrade

    asked = request_regrade(gradebook, exercise, student, reason, told["submissions"])
    click.echo(f"{asked.count:,} of {exercise} to judge again: {printable(reason)}")
    codes = []
    for path, before in asked.batches:
        shares = before.shares and not told["no_share"]
        options = Options(shares=shares, allows_open=told["allow_open"], layout=before.options)
        codes.append(_grade(path, gradebook, options, told))
    ctx.exit(max(codes))


@click.command()
@click.argument("student")
@click.option("--gradebook", type=GRADEBOOK, required=True, help="The SQLite file of verdicts.")
def history(student: str, gradebook: Path) -> None:
    """Show every verdict that a student was given, and why it was given anew."""
    from grader.classroom.gradebook.class_records import student_history
    from grader.report.tables import render_history

    print_report(render_history(student, student_history(gradebook, student), width=width(), color=has_color()))


@click.command()
@click.argument("gradebook", type=GRADEBOOK)
@course_option
@click.option("--to", metavar="FORMAT", callback=_known_format, help="csv, canvas, html, junit, ...: what to write.")
@click.option("--feedback", is_flag=True, help="Write a page and a text for each student instead.")
@click.option("--anonymous", is_flag=True, help="With --to html: pseudonyms for names, always the same.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def export(gradebook: Path, to: str | None, feedback: bool, anonymous: bool, folder: Path) -> None:
    """Write a gradebook in another program's format, or as feedback for students, into a folder."""
    from grader.report.exports import ExerciseLoader, left_out
    from grader.report.exports import export as write_export
    from grader.report.exports.platforms import write_feedback

    course = current_course()
    if bool(to) == feedback or (feedback and anonymous):
        raise UsageError("say what to write: --to FORMAT, or --feedback alone")
    if to:
        count = write_export(gradebook, to, folder, course, anonymous=anonymous)
        written = "1 file" if count == 1 else f"{count:,} files"
    else:
        written = f"feedback on {write_feedback(gradebook, folder, ExerciseLoader(course)):,} submissions"
    click.echo(f"{folder} holds {written}.")
    if gone := left_out(gradebook, course, to or ""):
        click.echo(
            f"Left out, for the course has them no more: {', '.join(gone)}. --to csv and canvas have the grades."
        )


def _grade(submissions: Path, gradebook: Path, options: Any, told: dict[str, Any]) -> int:
    """Run a batch with its display; its exit code."""
    from grader.classroom.engines import EngineKind, choose_engine
    from grader.classroom.grading import Display, grade_submissions, render_batch

    course = current_course()
    kind, scheduler, jobs = EngineKind(told["engine"]), told["scheduler"], told["jobs"]
    chosen = choose_engine(course, kind, scheduler, jobs, is_strict=not options.allows_open)
    write = partial(click.echo, err=True)
    with Display(gradebook, write, is_terminal=sys.stderr.isatty()) as display:
        report = grade_submissions(course, submissions, gradebook, chosen, options, display.show, write)
    print_report(render_batch(report, display.clock, str(gradebook), width=width(), color=has_color()))
    return report.exit_code()


INSTRUCTOR_COMMANDS = (new, prove, hunts, schema, release, autograder, batch, regrade, history, export)
