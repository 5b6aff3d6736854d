"""Numbers show a half fix: a module that fails like a variant, but with other values, has fixed nothing."""

import json
import math

import pytest
import torch

from grader.checks.outcome import Status
from grader.checks.runner import Runner
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.wrong_fixes import load_wrong_fixes
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import Judge as KitsJudge
from grader.verdict.matching import is_same
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import others_slow, sampled

COURSE = Course(root=ROOT)
SEEDS = (5, 6, 7)


ONE = 1e4 * torch.tensor([[0.1, -1.07], [0.181, 3.0]])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (ONE, ONE * (1 + 1e-6), True),
        (ONE, ONE + 0.9, True),
        (ONE / 1e4, ONE / 1e4 + 2.0, False),
        (ONE, ONE * torch.tensor([1.0, 1.01]), False),
        (ONE, torch.where(ONE > 2e4, 3.1e4, ONE), False),
        (ONE, ONE[:1], False),
        (torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.0]), True),
        (torch.tensor([math.nan, 1.0]), torch.tensor([math.inf, 1.0]), False),
        ("W_key", "W_key", True),
        ("W_key", "W_value", False),
        ("W_key", ONE, False),
    ],
)  # fmt: skip
def test_deviations_of_a_check_are_equal_as_a_whole_or_not_at_all(one: object, other: object, expected: bool) -> None:
    assert is_same(one, other) is expected


@pytest.mark.parametrize("seed", others_slow(SEEDS))
@pytest.mark.parametrize("exercise_id", sampled(["exercise_01", "exercise_03", "exercise_04", "exercise_07"]))
def test_an_honest_half_fix_is_known_at_any_seed(judge_text: Judge, exercise_id: str, seed: int) -> None:
    exercise = load_exercise(judge_text.course.description(exercise_id))
    alone = [judge_text.variant(exercise_id, frozenset({defect.id})) for defect in exercise.defects]
    verdicts = judge_text.many(exercise_id, [f"{text}\n\nATTEMPT = 2\n" for text in alone], seed)
    for defect, verdict in zip(exercise.defects, verdicts, strict=True):
        assert {each.id for each in verdict.defects if each.status is not DefectStatus.FIXED} == {defect.id}


HEADS, KEYS = "heads-merged-by-reshape", "keys-turned-by-reshape"
WRONGLY_FIXED = [
    ("exercise_09", "sim.softmax(dim=3)", "sim.softmax(dim=1)", "scale-after-softmax", "softmax-over-queries"),
    pytest.param(
        *("exercise_12", "transpose(1, 2).reshape", "transpose(1, 3).reshape", KEYS, HEADS), marks=pytest.mark.slow
    ),
    pytest.param(
        *("exercise_22", "times, dim=1)", "times, dim=2)", "window-one-too-long", "key-heads-tiled"),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("exercise_id", "right", "wrong", "left", "fixed"), WRONGLY_FIXED)
def test_one_defect_is_known_beside_another_that_is_fixed_wrongly(
    judge_text: Judge, exercise_id: str, right: str, wrong: str, left: str, fixed: str
) -> None:
    text = judge_text.variant(exercise_id, frozenset({left}))
    assert text.count(right) == 1
    beside, alone = (
        {each.id: each.status for each in judge_text(exercise_id, source.replace(right, wrong), SEEDS[0]).defects}
        for source in (text, judge_text.variant(exercise_id, frozenset()))
    )
    assert (beside[left], alone[left] is DefectStatus.PRESENT) == (DefectStatus.PRESENT, False)
    assert DefectStatus.FIXED not in {beside[fixed], alone[fixed]}


WITH_DEFECTS = [each for each in COURSE.exercise_ids() if load_exercise(COURSE.description(each)).defects]
"""Decoys have none."""

MODULES = [each for each in WITH_DEFECTS if load_exercise(COURSE.description(each)).interface.kind.is_module]
"""What has a forward and a constructor to break."""


@pytest.mark.parametrize("exercise_id", sampled(WITH_DEFECTS))
def test_a_check_has_the_same_result_alone_and_among_others(judge_text: Judge, exercise_id: str) -> None:
    """So the other checks of a matching variant need not run."""
    exercise = load_exercise(judge_text.course.description(exercise_id))
    everything = judge_text.variant(exercise_id, frozenset(defect.id for defect in exercise.defects))
    submission = submission_from_text(everything)

    with Runner(judge_text.course, exercise, judge_text.source) as runner:
        among_others = {
            outcome.check: outcome.finding and repr(outcome.finding)
            for outcome in runner.examine(submission, SEEDS[0]).outcomes
        }
        assert any(among_others.values())
        for check, finding in among_others.items():
            (alone,) = runner.examine(submission, SEEDS[0], only={check}).outcomes
            assert (alone.check, alone.finding and repr(alone.finding)) == (check, finding)  # nan equals no nan


@pytest.mark.parametrize("seed", others_slow(SEEDS))
def test_the_numbers_of_another_fault_earn_nothing(judge_text: Judge, seed: int) -> None:
    """Scores are halved: the same checks fail with the same sorts of faults as where keys reuse the queries' layer."""
    text = judge_text.variant("exercise_01", frozenset({"k-reuses-q-proj"}))
    assert text.count("self.q_proj(x)") > 1
    other = text.replace("scores = ", "scores = 0.5 * ", 1) if "scores = " in text else text.replace("/ ", "/ 2 / ", 1)
    assert other != text
    verdict = judge_text("exercise_01", other, seed)
    assert verdict.score == 0.0, [(each.id, each.status) for each in verdict.defects]


AFTER = """

_Class = {name}
_forward, _init = _Class.forward, _Class.__init__


def _next_forward(self, *args, **kwargs):
    {forward}


def _next_init(self, *args, **kwargs):
    {init}


_Class.forward, _Class.__init__ = _next_forward, _next_init
"""
FORWARD, INIT = "return _forward(self, *args, **kwargs)", "_init(self, *args, **kwargs)"

DEAD = {
    "returns nothing": {"forward": "_forward(self, *args, **kwargs)"},
    "crashes in forward as a typo does": {"forward": "raise AttributeError('no attribute')"},
    "crashes in forward as torch does": {"forward": "raise RuntimeError('view size is not compatible')"},
    "crashes in its constructor": {"init": "raise RuntimeError('view size is not compatible')"},
    "asks for what is not there": {"forward": "return self.nothing_of_the_kind"},
    "lacks its first weights": {
        "init": "import torch; _init(self, *args, **kwargs); "
        "name, _ = next((n, m) for n, m in self.named_modules() if isinstance(m, torch.nn.Linear)); "
        "parent, _, last = name.rpartition('.'); setattr(self.get_submodule(parent), last, torch.nn.LazyLinear(4))"
    },
}


@pytest.mark.parametrize("exercise_id", sampled(MODULES))
def test_a_module_that_computes_nothing_earns_nothing_and_has_no_defect_that_it_does_not_show(
    judge_text: Judge, exercise_id: str
) -> None:
    exercise = load_exercise(judge_text.course.description(exercise_id))
    right = judge_text.variant(exercise_id, frozenset())
    parts = {"name": exercise.interface.class_name, "forward": FORWARD, "init": INIT}
    texts = [right + AFTER.format(**{**parts, **change}) for change in DEAD.values()]
    for what, verdict in zip(DEAD, judge_text.many(exercise_id, texts, SEEDS[0]), strict=True):
        assert verdict.score == 0, what
        assert {each.status for each in verdict.defects} == {DefectStatus.UNKNOWN}, what


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", others_slow(["exercise_03", "exercise_07"]))
def test_random_numbers_drawn_in_a_constructor_change_no_status(judge_text: Judge, exercise_id: str) -> None:
    exercise = load_exercise(judge_text.course.description(exercise_id))
    drawing = "import torch; torch.rand(3); _init(self, *args, **kwargs); torch.rand(3)"
    after = AFTER.format(name=exercise.interface.class_name, forward=FORWARD, init=drawing)
    for defect in exercise.defects:
        verdict = judge_text(exercise_id, judge_text.variant(exercise_id, frozenset({defect.id})) + after, SEEDS[0])
        assert {each.id for each in verdict.defects if each.status is DefectStatus.PRESENT} == {defect.id}
        assert verdict.regressions == []


def test_values_made_from_the_keys_are_not_taken_for_values_made_from_the_queries(judge_text: Judge) -> None:
    text = judge_text.variant("exercise_01", frozenset({"v-reuses-q-proj"}))
    right = judge_text.variant("exercise_01", frozenset())
    assert text != right
    crossed = right.replace("self.v_proj(", "self.k_proj(")
    assert crossed != right
    status = {each.id: each.status for each in judge_text("exercise_01", crossed, SEEDS[0]).defects}
    assert status["v-reuses-q-proj"] is DefectStatus.UNKNOWN
    assert status["k-reuses-q-proj"] is DefectStatus.FIXED  # its line is right


def test_a_module_that_is_never_right_earns_nothing_for_what_it_refuses(judge_text: Judge) -> None:
    """Its values are distorted; a wrong number of heads it refuses as it should."""
    right = judge_text.variant("exercise_07", frozenset())
    distorted = right.replace("value = self.value(value)", "value = self.value(value) * 2 + 1")
    assert distorted != right
    verdict = judge_text("exercise_07", distorted, SEEDS[0])
    assert (verdict.score, {each.status for each in verdict.defects}) == (0.0, {DefectStatus.UNKNOWN})


TRIL, ROW = "tril(known - new)", "torch.arange(known - words, known, device=x.device)"
BACK = "(torch.arange(words) if {} else torch.arange(known - words, known)).to(x.device)"
SLOPES, EVENLY = "slopes(self.heads)", "[2.0 ** (-8.0 * (h + 1) / self.heads) for h in range(self.heads)]"
ON_ONE_PATH = {
    "the mask, not in training": ("exercise_19", "mask-not-moved", TRIL, "tril(0 if self.training else known - new)"),
    "the mask, in training": ("exercise_19", "mask-not-moved", TRIL, "tril(known - new if self.training else 0)"),
    "the count, not in training": (
        "exercise_19",
        "offset-counts-twice",
        "self.offset += new",
        "self.offset += known if self.training else new",
    ),
    "distances, not in training": (
        "exercise_23",
        "distance-without-memory",
        ROW,
        BACK.format("self.training"),
    ),
    "distances, in training": (
        "exercise_23",
        "distance-without-memory",
        ROW,
        BACK.format("not self.training"),
    ),
    "slopes, not in training": (
        "exercise_23",
        "slopes-between-powers",
        SLOPES,
        f"({EVENLY} if self.training else {SLOPES})",
    ),
}
"""The reference with a defect put back on one of two paths: exercise, defect, what is right, and what becomes of it."""


@pytest.mark.parametrize("seed", others_slow(SEEDS))
@pytest.mark.parametrize("exercise_id", others_slow(sorted({each[0] for each in ON_ONE_PATH.values()})))
def test_a_defect_fixed_on_one_path_is_not_fixed_and_costs_nothing_else(
    judge_text: Judge, exercise_id: str, seed: int
) -> None:
    right = judge_text.variant(exercise_id, frozenset())
    texts = {}
    for what, (where, defect, was, becomes) in ON_ONE_PATH.items():
        if where == exercise_id:
            assert was in right
            texts[what, defect] = right.replace(was, becomes)
    verdicts = judge_text.many(exercise_id, [*texts.values()], seed)
    for (what, defect), verdict in zip(texts, verdicts, strict=True):
        not_fixed = [each.id for each in verdict.defects if each.status is not DefectStatus.FIXED]
        assert not_fixed == [defect], what
        assert verdict.regressions == [], what


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", others_slow(["exercise_19", "exercise_23"]))
@pytest.mark.parametrize("mode", ["self.training", "not self.training"])
def test_a_fault_in_one_mode_leaves_only_what_the_other_mode_shows_as_fixed(
    judge_text: Judge, exercise_id: str, mode: str
) -> None:
    """Inputs are turned round there, which no defect does."""
    right = judge_text.variant(exercise_id, frozenset())
    first = right.index("\n", right.index("def forward(self, x")) + 1
    verdict = judge_text(
        exercise_id, f"{right[:first]}        x = x.flip(-1) if {mode} else x\n{right[first:]}", SEEDS[0]
    )
    key = json.loads((COURSE.root / "solutions" / exercise_id / "key.json").read_text(encoding="utf-8"))
    passed = {each.check for each in verdict.checks if each.status is Status.PASSED}
    for each in verdict.defects:
        assert each.status is not DefectStatus.PRESENT
        assert each.status is not DefectStatus.FIXED or passed & key["signatures"][each.id].keys()
    assert verdict.regressions
    assert verdict.score <= 7.0  # without the points for breaking nothing else


@pytest.mark.slow
def test_a_variants_examination_at_a_failure_point_is_reused_for_the_next_submission(
    judge_text: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = load_exercise(COURSE.description("exercise_06"))
    (fix,) = (each for each in load_wrong_fixes(COURSE, exercise.id) if each.name == "first_sample_for_all")
    started = []
    start = judge_text.source.start
    monkeypatch.setattr(judge_text.source, "start", lambda limits: started.append(limits) or start(limits))
    counts = []
    with KitsJudge(COURSE, judge_text.source) as judge:
        for _ in range(2):
            started.clear()
            judge(exercise.id, submission_from_text(fix.text), fix.name, 7)
            counts.append(len(started))
    assert counts[0] > 1
    assert counts[1] == 1
