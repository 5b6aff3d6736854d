"""Whatever the magnitude of its inputs, a module hides what it has to, and its softmax holds."""

import re

import pytest

from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import CORPUS, ROOT
from tests.support.sampling import sampled, seed_for, share

BASES = {
    "exercise_11": CORPUS / "alternatives" / "exercise_11" / "page_of_products.py",
    "exercise_14": CORPUS / "alternatives" / "exercise_14" / "masked_fill.py",
}
EXERCISES = [f"exercise_{number:02}" for number in range(1, 17)]
SEEDS = (7, 31, 4_000_000_007)

LOWEST = r"(?:-torch\.inf|-?float\(['\"]-?inf['\"]\)|torch\.finfo\([\w.]+\)\.min)"
FILLED = re.compile(rf"(\w+)\.masked_fill\((.*), {LOWEST}\)")
ASSIGNED = re.compile(rf"(\] )= {LOWEST}")
SOFTMAX = re.compile(
    r"(?:F\.|torch\.)softmax\((?P<scores>.+?), dim=(?P<dim>-?\d)\)|(?P<owner>\b\w+)\.softmax\(dim=(?P<axis>-?\d)\)"
    r"|(?:self\.softmax|nn\.Softmax\(dim=-1\))\((?P<alone>\w+)\)"
)
FILLS = ("-20.0", "-30.0", "-1e3", "-1e4")


def base(exercise_id: str) -> str:
    return BASES.get(exercise_id, Course(root=ROOT).reference(exercise_id)).read_text(encoding="utf-8")


def weakly_masked(source: str) -> dict[str, str]:
    """The module with its masks filled with too little, or that added to the scores."""
    texts = {}
    for fill in FILLS:
        texts[f"filled with {fill}"] = ASSIGNED.sub(rf"\1= {fill}", FILLED.sub(rf"\1.masked_fill(\2, {fill})", source))
        added = FILLED.sub(rf"\1 + torch.zeros_like(\1).masked_fill(\2, {fill})", source)
        texts[f"{fill} added"] = ASSIGNED.sub(rf"\1+= {fill}", added)
    return texts


def softmax_by(source: str, template: str) -> str:
    def written(match: re.Match[str]) -> str:
        scores = match["scores"] or match["owner"] or match["alone"]
        return template.format(scores=scores, dim=match["dim"] or match["axis"] or ("-1" if "nn" in match[0] else "1"))

    return SOFTMAX.sub(written, source)


FRAGILE = {
    "without its maximum": "(lambda e: e / e.sum({dim}, keepdim=True))(torch.exp({scores}))",
    "clamped": "torch.softmax(({scores}).clamp(-50, 50), dim={dim})",
    "clamped from above": "torch.softmax(({scores}).clamp(max=80), dim={dim})",
    "squashed": "torch.softmax(30 * torch.tanh(({scores}) / 30), dim={dim})",
    "kept apart by a little": "(lambda e: e / (e.sum({dim}, keepdim=True) + 1e-3))"
    "(torch.exp({scores} - ({scores}).amax({dim}, keepdim=True)))",
}
STURDY = {
    "by its maximum": "(lambda e: e / e.sum({dim}, keepdim=True))"
    "(torch.exp({scores} - ({scores}).amax({dim}, keepdim=True)))",
    "by logarithms": "torch.log_softmax({scores}, dim={dim}).exp()",
    "in float64": "torch.softmax(({scores}).double(), dim={dim}).to(({scores}).dtype)",
}
IN_FLOAT32 = "torch.softmax({scores}, dim={dim}, dtype=torch.float32).to(({scores}).dtype)"
STRONG_FILLS = ("-1e30", "torch.finfo(torch.float32).min", "float('-inf')")
LOUDEST = 1e16
"""Inputs so many times as large make scores of about 1e32, so that a fill of -1e30 is not strong."""


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_what_holds_for_small_inputs_alone_is_not_fixed(judge_text: Judge, exercise_id: str) -> None:
    source = base(exercise_id)
    texts = {name: softmax_by(source, template) for name, template in FRAGILE.items()}
    if FILLED.search(source) or ASSIGNED.search(source):
        texts |= weakly_masked(source)
    texts = share({name: text for name, text in texts.items() if text != source}, exercise_id, 3)
    assert texts
    verdicts = judge_text.many(exercise_id, list(texts.values()), seed_for(SEEDS, exercise_id))
    assert [name for name, each in zip(texts, verdicts, strict=True) if each.outcome is not Result.NOT_FIXED] == []


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_a_sturdy_softmax_and_a_strong_fill_get_everything(judge_text: Judge, exercise_id: str) -> None:
    source = base(exercise_id)
    page = " ".join((Course(root=ROOT).exercise_folder(exercise_id) / "README.md").read_text("utf-8").split())
    templates = STURDY if re.search("comput(es|ed) in float64", page) else STURDY | {"in float32": IN_FLOAT32}
    texts = {name: softmax_by(source, template) for name, template in templates.items()}
    exercise = load_exercise(Course(root=ROOT).description(exercise_id))
    is_loud = any(getattr(check, "loudness", 1.0) >= LOUDEST for check in exercise.checks)
    fills = STRONG_FILLS[1:] if is_loud else STRONG_FILLS
    for fill in fills if "magnitude" in page else (*fills, "-1e9"):
        texts[f"filled with {fill}"] = ASSIGNED.sub(rf"\1= {fill}", FILLED.sub(rf"\1.masked_fill(\2, {fill})", source))
    assert judge_text.refused(exercise_id, share(texts, exercise_id, 2), seed_for(SEEDS, exercise_id)) == {}


REFUSING_LARGER = """

import functools


def limited(forward):
    @functools.wraps(forward)
    def call(self, *arguments, **keywords):
        for each in (*arguments, *keywords.values()):
            if isinstance(each, torch.Tensor) and each.is_floating_point() and not each.is_meta:
                assert each.detach().abs().max() <= {limit} * (1 + 1e-6), "larger than the README says"
        return forward(self, *arguments, **keywords)

    return call


{entry}.forward = limited({entry}.forward)
"""
WITH_LIMIT = ["exercise_01", "exercise_02", "exercise_03", "exercise_05", "exercise_07"]


def test_all_exercises_with_a_limit_of_inputs_are_listed(course: Course) -> None:
    exercises = [load_exercise(course.description(each)) for each in course.exercise_ids()]
    assert [each.id for each in exercises if each.interface.largest_input] == WITH_LIMIT


@pytest.mark.parametrize("exercise_id", sampled(WITH_LIMIT))
def test_no_input_is_larger_than_the_readme_says(judge_text: Judge, exercise_id: str) -> None:
    interface = load_exercise(Course(root=ROOT).description(exercise_id)).interface
    limited = REFUSING_LARGER.format(limit=interface.largest_input, entry=interface.entry())
    for seed in SEEDS:
        assert judge_text.refused(exercise_id, {"limited": base(exercise_id) + limited}, seed) == {}
