"""A module must be right in every calling variant and at all sizes.

Each fault is put into the reference of every exercise, for it is about classes of faults, not about one module.
"""

import re

import pytest

from grader.checks.outcome import FailureKind
from grader.report.findings import sentence
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import KeepsDtype
from grader.verdict.verdict import DefectStatus, Result
from tests.support.judging import SEED, Judge
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE, in_parts, others_slow, sampled, share
from tests.support.wrong_fixes import wrong_fix

EXERCISES = [f"exercise_{number:02}" for number in range(1, 17)]
BY_POSITION = [name for name in EXERCISES if name != "exercise_07"]
MODULES = [*EXERCISES, *(f"exercise_{number}" for number in (*range(17, 27), 28, 35, 36, 37))]
"""The exercises about modules, except exercise_27, whose module begins with two equal parts."""

INPUT = {
    "exercise_04": "X_q",
    "exercise_07": "query",
    "exercise_11": "hidden_states",
    "exercise_12": "q",
    "exercise_15": "series",
    "exercise_16": "cards",
}
FEATURES = {"exercise_09": 1}
SEEDS = (0, 31, 4_000_000_007)
LOSSES = [("exercise_30", "sorting_loss")]

CONDITIONS = {
    "under no_grad": "not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()",
    "under inference_mode": "torch.is_inference_mode_enabled()",
    "where memory is not contiguous": "not x.is_contiguous()",
    "where a sample is expanded": "any(step == 0 and size > 1 for step, size in zip(x.stride(), x.shape))",
    "in float64": "x.dtype is torch.float64",
    "in training mode": "self.training",
    "at the second call": "self.__dict__.setdefault('_calls', []).append(1) or len(self._calls) == 2",
    "in long sequences": "x.numel() // x.shape[FEATURES] > 100 and min(x.shape[:2]) == 1",
    "in large batches": "32 < max(x.shape[:2]) < 60",
    "in large batches of long sequences": "min(x.shape[:2]) >= 9 and max(x.shape[:2]) >= 60",
    "in wide modules": "x.shape[FEATURES] > 256",
    "where sizes are equal": "x.shape[0] == x.shape[1] > 1",
    "at other sizes than the list's": "x.shape[FEATURES] not in SIZES",
    "where inputs are loud": "float(x.detach().abs().max()) > 30",
    "where the input is another module's output": "x.requires_grad and not x.is_leaf",
    "where the weights are frozen": "not any(each.requires_grad for each in self.parameters())",
    "after a call in each mode": "self.__dict__.get('_trips', 0) > 1",
}
KEEPING = {
    "what it saw first": "x = self.__dict__.setdefault('_first', {}).setdefault(tuple(x.shape), x.clone())",
    "its first weights": "[own.data.copy_(first) for own, first in zip(self.parameters(), self.__dict__.setdefault("
    "'_first', [each.clone() for each in self.parameters()]))]",
}
"""What is kept from the first call that is made without gradients, and taken again in the next one."""
LOADS_ONCE = """
    def load_state_dict(self, *arguments, **keywords):
        if not self.__dict__.setdefault('_loaded', []):
            self._loaded.append(super().load_state_dict(*arguments, **keywords))
        return self._loaded[0]
"""
LOADS_NOTHING = """
    def load_state_dict(self, *_, **__):
        return None
"""
COPIES_OTHER_WEIGHTS = """
    def __deepcopy__(self, memo):
        return self.apply(lambda part: [each.data.mul_(2) for each in part.parameters(recurse=False)])
"""
SHARES_ITS_WEIGHTS = """
    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        copied.__dict__ = self.__dict__
        return copied
"""
RETURNS_THE_SAME_TENSOR = """
    def __call__(self, *arguments, **keywords):
        value = super().__call__(*arguments, **keywords)
        if torch.is_grad_enabled():
            return value
        first, *others = value if isinstance(value, tuple) else (value,)
        key = first.shape, first.dtype, torch.is_inference_mode_enabled()
        kept = self.__dict__.setdefault('_kept', {}).setdefault(key, first).copy_(first)
        return (kept, *others) if isinstance(value, tuple) else kept
"""
COUNTS_MODES = """
    def train(self, mode=True):
        self._trips = getattr(self, '_trips', 0) + 1
        return super().train(mode)
"""


def reference_of(exercise_id: str) -> tuple[str, int, int]:
    """The reference, and where the main class's forward and its body begin."""
    source = (Course(root=ROOT).reference(exercise_id)).read_text(encoding="utf-8")
    forward = list(re.finditer(r"    def forward\(self,[^)]*\)[^\n]*:[^\n]*\n", source))[-1]
    return source, forward.start(), forward.end()


def wrong_where(exercise_id: str, condition: str) -> str:
    """The reference, with its first input's features in the other order where the condition on it holds."""
    source, start, body = reference_of(exercise_id)
    size_lists = re.findall(
        r"{([^{}\[\]]*)}", (ROOT / "solutions" / exercise_id / "exercise.yaml").read_text(encoding="utf-8")
    )
    sizes = ", ".join(sorted({size for size_case in size_lists for size in re.findall(r"\d+", size_case)}, key=int))
    statement = re.sub(r"\bx\b", INPUT.get(exercise_id, "x"), f"if {condition}: x = x.flip(FEATURES)")
    statement = statement.replace("FEATURES", str(FEATURES.get(exercise_id, -1))).replace("SIZES", f"({sizes})")
    counting = COUNTS_MODES if "_trips" in condition else ""
    return source[:start] + counting + source[start:body] + f"        {statement}\n" + source[body:]


def with_defect_where(exercise_id: str, defect_id: str, condition: str) -> str:
    """The reference, whose forward is that with a defect put back where the condition on the first input holds."""
    source, _, body = reference_of(exercise_id)
    exercise = load_exercise(Course(root=ROOT).description(exercise_id))
    entry = exercise.interface.entry()
    bad = put_back(source, [defect for defect in exercise.defects if defect.id == defect_id])
    bad = bad.replace(f"class {entry}(", f"class Bad{entry}(")
    condition = re.sub(r"\bx\b", INPUT.get(exercise_id, "x"), condition)
    statement = f"        if {condition}:\n            return as_another(Bad{entry}, **locals())\n"
    return f"{source[:body]}{statement}{source[body:]}\n\n{bad}\n\n{AS_ANOTHER}"


def keeps(exercise_id: str, statement: str) -> str:
    """The reference, which without gradients takes what it kept from its first such call."""
    source, _, body = reference_of(exercise_id)
    statement = re.sub(r"\bx\b", INPUT.get(exercise_id, "x"), statement)
    return f"{source[:body]}        if not torch.is_grad_enabled(): {statement}\n{source[body:]}"


def with_method(exercise_id: str, method: str) -> str:
    source, start, _ = reference_of(exercise_id)
    return f"{source[:start]}{method}\n{source[start:]}"


def sharing_heads(exercise_id: str) -> dict[str, str]:
    """The reference, whose number of heads is an attribute of the class; nothing where modules store no such number."""
    source, _, _ = reference_of(exercise_id)
    shared, count = re.subn(r"self\.(num_heads|n_heads|n_head|heads) = \1\b", r"type(self).\1 = \1", source)
    return {"shares its heads with all modules": shared} if count else {}


AS_ANOTHER = """
def as_another(kind, self, **inputs):
    own, self.__class__ = type(self), kind
    try:
        return kind.forward(self, **inputs)
    finally:
        self.__class__ = own
"""


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_what_is_wrong_in_one_calling_variant_alone_is_not_fixed(judge_text: Judge, exercise_id: str) -> None:
    faults = {name: wrong_where(exercise_id, condition) for name, condition in CONDITIONS.items()}
    faults |= {name: keeps(exercise_id, statement) for name, statement in KEEPING.items()}
    faults["loads nothing"] = with_method(exercise_id, LOADS_NOTHING)
    faults["copies other weights"] = with_method(exercise_id, COPIES_OTHER_WEIGHTS)
    faults["shares its weights with a copy"] = with_method(exercise_id, SHARES_ITS_WEIGHTS)
    faults["returns the same tensor in each call"] = with_method(exercise_id, RETURNS_THE_SAME_TENSOR)
    faults |= sharing_heads(exercise_id)
    faults["loads once"] = with_method(exercise_id, LOADS_ONCE)
    faults = share(faults, exercise_id, 3)
    verdicts = judge_text.many(exercise_id, list(faults.values()), SEED)
    assert not [name for name, verdict in zip(faults, verdicts, strict=True) if verdict.outcome is Result.FIXED]


RARELY_SHOWN = {
    "exercise_01": ("masked-row-is-nan", "not torch.is_grad_enabled()"),
    "exercise_20": ("angles-in-short-floats", "not torch.is_grad_enabled()"),
    "exercise_17": ("fill-not-low-enough", "not torch.is_grad_enabled()"),
    "exercise_10": ("diagonal-hidden", CONDITIONS["where sizes are equal"]),
    "exercise_13": ("mask-tiled", CONDITIONS["where sizes are equal"]),
}
"""Defects that only properties of their own show, or other arguments than the interface's, and where they are left."""


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", RARELY_SHOWN)
def test_a_defect_is_seen_where_it_is_left_in_one_calling_variant_alone(judge_text: Judge, exercise_id: str) -> None:
    text = with_defect_where(exercise_id, *RARELY_SHOWN[exercise_id])
    verdicts = [judge_text(exercise_id, text, SEED + more) for more in range(6)]
    seen = [sentence(outcome.finding) for verdict in verdicts for outcome in verdict.checks if outcome.finding]
    assert seen


SHARED_INPUTS = {
    "exercise_04": "X_k is X_v",
    "exercise_07": "key is value",
    "exercise_12": "k is v",
    "exercise_18": "x is memory",
    "exercise_25": "x is residual",
}
"""Conditions that hold if two inputs are one tensor."""


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", SHARED_INPUTS)
def test_what_is_wrong_with_one_tensor_for_two_inputs_is_not_fixed(judge_text: Judge, exercise_id: str) -> None:
    source, _, body = reference_of(exercise_id)
    name = SHARED_INPUTS[exercise_id].partition(" ")[0]
    wrong = f"{source[:body]}        if {SHARED_INPUTS[exercise_id]}: {name} = {name}.flip(-1)\n{source[body:]}"
    outcomes = {judge_text(exercise_id, wrong, SEED + more).outcome for more in range(4)}
    assert Result.NOT_FIXED in outcomes
    if exercise_id != "exercise_18":  # there only one size case has inputs of one shape
        assert outcomes == {Result.NOT_FIXED}


REFUSED_BUT = (
    "under no_grad",
    "under inference_mode",
    "where memory is not contiguous",
    "in float64",
    "in training mode",
)


@pytest.mark.parametrize(
    ("exercise_id", "defect_id"),
    [
        (EXAMPLE, "long-sequence-unmasked"),
        pytest.param("exercise_05", "long-sequence-unmasked", marks=pytest.mark.slow),
        pytest.param("exercise_07", "mask-layout-unchecked", marks=pytest.mark.slow),
    ],
)
def test_what_is_to_be_refused_is_refused_in_every_calling_variant(
    judge_text: Judge, exercise_id: str, defect_id: str
) -> None:
    faults = {name: with_defect_where(exercise_id, defect_id, CONDITIONS[name]) for name in REFUSED_BUT}
    told = {}
    for name, verdict in zip(faults, judge_text.many(exercise_id, list(faults.values()), SEED), strict=True):
        told[name] = next(each.status for each in verdict.defects if each.id == defect_id)
    assert not [name for name, status in told.items() if status is DefectStatus.FIXED]


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_gradients_that_are_wrong_in_long_sequences_alone_are_seen(judge_text: Judge, exercise_id: str) -> None:
    flipped = wrong_where(exercise_id, CONDITIONS["in long sequences"])
    statement = re.search(r": (\w+) = \1\.flip\(-?\d\)", flipped)
    assert statement
    name = statement[1]
    stopped = f": {name}.requires_grad and {name}.register_hook(lambda gradient: gradient * 2)"
    verdict = judge_text(exercise_id, flipped.replace(statement[0], stopped), SEED)
    assert verdict.outcome is Result.NOT_FIXED


INITIALIZED = """
import torch
_init = {name}.__init__
def _initialized(self, *arguments, **keywords):
    _init(self, *arguments, **keywords)
    for weight in [each for each in self.parameters() if each.dim() > 1]{chosen}:
        torch.nn.init.{method}
{name}.__init__ = _initialized
"""
INITIAL = {
    "zeros in one": {"chosen": "[-1:]", "method": "zeros_(weight)"},
    "zeros": {"chosen": "", "method": "zeros_(weight)"},
    "ones": {"chosen": "", "method": "ones_(weight)"},
    "small": {"chosen": "", "method": "normal_(weight, std=0.02)"},
    "large": {"chosen": "", "method": "normal_(weight, std=3.0)"},
    "orthogonal": {"chosen": "", "method": "orthogonal_(weight)"},
}
"""How a class may begin with other weights."""

LOCKED = """
import threading
_init = {name}.__init__
def _locked(self, *arguments, **keywords):
    _init(self, *arguments, **keywords)
    self.lock = threading.Lock()
{name}.__init__ = _locked
"""


@pytest.mark.parametrize("exercise_id", others_slow(["exercise_21", *sorted({*MODULES} - {"exercise_21"})]))
def test_initial_weights_and_modules_that_cannot_be_copied_cost_nothing(judge_text: Judge, exercise_id: str) -> None:
    name = load_exercise(judge_text.course.description(exercise_id)).interface.entry()
    source = (Course(root=ROOT).reference(exercise_id)).read_text(encoding="utf-8")
    texts = {start: source + INITIALIZED.format(name=name, **how) for start, how in INITIAL.items()}
    texts["a lock"] = source + LOCKED.format(name=name)
    assert judge_text.refused(exercise_id, texts) == {}


@pytest.mark.parametrize("exercise_id", others_slow(["exercise_06", "exercise_01"]))
def test_what_is_kept_from_a_call_without_gradients_is_seen_at_every_seed(judge_text: Judge, exercise_id: str) -> None:
    """At these seeds the call after others had large inputs, or one sample for the whole batch."""
    text = wrong_fix(judge_text.course, exercise_id, "weights_of_the_first_call_without_gradients")
    verdicts = [judge_text(exercise_id, text, seed) for seed in (11, 12)]
    assert [verdict.outcome for verdict in verdicts] == [Result.NOT_FIXED] * 2


@pytest.mark.parametrize("exercise_id", sampled(BY_POSITION))
def test_the_order_of_inputs_and_arguments_is_part_of_the_interface(judge_text: Judge, exercise_id: str) -> None:
    source, start, body = reference_of(exercise_id)
    name = INPUT.get(exercise_id, "x")
    keyword_only = source[:start] + source[start:body].replace(f"(self, {name}", f"(self, *, {name}") + source[body:]
    first, second = re.findall(r"    def __init__\(self, (\w+(?:: \w+)?), (\w+(?:: \w+)?)", source)[-1]
    swapped = source.replace(f"__init__(self, {first}, {second}", f"__init__(self, {second}, {first}")
    assert source not in {keyword_only, swapped}
    verdicts = judge_text.many(exercise_id, [keyword_only, swapped])
    assert [verdict.outcome for verdict in verdicts] == [Result.NOT_FIXED] * 2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reference_holds_at_the_ends_of_what_a_seed_may_be(judge_text: Judge, course: Course, seed: int) -> None:
    """Proofs ask it of every reference at seeds in between."""
    source = course.reference_text(EXAMPLE)
    assert judge_text.refused(EXAMPLE, {"reference": source}, seed) == {}


@pytest.mark.parametrize("seed", others_slow(SEEDS))
@pytest.mark.parametrize("ending", ["raise TypeError('float32 alone')", "__import__('os')._exit(5)"])
def test_a_calling_variant_without_an_answer_is_reported_once_and_costs_no_fixed_defect(
    judge_text: Judge, course: Course, ending: str, seed: int
) -> None:
    source, _, body = reference_of("exercise_03")
    source = f"{source[:body]}        if x.dtype == torch.float64: {ending}\n{source[body:]}"
    verdict = judge_text("exercise_03", source, seed)
    assert (verdict.outcome, verdict.score) == (Result.NOT_FIXED, 7.0)
    broken = [each for each in verdict.regressions if not each.startswith("refus")]
    exercise = load_exercise(course.description("exercise_03"))
    of_float64 = {check.id for check in exercise.checks if isinstance(check, KeepsDtype)}
    assert of_float64 < {*broken}
    assert len({*broken} - of_float64) == 1, broken  # the first calling variant in float64


OF_MODULES = {
    "the module's own mode": "given[0].train(not given[0].training)",
    "the mode of a part": "given[0].W_query.train(not given[0].training)",
    "the seed that it has": "_torch.manual_seed(_torch.initial_seed())",
}
WITHOUT_GRADIENTS, IN_FLOAT64 = "the grad mode where it is off", "the default dtype where it is float64"
WHEN = {
    WITHOUT_GRADIENTS: "not _torch.is_grad_enabled()",
    IN_FLOAT64: "_torch.get_default_dtype() is _torch.float64",
}
SETS = {
    "the default dtype": "_torch.set_default_dtype(_torch.float64)",
    "the default device": "_torch.set_default_device('meta')",
    "the grad mode": "_torch.set_grad_enabled(False)",
    "the anomaly mode": "_torch.autograd.set_detect_anomaly(True)",
    "the deterministic mode": "_torch.use_deterministic_algorithms(True)",
    "autocast": "_torch.set_autocast_enabled('cpu', True)",
    "the seed": "_torch.manual_seed(0)",
    WITHOUT_GRADIENTS: "_torch.set_grad_enabled(True)",
    IN_FLOAT64: "_torch.set_default_dtype(_torch.float32)",
    **OF_MODULES,
}
SETTING = """
import torch as _torch
_right, _calls = {called}, []

def _setting(*given, **named):
    value = _right(*given, **named)
    _calls.append({sets}) if {when} else None
    return value

{called} = _setting
"""
"""What is put below a right submission: it computes what it should, and changes what is torch's."""


@pytest.mark.slow
@pytest.mark.parametrize("some", in_parts(SETS))
@pytest.mark.parametrize(("exercise_id", "called"), [(EXAMPLE, "CausalSelfAttention.forward"), *LOSSES])
def test_a_call_that_changes_a_torch_setting_costs_only_the_points_for_breaking_nothing(
    judge_text: Judge, course: Course, exercise_id: str, called: str, some: dict[str, str]
) -> None:
    source = course.reference_text(exercise_id)
    texts = {}
    for name, sets in some.items():
        when = WHEN.get(name, "not _calls")
        if exercise_id == EXAMPLE or name not in OF_MODULES:
            texts[name] = source + SETTING.format(called=called, sets=sets, when=when)
    for name, verdict in zip(texts, judge_text.many(exercise_id, [*texts.values()]), strict=True):
        told = [
            sentence(each.finding)
            for each in verdict.checks
            if each.finding and each.finding.kind is FailureKind.STATE_CHANGED
        ]
        assert (verdict.outcome, verdict.score, len(told)) == (Result.NOT_FIXED, 7.0, 1), name


def test_building_a_module_must_not_change_torch_settings_either(judge_text: Judge, course: Course) -> None:
    source, called = course.reference_text(EXAMPLE), "CausalSelfAttention.__init__"
    texts = {
        name: source + SETTING.format(called=called, sets=SETS[name], when=WHEN.get(name, "True"))
        for name in ("the seed", IN_FLOAT64)
    }
    verdicts = judge_text.many(EXAMPLE, [*texts.values()])
    findings = [[each.finding for each in verdict.checks if each.finding] for verdict in verdicts]
    assert [[each.kind for each in of_text] for of_text in findings] == [[FailureKind.STATE_CHANGED]] * len(texts)
    assert [verdict.score for verdict in verdicts] == [7.0] * len(texts)


KEEPS_MASKS = """
_right, _masks = CausalSelfAttention.forward, {}

def _adding_zeros(self, x):
    key = x.shape[1], x.device
    if key not in _masks:
        _masks[key] = torch.zeros(x.shape[1], 1, device=x.device)
    return _right(self, x) + _masks[key]

CausalSelfAttention.forward = _adding_zeros
"""


def test_a_module_may_keep_tensors_of_the_default_dtype(judge_text: Judge, course: Course) -> None:
    text = course.reference_text(EXAMPLE) + KEEPS_MASKS
    assert judge_text.refused(EXAMPLE, {"kept by the number of tokens": text}) == {}


def test_settings_changed_while_loading_are_allowed(judge_text: Judge, course: Course) -> None:
    source = course.reference_text(EXAMPLE)
    settings = "import torch\ntorch.use_deterministic_algorithms(True)\ntorch.autograd.set_detect_anomaly(True)\n"
    assert judge_text.refused(EXAMPLE, {"set at the top": settings + source}) == {}
