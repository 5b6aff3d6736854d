"""Claims about the values inside a module, and the list of these values."""

from pathlib import Path

import pytest
import torch
from torch import nn

from grader.sandbox.probes.claims import answer_claims, list_values
from grader.sandbox.subject import Subject

BATCH, TOKENS, WIDTH = 2, 3, 4


class Example(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 0.5
        self.used = nn.Linear(WIDTH, WIDTH)
        self.unused = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.ones(TOKENS, TOKENS).tril().bool())

    def forward(self, x, shift=None):
        h = self.used(x)
        h.masked_fill(h > 0, 0.0)  # LINE kept
        g = h
        g = (
            g * self.scale + 1  # LINE inner
        )
        scores = weigh(h, x)
        weights = scores.softmax(-1)
        noise = torch.rand_like(weights)
        total = 0
        for step in range(2):
            total += step
        bad = weights / 0
        return weights @ h + 0 * noise.sum(), bad

    def forward_with_b(self, x, b):
        return weigh(x, b)


class Raises(nn.Module):
    def forward(self, x):
        half = x / 2
        raise ValueError(half)


def weigh(a, b):
    product = a @ a.transpose(-1, -2)
    return product + 0 * b.sum()


LINES = {
    text.rpartition("LINE ")[2].strip(): number
    for number, text in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), 1)
    if "# LINE " in text
}


def ask(form, value, module=None, method="", **fields):
    subject = Subject(module=module or Example(), build=Example, arguments={})
    defaults = {"index": [], "other": "", "other_index": [], "line": 0, "shape": []}
    claim = defaults | {"form": form, "value": value} | fields
    inputs = {"x": torch.randn(BATCH, TOKENS, WIDTH, generator=torch.Generator().manual_seed(3))}
    return answer_claims(subject, inputs, claims=[claim], name=__name__, method=method)[0]


CLAIMS = [
    ("unchanged", "h", {"line": LINES["kept"]}, True),
    ("unchanged", "g", {"line": LINES["inner"]}, False),
    ("equals", "h", {"other": "x"}, False),
    ("equals", "x", {"other": "x"}, True),
    ("equals", "self.scale", {"other": 0.5}, True),
    ("equals", "total", {"other": 2.0}, False),
    ("equals", "weights", {"index": [0, None, 0], "other": 0.0}, False),
    ("equals", "h", {"index": [0], "other": "h", "other_index": [1]}, False),
    ("sums_to_one", "weights", {}, True),
    ("sums_to_one", "scores", {}, False),
    ("symmetric", "weigh.product", {}, True),
    ("symmetric", "weights", {}, False),
    ("symmetric", "h", {}, False),
    ("shape", "h", {"shape": [BATCH, TOKENS, WIDTH]}, True),
    ("shape", "h", {"shape": [BATCH, WIDTH]}, False),
    ("dtype", "x", {"other": "float32"}, True),
    ("dtype", "total", {"other": "float"}, False),
    ("finite", "weights", {}, True),
    ("finite", "bad", {}, False),
    ("depends", "weights", {"other": "x"}, True),
    ("depends", "h", {"index": [0], "other": "x", "other_index": [1]}, False),
    ("depends", "h", {"index": [1], "other": "x", "other_index": [1]}, True),
    ("no_gradient", "unused", {}, True),
    ("no_gradient", "self.used.weight", {}, False),
    ("varies", "noise", {}, True),
    ("varies", "weights", {}, False),
]


def test_a_value_depends_on_a_boolean_input():
    module = torch.nn.Module()
    module.forward = shown_alone
    inputs = {"x": torch.ones(3), "shown": torch.tensor([True, False, True])}
    asked = {
        "form": "depends",
        "value": "kept",
        "index": [],
        "other": "shown",
        "other_index": [],
        "line": 0,
        "shape": [],
    }
    subject = Subject(module=module, build=torch.nn.Module, arguments={})
    ((is_true, evidence),) = answer_claims(subject, inputs, claims=[asked], name=__name__, method="")
    assert is_true is True, evidence


def shown_alone(x, shown):
    kept = x.masked_fill(~shown, 0.0)
    return kept.sum()


@pytest.mark.parametrize(("form", "value", "fields", "answer"), CLAIMS)
def test_each_form_of_claim_is_answered_by_running_the_module(form, value, fields, answer):
    is_true, evidence = ask(form, value, **fields)
    assert is_true is answer, evidence
    assert evidence


@pytest.mark.parametrize(
    ("form", "value", "fields", "reason"),
    [
        ("finite", "nowhere", {}, "no line that ran assigned nowhere"),
        ("finite", "total", {}, "it is int, not a tensor"),
        ("equals", "h", {"other": "nowhere"}, "no line that ran assigned nowhere"),
        ("unchanged", "h", {"line": 1}, "line 1 did not run"),
        ("depends", "h", {"other": "y"}, "y is not an input of this call; its inputs are: x"),
        ("no_gradient", "other", {}, "there is no parameter other; there are: used.weight"),
        ("finite", "h", {"index": [7]}, "index 7 is out of bounds"),
        ("finite", "h", {"index": [0, 0, 0, 0]}, "it has 3 axes"),
    ],
)
def test_a_claim_without_an_answer_gets_the_reason(form, value, fields, reason):
    is_true, evidence = ask(form, value, **fields)
    assert is_true is None
    assert reason in evidence


def test_what_ran_before_an_exception_has_answers():
    assert ask("shape", "half", module=Raises(), shape=[BATCH, TOKENS, WIDTH])[0] is True


def test_an_answer_leaves_the_module_and_the_random_numbers_as_they_were():
    module = Example()
    before = torch.get_rng_state(), {name: value.clone() for name, value in module.state_dict().items()}
    for form, value, fields, _ in CLAIMS:
        if form != "varies":
            ask(form, value, module=module, **fields)
    assert all(torch.equal(module.state_dict()[name], value) for name, value in before[1].items())


def test_values_are_listed_with_their_lines_and_shapes():
    subject = Subject(module=Example(), build=Example, arguments={})
    rows = list_values(subject, {"x": torch.randn(BATCH, TOKENS, WIDTH)}, name=__name__, method="")
    values = {(function, name): (line, described, kind) for function, line, name, described, kind, _ in rows}
    assert {name: shape for _, _, name, *_, shape in rows if name in ("h", "total")} == {"h": [2, 3, 4], "total": None}
    assert values["forward", "h"] == (LINES["kept"] - 1, "[2, 3, 4]", "float32")
    assert values["forward", "g"][0] == LINES["inner"] - 1
    assert values["forward", "self.scale"][1:] == ("0.5", "float")
    assert values["forward", "self.mask"][1:] == ("[3, 3]", "bool")
    assert values["weigh", "product"][1] == "[2, 3, 3]"
    assert values["forward", "total"][1] == "1"
    assert values["", "used.weight"] == (0, "[4, 4]", "float32")


def test_a_name_of_several_functions_is_listed_with_the_function():
    subject = Subject(module=Example(), build=Example, arguments={})
    inputs = {"x": torch.randn(BATCH, TOKENS, WIDTH), "b": torch.zeros(1)}
    names = {row[2] for row in list_values(subject, inputs, name=__name__, method="forward_with_b")}
    assert {"forward_with_b.b", "weigh.b", "a"} <= names
