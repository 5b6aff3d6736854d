"""The command line: every command, what is asked about this machine, and what becomes of errors."""

from importlib.metadata import version
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grader.commands import instructor, student
from grader.commands.arguments import (
    complete_exercise,
    course_option,
    current_course,
    looks_like_an_exercise,
    require_exercise,
)
from grader.commands.student import list_exercises, solution
from grader.errors import KitError, UsageError
from grader.report.console import has_color, keep_traceback, print_report, printable_lines, width, wrapped

SHORT_NAME = "grader"
"""What installing the kit puts on the path, and what shells complete."""

COMPLETE_VARIABLE = "_GRADER_COMPLETE"
"""How a shell that asks for completions says so."""


@click.command()
@course_option
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Show which protections hold on this machine, each proven by an attempt, and what to do about the rest."""
    from grader.commands.doctor import examine_machine
    from grader.report.tables import render_host_states

    found = examine_machine(current_course())
    print_report(render_host_states(found, width=width(), color=has_color()))
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


UNEXPECTED = 3
INTERRUPTED = 130

STUDENTS_COMMANDS = [each for each in vars(student).values() if isinstance(each, click.Command)]
INSTRUCTORS_COMMANDS = [each for each in vars(instructor).values() if isinstance(each, click.Command)]


class Commands(click.Group):
    """`python -m grader exercise_03` means `... grade exercise_03`, and `3 hint` means `hint 3`.

    Students have no instructors' commands.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        is_instructors = any(cmd_name == each.name for each in (*INSTRUCTORS_COMMANDS, solution))
        is_there = not is_instructors or (Path(__file__).parent / "author").is_dir()
        return super().get_command(ctx, cmd_name) if is_there else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            if not looks_like_an_exercise(name):
                with ctx:
                    there = tuple(each for each in self.list_commands(ctx) if self.get_command(ctx, each))
                    require_exercise(current_course(), name, there)
            is_second = args[1:] and args[1] in {each.name for each in STUDENTS_COMMANDS}
            args = [args[1], name, *args[2:]] if is_second else ["grade", *args]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        exercises = [CompletionItem(name) for name in complete_exercise(ctx, None, incomplete)]
        return exercises + super().shell_complete(ctx, incomplete)


def _say_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"grader {version('grader')}")
        ctx.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@course_option
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Say which.")
@click.pass_context
def command_line(ctx: click.Context) -> None:
    """Hunt bugs in attention code: list the exercises, or grade one with `python -m grader exercise_03`."""
    if ctx.invoked_subcommand is None:
        list_exercises()


for _command in (*STUDENTS_COMMANDS, *INSTRUCTORS_COMMANDS, doctor, completion):
    command_line.add_command(_command)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    try:
        return command_line.main(arguments, "python -m grader", COMPLETE_VARIABLE, standalone_mode=False) or 0
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except KitError as error:
        click.echo(wrapped(f"grader: {printable_lines(str(error))}"), err=True)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place where the unexpected is turned into words
        text = printable_lines(f"{type(error).__name__}: {error}")
        click.echo(f"grader: unexpected {text}; the details are in {keep_traceback()}", err=True)
        return UNEXPECTED
