"""Commands for teams that train and evaluate models: make fresh hunts."""

import itertools
import time
from pathlib import Path

import click

from grader.commands.arguments import course_option, current_course, seed_option
from grader.report.console import progress_bar


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@course_option
@seed_option("The seed that determines every hunt; by default 0.")
@click.option("--count", type=click.IntRange(1), default=10, show_default=True, help="How many hunts to make.")
@click.option(
    "--from", "bases", metavar="EXERCISE", multiple=True, help="Use this exercise's code and checks; by default all."
)
def fresh(folder: Path, seed: int | None, count: int, bases: tuple[str, ...]) -> None:
    """Write a course of new hunts that no model has seen, made from the right solutions of this one."""
    from grader.evaluation.fresh.hunts import make_hunts  # a student edition does not have it

    started = time.monotonic()
    counts: dict[str, int] = {}
    made = make_hunts(folder, seed=seed or 0, course=current_course().root, bases=bases)
    with progress_bar("making hunts") as advance:
        for number, progress in enumerate(itertools.islice(made, count), 1):
            counts = progress.counts
            advance(number, count)
    made.close()
    tried = sum(counts.values())
    seconds = time.monotonic() - started
    noun = "hunt" if count == 1 else "hunts"
    click.echo(f"Wrote {count:,} {noun} to {folder}: {seconds / count:.1f} s each, {tried:,} drafts tried.")
    for reason, number in sorted(counts.items()):
        if reason != "kept":
            click.echo(f"  dropped {number:,}: {reason}")
    click.echo(f"Grade one: python -m grader --course {folder} exercise_01")


EVALUATION_COMMANDS = (fresh,)
