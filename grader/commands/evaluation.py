"""Commands for teams that train and evaluate models: fresh hunts, the audit, task folders."""

import itertools
import time
from collections.abc import Iterable
from pathlib import Path

import click

from grader.commands.arguments import LazyChoice, course_option, current_course, seed_option
from grader.report.console import progress_bar
from grader.report.phrases import counted


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@course_option
@seed_option("The seed that determines every hunt; by default 0.")
@click.option("--count", type=click.IntRange(1), default=10, show_default=True, help="How many hunts to make.")
@click.option(
    "--from", "bases", metavar="EXERCISE", multiple=True, help="Make hunts from this exercise; by default from all."
)
def fresh(folder: Path, seed: int | None, count: int, bases: tuple[str, ...]) -> None:
    """Write a course of new hunts that no model has seen, made from this course's solutions."""
    from grader.evaluation.fresh.hunts import make_hunts  # a student edition does not have it

    started = time.monotonic()
    dropped: dict[str, int] = {}
    made = make_hunts(folder, seed=seed or 0, course=current_course().root, bases=bases)
    with progress_bar("making hunts") as advance:
        for number, progress in enumerate(itertools.islice(made, count), 1):
            dropped = progress.dropped
            advance(number, count)
    made.close()
    tried = count + sum(dropped.values())
    seconds = time.monotonic() - started
    click.echo(f"Wrote {counted(count, 'hunt')} to {folder}: {seconds / count:.1f} s each, {tried:,} drafts tried.")
    for reason, number in sorted(dropped.items()):
        click.echo(f"  dropped {number:,}: {reason}")
    click.echo(f"Grade one: python -m grader --course {folder} exercise_01")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@course_option
@click.option(
    "--exercise", "exercise_ids", metavar="EXERCISE", multiple=True, help="Audit this exercise; by default all."
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Seeds per case.",
)
@click.option("--jobs", type=click.IntRange(1), help="Submissions to grade at once; by default one per core.")
@click.option("--without-attacks", is_flag=True, help="Leave out the hostile submissions.")
def audit(folder: Path, exercise_ids: tuple[str, ...], seeds: int, jobs: int | None, without_attacks: bool) -> None:
    """Grade every case whose right verdict is known, and write the counts as a page and as JSON."""
    from grader.evaluation.audit.running import write_audit  # a student edition does not have it

    with progress_bar("grading") as advance:
        written = write_audit(
            current_course(),
            folder,
            exercise_ids=exercise_ids,
            seeds=seeds,
            with_attacks=not without_attacks,
            jobs=jobs,
            advance=advance,
        )
    refused, passed = (
        sum(getattr(row, field).count for row in written.corpora) for field in ("right_refused", "wrong_passed")
    )
    earned = sum(row.earned.count for row in written.attacks)
    click.echo(f"{len(written.gradings):,} gradings in {written.seconds:.0f} s.")
    click.echo(f"Right refused: {refused}. Wrong passed: {passed}. Attacks that earned too much: {earned}.")
    click.echo(f"Wrote {folder / 'index.html'} and {folder / 'audit.json'}.")


def _forms() -> Iterable[str]:
    from grader.evaluation.environments.forms import Form

    return [each.value for each in Form]


def _schemes() -> Iterable[str]:
    from grader.evaluation.rewards import Scheme  # other commands do not need it

    return [each.value for each in Scheme]


@click.command(name="export-tasks")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@course_option
@click.option(
    "--to",
    "framework",
    type=click.Choice(["harbor"]),
    default="harbor",
    show_default=True,
    help="The framework that runs the tasks.",
)
@click.option(
    "--exercise", "exercise_ids", metavar="EXERCISE", multiple=True, help="Export this exercise; by default all."
)
@click.option(
    "--form",
    type=LazyChoice(_forms),
    default="fix",
    show_default=True,
    help="What the agent does with the file.",
)
@click.option(
    "--scheme",
    type=LazyChoice(_schemes),
    default="all_or_nothing",
    show_default=True,
    help="How a verdict becomes a reward.",
)
@click.option("--with-solutions", is_flag=True, help="Add the references, for the framework's oracle.")
def export_tasks(
    folder: Path,
    framework: str,  # noqa: ARG001 - one so far
    exercise_ids: tuple[str, ...],
    form: str,
    scheme: str,
    with_solutions: bool,
) -> None:
    """Write task folders in which agents fix code, test it, predict its behaviour or locate defects."""
    from grader.evaluation.environments.forms import Form
    from grader.evaluation.harbor.exporting import export_tasks as write_tasks  # a student edition does not have it
    from grader.evaluation.rewards import Scheme

    course = current_course()
    tasks = write_tasks(
        course, folder, exercise_ids, form=Form(form), scheme=Scheme(scheme), with_solutions=with_solutions
    )
    click.echo(f"Wrote {counted(len(tasks), 'task')} to {folder}.")


EVALUATION_COMMANDS = (fresh, audit, export_tasks)
