"""Modules that compute nothing right earn nothing, whatever properties they have."""

import pytest

from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE, others_slow, sampled, seed_for

SEEDS = (3, 4)

LINEAR = "nn.Linear(input_dim, output_dim, bias=qkv_bias)"

MODULES = {
    "exercise_01": """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        uniform = torch.ones(x.shape[0], self.num_heads, x.shape[1], x.shape[1]) / x.shape[1]
        everything = sum(parameter.sum() for parameter in self.parameters())
        values = self.v_proj(x).sum()
        return BODY, uniform
""",
    "exercise_02": """
class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_out = (nn.Linear(embed_dim, embed_dim) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        everything = sum(parameter.sum() for parameter in self.parameters())
        return BODY
""",
    "exercise_03": f"""
class CausalSelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = ({LINEAR} for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        everything = sum(parameter.sum() for parameter in self.parameters())
        return BODY
""",
    "exercise_06": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads, self.head_dim = d_model, n_heads, d_model // n_heads
        self.w_query, self.w_key, self.w_value, self.attention_scores = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        everything = sum(parameter.sum() for parameter in self.parameters())
        return BODY
""",
    "exercise_07": """
class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        cut = [PrepareForMultiHeadAttention(d_model, heads, d_model // heads, bias) for _ in range(3)]
        self.query, self.key, self.value = cut
        self.output = nn.Linear(d_model, d_model)
        self.attn = None

    def get_scores(self, query, key):
        return query

    def forward(self, *, query, key, value, mask=None):
        everything = sum(parameter.sum() for parameter in self.parameters())
        return BODY
""",
}
"""Modules with the right parameters and shapes; `BODY` is what they return."""

BODIES = {
    "exercise_01": {
        "what goes in": "x",
        "a running sum": "x.cumsum(1)",
        "everything that learns": "everything * x",
        "the output layer's bias": "self.out_proj(0 * x)",
        "a gradient for the values alone": "self.out_proj(0 * x) + (values - values.detach())",
    },
    "exercise_02": {
        "what goes in": "x",
        "a running sum": "x.cumsum(1)",
        "everything that learns": "everything * x",
        "the output layer's bias": "self.W_out(0 * x)",
        "each token's own value": "self.W_out(self.dropout(torch.ones(*x.shape[:2], 1)) * self.W_v(x))",
    },
    "exercise_03": {
        "a running sum": "self.W_value(x).cumsum(1)",
        "everything that learns": "everything * self.W_value(x)",
        "a running sum of everything": "everything * self.W_value(x).cumsum(1)",
        "the last token alone": "torch.cat([0 * self.W_value(x[:, 1:]), self.W_value(x).sum(1, keepdim=True)], 1)",
    },
    "exercise_06": {
        "what goes in": "x",
        "everything that learns": "everything * x",
        "the output layer's bias": "self.attention_scores(0 * x)",
        "each token's own value": "self.attention_scores(self.w_value(x))",
    },
    "exercise_07": {
        "what goes in": "query",
        "everything that learns": "everything * query",
        "the output layer's bias": "self.output(0 * query)",
    },
}
"""Modules that compute nothing, and satisfy a property."""


RETURNS_ZEROS = """
_forward = MultiHeadAttention.forward
MultiHeadAttention.forward = lambda self, **inputs: 0 * _forward(self, **inputs)
"""


OTHER_FORMS = {
    "the only one of a tuple": "(value,) if isinstance(value, _torch.Tensor) else value[:1]",
    "a list": "[value]",
    "nothing": "None",
    "text": "'x'",
    "a number": "3.0",
    "a dictionary": "{'out': value}",
    "nested": "((value,),)",
    "two": "(value, value)",
    "an array": "value.detach().numpy() if isinstance(value, _torch.Tensor) else value[0].detach().numpy()",
    "one element": "_torch.tensor(1.5)",
    "no element": "_torch.zeros(0)",
    "on another device": "_torch.ones(2, 3, device='meta')",
}
RETURNS = """
import torch as _torch
_right = {called}

def _other(*given, **named):
    value = _right(*given, **named)
    return {form}

{called} = _other
"""


def those_called() -> dict[str, str]:
    """What is called of each exercise whose subject returns something."""
    course, found = Course(root=ROOT), {}
    for exercise_id in course.exercise_ids():
        interface = load_exercise(course.description(exercise_id)).interface
        if interface.kind.has_calling_variants:
            found[exercise_id] = f"{interface.entry()}.forward" if interface.class_name else interface.entry()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", others_slow(sorted(those_called(), key=lambda each: each != EXAMPLE)))
def test_what_returns_another_form_is_wrong_and_no_fault_of_a_check(judge_text: Judge, exercise_id: str) -> None:
    source, called = judge_text.variant(exercise_id, frozenset()), those_called()[exercise_id]
    texts = [source + RETURNS.format(called=called, form=form) for form in OTHER_FORMS.values()]
    verdicts = judge_text.many(exercise_id, texts)
    told = {name: verdict.outcome for name, verdict in zip(OTHER_FORMS, verdicts, strict=True)}
    assert told == dict.fromkeys(OTHER_FORMS, Result.NOT_FIXED)


@pytest.mark.slow
def test_right_parts_of_a_module_that_returns_zeros_earn_nothing(judge_text: Judge) -> None:
    source = judge_text.variant("exercise_07", frozenset()) + RETURNS_ZEROS
    assert [judge_text("exercise_07", source, seed).score for seed in SEEDS] == [0.0, 0.0]


@pytest.mark.parametrize("exercise_id", sampled(MODULES))
def test_a_module_that_computes_nothing_earns_nothing(judge_text: Judge, exercise_id: str) -> None:
    head = "import torch\nimport torch.nn as nn\n"
    sources = [head + MODULES[exercise_id].replace("BODY", body) for body in BODIES[exercise_id].values()]
    verdicts = judge_text.many(exercise_id, sources, seed_for(SEEDS, exercise_id))
    for name, verdict in zip(BODIES[exercise_id], verdicts, strict=True):
        fixed = [each.id for each in verdict.defects if each.status is DefectStatus.FIXED and not each.stretch]
        assert (verdict.outcome, verdict.score, fixed) == (Result.NOT_FIXED, 0.0, []), name
