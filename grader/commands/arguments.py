"""Arguments that several commands share: the course, the exercise, the seed."""

import contextlib
import difflib
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.errors import SpecError, UsageError
from grader.sandbox.text import cut
from grader.spec.exercise_names import EXERCISE_ID, NAME_OR_NUMBER, exercise_number
from grader.spec.paths import Course, find_course

Command = TypeVar("Command", bound=Callable[..., Any])

DIGIT_LIKE = re.compile(r"(?<=[\d_])[oO]|[oO](?=\d)")
"""A letter O in place of a zero."""

COMMAND_SIMILARITY = 0.7
"""How similar a word must be to a command to count as a typo: `completion` is not a typo of `solution`."""

SHORT_NAME_LENGTH = 3
SHORT_NAME_SIMILARITY = 0.66
"""`COMMAND_SIMILARITY` for names of three letters: one wrong letter gives a similarity of 2/3."""

MAX_NAME = 100
"""The most characters of a name that a message repeats."""

SHORTEST_TITLE = 6
"""The fewest characters that are looked up in titles; shorter words are mistyped commands."""


def current_course() -> Course:
    """Return the course of `--course`, or else of `find_course`. Print a note if the current folder is outside."""
    context = click.get_current_context().find_root()
    if context.obj is None:
        try:
            here = Path.cwd()
        except FileNotFoundError:
            raise UsageError(
                "the current folder no longer exists; change to the course's folder and run the command again"
            ) from None
        context.obj = find_course(here)
        if not here.is_relative_to(context.obj.root):
            note = f"using the one in {context.obj.root} (--course DIR chooses another)"
            click.echo(f"There is no course in {here}; {note}.", err=True)
    course: Course = context.obj
    return course


def _choose_course(ctx: click.Context, _parameter: click.Parameter, folder: Path | None) -> None:
    if folder is None:
        return
    if not (folder / "exercises").is_dir():
        raise UsageError(
            f"there is no exercises/ in {folder}; name the folder that contains it, or create it for a new course"
        )
    ctx.find_root().obj = Course(root=folder.absolute())


class LazyChoice(click.Choice[str]):
    """A choice whose values are imported only when help, completion or the option needs them."""

    def __init__(self, load: Callable[[], Iterable[str]]) -> None:
        self.case_sensitive = True
        self._load = load

    @cached_property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # click sets it at once
        """Return the names to choose from."""
        return tuple(self._load())


course_option = click.option(
    "--course",
    metavar="DIR",
    type=click.Path(path_type=Path),
    expose_value=False,
    is_eager=True,
    callback=_choose_course,
    help="The course's folder; by default the one that contains the current folder.",
)


def warm_options(command: Command) -> Command:
    """Add the options that `__main__.py` reads before any command runs: they choose where the command runs."""
    warm = click.option(
        "--warm",
        is_flag=True,
        expose_value=False,
        help="Use a background process that stays ready for the next command, even if the output is not a terminal.",
    )
    cold = click.option(
        "--cold", is_flag=True, expose_value=False, help="Run without a background process, and leave none behind."
    )
    return warm(cold(command))


def exercise_called(course: Course, name: str) -> str | None:
    """Return the id of the exercise with this id, number, folder or file; None if there is none."""
    ids, name = course.exercise_ids(), name.rstrip("/")
    if name in ids:
        return name
    if NAME_OR_NUMBER.fullmatch(name):
        return next((each for each in ids if exercise_number(each) == exercise_number(name)), None)
    path = Path(name)
    if _exists(path):
        return next((part for part in path.resolve().parts if part in ids and part in _parts(course, path)), None)
    return None


def require_no_title(course: Course, words: str) -> None:
    """Raise `UsageError` with the exercise's command if only one exercise has these words in its title.

    The command does not run at once, because this process has loaded all descriptions and must fork no workers.
    """
    exercise_id = exercise_titled(course, words)
    if exercise_id is not None:
        raise UsageError(f"to grade {exercise_id}, call it by its name or number: python -m grader {exercise_id}")


def exercise_titled(course: Course, words: str) -> str | None:
    """Return the id of the only exercise whose title contains these words; None if there is none, or several."""
    from grader.spec.loading import load_exercise

    wanted, found = words.casefold().strip(), []
    if len(wanted) < SHORTEST_TITLE:
        return None
    for exercise_id in course.exercise_ids():
        with contextlib.suppress(SpecError):
            if wanted in load_exercise(course.description(exercise_id)).title.casefold():
                found.append(exercise_id)
    return found[0] if len(found) == 1 else None


def _parts(course: Course, path: Path) -> tuple[str, ...]:
    """Return the parts of a path below the course's exercises; none if the path is elsewhere."""
    home = (course.root / "exercises").resolve()
    return path.resolve().relative_to(home).parts if path.resolve().is_relative_to(home) else ()


def require_exercise(course: Course, name: str, commands: tuple[str, ...] = ()) -> str:
    """Return the id of the exercise that `name` denotes.

    Raise `UsageError`, with a suggestion, if there is none. `commands` are names that can also be suggested.
    """
    exercise_id = exercise_called(course, name)
    if exercise_id is not None:
        return exercise_id
    ids = course.exercise_ids()
    nearest = _nearest(name, ids, commands)
    noun = "exercise or command" if commands else "exercise"
    listed = course.listed()
    remedy = f"did you mean {nearest}? {listed[:1].upper()}{listed[1:]}" if nearest else listed
    raise UsageError(f"there is no {noun} {cut(name, MAX_NAME)!r} here; {remedy}")


def _nearest(name: str, ids: list[str], commands: tuple[str, ...]) -> str:
    """Return the most similar name; empty if none is similar enough.

    An exercise's number is never a typo of another number.
    """
    plain = DIGIT_LIKE.sub("0", name)
    if EXERCISE_ID.fullmatch(plain) and plain not in ids:
        return ""
    least = SHORT_NAME_SIMILARITY if len(name) == SHORT_NAME_LENGTH else COMMAND_SIMILARITY
    similar = difflib.get_close_matches(plain, ids, 1) or difflib.get_close_matches(name, commands, 1, least)
    return next(iter(similar), "")


def _each(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(require_exercise(current_course(), each) for each in values)


def _named_or_none(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else _chosen(value)


def _chosen(name: str) -> str:
    """Return the id of the exercise that `name` denotes. For the tiny hunt, use the course that contains it."""
    from grader.student.first_hunt import FIRST_HUNT, practice_course

    course = current_course()
    if name != FIRST_HUNT or name in course.exercise_ids():
        return require_exercise(course, name)
    click.get_current_context().find_root().obj = practice_course(course)
    return name


def _named(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    if value is None:
        raise UsageError(
            f"name an exercise, as in python -m grader {ctx.info_name} {current_course().first_exercise()}"
        )
    return _chosen(value)


def _named_or_last(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Return the given exercise, or that of the current folder, or the last one that was edited or graded."""
    from grader.student.progress import last_worked_on

    if value is not None or ctx.resilient_parsing:
        return _named(ctx, parameter, value)
    course = current_course()
    last = exercise_called(course, str(Path.cwd())) or last_worked_on(course)
    if last is not None:
        click.echo(f"No exercise named; using {last}:", err=True)
    return _named(ctx, parameter, last)


def complete_exercise(ctx: click.Context, _parameter: click.Parameter | None, incomplete: str) -> list[str]:
    """Return the ids that begin with the typed text, in the course named by `--course` or around the current folder."""
    try:
        course: Course = ctx.find_root().obj or find_course(Path.cwd())
    except (OSError, UsageError):
        return []  # the command reports a missing course when it runs
    return [name for name in course.exercise_ids() if name.startswith(incomplete)]


def exercise_argument(*, required: bool = True, or_last: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds an argument for one exercise.

    With `or_last` the default is the exercise of the current folder, or else the last one worked on.
    """
    return click.argument(
        "exercise_id",
        metavar="EXERCISE" if required and not or_last else "[EXERCISE]",
        required=False,  # the callback reports a missing exercise, with an example
        callback=_named_or_last if or_last else _named if required else _named_or_none,
        shell_complete=complete_exercise,
    )


def exercises_argument() -> Callable[[Command], Command]:
    """Return a decorator that adds an argument for any number of exercises."""
    return click.argument(
        "exercise_ids", metavar="[EXERCISE]...", nargs=-1, callback=_each, shell_complete=complete_exercise
    )


def _require_seed(_ctx: click.Context, _parameter: click.Parameter, value: int | None) -> int | None:
    from grader.spec.seeds import require_seed  # other commands do not need it

    return None if value is None else require_seed(value)


def seed_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--seed` with this help text."""
    return click.option("--seed", type=int, callback=_require_seed, help=text)


def file_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--file` with this help text. It refuses a link and a missing file."""
    return click.option("--file", "path", type=click.Path(path_type=Path), callback=_require_file, help=text)


def _require_file(_ctx: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Raise `UsageError` unless the file exists and is not a link. A link could point to another student's work."""
    if path is None:
        return None
    with contextlib.suppress(OSError):  # a name may be too long
        if path.is_symlink():
            raise UsageError(f"{path} is a link; name the file that it points to")
    if not _exists(path):
        raise UsageError(f"there is no file {cut(str(path), MAX_NAME)}; check the path")
    return path


def looks_like_an_exercise(name: str) -> bool:
    """Return whether a word is written like an exercise (an id, a number or a path) and not like a command."""
    return bool(NAME_OR_NUMBER.fullmatch(name) or _exists(Path(name)))


def _exists(path: Path) -> bool:
    """Return whether the file or folder exists. Unlike `Path.exists`, answer for names that are too long."""
    try:
        return path.exists()
    except OSError:
        return False
