"""The steps of a proof that run no code: the sources agree, the points add up, and the sizes vary."""

import ast
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from grader.author.mutants import plain_lines
from grader.author.proof import Step
from grader.author.student_pages import hunts_in
from grader.checks.size_cases import draw_sizes
from grader.report.phrases import counted
from grader.spec.exercise import Equivalent, Exercise
from grader.spec.fragments import put_back
from grader.spec.paths import Course
from grader.spec.problem import BLANK
from grader.submission import Unreadable, read_submission

DOCUMENTED_POINTS = 10

DRAWS = 8
"""Draws of the random size cases, to find out which sizes vary."""


def compare_sources(course: Course, exercise: Exercise) -> Step:
    """Compare the starter and the notebook with the reference in which every defect was put back."""
    module, notebook = (course.pristine(path) for path in course.editable_files(exercise.id))
    starter = module.read_text(encoding="utf-8")
    expected = put_back(course.reference_text(exercise.id), exercise.defects)
    return Step(
        name="sources",
        problems=[
            *_problems_of_module(course.shown(module), starter, expected),
            *_problems_of_notebook(course.shown(notebook), notebook, starter),
        ],
        warnings=[*_warnings_of_table(course, exercise), *_warnings_of_page(course, exercise)],
    )


def _problems_of_module(shown: str, starter: str, expected: str) -> Iterator[str]:
    """Yield the difference between the starter and the reference with every defect put back."""
    if starter == expected:
        return
    place = f"{shown}:{_first_difference(starter, expected)}"
    if tree_text(starter) != tree_text(expected):
        yield f"{place}: differs from the reference with every defect put back; correct one of the two"
    else:
        yield f"{place}: is worded differently from the reference with every defect put back; align them"


def _problems_of_notebook(shown: str, notebook: Path, starter: str) -> Iterator[str]:
    """Yield why the notebook is not valid, cannot be read, or differs from the starter."""
    if invalid := _why_invalid(notebook):
        yield f"{shown}: is not a valid notebook ({invalid}); save it from Jupyter"
    twin = read_submission(notebook, notebook.name)
    if isinstance(twin, Unreadable):
        yield f"{shown}: {twin.reason}"
    elif tree_text("\n\n".join(chunk.text for chunk in twin.chunks)) != tree_text(starter):
        yield (
            f"{shown}: its code cells differ from the module; align them, and give cells that only show something the "
            'tag "demonstration"'
        )


def _warnings_of_table(course: Course, exercise: Exercise) -> Iterator[str]:
    """Yield a warning if the table of hunts has no row for the exercise."""
    table = course.root / "exercises" / "README.md"
    if table.exists() and exercise.id not in hunts_in(table.read_text(encoding="utf-8")):
        yield f"{course.shown(table)}: has no row for {exercise.id}; add one, so that students find it"


def _warnings_of_page(course: Course, exercise: Exercise) -> Iterator[str]:
    """Yield a warning if the README has blanks."""
    page = course.exercise_folder(exercise.id) / "README.md"
    blanks = page.read_text(encoding="utf-8").count(BLANK) if page.exists() else 0
    if blanks:
        times = counted(blanks, "time")
        yield f"{course.shown(page)}: says {BLANK} {times}; complete the contract there, because students read it"


def _why_invalid(notebook: Path) -> str:
    """Return the error of Jupyter's own reader for a notebook; empty if the notebook is valid."""
    import nbformat  # late: with all of Jupyter installed, the import takes as long as torch's

    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
    except (nbformat.ValidationError, nbformat.reader.NotJSONError, OSError) as error:
        return str(error).split("\n", 1)[0][:200]
    return ""


def without_docstring(text: str) -> ast.Module:
    """Return the syntax tree without the module's docstring, which a notebook has in a text cell."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    return tree


def tree_text(text: str) -> str:
    """Return the same text for sources that differ only in layout, comments and docstring; empty if invalid."""
    try:
        return ast.dump(without_docstring(text))
    except (SyntaxError, ValueError):
        return ""


def _first_difference(one: str, other: str) -> int:
    """Return the number of the first line that differs."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    same = next((number for number, (ours, theirs) in enumerate(lines) if ours != theirs), None)
    return (min(len(one.splitlines()), len(other.splitlines())) if same is None else same) + 1


def points_step(exercise: Exercise) -> Step:
    """Return the exercise's total points, with a warning if they are not the usual number."""
    total = exercise.max_score()
    if total == DOCUMENTED_POINTS:
        return Step(name="points", figures=f"{total:g}")
    parts = " + ".join(f"{defect.points:g}" for defect in exercise.defects if not defect.stretch)
    warning = (
        f"the defects' points and nothing_else_broke add up to {total:g} ({parts} + {exercise.nothing_else_broke:g}), "
        f"not to {DOCUMENTED_POINTS}; points of stretch defects do not count"
    )
    return Step(name="points", figures=f"{total:g}", warnings=[warning])


def unmatched_equivalent(reference: str, equivalent: Equivalent) -> str:
    """Return the problem of a declared equivalent that matches no mutant of the reference."""
    was, lines = plain_lines(equivalent.was), plain_lines(reference)
    is_part = was in lines and f"\n{was}\n" not in f"\n{lines}\n"
    remedy = "write whole lines, as `prove` prints them" if is_part else "remove the entry"
    return f"the equivalent {equivalent.was.strip()!r} -> {equivalent.becomes.strip()!r} matches no mutant; {remedy}"


def constant_sizes(exercise: Exercise) -> list[str]:
    """Warn of each quotient of two constructor sizes, such as the head size, that is the same in all size cases."""
    given = [value for value in exercise.interface.constructor.values() if isinstance(value, str)]
    random_cases = [draw_sizes(spec, str(index)) for index in range(DRAWS) for spec in exercise.random_sizes]
    size_cases = [*exercise.fixed_sizes, *random_cases]
    warnings = []
    for whole, part in permutations(
        sorted({name for name in given if all(name in size_case for size_case in size_cases)}), 2
    ):
        quotients = {size_case[whole] // size_case[part] for size_case in size_cases if size_case[part] > 1}
        if len(quotients) == 1 and all(
            size_case[whole] % size_case[part] == 0 < size_case[whole] - size_case[part] for size_case in size_cases
        ):
            warnings.append(
                f"{whole} / {part} is {quotients.pop()} in every size case where {part} is not 1, so a fix with that "
                f"number passes; change one size case, or add a random one: {{{whole}: [{part}, 2, 9], ...}}"
            )
    return warnings
