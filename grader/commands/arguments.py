"""What commands share: which course, which exercise, however it is called."""

import difflib
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.errors import UsageError
from grader.spec.paths import EXERCISE_ID, Course, find_course

Command = TypeVar("Command", bound=Callable[..., Any])

DIGIT_LIKE = re.compile(r"(?<=[\d_])[oO]|[oO](?=\d)")
"""A letter where a zero is meant."""

LIKE_A_COMMAND = 0.7
"""How alike a command's name has to be to be meant: `completion` is not what somebody means by `solution`."""

SHORT = 3
ONE_OF_THREE_WRONG = 0.66
"""How alike names are of which one letter of `SHORT` is wrong."""

BY_NUMBER = re.compile(r"(?:exercise[ _-]?)?0*(\d+)", re.IGNORECASE)


def current_course() -> Course:
    """The course named by `--course`, or the one around the current folder; another one is never used in silence."""
    context = click.get_current_context().find_root()
    if context.obj is None:
        try:
            here = Path.cwd()
        except FileNotFoundError:
            raise UsageError("the folder that you are in is gone; go to the course's, and run it there") from None
        context.obj = find_course(here)
        if not here.is_relative_to(context.obj.root):
            found = f"this is about the one in {context.obj.root} (--course DIR names another)"
            click.echo(f"There is no course in {here}; {found}.", err=True)
    course: Course = context.obj
    return course


def _choose_course(ctx: click.Context, _parameter: click.Parameter, folder: Path | None) -> None:
    if folder is None:
        return
    if not (folder / "exercises").is_dir():
        raise UsageError(f"there is no exercises/ in {folder}; name what holds it, or make it for a course of your own")
    ctx.find_root().obj = Course(folder.absolute())


class LazyChoice(click.Choice[str]):
    """A choice whose values are imported when they are needed: for help, completion or the option itself."""

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
    help="The course's folder, where it is not the current one.",
)


def exercise_called(course: Course, name: str) -> str | None:
    """The exercise meant by its id, its number, or the path of its folder or of a file in it; None where none is."""
    ids, name = course.exercise_ids(), name.rstrip("/")
    if name in ids:
        return name
    numbered = BY_NUMBER.fullmatch(name)
    if numbered:
        return next((each for each in ids if int(each.removeprefix("exercise_")) == int(numbered[1])), None)
    path = Path(name)
    if path.exists():
        return next((part for part in path.resolve().parts if part in ids and part in _parts(course, path)), None)
    return None


def _parts(course: Course, path: Path) -> tuple[str, ...]:
    """What leads from the course's exercises to the path; nothing where it lies elsewhere."""
    home = (course.root / "exercises").resolve()
    return path.resolve().relative_to(home).parts if path.resolve().is_relative_to(home) else ()


def require_exercise(course: Course, name: str, commands: tuple[str, ...] = ()) -> str:
    """The exercise that is meant; `UsageError` with the nearest name, of commands too, where there is none."""
    found = exercise_called(course, name)
    if found is not None:
        return found
    ids = course.exercise_ids()
    nearest = _nearest(name, ids, commands)
    what = "exercise or command" if commands else "exercise"
    listed = course.listed()
    told = f"did you mean {nearest}? {listed[:1].upper()}{listed[1:]}" if nearest else listed
    raise UsageError(f"there is no {what} {name!r} here; {told}")


def _nearest(name: str, ids: list[str], commands: tuple[str, ...]) -> str:
    """A name that somebody may have meant who wrote this one; empty where none is near.

    Nobody means one number by another, and a command is near where few of its letters are wrong.
    """
    plain = DIGIT_LIKE.sub("0", name)
    if EXERCISE_ID.fullmatch(plain) and plain not in ids:
        return ""
    least = ONE_OF_THREE_WRONG if len(name) == SHORT else LIKE_A_COMMAND
    near = difflib.get_close_matches(plain, ids, 1) or difflib.get_close_matches(name, commands, 1, least)
    return next(iter(near), "")


def _exercise(_ctx: click.Context, _parameter: click.Parameter, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(require_exercise(current_course(), each) for each in value)
    return None if value is None else require_exercise(current_course(), value)


def _named(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    if value is None:
        raise UsageError(
            f"name an exercise, as in python -m grader {ctx.info_name} {current_course().first_exercise()}"
        )
    return require_exercise(current_course(), value)


def _named_or_last(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """The exercise that is named, or the one whose folder this is, or the last one that was edited or graded."""
    from grader.student.progress import last_worked_on

    if value is not None or ctx.resilient_parsing:
        return _named(ctx, parameter, value)
    course = current_course()
    found = exercise_called(course, str(Path.cwd())) or last_worked_on(course)
    if found is not None:
        click.echo(f"{found}, as none is named:", err=True)
    return _named(ctx, parameter, found)


def complete_exercise(ctx: click.Context, _parameter: click.Parameter | None, incomplete: str) -> list[str]:
    """Return the ids that begin with the typed text, in the course named by `--course` or around the current folder."""
    try:
        course: Course = ctx.find_root().obj or find_course(Path.cwd())
    except (OSError, UsageError):
        return []  # no course to complete from; the command says so once it runs
    return [name for name in course.exercise_ids() if name.startswith(incomplete)]


def exercise_argument(
    *, required: bool = True, many: bool = False, or_last: bool = False
) -> Callable[[Command], Command]:
    """The exercise, or the exercises, that a command is about; `or_last` takes the last one where none is named."""
    metavar = "EXERCISE" if required and not or_last else "[EXERCISE]"
    return click.argument(
        "exercise_ids" if many else "exercise_id",
        metavar=metavar + ("..." if many else ""),
        required=required and many,
        nargs=-1 if many else 1,
        callback=_named_or_last if or_last else _named if required and not many else _exercise,
        shell_complete=complete_exercise,
    )


def _require_seed(_ctx: click.Context, _parameter: click.Parameter, value: int | None) -> int | None:
    from grader.verdict.judge import MAX_SEED  # here, for other commands need none of it

    if value is not None and value >= MAX_SEED:
        raise click.BadParameter(f"{value} is too large; name one from 0 to {MAX_SEED - 1}")
    return value


def seed_option(told: str) -> Callable[[Command], Command]:
    """Which inputs are drawn."""
    return click.option("--seed", type=click.IntRange(0), callback=_require_seed, help=told)


def require_file(path: Path) -> None:
    """Raise `UsageError` unless there is a file of that name, and no link, which may lead to another's work."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and none is followed; name the file that it leads to")
    if not path.exists():
        raise UsageError(f"there is no {path}; name the file to grade")


def looks_like_an_exercise(name: str) -> bool:
    """Whether a first word that is no command means an exercise: an id, a number or a path."""
    return bool(EXERCISE_ID.fullmatch(name) or BY_NUMBER.fullmatch(name) or Path(name).exists())
