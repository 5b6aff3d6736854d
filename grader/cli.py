"""The commands. The only module that prints, reads arguments or decides exit codes."""

import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.course.paths import EXERCISE_ID, Course, find_course
from grader.errors import KitError, SpecError, UsageError
from grader.report.console import (
    ended_by_signals,
    has_color,
    has_screen,
    keep_traceback,
    print_report,
    progress_bar,
    width,
)
from grader.report.page import printable_lines

if TYPE_CHECKING:
    from grader.verdict.verdict import Verdict

UNEXPECTED = 3
INTERRUPTED = 130
PROOF_WIDTH = 120
"""Columns that the table of a proof takes."""

INSTRUCTORS_COMMANDS = ("new", "prove", "release", "schema", "batch")


class Commands(click.Group):
    """`python -m grader exercise_03` means `... grade exercise_03`; students have no instructors' commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        is_there = cmd_name not in INSTRUCTORS_COMMANDS or (Path(__file__).parent / "author").is_dir()
        return super().get_command(ctx, cmd_name) if is_there else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if EXERCISE_ID.fullmatch(args[0]):
            args = ["grade", *args]
        elif self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            find_course(Path.cwd()).require(args[0])
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def command_line(ctx: click.Context) -> None:
    """Hunt bugs in attention code: list the exercises, or grade one with `python -m grader exercise_03`."""
    if ctx.invoked_subcommand is None:
        list_exercises()


def list_exercises() -> None:
    """Print every exercise with its last state, and the overall progress."""
    from grader.course.loading import load_exercise
    from grader.report.overview import Entry, render_overview
    from grader.student.progress import load_progress

    course = find_course(Path.cwd())
    entries = []
    for exercise_id in course.exercise_ids():
        progress = load_progress(course, exercise_id)
        try:
            exercise = load_exercise(course.description(exercise_id))
            entries.append(Entry(exercise_id, exercise.title, progress, exercise.is_public()))
        except SpecError:
            entries.append(Entry(exercise_id, "(grading it says what is wrong with its description)", progress))
    print_report(render_overview(entries, width=width(), color=has_color()))


def _exercise_argument(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        find_course(Path.cwd()).require(value)
    return value


def _complete_exercise(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in find_course(Path.cwd()).exercise_ids() if name.startswith(incomplete)]


exercise_argument = click.argument(
    "exercise_id", metavar="EXERCISE", callback=_exercise_argument, shell_complete=_complete_exercise
)


@command_line.command()
@exercise_argument
@click.option("--file", "path", type=click.Path(path_type=Path), help="Grade this file instead of the exercise's own.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object and nothing else.")
@click.option("--seed", type=click.IntRange(0), help="Draw the inputs from this seed, to repeat a verdict.")
@click.option("--strict", is_flag=True, help="Refuse to grade where a submission could reach files or the network.")
@click.option("--spawn", is_flag=True, hidden=True, help="Start workers anew instead of forking them.")
@click.pass_context
def grade(
    ctx: click.Context,
    exercise_id: str,
    path: Path | None,
    as_json: bool,
    seed: int | None,
    strict: bool,
    spawn: bool,
) -> None:
    """Grade one exercise: which defects are gone, which remain, what else broke."""
    from grader.student.progress import remember_verdict
    from grader.verdict import judge as grading

    course = find_course(Path.cwd())
    choice = grading.Choice(path) if path else grading.choose_file(course, exercise_id)
    if choice.remark:
        click.echo(choice.remark, err=as_json)
    verdict = grading.grade(
        course,
        exercise_id,
        choice.path,
        seed=seed,
        spawn=spawn or not grading.CAN_FORK,
        strict=strict,
        tell=partial(_print_verdict, course, exercise_id, as_json=as_json),
    )
    if path is None:
        remember_verdict(course, verdict)
    ctx.exit(verdict.exit_code())


def _print_verdict(course: Course, exercise_id: str, verdict: "Verdict", *, as_json: bool) -> None:
    """Print a verdict; what draws it is imported only now, for getting ready beside the judging is no faster."""
    if as_json:
        from grader.report.json import render_json

        click.echo(render_json(verdict))
        return

    from grader.course.loading import load_exercise
    from grader.report.terminal import render_terminal

    exercise = load_exercise(course.description(exercise_id))
    print_report(render_terminal(verdict, exercise, width=width(), color=has_color()))


@command_line.command()
@click.argument(
    "exercise_id", metavar="[EXERCISE]", required=False, callback=_exercise_argument, shell_complete=_complete_exercise
)
def watch(exercise_id: str | None) -> None:
    """Grade again on every save; without a name, the first exercise not yet fixed, then the next."""
    from grader.watch.screen import Screen, render_event
    from grader.watch.watch import watching

    course = find_course(Path.cwd())
    with contextlib.suppress(BrokenPipeError), ended_by_signals(), watching(course, exercise_id) as session:
        for event in session.events():
            screen = Screen(width(), has_color(), clears=has_screen(), has_keys=session.keys.are_read)
            print_report(render_event(event, screen))


@command_line.command()
@exercise_argument
def hint(exercise_id: str) -> None:
    """Give one more hint for the first defect that is still there."""
    from grader.course.loading import load_exercise
    from grader.student.hints import next_hint

    course = find_course(Path.cwd())
    click.echo(next_hint(course, load_exercise(course.description(exercise_id))))


@command_line.command()
@click.argument("exercise_id", metavar="EXERCISE")
@click.option("--from", "source", type=click.Path(path_type=Path), required=True, help="The file with a fault in it.")
def new(exercise_id: str, source: Path) -> None:
    """Lay out a new exercise around a faulty .py or .ipynb file, its description filled in as far as can be."""
    from grader.author.new import create_exercise

    click.echo(create_exercise(find_course(Path.cwd()), exercise_id, source))


@command_line.command()
@click.argument("exercise_ids", metavar="[EXERCISE]...", nargs=-1, shell_complete=_complete_exercise)
@click.pass_context
def prove(ctx: click.Context, exercise_ids: tuple[str, ...]) -> None:
    """Prove exercises sound: sources agree, every subset of defects is named, no mutant survives the checks."""
    from grader.author.proof_table import render_proofs
    from grader.author.prove import prove as prove_all

    course = find_course(Path.cwd())
    for exercise_id in exercise_ids:
        course.require(exercise_id)
    with progress_bar("proving") as advance:
        proofs = prove_all(course, list(exercise_ids) or course.exercise_ids(), advance)
    print_report(render_proofs(proofs, width=max(width(), PROOF_WIDTH), color=has_color()))
    ctx.exit(0 if all(proof.holds() for proof in proofs) else 1)


@command_line.command()
def schema() -> None:
    """Print the JSON Schema of exercise.yaml, by which editors complete and check it."""
    from grader.course.schema import render_schema

    click.echo(render_schema(), nl=False)


@command_line.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--with-hints", is_flag=True, help="Let students ask for hints.")
def release(folder: Path, with_hints: bool) -> None:
    """Write the student edition: everything students may have, and nothing that spoils a hunt."""
    from grader.author.release import release as write_edition

    click.echo(write_edition(find_course(Path.cwd()), folder, with_hints=with_hints))


@command_line.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--gradebook", type=click.Path(path_type=Path), required=True, help="The SQLite file of verdicts.")
@click.option("--jobs", type=click.IntRange(1), help="How many examiners work side by side; one a core if not given.")
@click.option("--engine", type=click.Choice(["local", "dask"]), default="local", help="This machine or a cluster.")
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="The cluster's scheduler.")
@click.option("--no-share", is_flag=True, help="Judge submissions anew that are like one that was judged.")
@click.option("--allow-open", is_flag=True, help="Grade even where a submission could reach files or the network.")
@click.option("--seed", type=click.IntRange(0), help="Draw the inputs from this seed instead of the gradebook's own.")
@click.pass_context
def batch(
    ctx: click.Context, /, submissions: Path, gradebook: Path, engine: str, scheduler: str | None, **told: Any
) -> None:
    """Grade a class: every submission in a folder or a .jsonl file that the gradebook holds no verdict on."""
    from grader.batch.batch_report import Display, render_report
    from grader.batch.engines import EngineKind, choose_engine
    from grader.batch.grading import Options, grade_submissions

    course = find_course(Path.cwd())
    options = Options(told["seed"], not told["no_share"], told["allow_open"])
    chosen = choose_engine(course, EngineKind(engine), scheduler, told["jobs"], is_strict=not options.allows_open)
    with Display(gradebook, partial(click.echo, err=True), is_terminal=sys.stderr.isatty()) as display:
        report = grade_submissions(course, submissions, gradebook, chosen, options, display.show)
    print_report(render_report(report, display.clock, str(gradebook), width=width(), color=has_color()))
    ctx.exit(report.exit_code())


@command_line.command()
@exercise_argument
def diff(exercise_id: str) -> None:
    """Show what you changed since the starter."""
    from grader.student.changes import changes

    difference = changes(find_course(Path.cwd()), exercise_id)
    click.echo(printable_lines(difference) or "Nothing has changed since the starter.\n", nl=False)


@command_line.command()
@exercise_argument
def reset(exercise_id: str) -> None:
    """Put the starter back, keeping a copy of what you have."""
    from grader.student.changes import start_again

    for line in start_again(find_course(Path.cwd()), exercise_id):
        click.echo(line)


@command_line.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Show which protections hold on this machine, each proven by an attempt, and what to do about the rest."""
    from grader.report.doctor_table import render_state
    from grader.service.doctor import examine_machine

    found = examine_machine(find_course(Path.cwd()))
    print_report(render_state(found, width=width(), color=has_color()))
    ctx.exit(0 if all(each.is_well for each in found) else 1)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    try:
        return command_line.main(arguments, prog_name="python -m grader", standalone_mode=False) or 0
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except KitError as error:
        click.echo(f"grader: {printable_lines(str(error))}", err=True)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place where the unexpected is turned into words
        text = printable_lines(f"{type(error).__name__}: {error}")
        click.echo(f"grader: unexpected {text}; the details are in {keep_traceback()}", err=True)
        return UNEXPECTED
