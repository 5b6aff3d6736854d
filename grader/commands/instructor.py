"""What an instructor asks for: a new exercise, its proof, the schema of its description, the student edition."""

from pathlib import Path

import click

from grader.commands.arguments import course_option, current_course, exercise_argument
from grader.report.console import has_color, print_report, progress_bar, width

PROOF_WIDTH = 130
"""Columns that the table of a proof takes."""


@click.command()
@click.argument("exercise_id", metavar="EXERCISE")
@course_option
@click.option("--from", "source", type=click.Path(path_type=Path), required=True, help="The file with a fault in it.")
def new(exercise_id: str, source: Path) -> None:
    """Lay out a new exercise around a faulty .py or .ipynb file, its description filled in as far as can be."""
    from grader.author.new import create_exercise

    click.echo(create_exercise(current_course(), exercise_id, source))


@click.command()
@exercise_argument(required=False, many=True)
@course_option
@click.pass_context
def prove(ctx: click.Context, exercise_ids: tuple[str, ...]) -> None:
    """Prove exercises sound: sources agree, every subset of defects is named, no mutant survives the checks."""
    from grader.author.proof import render_proofs
    from grader.author.prove import prove as prove_all

    course = current_course()
    with progress_bar("proving") as advance:
        proofs = prove_all(course, list(exercise_ids) or course.exercise_ids(), advance)
    print_report(render_proofs(proofs, width=max(width(), PROOF_WIDTH), color=has_color()))
    ctx.exit(0 if all(proof.holds() for proof in proofs) else 1)


@click.command()
def schema() -> None:
    """Print the JSON Schema of exercise.yaml, by which editors complete and check it."""
    from grader.course.schema import render_schema

    click.echo(render_schema(), nl=False)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@exercise_argument(required=False, many=True)
@course_option
@click.option("--public-only", is_flag=True, help="Only the checks marked public, as for an examination.")
@click.option("--without-hints", is_flag=True, help="Leave out the hints, and every word about them.")
def release(folder: Path, exercise_ids: tuple[str, ...], public_only: bool, without_hints: bool) -> None:
    """Write the student edition: everything students may have, and nothing that spoils a hunt."""
    from grader.author.release import release as write_edition

    told = write_edition(
        current_course(), folder, with_hints=not without_hints, public_only=public_only, only=exercise_ids
    )
    click.echo(told)


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
    from grader.commands.report import looks_at

    course = current_course()
    if folder is None:
        click.echo(write_autograder(course, exercise_id, platform, output), nl=False)
    else:
        click.echo(judge_folder(course, exercise_id, platform, folder, output, looks_at))
