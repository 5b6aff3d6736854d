"""The command line: all commands, and how errors become messages and exit codes."""

import itertools
from importlib.metadata import version
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grader.commands.arguments import (
    complete_exercise,
    course_option,
    current_course,
    looks_like_an_exercise,
    require_exercise,
    require_no_title,
)
from grader.commands.evaluation import EVALUATION_COMMANDS
from grader.commands.instructor import INSTRUCTOR_COMMANDS
from grader.commands.student import ALIASES, STUDENT_COMMANDS, list_exercises
from grader.errors import INTERRUPTED, KitError, UsageError
from grader.report.console import accept_all_characters, has_color, keep_traceback, print_report, width, wrapped
from grader.report.printable import printable_lines

SHORT_NAME = "grader"
"""The name of the installed program, for which shells complete."""

COMPLETE_VARIABLE = "_GRADER_COMPLETE"
"""The environment variable with which a shell requests completions."""


@click.command()
@course_option
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Show which protections work on this machine, and how to get the missing ones."""
    from grader.commands.doctor import examine_machine
    from grader.report.host_states import render_host_states

    states = examine_machine(current_course())
    print_report(render_host_states(states, width=width(), color=has_color()))
    ctx.exit(0 if all(state.is_met for state in states) else 1)


@click.command()
def stop() -> None:
    """End the background processes that wait for the next command."""
    from grader.processes.warm_server import stop_all

    stopped = stop_all()
    count = "one process" if len(stopped) == 1 else f"{len(stopped)} processes"
    click.echo(f"Stopped {count}." if stopped else "No warm process was running.")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell completion for `grader`. Source it in your shell's startup file."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None, "click supports all three"
    click.echo(completion_class(ctx.find_root().command, {}, SHORT_NAME, COMPLETE_VARIABLE).source())


SHORT_HELP = 90
"""The most characters of a command's help in the list of commands."""

UNEXPECTED_ERROR = 3

MACHINE_COMMANDS = (doctor, stop, completion)
SECTIONS = {
    "For students": STUDENT_COMMANDS,
    "For instructors": INSTRUCTOR_COMMANDS,
    "For teams that evaluate models": EVALUATION_COMMANDS,
    "For this machine": MACHINE_COMMANDS,
}


class Commands(click.Group):
    """Accept an exercise in place of a command: `exercise_03` means `grade exercise_03`, `3 hint` means `hint 3`.

    A student edition has no commands for instructors.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command; None if it is unknown or not in this edition."""
        needs_full_course = any(cmd_name == each.name for each in (*INSTRUCTOR_COMMANDS, *EVALUATION_COMMANDS))
        is_available = not needs_full_course or (Path(__file__).parent / "author").is_dir()
        return super().get_command(ctx, cmd_name) if is_available else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section of the help page for each audience."""
        for title, commands in SECTIONS.items():
            available = [each for each in commands if self.get_command(ctx, str(each.name)) and not each.hidden]
            if available:
                with formatter.section(title):
                    formatter.write_dl([(str(each.name), each.get_short_help_str(SHORT_HELP)) for each in available])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Put the command before the exercise, or `grade` if none is given. Raise `UsageError` for unknown words."""
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            if not looks_like_an_exercise(name):
                with ctx:
                    words = itertools.takewhile(lambda word: not word.startswith("-"), args)
                    require_no_title(current_course(), " ".join(words))
                    available = tuple(each for each in self.list_commands(ctx) if self.get_command(ctx, each))
                    require_exercise(current_course(), name, available)
            second = ALIASES.get(args[1], args[1]) if args[1:] else ""
            has_command = second in {each.name for each in STUDENT_COMMANDS}
            args = [second, name, *args[2:]] if has_command else ["grade", *args]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete exercises as well as commands."""
        exercises = [CompletionItem(name) for name in complete_exercise(ctx, None, incomplete)]
        return exercises + super().shell_complete(ctx, incomplete)


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"grader {version('grader')}")
        ctx.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@course_option
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def command_line(ctx: click.Context) -> None:
    """Hunt bugs in attention code. Without a command, list the exercises.

    `python -m grader exercise_03` grades an exercise.
    """
    if ctx.invoked_subcommand is None:
        list_exercises()


for _command in (*STUDENT_COMMANDS, *INSTRUCTOR_COMMANDS, *EVALUATION_COMMANDS, *MACHINE_COMMANDS):
    command_line.add_command(_command)


def main(arguments: list[str] | None = None, *, is_warm: bool = False) -> int:
    """Run a command and return its exit code. In a warm process, raise errors that are not the user's fault."""
    accept_all_characters()
    try:
        return command_line.main(arguments, "python -m grader", COMPLETE_VARIABLE, standalone_mode=False) or 0
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except KitError as error:
        if is_warm and error.exit_code != UsageError.exit_code:
            raise
        click.echo(wrapped(f"grader: {printable_lines(str(error))}"), err=True)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if is_warm:
            raise
        text = printable_lines(f"{type(error).__name__}: {error}")
        click.echo(f"grader: unexpected {text}; the details are in {keep_traceback()}", err=True)
        return UNEXPECTED_ERROR
