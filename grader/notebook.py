"""The kit inside a notebook: `%load_ext grader`, then `%%grade exercise_03`, `%grade`, `%hint`, `%diff`.

Like `grader.cli` this module prints and reads what people type. Nothing is judged in the kernel: an examiner's process
judges in a worker of its own, so a kernel whose torch was patched gets the verdict that everybody gets.
"""

import ast
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import click
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from msgspec import Struct

from grader.commands.arguments import exercise_called, require_exercise
from grader.errors import KitError, UsageError
from grader.processes.pool import ExaminerPool
from grader.report.console import printable_lines
from grader.report.html import NotebookVerdict
from grader.report.tables import render_hint
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.student.changes import changes
from grader.student.hints import next_hint
from grader.student.progress import remember_verdict
from grader.submission import Chunk, Submission
from grader.submission.reading import HALF_A_CHARACTER
from grader.submission.submission import unix_lines, without_magics
from grader.verdict.judge import MAX_SEED
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign


class _Statement(Struct, frozen=True):
    """A statement at the top of a cell: where it stands, the names it gives a meaning, and those it uses."""

    cell: int
    first: int
    last: int
    gives: frozenset[str]
    uses: frozenset[str]
    changes: str = ""
    """The name whose attribute it sets, as in `Head.forward = forward`."""
    builds_on: frozenset[str] = frozenset()
    """Those whose former meaning it takes while it runs, as in `Head = compiled(Head)` or `heads *= 2`."""


def submission_from_cells(cells: Sequence[Chunk], entry: str) -> Submission | None:
    """The class named `entry` as these cells, in the order they ran, have left it; None where none defines it.

    Its chunks bear the cells' labels, and lines stand where they stand in their cell.
    """
    texts = [without_magics(cell.text) for cell in cells]
    statements = [statement for number, text in enumerate(texts) for statement in _statements(number, text)]
    chosen = _needed_for(entry, statements)
    if not chosen:
        return None
    chunks = []
    for number, text in enumerate(texts):
        spans = [(each.first, each.last) for each in chosen if each.cell == number]
        if spans:
            chunks.append(Chunk(cells[number].label, _only(text, spans)))
    return Submission("notebook", tuple(chunks))


def _needed_for(entry: str, statements: list[_Statement]) -> list[_Statement]:
    """The last statement that defines the entry, those that gave it what it uses, and later changes to any of them."""
    if not any(entry in each.gives for each in statements):
        return []
    needed = [each for each in statements if "*" in each.gives]
    wanted, found = {entry}, set[str]()
    while wanted - found:
        name = min(wanted - found)
        found.add(name)
        meaning = _last_meaning(name, [each for each in statements if name in each.gives])
        since = statements[statements.index(meaning[0]) if meaning else 0 :]
        parts = meaning + [each for each in since if each.changes == name]
        needed += [each for each in parts if each not in needed]
        wanted |= {used for each in parts for used in each.uses}
    return needed


def _last_meaning(name: str, about_it: list[_Statement]) -> list[_Statement]:
    """The last statement that gives the name a meaning, and before it those that it builds on."""
    plain = [number for number, each in enumerate(about_it) if name not in each.builds_on]
    return about_it[plain[-1] if plain else 0 :]


def _statements(cell: int, text: str) -> Iterator[_Statement]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return  # such a cell never ran
    for node in body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        uses = frozenset(each.id for each in names if isinstance(each.ctx, ast.Load))
        changes = ""
        if isinstance(node, Assignment):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                changes = target.value.id
        gives = frozenset(_given(node))
        before = gives & frozenset(_used_at_once(node))
        yield _Statement(cell, first, node.end_lineno or node.lineno, gives, uses, changes, before)


def _used_at_once(node: ast.AST) -> Iterator[str]:
    """The names that are used while a statement runs, not only when a function in it is called."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for field, value in ast.iter_fields(node):
        if not (is_function and field == "body"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _used_at_once(child)


def _given(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a meaning, those inside an `if` or a `try` included."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, Definition):
        yield node.name
    elif isinstance(node, Assignment):
        yield from (
            each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
    elif isinstance(node, ast.If | ast.Try | ast.With):
        for child in ast.iter_child_nodes(node):
            for part in [child] if isinstance(child, ast.stmt) else ast.iter_child_nodes(child):
                if isinstance(part, ast.stmt):
                    yield from _given(part)


def _only(text: str, spans: list[tuple[int, int]]) -> str:
    """The lines of the spans, every other line left empty."""
    lines = text.split("\n")
    last = max(end for _, end in spans)
    keeps = {number for start, end in spans for number in range(start, end + 1)}
    return "\n".join(line if number in keeps else "" for number, line in enumerate(lines[:last], 1)) + "\n"


T = TypeVar("T")

_pool = ExaminerPool(most_idle=1)
_seed = secrets.randbelow(MAX_SEED)
"""All inputs of a kernel are drawn from it, as those of a watch are: what the reference answers is computed once."""


@magics_class
class GraderMagics(Magics):
    """The commands of a notebook."""

    @cell_magic("grade")  # type: ignore[arg-type]  # its annotations leave out what a decorator takes
    def grade_cell(self, line: str, cell: str) -> NotebookVerdict | None:
        """`%%grade exercise_03`: the verdict on this cell's source; the cell is judged and not run here."""
        return _told(lambda: _grade(_exercise(line), _from_cell(cell)))

    @line_magic("grade")  # type: ignore[arg-type]  # likewise
    def grade_definitions(self, line: str) -> NotebookVerdict | None:
        """`%grade exercise_03`: the verdict on the class or function as the cells that ran have left it."""
        return _told(lambda: _grade(_exercise(line), self._definitions(_exercise(line))))

    @line_magic
    def hint(self, line: str) -> None:
        """`%hint exercise_03`: one more step for the first defect still there in the class as this kernel knows it."""
        _told(lambda: click.echo(_hint(_exercise(line), self._definitions(_exercise(line))), nl=False))

    @line_magic
    def diff(self, line: str) -> None:
        """`%diff exercise_03`: what the exercise's own file changes in the starter."""
        _told(lambda: click.echo(_diff(_exercise(line)), nl=False))

    def _definitions(self, exercise_id: str) -> Submission:
        """The exercise's class as this kernel knows it."""
        entry = load_exercise(_course().description(exercise_id)).interface.entry()
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
    verdict = _judged(course, exercise_id, submission, is_attempt=True)
    return NotebookVerdict(verdict, load_exercise(course.description(exercise_id)))


def _hint(exercise_id: str, submission: Submission) -> str:
    course = _course()
    verdict = _judged(course, exercise_id, submission, is_attempt=False)
    return render_hint(next_hint(course, load_exercise(course.description(exercise_id)), verdict))


def _diff(exercise_id: str) -> str:
    return printable_lines(changes(_course(), exercise_id)) or "Nothing has changed since the starter.\n"


def _judged(course: Course, exercise_id: str, submission: Submission, *, is_attempt: bool) -> Verdict:
    """Return the verdict of a process that stays ready for the next one, and store it as the last verdict."""
    for chunk in submission.chunks:
        half = HALF_A_CHARACTER.search(chunk.text)
        if half:
            line = chunk.text.count("\n", 0, half.start()) + 1
            raise UsageError(f"{chunk.label}, line {line}: half a character (a lone surrogate) is not text; delete it")
    verdict = PooledJudge(_pool, course).judge(exercise_id, submission, submission.name, _seed)
    remember_verdict(course, verdict, is_attempt=is_attempt)
    return verdict


def _from_cell(cell: str) -> Submission:
    """A cell as a submission; its first line, the magic, counts as a line as it does on the screen."""
    return Submission("this cell", (Chunk("this cell", "\n" + without_magics(unix_lines(cell))),))


def _course() -> Course:
    return find_course(Path.cwd())


def _exercise(line: str) -> str:
    """The exercise that is named, or else the one in whose folder the notebook lies."""
    course, name = _course(), line.strip()
    if name:
        return require_exercise(course, name)
    here = exercise_called(course, str(Path.cwd()))
    if here is None:
        raise UsageError("name the exercise, as in %grade exercise_03")
    return here


def _told(step: Callable[[], T]) -> T | None:
    """What the step returns; the kit's own errors as one sentence in place of a traceback."""
    try:
        return step()
    except KitError as error:
        click.echo(f"grader: {error}")
        return None
