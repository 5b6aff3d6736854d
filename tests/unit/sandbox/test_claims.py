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
        h = self.used(x)  # LINE first
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
            total += step  # LINE loop
        bad = weights / 0
        return weights @ h + 0 * noise.sum(), bad

    def forward_with_b(self, x, b):
        return weigh(x, b)


class Raises(nn.Module):
    def forward(self, x):
        half = x / 2
        if half.sum() > 0:
            raise ValueError("no half")  # LINE raises
        return half


class Passes(nn.Module):
    """A line that runs several times, small numbers, and numbers that almost agree."""

    def forward(self, x):
        mine = torch.zeros(2)
        for step in range(3):
            mine = mine + (step == 1)  # LINE pass
        kept = x > -9
        kept = kept.index_fill(2, torch.tensor([1]), False)
        tiny = torch.tensor(2.65e-07)
        smaller = torch.tensor(4.6e-17)
        broken = x / 0 * 0
        third = torch.tensor(1 / 3)
        twice(twice(x))
        return x.sum() + kept.sum() + tiny + smaller + third + broken[:0].sum()


def twice(x):
    return x + x


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
    ("form", "value", "fields", "is_true", "evidence"),
    [
        (
            "unchanged",
            "mine",
            {"line": LINES["pass"]},
            False,
            "ran 3 times and changed it once; the first change: 2 of",
        ),
        ("equals", "kept", {"other": 1.0}, False, "; 6 of 24 numbers are not True, the first at [0, 0, 1]"),
        ("equals", "tiny", {"other": "smaller"}, False, "it is 2.65e-07, and the other 4.6e-17"),
        ("equals", "tiny", {"other": 0.0}, False, "it is 2.65e-07"),
        ("equals", "tiny", {"other": 2.6e-7, "digits": 2}, True, "it is 2.65e-07"),
        ("equals", "third", {"other": 0.333, "digits": 3}, True, "it is 0.33333"),
        ("equals", "third", {"other": 0.334, "digits": 3}, False, "it is 0.33333"),
        ("equals", "broken", {"other": "x"}, False, "24 of 24 numbers differ, 24 of them by NaN or infinity"),
        ("equals", "mine", {"other": 1.0}, True, "all 2 numbers are 1"),
        ("shape", "x", {"index": [[None, -1], 0, [1, 3]], "shape": [BATCH - 1, 2]}, True, "its shape is [1, 2]"),
        ("depends", "tiny", {"other": "x"}, False, "it is 2.65e-07 in both calls"),
        ("varies", "kept", {}, False, "all 24 numbers are equal in both calls"),
        ("unchanged", "x", {"line": LINES["pass"]}, True, "equal before and after line"),
        ("depends", "returned", {"other": "x"}, True, ""),
        ("shape", "twice.returned", {"shape": [BATCH, TOKENS, WIDTH]}, True, "its shape is [2, 3, 4]"),
    ],
)
def test_the_evidence_agrees_with_the_answer(form, value, fields, is_true, evidence):
    answer = ask(form, value, module=Passes(), **fields)
    assert answer[0] is is_true, answer
    assert evidence in answer[1]


@pytest.mark.parametrize(
    ("form", "value", "fields", "evidence"),
    [
        ("sums_to_one", "weights", {}, "its rows sum to 1"),
        ("finite", "weights", {}, "all 18 numbers are finite"),
        ("shape", "returned", {"index": [0], "shape": [BATCH, TOKENS, WIDTH]}, "its shape is [2, 3, 4]"),
    ],
)
def test_the_evidence_of_a_true_claim_is_short(form, value, fields, evidence):
    assert ask(form, value, **fields) == [True, evidence]


@pytest.mark.parametrize(
    ("form", "value", "fields", "reason"),
    [
        ("finite", "nowhere", {}, "no line that ran assigned nowhere"),
        ("finite", "total", {}, "it is int, not a tensor"),
        ("finite", "used.weight", {}, "used.weight is a parameter, and a claim about a parameter has the form no_grad"),
        ("unchanged", "h", {"line": LINES["first"]}, "gives h its first value, so there is no value before the line"),
        ("unchanged", "bad", {"line": LINES["kept"]}, f"bad did not exist when line {LINES['kept']} ran"),
        ("finite", "returned", {}, "it has 2 parts; choose one by an index, as in [0]"),
        ("equals", "h", {"other": "nowhere"}, "no line that ran assigned nowhere"),
        ("unchanged", "h", {"line": 1}, "line 1 did not run"),
        ("depends", "h", {"other": "y"}, "the call has no such input; the inputs that are tensors: x"),
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
    reason = f"no line that ran assigned later; the call ended with ValueError at line {LINES['raises']}"
    assert ask("finite", "later", module=Raises()) == [None, reason]


def test_the_exception_that_ended_the_call_is_listed():
    listed = list_all(Raises(), {"x": torch.ones(2)})
    assert listed["error"] == ["ValueError", "no half", LINES["raises"]]
    assert listed["values"][-1][2:] == ["half", "[2]", "float32", [2], "0.5, 0.5", 1, 1]


def list_all(module, inputs, method=""):
    subject = Subject(module=module, build=type(module), arguments={})
    return list_values(subject, inputs, name=__name__, method=method)


def test_lines_and_functions_that_run_several_times_are_counted_and_returned_values_are_listed():
    rows = list_all(Passes(), {"x": torch.ones(BATCH, TOKENS, WIDTH)})["values"]
    runs = {name: counts for function, _, name, *_, count, calls in rows for counts in [(function, count, calls)]}
    assert runs["mine"] == ("forward", 3, 1)
    assert runs["twice.returned"] == ("twice", 2, 2)
    assert runs["forward.returned"] == ("forward", 1, 1)
    assert {row[2] for row in list_all(Example(), {"x": torch.ones(BATCH, TOKENS, WIDTH)})["values"]} >= {
        "returned[0]",
        "returned[1]",
    }


def test_an_answer_leaves_the_module_and_the_random_numbers_as_they_were():
    module = Example()
    before = torch.get_rng_state(), {name: value.clone() for name, value in module.state_dict().items()}
    for form, value, fields, _ in CLAIMS:
        if form != "varies":
            ask(form, value, module=module, **fields)
    assert all(torch.equal(module.state_dict()[name], value) for name, value in before[1].items())


def test_values_are_listed_with_their_lines_and_shapes():
    rows = list_all(Example(), {"x": torch.randn(BATCH, TOKENS, WIDTH)})["values"]
    values = {(function, name): (line, described, kind) for function, line, name, described, kind, *_ in rows}
    assert {row[2]: row[5] for row in rows if row[2] in ("h", "total")} == {"h": [2, 3, 4], "total": None}
    assert values["forward", "h"] == (LINES["kept"] - 1, "[2, 3, 4]", "float32")
    assert values["forward", "g"][0] == LINES["inner"] - 1
    assert values["forward", "self.scale"][1:] == ("0.5", "float")
    assert values["forward", "self.mask"][1:] == ("[3, 3]", "bool")
    assert values["weigh", "product"][1] == "[2, 3, 3]"
    assert values["forward", "total"][1] == "1"
    assert values["", "used.weight"] == (0, "[4, 4]", "float32")


def test_a_name_of_several_functions_is_listed_with_the_function():
    inputs = {"x": torch.randn(BATCH, TOKENS, WIDTH), "b": torch.zeros(1)}
    names = {row[2] for row in list_all(Example(), inputs, method="forward_with_b")["values"]}
    assert {"forward_with_b.b", "weigh.b", "a"} <= names
