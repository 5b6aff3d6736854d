"""The kit inside a notebook: `%load_ext grader`, then `%%grade exercise_03`, `%grade`, `%%trap`, `%hint` and others.

Nothing is judged in the kernel. An examiner process judges, so a kernel whose torch was patched gets the same verdict
as everyone else.
"""

import difflib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import click
from IPython.core.error import StdinNotImplementedError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from grader.commands.arguments import exercise_called, require_exercise
from grader.errors import KitError, UsageError
from grader.processes.examiner_process import usable_cores
from grader.processes.pool import ExaminerPool
from grader.report.hint import render_hint
from grader.report.html import NotebookVerdict
from grader.report.phrases import Shell
from grader.report.printable import printable_lines
from grader.report.trap import render_trap
from grader.spec.files import write_cache
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.spec.seeds import secret_seed
from grader.student.conversation import END_OF_PROMPT
from grader.student.definitions import submission_from_cells
from grader.student.explanations import load_explained
from grader.student.hints import next_hint, uncounted_on_error
from grader.student.progress import load_progress
from grader.student.recording import record_verdict
from grader.student.traps import details_of, home_of
from grader.submission import Chunk, Submission, Unreadable, read_submission
from grader.submission.reading import LONE_SURROGATE
from grader.submission.submission import unix_lines, without_magics
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import trap_of
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict

Magic = TypeVar("Magic", bound=Callable[..., Any])

_pool = ExaminerPool(most_idle=1)
_trap_pool = ExaminerPool(most_idle=1)
_seed = secret_seed()
"""One seed for all gradings of a kernel, so that the reference's answers are computed only once."""

CODE = "--code"

IMPORTS = ("import ", "from ")

GRADED_ONLY = "%%grade"
"""The first word of a cell that is graded and does not run."""


def _prints_errors(magic: Magic) -> Magic:
    """Let a magic print an error of the kit as one sentence instead of a traceback."""

    @wraps(magic)
    def printing(*arguments: Any) -> Any:
        try:
            return magic(*arguments)
        except KitError as error:
            click.echo(f"grader: {error}")
            return None

    return cast("Magic", printing)


@magics_class
class GraderMagics(Magics):
    """The magics of a notebook."""

    @cell_magic("grade")  # type: ignore[arg-type]  # IPython annotates it too narrowly
    @_prints_errors
    def grade_cell(self, line: str, cell: str) -> NotebookVerdict | None:
        """`%%grade exercise_03`: grade the source of this cell, without running it in the kernel."""
        return _grade(_exercise(line), _from_cell(cell))

    @line_magic("grade")  # type: ignore[arg-type]  # likewise
    @_prints_errors
    def grade_definitions(self, line: str) -> NotebookVerdict | None:
        """`%grade exercise_03`: grade the class or function as the cells that ran have defined it."""
        exercise_id = _exercise(line)
        return _grade(exercise_id, self._definitions(exercise_id))

    @cell_magic("trap")  # type: ignore[arg-type]  # likewise
    @_prints_errors
    def trap_cell(self, line: str, cell: str) -> None:
        """`%%trap exercise_03`: judge the tests of this cell, without running it in the kernel."""
        click.echo(_trap(_exercise(line), cell), nl=False)

    @line_magic
    @_prints_errors
    def hint(self, line: str) -> None:
        """`%hint exercise_03`: give one more hint for the class or function that was defined or graded last.

        `%hint exercise_03 2` is about defect 2.
        """
        name, _, number = line.strip().rpartition(" ")
        if not (name and number.isdecimal()):
            name, number = line, "0"
        exercise_id = _exercise(name)
        _print_hint(exercise_id, self._definitions(exercise_id, with_graded=True), int(number))

    @line_magic
    @_prints_errors
    def diff(self, line: str) -> None:
        """`%diff exercise_03`: show how the class or function defined or graded last differs from the starter."""
        exercise_id = _exercise(line)
        click.echo(_diff(exercise_id, self._definitions(exercise_id, with_graded=True)), nl=False)

    @line_magic
    @_prints_errors
    def guide(self, line: str) -> None:
        """`%guide exercise_03`: go through the hunt step by step, with the class or function defined or graded last.

        Options are those of the command: `%guide exercise_03 --card 2`.
        """
        try:
            words = shlex.split(line)
        except ValueError:
            raise UsageError('a quotation mark is not closed; write answers as in --answer "don\'t know"') from None
        exercise_id = _exercise(words.pop(0) if words and not words[0].startswith("-") else "")
        _guide(exercise_id, self._definitions(exercise_id, with_graded=True), words)

    @line_magic("try")  # type: ignore[arg-type]  # likewise
    @_prints_errors
    def repeat_check(self, line: str) -> None:
        """`%try exercise_03`: repeat the first check that fails for the class or function defined or graded last.

        It runs in a separate process. `%try exercise_03 --code` prints it as a script.
        """
        words = line.split()
        options = [each for each in words if each.startswith("-")]
        if unknown := [each for each in options if each != CODE]:
            raise UsageError(f"%try takes only the option {CODE}, got {unknown[0]}")
        exercise_id = _exercise(" ".join(each for each in words if each not in options))
        submission = self._definitions(exercise_id, with_graded=True)
        click.echo(_run_trial(exercise_id, submission, prints_code=bool(options)), nl=False)

    def _definitions(self, exercise_id: str, *, with_graded: bool = False) -> Submission:
        """Return the exercise's class or function as the cells that ran have defined it.

        A cell under `%%grade` does not run, so it defines nothing; `with_graded` counts it nevertheless. Raise
        `UsageError` if no cell defines the class or function.
        """
        entry = load_exercise(_course().description(exercise_id)).interface.entry()
        assert self.shell is not None
        assert self.shell.history_manager is not None
        inputs: list[str] = self.shell.history_manager.input_hist_raw
        cells = [
            Chunk(label=f"In [{number}]", text=unix_lines(text))
            for number, text in enumerate(inputs)
            if text.strip() and (with_graded or not text.lstrip().startswith(GRADED_ONLY))
        ]
        submission = submission_from_cells(cells, entry)
        if submission is None:
            is_only_graded = any(GRADED_ONLY in text for text in inputs)
            unrun = f"a cell under {GRADED_ONLY} does not run; " if is_only_graded else ""
            remedy = f"{unrun}run the cell that defines it, then %grade again"
            raise UsageError(f"no cell that ran defines {entry}; {remedy}")
        return submission


def _grade(exercise_id: str, submission: Submission) -> NotebookVerdict:
    course = _course()
    verdict = _judged(course, exercise_id, submission, is_attempt=True)
    exercise = load_explained(course, exercise_id, submission, verdict, spawn=True)
    return NotebookVerdict(verdict, exercise, load_progress(course, exercise_id))


def _trap(exercise_id: str, cell: str) -> str:
    course, trap = _course(), trap_of(_from_cell(cell), "this cell")
    home, seed = home_of(course, exercise_id), secret_seed()
    result = PooledTrapJudge(_trap_pool, course, lanes=usable_cores()).judge(exercise_id, trap, seed, home=home)
    return render_trap(result, details_of(course, result), has_next=True, shell=Shell.NOTEBOOK)


def _diff(exercise_id: str, submission: Submission) -> str:
    """Return a unified diff from the starter's class or function to the submission's."""
    course = _course()
    _, notebook = course.editable_files(exercise_id)
    starter = read_submission(course.pristine(notebook), notebook.name)
    if isinstance(starter, Unreadable):
        raise UsageError(f"there is nothing to compare: {starter.reason}")
    entry = load_exercise(course.description(exercise_id)).interface.entry()
    original = submission_from_cells(starter.chunks, entry)
    before, after = _lines(original) if original else [], _lines(submission)
    common = {line for line in before if line.startswith(IMPORTS)} & {*after}  # any cell may repeat an import
    before, after = ([line for line in lines if line not in common] for lines in (before, after))
    lines = difflib.unified_diff(before, after, "starter", "this notebook")
    return printable_lines("".join(lines)) or "Nothing has changed since the starter.\n"


def _lines(submission: Submission) -> list[str]:
    """Return the source lines of all chunks, without the empty lines around each."""
    return [f"{line}\n" for chunk in submission.chunks for line in chunk.text.strip("\n").split("\n")]


def _run_trial(exercise_id: str, submission: Submission, *, prints_code: bool) -> str:
    """Return what `python -m grader try` prints for a submission."""
    course = _course()
    with TemporaryDirectory() as folder:
        path = Path(folder) / course.module_name(exercise_id)
        path.write_text("".join(_lines(submission)), encoding="utf-8")
        options = ["--file", str(path), "--trusted", *([CODE] if prints_code else [])]
        done = subprocess.run(
            [sys.executable, "-m", "grader", "try", exercise_id, *options],
            cwd=course.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    return done.stdout


def _print_hint(exercise_id: str, submission: Submission, number: int) -> None:
    course = _course()
    verdict = _judged(course, exercise_id, submission, is_attempt=False)
    with uncounted_on_error(course, exercise_id):
        exercise = load_explained(course, exercise_id, submission, verdict, spawn=True)
        hint = next_hint(course, exercise, verdict, number, shell=Shell.NOTEBOOK)
        click.echo(render_hint(hint), nl=False)


def _guide(exercise_id: str, submission: Submission, options: list[str]) -> None:
    """Run the guide in a separate process. Show its output, and pass its questions on to the student."""
    course = _course()
    file = course.state_folder() / "guide" / course.module_name(exercise_id)
    write_cache(file, "\n".join(chunk.text for chunk in submission.chunks).encode())
    command = [sys.executable, "-m", "grader", "guide", exercise_id, "--file", str(file), "--in-notebook", *options]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=course.root,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        shown = ""
        try:
            while character := process.stdout.read(1):
                if character != END_OF_PROMPT:
                    shown += character
                    continue
                text, _, prompt = shown.rpartition("\n")
                click.echo(text)
                shown = ""
                process.stdin.write(_answer(prompt) + "\n")
                process.stdin.flush()
        finally:
            process.stdin.close()
        click.echo(shown, nl=False)


def _answer(prompt: str) -> str:
    """Return the student's answer; an empty one, which skips the question, where nobody can be asked."""
    try:
        return input(prompt)
    except (EOFError, StdinNotImplementedError):
        return ""


def _judged(course: Course, exercise_id: str, submission: Submission, *, is_attempt: bool) -> Verdict:
    """Return the verdict of an examiner, which stays ready for the next one, and store it."""
    verdict = PooledJudge(_pool, course).judge(exercise_id, submission, submission.name, _seed)
    return record_verdict(course, submission, verdict, is_attempt=is_attempt)


def _from_cell(cell: str) -> Submission:
    """Return a cell as a submission. An empty line replaces the magic, so that line numbers match the screen.

    Raise `UsageError` for a lone surrogate. No cell that ran has one, because Python cannot compile it.
    """
    text = "\n" + without_magics(unix_lines(cell))
    if surrogate := LONE_SURROGATE.search(text):
        line = text.count("\n", 0, surrogate.start()) + 1
        raise UsageError(f"this cell, line {line}: half a character (a lone surrogate) is not text; delete it")
    return Submission(name="this cell", chunks=(Chunk(label="this cell", text=text),))


def _course() -> Course:
    return find_course(Path.cwd())


def _exercise(line: str) -> str:
    """Return the id of the named exercise; without a name, of the exercise in whose folder the notebook is."""
    course, name = _course(), line.strip()
    if name:
        return require_exercise(course, name)
    exercise_id = exercise_called(course, str(Path.cwd()))
    if exercise_id is None:
        raise UsageError("name the exercise, as in %grade exercise_03")
    return exercise_id
