"""Commands for instructors: write, prove and release exercises; grade a class and export its gradebook."""

import sys
from collections.abc import Callable, Iterable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from grader.commands.arguments import (
    LazyChoice,
    course_option,
    current_course,
    exercise_argument,
    exercises_argument,
    require_exercise,
    seed_option,
)
from grader.errors import SpecError, UsageError, require_package
from grader.report.console import has_color, print_report, progress_bar, width
from grader.report.phrases import counted
from grader.report.printable import printable

MUTANTS = ("libcst", "author")
"""The package that makes mutants, and the extra that installs it."""


@click.command()
@click.argument("exercise_id", metavar="EXERCISE")
@course_option
@click.option("--from", "source", type=click.Path(path_type=Path), required=True, help="The file with the bugs.")
@click.option(
    "--name",
    default="",
    metavar="NAME.py",
    help="The name of the students' file; the default depends on the kind of code.",
)
def new(exercise_id: str, source: Path, name: str) -> None:
    """Create an exercise and a first exercise.yaml from a .py or .ipynb file with bugs."""
    require_package(*MUTANTS)
    from grader.author.new import create_exercise

    click.echo(create_exercise(current_course(), exercise_id, source, name))


@click.command()
@exercises_argument()
@course_option
@click.option("--fresh", is_flag=True, help="Prove everything again and ignore stored results.")
@click.pass_context
def prove(ctx: click.Context, exercise_ids: tuple[str, ...], fresh: bool) -> None:
    """Check that the verdicts on exercises are reliable.

    Every subset of the defects must be identified, and no mutant may pass all checks.
    """
    require_package(*MUTANTS)
    from grader.author.proof_page import render_proofs
    from grader.author.prove import prove as prove_all

    course = current_course()
    with progress_bar("proving") as advance:
        proofs = prove_all(course, list(exercise_ids) or course.exercise_ids(), advance, fresh=fresh)
    print_report(render_proofs(proofs, width=width(), color=has_color()))
    wrong = SpecError.exit_code if not all(proof.is_described for proof in proofs) else 1
    ctx.exit(0 if all(proof.holds() for proof in proofs) else wrong)


@click.command()
@course_option
def hunts() -> None:
    """Print a table of all hunts with their defects (spoilers)."""
    from grader.report.hunts import render_hunts
    from grader.spec.loading import load_exercise

    course = current_course()
    exercises = [load_exercise(course.description(exercise_id)) for exercise_id in course.exercise_ids()]
    click.echo(render_hunts(exercises), nl=False)


@click.command()
def schema() -> None:
    """Print the JSON Schema that editors use to complete and check exercise.yaml."""
    from grader.spec.schema import render_schema

    click.echo(render_schema(), nl=False)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@exercises_argument()
@course_option
@click.option("--without-hints", is_flag=True, help="Leave out the hints, and everything that mentions them.")
@click.option(
    "--explanations",
    type=click.Choice(["home", "hand-in"]),
    default="home",
    show_default=True,
    help="When to explain a defect: at home, as soon as it is fixed, or only after the file is handed in.",
)
def release(folder: Path, exercise_ids: tuple[str, ...], without_hints: bool, explanations: str) -> None:
    """Write the student edition: the course without references and other spoilers."""
    require_package(*MUTANTS)
    from grader.author.release import release as write_edition
    from grader.spec.edition import Sealed

    edition = Sealed(has_hints=not without_hints, explains_at_home=explanations == "home")
    click.echo(write_edition(current_course(), folder, edition, only=exercise_ids))


def _autograder_names() -> Iterable[str]:
    from grader.classroom.platforms import AUTOGRADERS  # other commands do not need it

    return sorted(AUTOGRADERS)


@click.command()
@exercise_argument()
@course_option
@click.option("--for", "platform", type=LazyChoice(_autograder_names), required=True, help="The course platform.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder or .zip file to write."
)
@click.option(
    "--judge",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Grade the files in this folder, as a package does, and write the platform's results to --output.",
)
def autograder(exercise_id: str, platform: str, output: Path, folder: Path | None) -> None:
    """Package an exercise as an autograder for a course platform."""
    from grader.author.autograder import write_autograder
    from grader.author.platform_grading import judge_folder

    course = current_course()
    if folder is None:
        click.echo(write_autograder(course, exercise_id, platform, output), nl=False)
    else:
        click.echo(judge_folder(course, exercise_id, platform, folder, output))


GRADEBOOK = click.Path(path_type=Path)
gradebook_option = click.option(
    "--gradebook", type=GRADEBOOK, required=True, help="The SQLite file in which verdicts are stored."
)


class EngineOptions(Struct, frozen=True, kw_only=True):
    """Where and how to grade: the options from `--jobs` to `--no-share`."""

    jobs: int | None
    engine: str
    scheduler: str | None
    plain_tcp: bool
    allow_open: bool
    no_share: bool


def _engine_names() -> Iterable[str]:
    from grader.classroom.engines import EngineKind  # other commands do not need it

    return [each.value for each in EngineKind]


def _engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `EngineOptions`, which the command takes as its argument `engine_options`."""

    @wraps(command)
    def with_one_record(*arguments: Any, **values: Any) -> None:
        options = EngineOptions(**{name: values.pop(name) for name in EngineOptions.__struct_fields__})
        command(*arguments, engine_options=options, **values)

    decorated: Callable[..., None] = with_one_record
    for option in (
        click.option("--jobs", type=click.IntRange(1), help="Submissions to grade at once; by default one per core."),
        click.option(
            "--engine", type=LazyChoice(_engine_names), default="local", help="Grade here or on a Dask cluster."
        ),
        click.option("--scheduler", metavar="tls://HOST:PORT", help="The address of the Dask scheduler."),
        click.option(
            "--plain-tcp",
            is_flag=True,
            help="Allow a scheduler without TLS. Anybody who can reach it can forge verdicts.",
        ),
        click.option("--allow-open", is_flag=True, help="Grade even if a submission could reach files or the network."),
        click.option("--no-share", is_flag=True, help="Grade every submission, even if it is a copy of another one."),
    ):
        decorated = option(decorated)
    return decorated


def _layout_names() -> Iterable[str]:
    from grader.classroom.opening import LAYOUT_NAMES

    return LAYOUT_NAMES


def _export_names() -> Iterable[str]:
    from grader.classroom.exports.writing import EXPORTS

    return sorted(EXPORTS)


def _known_exercise(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    return require_exercise(current_course(), value) if value else ""


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@course_option
@gradebook_option
@click.option("--layout", type=LazyChoice(_layout_names), help="The layout of the submissions; detected by default.")
@click.option("--pattern", default="", metavar="'{student}_*_{exercise}.py'", help="A custom layout, as a pattern.")
@click.option(
    "--exercise", callback=_known_exercise, help="The exercise, if the file names do not say which one it is."
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="The class list: a CSV file with a column id; other columns are optional.",
)
@_engine_options
@seed_option("Draw the inputs from this seed instead of the gradebook's own.")
@click.pass_context
def batch(
    ctx: click.Context,
    submissions: Path,
    gradebook: Path,
    layout: str | None,
    pattern: str,
    exercise: str,
    roster: Path | None,
    engine_options: EngineOptions,
    seed: int | None,
) -> None:
    """Grade all new and changed submissions of a class, in a folder, a zip or a .jsonl file."""
    from grader.classroom.grading import BatchOptions
    from grader.classroom.opening import LayoutOptions
    from grader.classroom.roster import Roster, read_roster

    options = BatchOptions(
        seed=seed,
        shares=not engine_options.no_share,
        allows_open=engine_options.allow_open,
        layout=LayoutOptions(name=layout or "", pattern=pattern, exercise=exercise),
        roster=read_roster(roster) if roster else Roster(),
    )
    ctx.exit(_grade(submissions, gradebook, options, engine_options))


@click.command()
@course_option
@gradebook_option
@click.option("--exercise", callback=_known_exercise, required=True, help="The exercise to grade again.")
@click.option("--student", help="Grade only this student again.")
@click.option("--reason", required=True, help="The reason, which is stored with the new verdicts.")
@click.option(
    "--submissions",
    type=click.Path(path_type=Path, exists=True),
    help="The new folder of the submissions, if they were moved.",
)
@_engine_options
@click.pass_context
def regrade(
    ctx: click.Context,
    gradebook: Path,
    exercise: str,
    student: str | None,
    reason: str,
    submissions: Path | None,
    engine_options: EngineOptions,
) -> None:
    """Grade an exercise again, for all students or for one. Older verdicts are kept."""
    from grader.classroom.grading import BatchOptions
    from grader.classroom.regrade import request_regrade

    _choose_engine(engine_options)  # raises before any verdict is cancelled
    request = request_regrade(gradebook, exercise, student, reason, submissions)
    click.echo(f"Grading {counted(request.count, 'submission')} for {exercise} again: {printable(reason)}")
    codes = []
    for path, recorded in request.batches:
        options = BatchOptions(
            shares=recorded.shares and not engine_options.no_share,
            allows_open=engine_options.allow_open,
            layout=recorded.options,
            is_regrade=True,
        )
        codes.append(_grade(path, gradebook, options, engine_options))
    ctx.exit(max(codes))


@click.command()
@click.argument("student")
@gradebook_option
def history(student: str, gradebook: Path) -> None:
    """Show all verdicts of a student, with the reasons for regrades."""
    from grader.classroom.gradebook.class_records import student_history
    from grader.report.history import render_history

    print_report(render_history(student, student_history(gradebook, student), width=width(), color=has_color()))


@click.command()
@click.argument("gradebook", type=GRADEBOOK)
@course_option
@click.option("--to", type=LazyChoice(_export_names), help="The format to write.")
@click.option("--feedback", is_flag=True, help="Write feedback instead: a page and a text file for each student.")
@click.option("--anonymous", is_flag=True, help="With --to html: replace each name by a pseudonym that never changes.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def export(gradebook: Path, to: str | None, feedback: bool, anonymous: bool, folder: Path) -> None:
    """Write a gradebook to a folder: in another program's format, or as feedback for students."""
    from grader.classroom.exports.records import ExerciseLoader
    from grader.classroom.exports.writing import export as write_export
    from grader.classroom.exports.writing import formats_of_grades, removed_exercises, write_feedback

    course = current_course()
    if bool(to) == feedback or (feedback and anonymous):
        raise UsageError("give either --to FORMAT or --feedback; --anonymous goes with --to html")
    if to:
        written = counted(write_export(gradebook, to, folder, course, anonymous=anonymous), "file")
    else:
        written = f"feedback on {write_feedback(gradebook, folder, ExerciseLoader(course)):,} submissions"
    click.echo(f"Wrote {written} to {folder}.")
    if removed := removed_exercises(gradebook, course, to or ""):
        names, formats = ", ".join(removed), ", ".join(formats_of_grades())
        click.echo(f"Omitted, because no longer in the course: {names}. Formats that include their grades: {formats}.")


def _grade(submissions: Path, gradebook: Path, options: Any, engine_options: EngineOptions) -> int:
    """Run a batch and show its progress. Return its exit code."""
    from grader.classroom.display import Display, render_batch
    from grader.classroom.grading import grade_submissions

    engine = _choose_engine(engine_options)
    write = partial(click.echo, err=True)
    with Display(gradebook, write, is_terminal=sys.stderr.isatty()) as display:
        report = grade_submissions(current_course(), submissions, gradebook, engine, options, display.show, write)
    print_report(render_batch(report, display.clock, str(gradebook), width=width(), color=has_color()))
    return report.exit_code()


def _choose_engine(options: EngineOptions) -> Any:
    """Return the engine, not yet started. Raise `UsageError` if the options contradict each other."""
    from grader.classroom.engines import EngineKind, choose_engine

    return choose_engine(
        current_course(),
        EngineKind(options.engine),
        options.scheduler,
        options.jobs,
        is_strict=not options.allow_open,
        allows_plain_tcp=options.plain_tcp,
    )


INSTRUCTOR_COMMANDS = (new, prove, hunts, schema, release, autograder, batch, regrade, history, export)
