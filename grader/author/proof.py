"""The results of proofs: the steps of each exercise, its mutants, and the page that shows them."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import permutations

import yaml
from msgspec import Struct
from rich.text import Text

from grader.author.differential import ROUNDS
from grader.author.mutants import Mutant
from grader.checks.size_cases import draw_sizes
from grader.report.page import INDENT, Column, Line, fitted_table, indented, render_page, verbatim
from grader.report.phrases import counted
from grader.spec.exercise import Exercise
from grader.spec.problem import blank


class MutantStatus(StrEnum):
    """Whether and how the checks caught a mutant."""

    VALUE = "value"
    CRASH = "crash"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"


class Step(Struct, frozen=True, kw_only=True):
    """One step of a proof. It succeeds if there are no problems.

    `figures` is the number of cases, for the table. Each problem or warning says what is wrong and what to do.
    """

    name: str
    figures: str = ""
    problems: list[str] = []
    warnings: list[str] = []

    def holds(self) -> bool:
        return not self.problems


class Survivor(Struct, frozen=True, kw_only=True):
    """A mutant that passes every check, and the results of trying to catch it.

    `checks` are YAML checks that the reference passes and the mutant fails, if any are known. `difference` describes
    how the mutant differed from the reference in further calls; it is empty if they never differed.
    """

    mutant: Mutant
    advice: str
    checks: str = ""
    difference: str = ""
    is_comparable: bool = True
    """Whether the reference passes its checks; otherwise nothing was tried."""

    def is_equivalent(self) -> bool:
        """Return whether the mutant never differed from a reference that passes its checks."""
        return self.is_comparable and not self.checks and not self.difference

    def remedy(self) -> str:
        """Return the remedy; if there are `checks`, they follow it."""
        if not self.is_comparable:
            return "correct the reference or its checks first: advice needs a reference that passes"
        if self.checks:
            return "no check reaches this line; add these under checks and review their values:"
        if self.difference:
            return f"{self.difference}; add a check of such a call, such as {self.advice}"
        return f"it never differed from the reference in {ROUNDS} random calls"


class Record(Struct, frozen=True, kw_only=True):
    """The results of a successful proof, stored beside its exercise. `digest` covers everything that they depend on."""

    digest: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]

    def is_sound(self, digest: str, mutants: int) -> bool:
        """Return whether this is a complete and successful proof for the same digest and number of mutants."""
        return (
            self.digest == digest
            and sum(self.statuses.values()) == mutants
            and not self.statuses.get(MutantStatus.SURVIVED)
            and {step.name for step in self.steps} == STEPS.keys() - ALWAYS_DONE
            and all(step.holds() for step in self.steps)
        )


class Proof(Struct, frozen=True, kw_only=True):
    """The proof of one exercise. It is `recorded` if an earlier run found its results."""

    exercise: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]
    survivors: list[Survivor]
    recorded: bool = False
    is_described: bool = True
    """Whether the description could be read; otherwise the proof has one step."""

    def mutants(self) -> int:
        return sum(self.statuses.values())

    def holds(self) -> bool:
        return not self.survivors and all(step.holds() for step in self.steps)


PASTED_WIDTH = 100

DOCUMENTED_POINTS = 10

DRAWS = 8
"""Draws of the random size cases, to find out which sizes vary."""


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


STEPS = {
    "sources": "sources",
    "points": "points",
    "scores": "scores",
    "attribution": "subsets",
    "alternatives": "right fixes",
    "near misses": "near misses",
    "rewrites": "rewrites",
    "equivalents": "declared",
    "usual tests": "missed by",
    "model trap": "trap",
}
"""The steps with their headings in the table."""

ALWAYS_DONE = {"sources", "points", "equivalents"}
"""Steps that take no time, so that they are not recorded."""

STATUSES = {
    "by value": MutantStatus.VALUE,
    "by crash": MutantStatus.CRASH,
    "equivalent": MutantStatus.EQUIVALENT,
}
NOT_REACHED = Text("·", "dim")
TICK, CROSS, MARK = ("✓", "green"), ("✗", "red"), ("!", "yellow")


def render_proofs(proofs: list[Proof], *, width: int = 100, color: bool = False) -> str:
    """Render the table of all exercises, with the problems and survivors of each."""
    lines = _table(proofs, width)
    for proof in proofs:
        lines += _problems(proof)
    holding = sum(proof.holds() for proof in proofs)
    recorded = sum(proof.recorded for proof in proofs)
    note = f", {recorded} as recorded; --fresh proves them again" if recorded else ""
    lines += [Text(), Text(f"{holding} of {len(proofs)} proofs hold{note}.", "bold")]
    return render_page(lines, width, color=color)


def _table(proofs: list[Proof], width: int) -> list[Line]:
    """Return the table, with a row for each exercise."""
    steps = [{step.name: step for step in proof.steps} for proof in proofs]
    columns = [Column(heading="", cells=[Text(proof.exercise) for proof in proofs])]
    columns += [
        Column(heading=heading, cells=[_cell(each.get(name)) for each in steps]) for name, heading in STEPS.items()
    ]
    columns.append(_numbers("mutants", [proof.mutants() for proof in proofs]))
    for heading, status in STATUSES.items():
        columns.append(_numbers(heading, [proof.statuses.get(status, 0) for proof in proofs]))
    survived = [Text(str(len(each.survivors)), "red" if each.survivors else "green") for each in proofs]
    columns.append(Column(heading="survived", cells=survived, is_number=True))
    is_cut = any(cell.plain == NOT_REACHED.plain for column in columns for cell in column.cells)
    legend = [Text.assemble(NOT_REACHED, " not reached, because an earlier step failed")] if is_cut else []
    return [*fitted_table(columns, width), *legend]


def _numbers(heading: str, numbers: list[int]) -> Column:
    return Column(heading=heading, cells=[Text(str(number)) for number in numbers], is_number=True)


def _cell(step: Step | None) -> Text:
    if step is None:
        return NOT_REACHED
    mark = CROSS if not step.holds() else MARK if step.warnings else TICK
    return Text.assemble(mark, f" {step.figures}".rstrip())


def _problems(proof: Proof) -> Iterator[Line]:
    notes = [(CROSS, step, problem) for step in proof.steps for problem in step.problems]
    notes += [(MARK, step, warning) for step in proof.steps for warning in step.warnings]
    if not notes and not proof.survivors:
        return
    yield from (Text(), Text(proof.exercise, "bold"))
    for mark, step, note in notes:
        yield Text.assemble(mark, f" {step.name}: {note}")
    unjudged = [survivor for survivor in proof.survivors if not survivor.is_comparable]
    if unjudged:
        yield Text.assemble(CROSS, f" survived: {counted(len(unjudged), 'mutant')}; {unjudged[0].remedy()}")
    for survivors in _by_remedy(survivor for survivor in proof.survivors if survivor.is_comparable):
        for mutant in (survivor.mutant for survivor in survivors):
            yield Text.assemble(CROSS, f" survived: {mutant.operator}, line {mutant.line}")
            for line in mutant.diff.splitlines()[1:]:
                yield verbatim(line, "red" if line.startswith("-") else "green", indent=INDENT)
        yield indented(Text(survivors[0].remedy(), "dim"))
        yield from (verbatim(line, "dim", indent=INDENT) for line in survivors[0].checks.splitlines())
    if declared := _declarations(proof.survivors):
        yield Text.assemble(MARK, " equivalents: if no input can tell a survivor from the reference, declare it there:")
        yield from (verbatim(line, "dim") for line in declared.splitlines())


def _declarations(survivors: list[Survivor]) -> str:
    """Return lines of YAML that declare the survivors equivalent that never differed from the reference."""
    changes = [survivor.mutant.change() for survivor in survivors if survivor.is_equivalent()]
    reason = blank("why no input can tell")
    entries = [{"was": was, "becomes": becomes, "reason": reason} for was, becomes in dict.fromkeys(changes)]
    text: str = yaml.safe_dump(entries, sort_keys=False, width=PASTED_WIDTH, default_style=None) if entries else ""
    return "".join(f"  {line}\n" for line in text.splitlines())


def _by_remedy(survivors: Iterable[Survivor]) -> Iterable[list[Survivor]]:
    """Group survivors that the same checks would catch."""
    groups: dict[tuple[str, str], list[Survivor]] = {}
    for survivor in survivors:
        groups.setdefault((survivor.remedy(), survivor.checks), []).append(survivor)
    return groups.values()
