"""What is asked about this machine: what protects it, how a shell completes the commands."""

import click

from grader.commands.arguments import course_option, current_course
from grader.report.console import has_color, print_report, width

SHORT_NAME = "grader"
"""What installing the kit puts on the path, and what shells complete."""

COMPLETE_VARIABLE = "_GRADER_COMPLETE"
"""How a shell that asks for completions says so."""


@click.command()
@course_option
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Show which protections hold on this machine, each proven by an attempt, and what to do about the rest."""
    from grader.report.doctor_table import render_state
    from grader.service.doctor import examine_machine

    found = examine_machine(current_course())
    print_report(render_state(found, width=width(), color=has_color()))
    ctx.exit(0 if all(each.is_well for each in found) else 1)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete `grader`, short for `python -m grader`: source it from the shell's settings."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows all three"
    click.echo(kind(ctx.find_root().command, {}, SHORT_NAME, COMPLETE_VARIABLE).source())
