"""Proofs -> text: a table with ticks, then what to do where one fails."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from grader.author.proof import Fate, Proof, Step
from grader.report.page import Line, indented, render_page

STEPS = {
    "sources": "sources",
    "scores": "seeds, dtypes",
    "attribution": "subsets",
    "alternatives": "right fixes",
    "equivalents": "challenged",
}
"""The steps, and the headings under which the table counts them."""

FATES = (Fate.VALUE, Fate.CRASH, Fate.EQUIVALENT)
TICK, CROSS = ("✓", "green"), ("✗", "red")


def render_proofs(proofs: list[Proof], *, width: int = 100, color: bool = False) -> str:
    """The table of all exercises, and the problems and survivors of each."""
    lines: list[Line] = [_table(proofs)]
    for proof in proofs:
        lines += _problems(proof)
    holding = sum(proof.holds() for proof in proofs)
    lines += [Text(), Text(f"{holding} of {len(proofs)} proofs hold.", "bold")]
    return render_page(lines, width, color=color)


def _table(proofs: list[Proof]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", *STEPS.values()):
        table.add_column(heading)
    for heading in ("mutants", "by value", "by crash", "equivalent", "survived"):
        table.add_column(heading, justify="right")
    for proof in proofs:
        steps = {step.name: step for step in proof.steps}
        cells = [_cell(steps.get(name)) for name in STEPS]
        counts = [Text(str(proof.mutants())), *(Text(str(proof.fates[fate])) for fate in FATES)]
        survived = Text(str(len(proof.survivors)), "red" if proof.survivors else "green")
        table.add_row(proof.exercise, *cells, *counts, survived)
    return table


def _cell(step: Step | None) -> Text:
    if step is None:
        return Text("not reached", "dim")
    return Text.assemble(TICK if step.holds() else CROSS, f" {step.figures}".rstrip())


def _problems(proof: Proof) -> Iterator[Line]:
    if proof.holds():
        return
    yield from (Text(), Text(proof.exercise, "bold"))
    for step in proof.steps:
        for problem in step.problems:
            yield Text.assemble(CROSS, f" {step.name}: {problem}")
    for survivor in proof.survivors:
        mutant = survivor.mutant
        yield Text.assemble(CROSS, f" survived: {mutant.operator}, line {mutant.line}")
        for line in mutant.diff.splitlines()[1:]:
            yield indented(Text(line, "red" if line.startswith("-") else "green"))
        advice = f"would be seen by {survivor.advice}; or declare it in equivalents, with its reason"
        yield indented(Text(advice, "dim"))
