"""Commands for students: list, start, grade, watch, hint, guide, claim, trap, try, diff, reset, solution, report."""

import contextlib
import sys
from pathlib import Path

import click
from msgspec import structs

from grader.checks.outcome import Status
from grader.commands.arguments import (
    course_option,
    current_course,
    exercise_argument,
    file_option,
    seed_option,
    warm_options,
)
from grader.errors import BrokenExerciseError, SpecError, UsageError
from grader.report.console import ended_by_signals, has_color, has_screen, height, judging_note, print_report, width
from grader.report.overview import OverviewLine
from grader.report.printable import printable_lines
from grader.spec.exercise import Announcement, Exercise
from grader.spec.files import write_product
from grader.spec.paths import Course
from grader.submission.choice import Choice, choice_of, choose_file
from grader.verdict.verdict import Verdict


def list_exercises() -> None:
    """Print every exercise with its state, and the overall progress."""
    from grader.report.overview import render_overview

    print_report(render_overview(_overview(current_course()), width=width(), color=has_color()))


def _overview(course: Course) -> list[OverviewLine]:
    """Return a line for each exercise of the course."""
    from grader.spec.loading import load_exercise
    from grader.student.progress import load_progress

    entries = []
    for exercise_id in course.exercise_ids():
        progress = load_progress(course, exercise_id)
        try:
            exercise = load_exercise(course.description(exercise_id))
        except SpecError:
            title = "(its description is wrong; grade it to see the error)"
            entries.append(OverviewLine(exercise=exercise_id, title=title, progress=progress))
            continue
        entries.append(
            OverviewLine(
                exercise=exercise_id,
                title=exercise.title,
                progress=progress,
                difficulty=exercise.difficulty,
                theme=exercise.theme,
                announces_count=exercise.announces is Announcement.COUNT,
            )
        )
    return entries


@click.command()
@exercise_argument(required=False)
@course_option
@warm_options
@click.option("--all", "every", is_flag=True, help="Grade every exercise and show the list.")
@file_option("Grade this file instead of the exercise's own.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object, and nothing else.")
@seed_option("Use this seed for the random inputs, to repeat a verdict.")
@click.option("--names", is_flag=True, help="Show the names of the defects, which give the answers away.")
@click.option("--strict", is_flag=True, help="Refuse to grade if a submission could reach files or the network.")
@click.option("--spawn", is_flag=True, hidden=True, help="Start new worker processes instead of forking them.")
@click.pass_context
def grade(
    ctx: click.Context,
    exercise_id: str | None,
    every: bool,
    path: Path | None,
    as_json: bool,
    seed: int | None,
    names: bool,
    strict: bool,
    spawn: bool,
) -> None:
    """Grade an exercise: show which defects are fixed and what your module does wrong."""
    from grader.processes.worker_source import CAN_FORK
    from grader.spec.loading import load_exercise
    from grader.student.claims import withhold
    from grader.student.progress import load_progress
    from grader.student.recording import record_shown
    from grader.verdict.judging_files import judging_file
    from grader.verdict.verdict import Result

    course, spawns = current_course(), spawn or not CAN_FORK
    if every:
        if exercise_id or path or as_json or names:
            raise UsageError("--all grades every exercise's own file; leave out EXERCISE, --file, --json and --names")
        ctx.exit(_grade_all(course, seed, strict=strict, spawn=spawns))
    if exercise_id is None:
        raise UsageError(f"name an exercise, or grade all with --all; {course.listed()}")
    choice = _chosen_file(course, exercise_id, path, err=as_json)
    with (
        judging_note(choice.path.name) as clear,
        judging_file(course, exercise_id, choice, seed=seed, spawn=spawns, strict=strict) as judged,
    ):
        clear()
        exercise = load_exercise(course.description(exercise_id))
        is_instructors = path is not None and exercise.edition.HAS_REFERENCE
        verdict = judged if is_instructors else withhold(course, exercise, judged)
        _print_verdict(course, exercise_id, choice, verdict, as_json=as_json, names=names)
    if path is None:
        was_solved = load_progress(course, exercise_id).is_solved()
        record_shown(course, choice.read, verdict)
        if verdict.outcome is Result.FIXED and not (was_solved or as_json):
            _print_completed(course, exercise_id)
    ctx.exit(verdict.exit_code())


def _chosen_file(course: Course, exercise_id: str, path: Path | None = None, *, err: bool = True) -> Choice:
    """Return the given file, or the one of the exercise's own files that counts. Print why it counts."""
    choice = choice_of(path) if path else choose_file(course, exercise_id)
    if choice.remark:
        click.echo(choice.remark, err=err)
    return choice


def _print_completed(course: Course, exercise_id: str) -> None:
    """After a fix, print a page if the exercise was the last of its theme, and one if it was the last of all."""
    from grader.report.first_steps import render_first_end
    from grader.report.overview import render_completed_course, render_completed_theme
    from grader.spec.loading import load_exercise
    from grader.student.explanations import explained_exercise
    from grader.student.first_hunt import PracticeCourse
    from grader.student.progress import load_progress

    if isinstance(course, PracticeCourse):
        print_report(render_first_end(width=width(), color=has_color()))
        return
    theme = load_exercise(course.description(exercise_id)).theme
    described = []
    for each in course.exercise_ids():
        with contextlib.suppress(SpecError):  # the page of the list shows which description is wrong
            described.append(explained_exercise(course, load_exercise(course.description(each))))
    hunts = [each for each in described if each.theme == theme]
    if theme and all(load_progress(course, each.id).is_solved() for each in hunts):
        print_report(render_completed_theme(theme, hunts, width=width(), color=has_color()))
    entries = _overview(course)
    if all(entry.is_done() for entry in entries):
        print_report(render_completed_course(entries, width=width(), color=has_color()))


def _grade_all(course: Course, seed: int | None, *, strict: bool, spawn: bool) -> int:
    """Grade every exercise and show the list. Return the largest exit code."""
    from grader.student.recording import record_verdict
    from grader.verdict.judge import open_judge
    from grader.verdict.judging_files import judge_choice

    codes = []
    with open_judge(course, spawn=spawn, strict=strict) as judge:
        for exercise_id in course.exercise_ids():
            try:
                with judging_note(exercise_id):
                    choice = choose_file(course, exercise_id)
                    verdict = judge_choice(judge, course, exercise_id, choice, seed=seed)
            except (UsageError, BrokenExerciseError) as error:
                click.echo(printable_lines(f"{exercise_id} was skipped: {error}"), err=True)
                codes.append(error.exit_code)
                continue
            finally:
                judge.forget()
            codes.append(record_verdict(course, choice.read, verdict).exit_code())
    list_exercises()
    return max(codes, default=0)


def _print_verdict(
    course: Course, exercise_id: str, choice: Choice, verdict: Verdict, *, as_json: bool, names: bool
) -> None:
    """Print a verdict as a page or as JSON."""
    if as_json:
        from grader.report.json import render_json

        click.echo(render_json(verdict).encode())  # UTF-8 wherever stdout goes
        return

    from grader.report.terminal import Screen, render_terminal
    from grader.report.view import ON_SCREEN, view_of
    from grader.student.explanations import load_explained
    from grader.student.progress import load_progress

    exercise = load_explained(course, exercise_id, choice.read, verdict)
    before = load_progress(course, exercise_id)
    if choice.path not in course.editable_files(exercise_id):
        before = structs.replace(before, listed=[])  # these defects are in another file
    view = view_of(verdict, exercise, before, names=names, limits=ON_SCREEN)
    print_report(render_terminal(view, Screen(width=width(), color=has_color())))


@click.command()
@exercise_argument(required=False)
@course_option
def watch(exercise_id: str | None) -> None:
    """Grade on every save. Without an exercise, watch the easiest exercise that is not fixed, then the next."""
    from grader.student.watch.events import WatchScreen, render_event
    from grader.student.watch.watch import watching

    course = current_course()
    with contextlib.suppress(BrokenPipeError), ended_by_signals(), watching(course, exercise_id) as session:
        for event in session.events():
            screen = WatchScreen(
                width=width(),
                height=height(),
                color=has_color(),
                clears=has_screen(),
                has_keys=session.keys.are_read,
            )
            print_report(render_event(event, screen))


@click.command()
@exercise_argument(or_last=True)
@click.argument("number", metavar="[DEFECT]", type=click.IntRange(1), required=False)
@click.option("--all", "only_given", is_flag=True, help="Show the hints given so far, and no new one.")
@course_option
@warm_options
def hint(exercise_id: str, number: int | None, only_given: bool) -> None:
    """Give the next hint.

    The hint is about the defect behind the first finding, or about defect number DEFECT.
    """
    from grader.report.hint import render_hint
    from grader.student.hints import next_hint, uncounted_on_error

    course, exercise, verdict = _graded_now(exercise_id)
    with uncounted_on_error(course, exercise.id):
        next_step = next_hint(course, exercise, verdict, number or 0, only_given=only_given)
        print_report(render_hint(next_step, width=width(), color=has_color()))


def _graded_now(exercise_id: str) -> "tuple[Course, Exercise, Verdict]":
    """Grade the student's file and store the verdict, which does not count as an attempt."""
    from grader.student.explanations import load_explained
    from grader.student.recording import record_verdict
    from grader.verdict.judging_files import judge_file

    course = current_course()
    choice = _chosen_file(course, exercise_id)
    with judging_note(choice.path.name):
        verdict = judge_file(course, exercise_id, choice)
    verdict = record_verdict(course, choice.read, verdict, is_attempt=False)
    return course, load_explained(course, exercise_id, choice.read, verdict), verdict


@click.command()
@exercise_argument()
@course_option
@file_option("Judge this file instead of the exercise's own.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object, and nothing else.")
@seed_option("Use this seed for the random inputs, to repeat a result.")
@click.option("--strict", is_flag=True, help="Refuse to judge if a trap could reach files or the network.")
@click.pass_context
def trap(
    ctx: click.Context, exercise_id: str, path: Path | None, as_json: bool, seed: int | None, strict: bool
) -> None:
    """Judge the tests in your trap.py: they must accept right code and catch the defects."""
    from grader.processes.examiner_process import usable_cores
    from grader.report.trap import render_trap, render_trap_json
    from grader.student.traps import details_of, hand_out_trap, home_of
    from grader.trap.judge import judge_trap
    from grader.trap.reading import read_trap

    course = current_course()
    if path is None and hand_out_trap(course, exercise_id):
        place = course.shown(course.trap(exercise_id))
        raise UsageError(
            f"there was no {place}, so an empty one was created; write your tests there "
            '(see "The trap" in exercises/README.md)'
        )
    written = read_trap(course, exercise_id, path)
    home = home_of(course, exercise_id)
    with judging_note(written.name):
        result = judge_trap(course, exercise_id, written, seed=seed, home=home, strict=strict, lanes=usable_cores())
    details = details_of(course, result)
    if as_json:
        click.echo(render_trap_json(result).encode())  # UTF-8 wherever stdout goes
    else:
        print_report(render_trap(result, details, width=width(), color=has_color(), has_next=True))
    ctx.exit(0 if result.catches_all() else 1)


@click.command()
@exercise_argument()
@click.argument("claimed", metavar="sound", type=click.Choice(["sound"]))
@click.option("--line", type=click.IntRange(1), required=True, help="The line that looked wrong and is right.")
@course_option
@click.pass_context
def claim(ctx: click.Context, exercise_id: str, claimed: str, line: int) -> None:
    """Claim that your file is sound: nothing is wrong with it. Example: `claim exercise_03 sound --line 40`."""
    from grader.spec.loading import load_exercise
    from grader.student.claims import record_claim
    from grader.student.progress import load_progress
    from grader.student.recording import record_shown
    from grader.verdict.judging_files import judge_file

    assert claimed == "sound", "click accepts nothing else"
    course = current_course()
    choice = _chosen_file(course, exercise_id)
    with judging_note(choice.path.name):
        verdict = judge_file(course, exercise_id, choice)
    if verdict.is_right_so_far():
        click.echo("The checks here cannot decide this claim. Hand the file in.")
        ctx.exit(1)
    was_solved = load_progress(course, exercise_id).is_solved()
    made = record_claim(course, load_exercise(course.description(exercise_id)), verdict, line)
    if not made.is_right:
        ran = [outcome for outcome in verdict.checks if outcome.status is not Status.NOT_RUN]
        failed = sum(outcome.status is not Status.PASSED for outcome in ran)
        found = (
            f"{failed} of {len(ran)} checks {'fails' if failed == 1 else 'fail'}"
            if ran
            else "the file cannot be graded"
        )
        click.echo(f"Your claim is wrong: {found}. To see more, run python -m grader {exercise_id}.")
        ctx.exit(1)
    click.echo(f"Your claim is right: nothing is wrong, in line {line} or anywhere else.\n")
    _print_verdict(course, exercise_id, choice, verdict, as_json=False, names=False)
    record_shown(course, choice.read, verdict)
    if not was_solved:
        _print_completed(course, exercise_id)


@click.command()
@exercise_argument(or_last=True)
@course_option
@click.option(
    "--card",
    "numbers",
    multiple=True,
    type=click.IntRange(1, 4),
    help="Show this card: 1 predict, 2 locate, 3 fix, 4 explain. May be given several times.",
)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    help="Use this text as the answer to the next question. May be given several times.",
)
@file_option("Use this file instead of the exercise's own.")
@seed_option("Draw the inputs from this seed instead of the guide's own.")
@click.option("--in-notebook", is_flag=True, hidden=True, help="Ask through a pipe: end each prompt with a null byte.")
def guide(
    exercise_id: str,
    numbers: tuple[int, ...],
    answers: tuple[str, ...],
    path: Path | None,
    seed: int | None,
    in_notebook: bool,
) -> None:
    """Hunt step by step: predict, locate, fix, explain. Enter skips a question; q or Ctrl-D ends the guide."""
    from grader.student.cards import Card
    from grader.student.conversation import END_OF_PROMPT, Conversation, ConversationEndedError
    from grader.student.guide import guide_hunt

    course = current_course()

    def read_line(prompt: str) -> str:
        click.echo(prompt + (END_OF_PROMPT if in_notebook else ""), nl=False)
        return sys.stdin.readline()

    talk = Conversation(
        lambda: _chosen_file(course, exercise_id, path),
        read_line,
        answers,
        on_terminal=not in_notebook and sys.stdin.isatty(),
        in_notebook=in_notebook,
    )
    with contextlib.suppress(ConversationEndedError):
        is_own = path is None or in_notebook
        guide_hunt(course, exercise_id, talk, [Card(number) for number in numbers], seed=seed, is_recorded=is_own)


@click.command("try")
@exercise_argument(or_last=True)
@course_option
@click.option("--code", "prints_code", is_flag=True, help="Print the check as a script that runs without the grader.")
@file_option("Run this file instead of the exercise's own.")
@click.option("--trusted", is_flag=True, help="With --file: run the file with your own rights, without a sandbox.")
@click.pass_context
def try_(ctx: click.Context, exercise_id: str, prints_code: bool, path: Path | None, trusted: bool) -> None:
    """Repeat the first failed check on your file. print(), input() and breakpoint() work."""
    from grader.spec.loading import load_exercise
    from grader.student.recording import record_verdict
    from grader.student.trial import checks_to_repeat, plan_trial, start_trial
    from grader.verdict.judging_files import judge_and_record

    course = current_course()
    if path is not None and (course.root / "solutions").is_dir() and not trusted:
        raise UsageError(f"try runs {path} as you, without a sandbox; add --trusted if you trust its author")
    choice = _chosen_file(course, exercise_id, path)
    with judging_note(choice.path.name):
        verdict, failed = judge_and_record(course, exercise_id, choice, checks_to_repeat)
    if path is None:
        verdict = record_verdict(course, choice.read, verdict, is_attempt=False)
    exercise = load_exercise(course.description(exercise_id))
    ctx.exit(start_trial(course, plan_trial(course, exercise, choice, verdict, failed, prints_code=prints_code)))


@click.command()
@exercise_argument(or_last=True)
@course_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_context
def solution(ctx: click.Context, exercise_id: str, yes: bool) -> None:
    """Compare your fix with the reference."""
    from grader.student.changes import compare_with_reference
    from grader.student.progress import load_progress
    from grader.verdict.verdict import Result

    course = current_course()
    diffs = compare_with_reference(course, exercise_id)
    is_fixed = load_progress(course, exercise_id).outcome is Result.FIXED
    question = f"{exercise_id} is not fixed yet, and the solution gives the answer away. Show the solution?"
    if not (is_fixed or yes or click.confirm(question)):
        ctx.exit(1)
    click.echo(printable_lines(diffs.yours) or "You have changed nothing since the starter.\n", nl=False)
    click.echo()
    click.echo(printable_lines(diffs.reference), nl=False)


@click.command()
@exercise_argument(or_last=True)
@course_option
def diff(exercise_id: str) -> None:
    """Show what you changed since the starter."""
    from grader.student.changes import changes

    difference = changes(current_course(), exercise_id)
    click.echo(printable_lines(difference) or "Nothing has changed since the starter.\n", nl=False)


@click.command()
@exercise_argument()
@course_option
def reset(exercise_id: str) -> None:
    """Restore the starter, keep a copy of your file, and forget your progress."""
    from grader.student.changes import restore_starter

    for line in restore_starter(current_course(), exercise_id):
        click.echo(line)


@click.command()
@exercise_argument(or_last=True)
@course_option
@warm_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file to write; the default is report-EXERCISE.html."
)
def report(exercise_id: str, output: Path | None) -> None:
    """Write the verdict as an HTML page with pictures and your earlier attempts."""
    from grader.report.html import render_report
    from grader.report.view import view_of
    from grader.student.progress import load_progress

    path = output or Path(f"report-{exercise_id}.html")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written; name a file in a folder that exists")
    course, exercise, verdict = _graded_now(exercise_id)
    progress = load_progress(course, exercise_id)
    page = render_report(view_of(verdict, exercise, progress.without_lessons()))
    write_product(path, page.encode("utf-8", "backslashreplace"))
    click.echo(f"Wrote {path}. Open it in a browser. You don't hand this in.")


@click.command()
@course_option
def start() -> None:
    """Begin here: a tiny hunt of five minutes, then the steps of your first real hunt."""
    from grader.report.first_steps import render_first_steps, render_start
    from grader.report.overview import first_hunt
    from grader.student.first_hunt import FIRST_HUNT, practice_course
    from grader.student.progress import load_progress
    from grader.submission.choice import is_edited

    course = current_course()
    entries = _overview(course)
    entry = first_hunt(entries)
    if entry is None:
        raise UsageError("there are no exercises yet; make one with python -m grader new")
    practice = practice_course(course)
    progress = load_progress(practice, FIRST_HUNT)
    if not progress.is_solved() and not any(each.progress.attempts for each in entries):
        file, _ = practice.editable_files(FIRST_HUNT)
        story = practice.exercise_folder(FIRST_HUNT) / "README.md"
        page = render_first_steps(
            story.read_text(encoding="utf-8"),
            FIRST_HUNT,
            progress,
            practice.shown(file),
            is_edited=is_edited(practice, file),
            width=width(),
            color=has_color(),
        )
        print_report(page)
        return
    file_name = course.shown(course.editable_files(entry.exercise)[0])
    print_report(render_start(entry, file_name, width=width(), color=has_color()))


@click.command("list", hidden=True)
@course_option
def list_() -> None:
    """Print the list of exercises, as `python -m grader` does."""
    list_exercises()


@click.command("help", hidden=True)
@click.pass_context
def help_(ctx: click.Context) -> None:
    """Print the list of commands, as `python -m grader --help` does."""
    click.echo(ctx.find_root().get_help())


ALIASES = {"ls": "list", "status": "list", "progress": "list", "next": "list", "hints": "hint", "check": "grade"}
"""Words that people type, and the command that each of them means."""

STUDENT_COMMANDS = (start, list_, help_, grade, watch, hint, guide, claim, trap, try_, diff, reset, solution, report)
