"""The kit inside a notebook: `%load_ext grader`, then `%%grade exercise_03`, `%grade`, `%hint`, `%diff`.

Like `grader.cli` this module prints and reads what people type. Nothing is judged in the kernel: an examiner's process
judges in a worker of its own, so a kernel whose torch was patched gets the verdict that everybody gets.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from grader.commands.arguments import require_exercise
from grader.course.loading import load_exercise
from grader.course.paths import Course, find_course
from grader.errors import KitError, UsageError
from grader.report.hint_page import render_hint
from grader.report.notebook import NotebookVerdict
from grader.service.pool import ExaminerPool, PoolClient
from grader.student.changes import changes
from grader.student.definitions import submission_from_cells
from grader.student.hints import next_hint
from grader.student.progress import remember_verdict
from grader.submission import Chunk, Submission
from grader.submission.module import unix_lines
from grader.verdict.judge import MAX_SEED
from grader.verdict.verdict import Verdict

Kind = TypeVar("Kind")

_pool = ExaminerPool(most_idle=1)


@magics_class
class GraderMagics(Magics):
    """The commands of a notebook."""

    @cell_magic("grade")  # type: ignore[arg-type]  # its annotations leave out what a decorator takes
    def grade_cell(self, line: str, cell: str) -> NotebookVerdict | None:
        """`%%grade exercise_03`: the verdict on this cell's source; the cell is judged and not run here."""
        return _told(lambda: _grade(_exercise(line), _from_cell(cell)))

    @line_magic("grade")  # type: ignore[arg-type]
    def grade_definitions(self, line: str) -> NotebookVerdict | None:
        """`%grade exercise_03`: the verdict on the class as the cells that ran have left it."""
        return _told(lambda: _grade(_exercise(line), self._definitions(_exercise(line))))

    @line_magic
    def hint(self, line: str) -> None:
        """`%hint exercise_03`: one more step for the first defect still there in the class as this kernel knows it."""
        _told(lambda: click.echo(_hint(_exercise(line), self._definitions(_exercise(line))), nl=False))

    @line_magic
    def diff(self, line: str) -> None:
        """`%diff exercise_03`: what the exercise's own file changes in the starter."""
        _told(lambda: click.echo(changes(_course(), _exercise(line)) or "Nothing has changed since the starter."))

    def _definitions(self, exercise_id: str) -> Submission:
        """The exercise's class as this kernel knows it."""
        entry = load_exercise(_course().description(exercise_id)).interface.class_name
        assert self.shell is not None
        assert self.shell.history_manager is not None
        ran: list[str] = self.shell.history_manager.input_hist_raw
        cells = [Chunk(f"In [{number}]", unix_lines(text)) for number, text in enumerate(ran) if text.strip()]
        found = submission_from_cells(cells, entry)
        if found is None:
            raise UsageError(f"no cell that ran defines {entry}; run the cell with your class, then %grade again")
        return found


def _grade(exercise_id: str, submission: Submission) -> NotebookVerdict:
    course = _course()
    verdict = _judged(course, exercise_id, submission)
    return NotebookVerdict(verdict, load_exercise(course.description(exercise_id)))


def _hint(exercise_id: str, submission: Submission) -> str:
    course = _course()
    verdict = _judged(course, exercise_id, submission)
    return render_hint(next_hint(course, load_exercise(course.description(exercise_id)), verdict))


def _judged(course: Course, exercise_id: str, submission: Submission) -> Verdict:
    """The verdict of a process that stays ready for the next one; it is remembered."""
    seed = secrets.randbelow(MAX_SEED)
    verdict = PoolClient(_pool, course).judge(exercise_id, submission, submission.name, seed)
    remember_verdict(course, verdict)
    return verdict


def _from_cell(cell: str) -> Submission:
    """A cell as a submission; its first line, the magic, counts as a line as it does on the screen."""
    return Submission("this cell", (Chunk("this cell", "\n" + unix_lines(cell)),))


def _course() -> Course:
    return find_course(Path.cwd())


def _exercise(line: str) -> str:
    """The exercise that is named, or else the one in whose folder the notebook lies."""
    course, name = _course(), line.strip()
    if name:
        return require_exercise(course, name)
    here = [part for part in Path.cwd().parts if part in course.exercise_ids()]
    if not here:
        raise UsageError("name the exercise, as in %grade exercise_03")
    return here[-1]


def _told(step: Callable[[], Kind]) -> Kind | None:
    """What the step returns; the kit's own errors as one sentence in place of a traceback."""
    try:
        return step()
    except KitError as error:
        click.echo(f"grader: {error}")
        return None
