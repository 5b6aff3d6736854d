"""The page of `prove`: a table of the proofs, with the problems and survivors of each exercise."""

from collections.abc import Iterable, Iterator

import yaml
from rich.text import Text

from grader.author.proof import STEPS, MutantStatus, Proof, Step, Survivor
from grader.report.page import INDENT, Column, Line, fitted_table, indented, render_page, verbatim
from grader.report.phrases import counted
from grader.spec.problem import blank

PASTED_WIDTH = 100

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
    note = f", {recorded} of them from records; --fresh proves them again" if recorded else ""
    lines += [Text(), Text(f"{holding} of {len(proofs)} proofs hold{note}.", "bold")]
    return render_page(lines, width, color=color)


def _table(proofs: list[Proof], width: int) -> list[Line]:
    """Return the table, with a row for each exercise."""
    steps = [{step.name: step for step in proof.steps} for proof in proofs]
    columns = [Column(heading="", cells=[Text(proof.exercise) for proof in proofs])]
    columns += [
        Column(heading=heading, cells=[_cell(each.get(name)) for each in steps]) for name, heading in STEPS.items()
    ]
    columns.append(_numbers("mutants", [proof.mutants() if proof.statuses else None for proof in proofs]))
    for heading, status in STATUSES.items():
        columns.append(
            _numbers(heading, [proof.statuses.get(status, 0) if proof.statuses else None for proof in proofs])
        )
    survived = [
        Text(str(len(each.survivors)), "red" if each.survivors else "green") if each.statuses else NOT_REACHED
        for each in proofs
    ]
    columns.append(Column(heading="survived", cells=survived, is_number=True))
    is_cut = any(cell.plain == NOT_REACHED.plain for column in columns for cell in column.cells)
    legend = [Text.assemble(NOT_REACHED, " not reached, because an earlier step failed")] if is_cut else []
    return [*fitted_table(columns, width), *legend]


def _numbers(heading: str, numbers: list[int | None]) -> Column:
    """Return a column of numbers; None stands for a number that the proof did not reach."""
    cells = [NOT_REACHED if number is None else Text(str(number)) for number in numbers]
    return Column(heading=heading, cells=cells, is_number=True)


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
