"""Sentences of findings: the action, the expected and observed values, the sizes; and the reasons for `unknown`."""

from grader.checks.outcome import Diagnosis, DiagnosisKind, FailureKind, Finding, LastCall, SizeComparison, in_words
from grader.report.check_names import CheckNames, check_name
from grader.report.printable import printable, printable_ends
from grader.sandbox.calling_variants import (
    LARGE_SCALE,
    Arguments,
    CallingVariant,
    Dtype,
    GradientMode,
    History,
    MemoryLayout,
    Mode,
    Scale,
    Sharing,
)
from grader.sandbox.text import as_arguments, cut_middle
from grader.spec.fields import MaskKind
from grader.verdict.attribution import Reason, UnknownReason
from grader.verdict.verdict import Verdict

MAX_OF_A_FINDING = 160
"""The longest excerpt of a finding beside a reason."""

MAX_OF_A_SENTENCE = 400
"""The longest sentence in a finding on one line. A longer one is cut in the middle, because its end has the cause."""

CALLING_VARIANT_WORDS = {
    Arguments.BY_POSITION: "by position",
    Mode.TRAINING: "in training mode",
    GradientMode.NO_GRAD: "under no_grad",
    GradientMode.INFERENCE_MODE: "under inference_mode",
    Dtype.FLOAT64: "in float64",
    MemoryLayout.TRANSPOSED: "with inputs transposed in memory",
    MemoryLayout.EXPANDED: "with one sample expanded to the whole batch",
    Sharing.SHARED: "with one tensor for all inputs of the same shape",
    History.RELOADED: "with a reloaded state dict",
    History.REBUILT: "rebuilt with arguments by position, after calls of other modules of its class",
    History.SETTINGS: "with all arguments by position",
    History.MODES: "after a call in each mode",
    History.COPIED: "as a frozen deepcopy",
    History.AFTER_OTHERS: "between other calls",
    History.INFERENCE_FIRST: "after a call under inference_mode",
    History.CONVERTED: "after a call and .double()",
    Scale.LARGE: f"with inputs {LARGE_SCALE:g} times as large",
}

SENTENCES = {
    FailureKind.NO_GRADIENT: "{item} gets no gradient: the loss does not reach it, and its gradient is {observed}",
    FailureKind.LEAK: "{action} changed the {item} at {place} by {observed}; expected {expected}",
    FailureKind.MIXING: "{action} changed the {item} at {place} by {observed}; expected {expected}",
    FailureKind.DEAD: "{action} changed none of the {item} from {place} on; expected {expected}",
}
"""Sentences of some kinds of failure. `sentence` builds the others from action, item, expected and observed."""

LISTS = {FailureKind.PARAMETERS: "parameters", FailureKind.STATE: "entries of the state dict"}
"""Kinds of failure without an item: `expected` lists what is missing, `observed` what should not be there."""

DIAGNOSES = {
    DiagnosisKind.ALL_ZERO: "every element is 0",
    DiagnosisKind.ONE_FACTOR: "every element is {0:.3g} times what was expected",
    DiagnosisKind.INTERLEAVED: (
        "the last axis is interleaved: it takes one feature from each of {0:.0f} blocks in turn"
    ),
    DiagnosisKind.EXCHANGED_AXES: "axes {0:.0f} and {1:.0f} of the expected values are exchanged",
    DiagnosisKind.CONSTANT_ALONG_AXIS: "the values do not vary along axis {0:.0f}, although they should",
    DiagnosisKind.VECTOR_ADDED: "each row equals the expected row plus one vector, the same for all rows",
    DiagnosisKind.ROW_FACTORS: (
        "each row equals the expected row times a factor that differs from row to row, from {0:.3g} to {1:.3g}"
    ),
    DiagnosisKind.PARTLY_ZERO: "{0:.0f} elements are 0 and the others are right",
    DiagnosisKind.NOTHING_MASKED: "the output is the same as with a mask that hides nothing",
}

MASKS = {
    MaskKind.CAUSAL: "is a causal mask",
    MaskKind.RANDOM: "is a random mask",
    MaskKind.PADDING: "is a padding mask",
    MaskKind.DEAD_ROW: "has a row that hides everything",
}

REASONS = {
    UnknownReason.NO_CHECK_RAN: "no check could run",
    UnknownReason.NO_SIGNAL: "every check against the reference fails",
    UnknownReason.NO_SIGNAL_AS_A_WHOLE: "every check of the whole output against the reference fails",
    UnknownReason.FIXED_IN_PART: "it is only partly fixed",
    UnknownReason.FAILS_DIFFERENTLY: "it fails in a new way: a wrong or incomplete fix, or a new bug",
    UnknownReason.HIDDEN: "another failure hides it",
    UnknownReason.BEHIND_CRASH: "the crash hides it; fix the crash first",
    UnknownReason.UNDECIDED: "the checks would give these results with it and without it",
    UnknownReason.AT_HAND_IN: "only checks that run when you hand in can tell",
}

REASONS_WITH_CHECK = {
    UnknownReason.NO_SIGNAL: '{words}; make "{name}" pass first',
    UnknownReason.NO_SIGNAL_AS_A_WHOLE: '{words}; make "{name}" pass first',
    UnknownReason.FIXED_IN_PART: '{words}: "{name}" still fails',
    UnknownReason.FAILS_DIFFERENTLY: '"{name}" fails in a new way: a wrong or incomplete fix, or a new bug',
    UnknownReason.HIDDEN: '{words}; make "{name}" pass first',
}
"""Reasons that name a check, where the sentence is not simply the reason followed by the check."""


def sentence(finding: Finding) -> str:
    """Return a finding in words: the action, the expected and the observed values, then the calling variant."""
    if finding.message:
        return finding.message
    sizes = f"with {as_arguments(finding.named_sizes)}: " if finding.named_sizes else ""
    variant = f"; {calling_variant_words(finding.calling_variant)}" if finding.calling_variant else ""
    return f"{sizes}{_difference(finding)}{variant}"


def _difference(finding: Finding) -> str:
    if finding.kind in LISTS and not finding.item:
        missing, extra = finding.expected, finding.observed
        parts = [f"missing {LISTS[finding.kind]}: {missing}"] if missing else []
        parts += [f"unexpected {LISTS[finding.kind]}: {extra}"] if extra else []
        return "; ".join(parts)
    if finding.kind in SENTENCES:
        fields = {name: getattr(finding, name) for name in ("action", "item", "place", "expected", "observed")}
        template = SENTENCES[finding.kind]
        action = f"{finding.action}: " if finding.action and "{action}" not in template else ""
        return action + template.format(**fields)
    where = f"{finding.item} at {finding.place}" if finding.place else finding.item
    subject = ": ".join(filter(None, (finding.action, where)))
    difference = f"expected {finding.expected}, got {finding.observed}"
    return f"{f'{subject}: ' if subject else ''}{difference}{_extent(finding)}"


def calling_variant_words(variant: CallingVariant) -> str:
    """Return the calls that are wrong, beside the plain call that is right."""
    how = ", ".join(CALLING_VARIANT_WORDS[value] for value in variant.changes()) or "in a repeated call"
    return f"right in a plain call, but not {how}"


def diagnosis_words(diagnosis: Diagnosis) -> str:
    """Return a diagnosis in words: a pattern in the wrong values, or the cause of an exception."""
    if diagnosis.kind is DiagnosisKind.REORDERED:
        axis, *order = (f"{number:.0f}" for number in diagnosis.numbers)
        return f"along axis {axis} the right values are in another order: {', '.join(order)}"
    if diagnosis.kind is DiagnosisKind.SIGNATURE:
        called, *keywords = diagnosis.names
        action = f"{called} is called" if called else "it is built"
        return f"{action} with the keywords {', '.join(keywords)}: keep the interface's signature"
    if diagnosis.kind is DiagnosisKind.PARTLY_ZERO and diagnosis.numbers == [1]:
        return "one element is 0 and the others are right"
    return DIAGNOSES[diagnosis.kind].format(*diagnosis.numbers)


def size_words(finding: Finding) -> str:
    """Return the sizes and settings that fail, without sizes that the sentence names; empty if none are known."""
    sizes = "" if finding.sizes is None or names_sizes(finding) else comparison_words(finding.sizes)
    call = call_words(finding.last_call) if finding.last_call is not None else ""
    return "; ".join([*map(printable, filter(None, (sizes, call))), *_settings(finding)])


def call_words(call: LastCall) -> str:
    """Return how a module was built and called, as in "built with width=8; called with x of shape (2, 3, 8)"."""
    built = f"built with {as_arguments(call.constructor)}" if call.constructor else ""
    shapes = [f"{name} of shape {tuple(shape)}" for name, shape in call.shapes.items()]
    inputs = ", ".join(filter(None, (*shapes, as_arguments(call.inputs))))
    return "; ".join(filter(None, (built, f"called with {inputs}" if inputs else "")))


def names_sizes(finding: Finding) -> bool:
    """Return whether the finding's sentence names sizes."""
    return bool(finding.named_sizes.items() & finding.size_case.items())


def _settings(finding: Finding) -> list[str]:
    """Return the settings that the finding's sentence does not name."""
    variant = finding.calling_variant
    names_mode = variant is not None and variant.mode is Mode.TRAINING
    settings = ["in training mode"] if finding.in_training and not names_mode else []
    return settings + (["with unusually large inputs"] if finding.has_extreme_numbers and not finding.action else [])


def comparison_words(sizes: SizeComparison) -> str:
    """Return the smallest sizes that fail, the largest that pass, and the sizes that both have."""
    verb = "fails" if _is_smallest(sizes) else "wrong"
    return f"{verb} {_where_words(sizes, with_common=True)}".rstrip()


def _is_smallest(sizes: SizeComparison) -> bool:
    """Return whether the words say that even the smallest sizes fail."""
    return sizes.passed is None and sizes.is_smallest and bool(sizes.failed) and not sizes.without_gradients


def where_words(sizes: SizeComparison) -> str:
    """Return the sizes without the leading word "wrong", as in "with num_heads=2; right with num_heads=1"."""
    return _where_words(sizes, with_common=False)


def _where_words(sizes: SizeComparison, *, with_common: bool) -> str:
    alone = "only under no_grad; wrong " if sizes.without_gradients else ""
    if sizes.passed is not None:
        common = {name: size for name, size in sizes.failed.items() if sizes.passed.get(name) == size}
        changed = {name: size for name, size in sizes.failed.items() if name not in common}
        right = as_arguments({name: sizes.passed[name] for name in changed if name in sizes.passed})
        words = [f"with {as_arguments(changed)}; right with {right}"]
        words += [f"both with {as_arguments(common)}"] if with_common and common else []
        return f"{alone}{'; '.join([*words, *_constructor_words(sizes)])}{_inputs_words(sizes)}"
    preposition = "even at" if _is_smallest(sizes) else "with"
    given = [f"{preposition} {as_arguments(sizes.failed)}"] if sizes.failed else []
    return f"{alone}{', '.join([*given, *_constructor_words(sizes)])}{_inputs_words(sizes)}"


def _constructor_words(sizes: SizeComparison) -> list[str]:
    """Return the check's own constructor arguments, and those that it leaves at their defaults."""
    words = [f"built with {as_arguments(sizes.constructor)}"] if sizes.constructor else []
    return words + ([f"{' and '.join(sizes.defaults)} left at the default"] if sizes.defaults else [])


def _inputs_words(sizes: SizeComparison) -> str:
    """Return the check's own inputs, as in "; mask is a padding mask"."""
    values = [as_arguments({name: value}) for name, value in sizes.inputs.items()]
    masks = [f"{name} {MASKS[kind]}" for name, kind in sizes.masks.items()]
    return "".join(f"; {each}" for each in (*masks, *values))


def full_text(finding: Finding) -> str:
    """Return a finding as one line: the sentence, its diagnosis, the line of the submission, and the sizes."""
    parts = [printable_ends(sentence(finding), MAX_OF_A_SENTENCE)]
    if finding.diagnosis:
        parts.append(diagnosis_words(finding.diagnosis))
    if finding.location:
        parts.append(f"at {printable(str(finding.location), 120)}: {printable(finding.location.text.strip(), 120)}")
    parts += [printable(comparison_words(finding.sizes))] if finding.sizes else []
    parts += [printable(call_words(finding.last_call))] if finding.last_call else []
    return "; ".join([*parts, *_settings(finding)])


def reason_words(reason: Reason, names: CheckNames) -> str:
    """Return why a status is unknown."""
    words = REASONS[reason.kind]
    if not reason.check:
        return words
    name = check_name(reason.check, names)
    return REASONS_WITH_CHECK.get(reason.kind, '{words}, as "{name}" shows').format(words=words, name=name)


def reason_with_finding(reason: Reason | None, verdict: Verdict) -> str:
    """Return why a status is unknown, with the finding of the check that shows it."""
    if reason is None:
        return ""
    findings = (each.finding for each in verdict.checks if each.check == reason.check and each.finding)
    shown = next((cut_middle(" ".join(sentence(each).split()), MAX_OF_A_FINDING) for each in findings), "")
    words = reason_words(reason, {reason.check: in_words(reason.check)})
    return printable(f"{words}: {shown}" if reason.check else words)


def _extent(finding: Finding) -> str:
    """Return how many elements are wrong; empty if there is only one."""
    if finding.elements <= 1:
        return ""
    verb = "is" if finding.elements_off == 1 else "are"
    problem = "not finite" if finding.kind is FailureKind.NONFINITE else "off"
    return f"; {finding.elements_off} of {finding.elements} elements {verb} {problem}"
