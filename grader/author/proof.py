"""What a proof found: for each exercise, steps that hold or not, and what became of each mutant."""

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import permutations

import yaml
from msgspec import Struct
from rich.table import Table
from rich.text import Text

from grader.author.first_checks import (
    CheckFields,
    check_of_refusal,
    checks_of_forward,
    checks_of_other_values,
    compare_values,
)
from grader.author.interface import FoundInterface, find_interface
from grader.author.mutants import Mutant
from grader.checks.size_cases import draw_sizes
from grader.report.console import Line, indented, render_page
from grader.spec.exercise import Exercise
from grader.spec.problem import blank
from grader.spec.properties import Raises


class MutantStatus(StrEnum):
    """How a mutant was caught, if it was."""

    VALUE = "value"
    CRASH = "crash"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"


class Step(Struct, frozen=True):
    """One thing that was proven: `figures` says how much of it, `problems` what is wrong and what to do about it.

    `warnings` are what holds and might be better.
    """

    name: str
    figures: str = ""
    problems: list[str] = []
    warnings: list[str] = []

    def holds(self) -> bool:
        return not self.problems


class Survivor(Struct, frozen=True):
    """A mutant that every check lets pass; `checks` are lines of YAML that would see it, where they can be told."""

    mutant: Mutant
    advice: str
    checks: str = ""

    def told(self) -> str:
        """What to do about it."""
        if self.checks:
            return f"nothing reaches this yet; add under checks, and see that the values are right:\n{self.checks}"
        return f"would be seen by {self.advice}"


class Record(Struct, frozen=True):
    """What a proof that held found, kept beside its exercise; `digest` is that of all that it depends on."""

    digest: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]

    def is_sound(self, digest: str, mutants: int) -> bool:
        """Whether it speaks of this digest and so many mutants, and of a proof that is whole and held."""
        return (
            self.digest == digest
            and sum(self.statuses.values()) == mutants
            and not self.statuses.get(MutantStatus.SURVIVED)
            and {step.name for step in self.steps} == STEPS.keys() - ALWAYS_DONE
            and all(step.holds() for step in self.steps)
        )


class Proof(Struct, frozen=True):
    """All that was found out about one exercise, now or, where it is `recorded`, by an earlier proof."""

    exercise: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]
    survivors: list[Survivor]
    recorded: bool = False
    is_described: bool = True
    """Whether its description could be read; nothing else is known of it where not."""

    def mutants(self) -> int:
        return sum(self.statuses.values())

    def holds(self) -> bool:
        return not self.survivors and all(step.holds() for step in self.steps)


PASTED_WIDTH = 100

DOCUMENTED_POINTS = 10

SOME_DRAWS = 8
"""As often sizes are drawn to see which of them vary."""


def points_step(exercise: Exercise) -> Step:
    """What an exercise is worth, and a warning where that is not what students are used to."""
    total = exercise.max_score()
    if total == DOCUMENTED_POINTS:
        return Step("points", f"{total:g}")
    parts = " + ".join(f"{defect.points:g}" for defect in exercise.defects if not defect.stretch)
    warning = (
        f"the defects' points and nothing_else_broke add up to {total:g} ({parts} + {exercise.nothing_else_broke:g}), "
        f"not to {DOCUMENTED_POINTS}; those of stretch defects do not count"
    )
    return Step("points", f"{total:g}", warnings=[warning])


def constant_sizes(exercise: Exercise) -> list[str]:
    """A warning for each size that follows from two of the constructor's, such as a head's, and is nowhere another."""
    given = [value for value in exercise.interface.constructor.values() if isinstance(value, str)]
    drawn = [draw_sizes(spec, str(index)) for index in range(SOME_DRAWS) for spec in exercise.random_sizes]
    size_cases = [*exercise.fixed_sizes, *drawn]
    warnings = []
    for whole, part in permutations(
        sorted({name for name in given if all(name in size_case for size_case in size_cases)}), 2
    ):
        quotients = {size_case[whole] // size_case[part] for size_case in size_cases if size_case[part] > 1}
        if len(quotients) == 1 and all(
            size_case[whole] % size_case[part] == 0 < size_case[whole] - size_case[part] for size_case in size_cases
        ):
            warnings.append(
                f"{whole} / {part} is {quotients.pop()} on every size case where {part} is not 1, so a fix that writes "
                f"the number passes; give one size case another, or add a random one: {{{whole}: [{part}, 2, 9], ...}}"
            )
    return warnings


def missing_checks(source: str, exercise: Exercise, line: int, mutant: str = "") -> list[CheckFields]:
    """Checks that would reach a line of the reference, where it hangs on an argument that none gives another value.

    Of a signature in which a mutant changed a default, it is that argument alone.
    """
    interface = find_interface(source, "the reference")
    tried = [*exercise.interface.constructor.items()]
    tried += [pair for check in exercise.checks for pair in check.constructor.items()]
    checks: list[CheckFields] = []
    words = _changed_defaults(interface, mutant) or _words_about(source, line)
    for each in interface.constructor:
        if each.name not in words:
            continue
        is_size = isinstance(exercise.interface.constructor.get(each.name), str)  # the size cases have others
        others = () if is_size else checks_of_other_values(interface, each, exercise.interface.constructor)
        checks += [check for check in others if (each.name, check["constructor"][each.name]) not in tried]
        is_given = each.name in exercise.interface.constructor and not each.is_required
        if is_given and not any(each.name in check.defaults for check in exercise.checks):
            checks.append({"property": "matches_reference", "id": "values_by_default", "defaults": [each.name]})
        if each.refused and not any(
            isinstance(check, Raises) and each.name in check.constructor for check in exercise.checks
        ):
            checks.append(check_of_refusal(interface.kind, each))
    given = [pair for check in exercise.checks for pair in check.inputs.items()]
    for check in checks_of_forward(interface):
        if (
            not interface.remembers
            and words & check["inputs"].keys()
            and not any(pair in given for pair in check["inputs"].items())
        ):
            checks.append(check)
    own = {name for check in exercise.checks for name in check.constructor}
    return checks + [
        compare_values(each.id, constructor=each.constructor)
        for each in interface.own_checks
        if each.about in words and not own & each.constructor.keys()
    ]


def _changed_defaults(interface: FoundInterface, mutant: str) -> set[str]:
    """The arguments whose defaults are others in a mutant."""
    theirs = find_interface(mutant, "the mutant") if mutant else interface
    ours = {each.name: each.default for each in [*interface.constructor, *interface.forward]}
    return {
        each.name
        for each in [*theirs.constructor, *theirs.forward]
        if ours.get(each.name, each.default) != each.default
    }


def _words_about(source: str, line: int) -> set[str]:
    """The names in a line, and in the conditions that it stands under."""
    lines = source.splitlines()
    text = lines[line - 1] if line <= len(lines) else ""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            told = getattr(node, "test", None) if hasattr(node, "body") else node
            text += f" {ast.unparse(told)}" if told else ""
    return {*re.findall(r"[A-Za-z_]\w*", text)}


STEPS = {
    "sources": "sources",
    "points": "points",
    "scores": "scores",
    "attribution": "subsets",
    "alternatives": "right fixes",
    "rewrites": "rewrites",
    "equivalents": "declared",
    "usual tests": "missed by",
}
"""The steps, and their headings in the table."""

ALWAYS_DONE = {"sources", "points", "equivalents"}
"""Steps that take no time, and are taken anew where the others are recorded."""

STATUSES = (MutantStatus.VALUE, MutantStatus.CRASH, MutantStatus.EQUIVALENT)
TICK, CROSS, MARK = ("✓", "green"), ("✗", "red"), ("!", "yellow")


def render_proofs(proofs: list[Proof], *, width: int = 100, color: bool = False) -> str:
    """The table of all exercises, and the problems and survivors of each."""
    lines: list[Line] = [_table(proofs)]
    for proof in proofs:
        lines += _problems(proof)
    holding = sum(proof.holds() for proof in proofs)
    recorded = sum(proof.recorded for proof in proofs)
    told = f", {recorded} as recorded; --fresh proves them anew" if recorded else ""
    lines += [Text(), Text(f"{holding} of {len(proofs)} proofs hold{told}.", "bold")]
    return render_page(lines, width, color=color)


def _table(proofs: list[Proof]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    for heading in STEPS.values():
        table.add_column(heading)
    for heading in ("mutants", "by value", "by crash", "equivalent", "survived"):
        table.add_column(heading, justify="right")
    for proof in proofs:
        steps = {step.name: step for step in proof.steps}
        cells = [_cell(steps.get(name)) for name in STEPS]
        counts = [Text(str(proof.mutants())), *(Text(str(proof.statuses.get(status, 0))) for status in STATUSES)]
        survived = Text(str(len(proof.survivors)), "red" if proof.survivors else "green")
        table.add_row(proof.exercise, *cells, *counts, survived)
    return table


def _cell(step: Step | None) -> Text:
    if step is None:
        return Text("not reached", "dim")
    mark = CROSS if not step.holds() else MARK if step.warnings else TICK
    return Text.assemble(mark, f" {step.figures}".rstrip())


def _problems(proof: Proof) -> Iterator[Line]:
    told = [(CROSS, step, problem) for step in proof.steps for problem in step.problems]
    told += [(MARK, step, warning) for step in proof.steps for warning in step.warnings]
    if not told and not proof.survivors:
        return
    yield from (Text(), Text(proof.exercise, "bold"))
    for mark, step, problem in told:
        yield Text.assemble(mark, f" {step.name}: {problem}")
    for advice, alike in _by_advice(proof.survivors).items():
        for mutant in (survivor.mutant for survivor in alike):
            yield Text.assemble(CROSS, f" survived: {mutant.operator}, line {mutant.line}")
            for line in mutant.diff.splitlines()[1:]:
                yield indented(Text(line, "red" if line.startswith("-") else "green"))
        yield from (indented(Text(line, "dim")) for line in advice.splitlines())
    if declared := _declarations(proof.survivors):
        yield Text.assemble(MARK, " equivalents: what no input can tell from the reference is declared there, so:")
        yield from (Text(line, "dim") for line in declared.splitlines())


def _declarations(survivors: list[Survivor]) -> str:
    """Lines of YAML that declare survivors equivalent."""
    changes = [survivor.mutant.change() for survivor in survivors if not survivor.checks]
    reason = blank("why no input can tell")
    entries = [{"was": was, "becomes": becomes, "reason": reason} for was, becomes in dict.fromkeys(changes)]
    text: str = yaml.safe_dump(entries, sort_keys=False, width=PASTED_WIDTH, default_style=None) if entries else ""
    return "".join(f"  {line}\n" for line in text.splitlines())


def _by_advice(survivors: list[Survivor]) -> dict[str, list[Survivor]]:
    """Survivors that one thing would see, together."""
    groups: dict[str, list[Survivor]] = {}
    for survivor in survivors:
        groups.setdefault(survivor.told(), []).append(survivor)
    return groups
