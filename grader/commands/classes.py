"""What is asked for a class: its submissions graded, its gradebook read and handed on."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from grader.commands.arguments import course_option, current_course
from grader.report.console import has_color, print_report, width


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@course_option
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

    course = current_course()
    options = Options(told["seed"], not told["no_share"], told["allow_open"])
    chosen = choose_engine(course, EngineKind(engine), scheduler, told["jobs"], is_strict=not options.allows_open)
    with Display(gradebook, partial(click.echo, err=True), is_terminal=sys.stderr.isatty()) as display:
        report = grade_submissions(course, submissions, gradebook, chosen, options, display.show)
    print_report(render_report(report, display.clock, str(gradebook), width=width(), color=has_color()))
    ctx.exit(report.exit_code())
