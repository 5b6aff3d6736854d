"""The right behaviour of a submission with wrong values: experiments of checks that came out as expected.

A finding that only names a wrong number says little. The experiments beside it narrow the search.
"""

from grader.checks.outcome import FailureKind, Status
from grader.report.causes import Cause, hiding_crash, shown_causes
from grader.report.property_words import WORDS, words_for
from grader.spec.exercise import Exercise
from grader.spec.fields import MadeInput, shape_of
from grader.spec.properties import DropoutActsOnWeights, FutureDoesNotLeak, MatchesReference, Property, SamplesDoNotMix
from grader.verdict.verdict import Verdict

MAX_SENTENCES = 3


def right_behaviour(verdict: Verdict, exercise: Exercise) -> list[str]:
    """Return the sentences of passing checks, if the first finding says only that a value is wrong."""
    causes = shown_causes(verdict)
    if not causes or hiding_crash(causes) is not None or not _says_only_a_value(causes[0]):
        return []
    passed = {outcome.check for outcome in verdict.checks if outcome.status is Status.PASSED}
    failing = [check for check in exercise.checks if check.id not in passed]
    failed_kinds = {type(check) for check in failing}
    optional = {name for check in failing for name in _optional_inputs(check, exercise)}
    found = {
        type(check): _sentence(check, exercise, without=sorted(optional - check.inputs.keys()))
        for check in exercise.checks
        if check.id in passed and type(check) not in failed_kinds
    }
    return [found[kind] for kind, words in WORDS.items() if words.passes and kind in found][:MAX_SENTENCES]


def _says_only_a_value(cause: Cause) -> bool:
    finding = cause.finding
    return finding.kind is FailureKind.VALUES and finding.diagnosis is None and not finding.message


def _optional_inputs(check: Property, exercise: Exercise) -> set[str]:
    """Return the tensors that a check passes to the module beside the interface's own inputs, such as a mask."""
    if isinstance(check, MatchesReference) and check.method:
        return set()  # inputs of another method
    tensors = {name for name, spec in check.inputs.items() if isinstance(spec, list | MadeInput)}
    return tensors - exercise.interface.inputs.keys()


def _sentence(check: Property, exercise: Exercise, *, without: list[str]) -> str:
    """Return what a passing check observed; `without` names optional inputs that failing checks have and it has not."""
    axis = "tokens"
    if isinstance(check, FutureDoesNotLeak):
        shape = shape_of(check.all_inputs(exercise.interface)[check.input])
        axis = str(shape[check.axis]) if isinstance(shape[check.axis], str) else axis
    called = check.called if isinstance(check, DropoutActsOnWeights) else ""
    output = "output"
    if isinstance(check, SamplesDoNotMix) and len(exercise.interface.outputs) > 1:
        output = f"output {check.output}"
    observed = words_for(check).passes.format(axis=axis, called=called, output=output)
    return f"Without {' and '.join(without)}: {observed[:1].lower()}{observed[1:]}" if without else observed
