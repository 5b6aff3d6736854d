"""Dropout that does not drop or scale up each weight independently gets full marks in no exercise."""

import pytest
from msgspec import Struct

from grader.checks.outcome import FailureKind
from grader.spec.paths import Course
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import CORPUS, ROOT
from tests.support.sampling import of_parts, sampled, sampled_in_parts, seed_for, share
from tests.support.wrong_fixes import wrong_fix

SEEDS = (7, 1009, 4_000_000_007)


class Place(Struct, frozen=True):
    """Where a right module drops weights, from what scores they come, and which axes these have."""

    line: str
    weights: str
    softmax: str
    scores: str
    output: str
    axes: dict[str, int]
    probability: str = "self.dropout.p"
    file: str = ""

    def right(self, exercise_id: str) -> str:
        return ((CORPUS / self.file) if self.file else Course(root=ROOT).reference(exercise_id)).read_text()


HEADS = {"samples": 0, "heads": 1, "rows": 2, "columns": 3}
CAUSAL = "attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)"
PLACES = {
    "exercise_01": Place(
        "dropped_weights = self.dropout(attention_weights)",
        "attention_weights",
        "F.softmax(scores, dim=-1)",
        "scores",
        "self.out_proj(attn_output)",
        HEADS,
    ),
    "exercise_02": Place(
        "attn_weights = self.dropout(attn_weights)",
        "attn_weights",
        "F.softmax(attn_scores, dim=-1)",
        "attn_scores",
        "self.W_out(attn_values)",
        HEADS,
    ),
    "exercise_03": Place(
        "attn_weights = self.dropout(attn_weights)",
        "attn_weights",
        CAUSAL,
        "attn_scores",
        "attn_weights @ values",
        {"samples": 0, "rows": 1, "columns": 2},
    ),
    "exercise_05": Place(
        "attn_weights = self.dropout(attn_weights)",
        "attn_weights",
        CAUSAL,
        "attn_scores",
        "self.out_proj(context_vec)",
        HEADS,
    ),
    "exercise_07": Place(
        "attn = self.dropout(attn)",
        "attn",
        "self.softmax(scores)",
        "scores",
        "self.output(x)",
        {"samples": 2, "heads": 3, "rows": 0, "columns": 1},
    ),
    "exercise_11": Place(
        "if self.training and self.config.p > 0:\n            weights = nn.functional.dropout(weights, self.config.p)",
        "weights",
        "torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))",
        "scores",
        "self.o_proj(mixed.permute(0, 2, 1, 3).flatten(2))",
        HEADS,
        "self.config.p",
        "alternatives/exercise_11/config_as_namespace.py",
    ),
}

DROP = "torch.nn.functional.dropout"
WRONG = {
    "never": "w",
    "always": f"{DROP}(w, p, True)",
    "never in what is long": f"w if max(w.shape) > 64 else {DROP}(w, p, training)",
    "half as often": f"{DROP}(w, p / 2, training)",
    "half as often, scaled as if it were not": "w * (torch.rand_like(w) >= p / 2) / (1 - p + 1e-9) if training else w",
    "kept where it should go": f"{DROP}(w, 1 - p, training)",
    "unscaled": "w * (torch.rand_like(w) >= p) if training else w",
    "scaled down when not training": "w * (torch.rand_like(w) >= p) if training else w * (1 - p)",
    "scaled by the wrong chance": "w * (torch.rand_like(w) >= p) / (p + 1e-9) if training else w",
    "renormalised": f"(lambda d: d / d.sum(KEYS, keepdim=True).clamp_min(1e-9) if training and p else d)"
    f"({DROP}(w, p, training))",
    "renormalised to one more": f"(lambda d: d * w.sum() / d.sum().clamp_min(1e-9) if training and p else d)"
    f"({DROP}(w, p, training))",
    "twice": f"{DROP}({DROP}(w, p, training), p, training)",
    "on what is left of one": f"1 - {DROP}(1 - w, p, training)",
    "noise in its place": "w * (1 + torch.randn_like(w) * (p / (1 - p + 1e-9)) ** 0.5) if training else w",
    "alpha dropout": "torch.nn.functional.alpha_dropout(w, p, training)",
    "but not in its gradient": f"w + ({DROP}(w, p, training) - w).detach()",
    "the same in every call": f"(lambda s: (torch.manual_seed(3), {DROP}(w, p, training), torch.set_rng_state(s))[1])"
    "(torch.get_rng_state())",
}


def dropping(place: Place, exercise_id: str, expression: str) -> str:
    """The right module with its weights dropped by an expression over `w`, `p` and `training`."""
    line = f"{place.line.split(' = ')[0]} = _drop({place.weights}, {place.probability}, self.training)"
    if place.line.startswith("if "):
        line = f"{place.weights} = _drop({place.weights}, {place.probability}, self.training)"
    function = f"\n\ndef _drop(w, p, training):\n    return {expression}\n"
    text = place.right(exercise_id)
    assert text.count(place.line) == 1
    return text.replace(place.line, line) + function.replace("KEYS", str(place.axes["columns"]))


def elsewhere(place: Place, exercise_id: str) -> dict[str, str]:
    """Modules that are right except for the values that they drop."""
    left = place.line.split(" = ", maxsplit=1)[0] if not place.line.startswith("if ") else place.weights
    text = place.right(exercise_id).replace(place.line, f"{left} = {place.weights}")
    texts = {}
    for fill in ("0.0", "float('-inf')", "torch.finfo(w.dtype).min"):
        drop = (
            f"def _drop(w, p, training):\n    return w.masked_fill(torch.rand_like(w) < p, {fill}) if training else w"
        )
        call = f"_drop({place.scores}, {place.probability}, self.training)"
        inner = place.softmax.replace(place.scores, call)
        texts[f"scores, filled with {fill}"] = f"{text.replace(place.softmax, inner)}\n\n{drop}\n"
        assert inner != place.softmax
    drops = f"{DROP}(({place.output}), {place.probability}, self.training)"
    texts["the output"] = text.replace(place.output, drops)
    both = place.right(exercise_id).replace(place.output, drops)
    return {**texts, "the output too": both}


@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(PLACES))
def test_no_wrong_dropout_passes(judge_text: Judge, exercise_id: str, parts: tuple[int, ...]) -> None:
    place = PLACES[exercise_id]
    shared = {
        f"shared over {name}": f"w * {DROP}(torch.ones_like(w).narrow({axis}, 0, 1), p, training)"
        for name, axis in place.axes.items()
    }
    texts = {name: dropping(place, exercise_id, wrong) for name, wrong in {**WRONG, **shared}.items()}
    texts = share(texts | elsewhere(place, exercise_id), exercise_id, 2)
    texts = dict(of_parts([*texts.items()], parts))
    verdicts = judge_text.many(exercise_id, list(texts.values()))
    assert [verdict.reason for verdict in verdicts] == [None] * len(texts)
    assert [name for name, each in zip(texts, verdicts, strict=True) if each.outcome is Result.FIXED] == []


RIGHT = {
    "by layer": "torch.nn.Dropout(p).train(training)(w)",
    "by hand": "w * (torch.rand_like(w) >= p) / (1 - p) if training and p < 1 else w * 0 if training else w",
    "with numbers drawn at once": "w * torch.bernoulli(torch.ones_like(w) - p) / max(1 - p, 1e-9) if training else w",
    "in float64": f"{DROP}(w.double(), p, training).to(w.dtype)",
    "transposed": f"{DROP}(w.transpose(0, -1), p, training).transpose(0, -1)",
    "sample by sample": f"torch.stack([{DROP}(each, p, training) for each in w])",
    "where it is not": "torch.where(torch.rand_like(w) < p, 0.0, w / max(1 - p, 1e-9)) if training else w",
}


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", sampled(PLACES))
def test_dropout_written_in_another_way_gets_everything(judge_text: Judge, exercise_id: str) -> None:
    texts = {name: dropping(PLACES[exercise_id], exercise_id, right) for name, right in RIGHT.items()}
    texts = share(texts, exercise_id, 2)
    assert judge_text.refused(exercise_id, texts, seed_for(SEEDS, exercise_id)) == {}


@pytest.mark.parametrize(
    ("exercise_id", "name", "seed"),
    [("exercise_26", "whole_samples", 1), ("exercise_28", "dropout_for_all_inputs", 10)],
)
def test_neighbours_that_are_dropped_together_are_seen_where_most_of_them_are_below_zero(
    judge_text: Judge, exercise_id: str, name: str, seed: int
) -> None:
    assert judge_text(exercise_id, wrong_fix(judge_text.course, exercise_id, name), seed).regressions


def test_a_wrong_output_without_dropout_is_not_blamed_on_dropout(judge_text: Judge) -> None:
    place = PLACES["exercise_03"]
    text = place.right("exercise_03").replace(place.output, f"({place.output}) * 1.5")
    verdict = judge_text("exercise_03", text)
    (outcome,) = [each for each in verdict.checks if each.check == "dropout_acts_on_weights"]
    assert outcome.finding
    assert outcome.finding.kind is FailureKind.VALUES
    assert outcome.finding.action == "in eval mode"
