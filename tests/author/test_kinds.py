"""Kinds of subject: an adapter makes a module of each, and right and wrong ones get the right verdicts."""

import itertools
import json
import re

import pytest
import yaml
from msgspec import Struct

from grader.author.derived_files import derive_files
from grader.author.new import create_exercise
from grader.errors import SpecError
from grader.report.findings import sentence
from grader.spec.loading import load_exercise, read_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import Judge


class Example(Struct, frozen=True):
    """An exercise of one kind: its reference, its defect and the fix, and more wrong and right ways."""

    interface: str
    fixed_sizes: str
    reference: str
    was: str
    fix: str
    wrong: dict[str, str]
    right: dict[str, str]
    random_sizes: str = ""


EXAMPLES = {
    "loss": Example(
        interface="""
  kind: loss
  function: smoothed_cross_entropy
  constructor: {smoothing: 0.1}
  inputs:
    logits: [batch, tokens, classes]
    labels: {integers: classes, ignored: -100, shape: [batch, tokens]}
  outputs:
    - []""",
        fixed_sizes="{batch: 2, tokens: 5, classes: 7}",
        reference="""import torch
import torch.nn.functional as F


def smoothed_cross_entropy(logits, labels, smoothing=0.1, ignore_index=-100):
    logp = F.log_softmax(logits, dim=-1)
    kept = labels != ignore_index
    safe = labels.masked_fill(~kept, 0)
    nll = -logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    even = -logp.mean(dim=-1)
    loss = (1 - smoothing) * nll + smoothing * even
    return (loss * kept).sum() / kept.sum()
""",
        was="/ kept.numel()",
        fix="/ kept.sum()",
        wrong={"(loss * kept).sum()": "loss.sum()", "even = -logp.mean(dim=-1)": "even = -logp.sum(dim=-1)"},
        right={"logp = F.log_softmax(logits, dim=-1)": "logp = logits - logits.logsumexp(-1, keepdim=True)"},
    ),
    "optimizer": Example(
        interface="""
  kind: optimizer
  class: AdamW
  constructor: {lr: 0.05}
  inputs:
    weights: [rows, columns]
    bias: [columns]
  outputs:
    - [5, rows, columns]
    - [5, columns]
    - [5, 2]
    - [5, rows, columns]
    - [5, columns]
    - [5, 2]""",
        fixed_sizes="{rows: 3, columns: 4}",
        reference="""import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"] = torch.zeros_like(p)
                    state["v"] = torch.zeros_like(p)
                state["step"] += 1
                b1, b2 = group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state["m"].mul_(b1).add_(p.grad, alpha=1 - b1)
                state["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m = state["m"] / (1 - b1 ** state["step"])
                v = state["v"] / (1 - b2 ** state["step"])
                p.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))
""",
        was='m = state["m"]',
        fix='m = state["m"] / (1 - b1 ** state["step"])',
        wrong={
            '+ group["eps"]': '- group["eps"]',
            'b1 ** state["step"]': "b1",
            'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.grad.add_(p, alpha=group["weight_decay"])',
            "                if p.grad is None:\n                    continue\n": "",
        },
        right={'group["lr"] * m / (v.sqrt() + group["eps"])': 'group["lr"] * (m / (v.sqrt() + group["eps"]))'},
    ),
    "training_step": Example(
        interface="""
  kind: training_step
  function: training_step
  constructor: {width: width, outputs: classes, max_norm: 0.5}
  inputs:
    x: [steps, batch, width]
    y: {integers: classes, shape: [steps, batch]}
  outputs:
    - [steps, 8, width]""",
        fixed_sizes="{steps: 3, batch: 5, width: 6, classes: 4}",
        reference="""import torch
import torch.nn.functional as F


def training_step(model, optimizer, x, y, max_norm=1.0):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
""",
        was="optimizer.state_dict()",
        fix="optimizer.zero_grad()",
        wrong={
            "model.train()": "model.eval()",
            "    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n": "",
            "return loss.item()": "return 0.0",
        },
        right={
            "optimizer.zero_grad()": "for each in model.parameters(): each.grad = None",
            "return loss.item()": "return loss.detach()",
        },
    ),
    "dataset": Example(
        interface="""
  kind: dataset
  class: Chunks
  constructor: {length: length}
  inputs:
    tokens: {integers: 50, shape: [tokens]}
  outputs:
    - [length]""",
        fixed_sizes="{tokens: 23, length: 3}",
        reference="""import torch


class Chunks(torch.utils.data.IterableDataset):
    def __init__(self, tokens, length):
        self.tokens = tokens
        self.length = length

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        number, count = (info.id, info.num_workers) if info else (0, 1)
        for start in range(number * self.length, len(self.tokens) - self.length, count * self.length):
            yield self.tokens[start : start + self.length], self.tokens[start + 1 : start + self.length + 1]
""",
        was="range(0, len(self.tokens) - self.length, self.length)",
        fix="range(number * self.length, len(self.tokens) - self.length, count * self.length)",
        wrong={
            "self.tokens[start + 1 : start + self.length + 1]": "self.tokens[start : start + self.length]",
            "len(self.tokens) - self.length,": "len(self.tokens),",
        },
        right={
            "if info else (0, 1)": "if info is not None else (0, 1)",
            "def __iter__(self):\n        info = torch.utils.data.get_worker_info()": (
                "def __iter__(self, worker=torch.utils.data.get_worker_info):\n        info = worker()"  # bound at once
            ),
        },
    ),
    "function": Example(
        interface="""
  kind: function
  function: top_p
  constructor: {p: 0.9}
  inputs:
    logits: [batch, vocab]
  outputs:
    - [batch, vocab]""",
        fixed_sizes="{batch: 3, vocab: 11}",
        reference="""import torch


def top_p(logits, p):
    probs = torch.softmax(logits, dim=-1)
    order = probs.argsort(dim=-1, descending=True)
    ranked = probs.gather(-1, order)
    before = ranked.cumsum(dim=-1) - ranked
    kept = torch.where(before < p, ranked, torch.zeros_like(ranked))
    out = torch.zeros_like(probs).scatter(-1, order, kept)
    return out / out.sum(dim=-1, keepdim=True)
""",
        was="before + ranked < p",
        fix="before < p",
        wrong={"before < p": "before <= p / 2", "out / out.sum(dim=-1, keepdim=True)": "out"},
        random_sizes="{batch: [2, 5], vocab: [7, 20]}",
        right={"ranked.cumsum(dim=-1) - ranked": "torch.nn.functional.pad(ranked.cumsum(-1)[..., :-1], (1, 0))"},
    ),
}

DESCRIPTION = """\
format_version: 1
title: A hunt
difficulty: 1
source: {{title: a notebook}}
story: Once upon a time.
interface:{interface}
sizes: [{sizes}]
defects:
  - id: first
    title: the first
    points: 7
    was: {was}
    fix: {fix}
    hints: [a, b, c]
    why: because
nothing_else_broke: 3
checks:
  - property: matches_reference
  - property: keeps_dtype
  - property: leaves_inputs_alone
"""

EXERCISE = "exercise_60"


def described_with(example: Example, interface: str) -> str:
    """The description of an example with this interface."""
    return DESCRIPTION.format(
        interface=interface,
        sizes=", ".join(filter(None, [example.fixed_sizes, example.random_sizes])),
        was=json.dumps(example.was),
        fix=json.dumps(example.fix),
    )


def lay_out(course: Course, starter: str, reference: str, described: str) -> None:
    """A course of one exercise."""
    module, _ = course.editable_files(EXERCISE)
    texts = {module: starter, course.pristine(module): starter, course.reference(EXERCISE): reference}
    texts[course.root / "solutions" / EXERCISE / "exercise.yaml"] = described
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request, tmp_path_factory):
    """An example, laid out as a course of one exercise, and a judge of it."""
    example = EXAMPLES[request.param]
    course = Course(root=tmp_path_factory.mktemp(request.param))
    starter = example.reference.replace(example.fix, example.was)
    assert starter != example.reference
    described = described_with(example, example.interface)
    lay_out(course, starter, example.reference, described)
    judge = Judge(course)
    yield example, judge
    judge.close()


def test_starter_reference_and_others_of_a_kind_get_their_verdicts(example):
    example, judge = example
    starter = example.reference.replace(example.fix, example.was)
    wrong = [starter, *(example.reference.replace(before, after) for before, after in example.wrong.items())]
    right = [example.reference, *(example.reference.replace(before, after) for before, after in example.right.items())]
    for seed in (7, 81_423):
        first, *others = judge.many(EXERCISE, wrong, seed)
        assert ([each.status for each in first.defects], first.score) == ([DefectStatus.PRESENT], 0)
        assert [each.outcome for each in others] == [Result.NOT_FIXED] * len(others)
        for verdict in judge.many(EXERCISE, right, seed):
            findings = [f"{check.check}: {sentence(check.finding)}" for check in verdict.checks if check.finding]
            assert (verdict.outcome, verdict.score, findings) == (Result.FIXED, 10, [])


FINDINGS = {
    "loss": r"with the same inputs as the reference, smoothed_cross_entropy: output: expected",
    "function": r"with the same inputs as the reference, top_p: output at",
    "optimizer": r"with the same parameters and gradients as the reference, AdamW: (weights|bias) at step",
    "training_step": r"with the same model and batches as the reference, training_step: the model's \w+\.\w+ at step",
    "dataset": r"with the same inputs as the reference, Chunks: output",
}


def test_a_finding_uses_the_kinds_name_for_the_compared_value(example):
    example, judge = example
    starter = example.reference.replace(example.fix, example.was)
    kind = load_exercise(judge.course.description(EXERCISE)).interface.kind
    checks = judge(EXERCISE, starter).checks
    [text] = [sentence(check.finding) for check in checks if check.check == "matches_reference"]
    assert re.match(FINDINGS[kind.name], text), text


def test_a_missing_class_or_function_is_reported_as_a_class_or_function(example):
    _, judge = example
    interface = load_exercise(judge.course.description(EXERCISE)).interface
    what = "function" if interface.function else "class"
    verdict = judge(EXERCISE, "x = 1\n")
    assert verdict.outcome is Result.NOT_GRADABLE
    assert f"there is no {what} {interface.entry()}" in str(verdict.reason)
    assert f"name your {what} {interface.entry()}" in str(verdict.reason)


def test_a_check_that_does_not_suit_the_kind_is_refused(example):
    _, judge = example
    path = judge.course.description(EXERCISE)
    sound = path.read_text(encoding="utf-8")
    kind = load_exercise(path).interface.kind
    path.write_text(sound + "  - property: moves_between_devices\n", encoding="utf-8")
    with pytest.raises(
        SpecError, match=r"expected a property that can check an? \w+( \w+)*, got moves_between_devices"
    ):
        read_exercise(path)
    path.write_text(re.sub(r"\n  (class|function): \w+", "", sound), encoding="utf-8")
    wanted = "class" if kind.offers_class else "function"
    with pytest.raises(SpecError, match=rf"interface\.{wanted}: expected a name of letters, .*, got no such key"):
        read_exercise(path)
    path.write_text(sound, encoding="utf-8")


MISSPELT = {
    "loss": ("smoothing: 0.1", "smoothin: 0.1", "constructor.smoothin", "write smoothing"),
    "optimizer": ("lr: 0.05", "lrr: 0.05", "constructor.lrr", "write lr"),
    "training_step": ("max_norm: 0.5", "max_norn: 0.5", "constructor.max_norn", "write max_norm"),
    "dataset": ("length: length", "lengt: length", "constructor.lengt", "write length"),
    "function": ("p: 0.9", "q: 0.9", "constructor.q", "write one of these names"),
}
MISSING = {
    "loss": ("labels: {", "smoothing: {", "no labels"),
    "dataset": ("{length: length}", "{}", "no length"),
    "function": ("{p: 0.9}", "{}", "no p"),
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_misspelt_or_missing_argument_of_any_kind_is_reported_with_its_place(tmp_path, kind):
    example = EXAMPLES[kind]
    path = tmp_path / EXERCISE / "exercise.yaml"
    path.parent.mkdir()

    def problems(interface: str, check: str = "") -> str:
        path.write_text(described_with(example, interface) + check, encoding="utf-8")
        with pytest.raises(SpecError) as refusal:
            read_exercise(path, example.reference)
        return str(refusal.value)

    before, after, place, remedy = MISSPELT[kind]
    assert before in example.interface
    assert re.search(
        rf"exercise\.yaml:\d+:\d+: interface\.{place}: .*; {remedy}", problems(example.interface.replace(before, after))
    )
    check = f"  - {{property: matches_reference, id: other, constructor: {{{after}}}}}\n"
    assert re.search(rf":\d+:\d+: checks\[3\]\.{place}: .*; {remedy}", problems(example.interface, check))
    check = f"  - {{property: matches_reference, id: other, defaults: [{after.partition(':')[0]}]}}\n"
    assert re.search(r":\d+:\d+: checks\[3\]\.defaults\[0\]: .*; ", problems(example.interface, check))
    if kind in MISSING:
        before, after, found = MISSING[kind]
        assert re.search(rf":\d+:\d+: .*, got {found}; add ", problems(example.interface.replace(before, after)))


LION = """import torch


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    p.sub_(group["lr"] * torch.lerp(p.grad, m, group["betas"][0]).sign())
                    m.lerp_(p.grad, 1 - group["betas"][1])
        return loss
"""


@pytest.mark.parametrize("closure", [False, True])
def test_swapped_steps_of_a_sign_optimizer_are_detected(tmp_path, closure):
    """For every draw, the momentum and the gradient have different signs in some elements."""
    course = Course(root=tmp_path)
    example = EXAMPLES["optimizer"]
    interface = example.interface.replace("AdamW", "Lion")
    lines = LION.splitlines(keepends=True)
    update, momentum = (next(line for line in lines if word in line) for word in ("p.sub_", "m.lerp_"))
    starter = LION.replace(update + momentum, momentum + update)
    fixed_sizes = "{rows: 11, columns: 37}"  # as `new` writes it: a fault of signs changes one number in some hundreds
    described = DESCRIPTION.format(interface=interface, sizes=fixed_sizes, was="p.sub_", fix="p.sub_")
    checks = "  - {property: matches_reference, id: often, gradients: false, constructor: {steps: 23}}\n"
    if closure:
        checks = "  - {property: matches_reference, id: values_with_a_closure, constructor: {closure: true}}\n"
    defect = {"was": momentum + update, "fix": update + momentum}
    data = yaml.safe_load(described + checks)
    data["defects"][0] |= defect
    lay_out(course, starter, LION, yaml.dump(data, sort_keys=False))
    judge = Judge(course)
    wrong = {
        "plain": starter,
        "no gradients": LION.replace("torch.enable_grad()(closure)()", "closure()"),
        "nothing returned": LION.replace("        return loss\n", ""),
    }
    try:
        for seed in (7, 81_423):
            right = judge(EXERCISE, LION, seed)
            assert (right.outcome, right.score) == (Result.FIXED, 10)
            seen = {name: judge(EXERCISE, text, seed).outcome for name, text in wrong.items()}
            returned = Result.NOT_FIXED if closure else Result.FIXED
            assert seen == {"plain": Result.NOT_FIXED, "no gradients": returned, "nothing returned": returned}
    finally:
        judge.close()


def test_a_step_that_needs_every_gradient_fails_with_an_unused_parameter(tmp_path):
    example = EXAMPLES["training_step"]
    course = Course(root=tmp_path)
    skips = "for each in (each for each in model.parameters() if each.grad is not None): each.grad.mul_(0.5)"
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)"
    reference = example.reference.replace(clip, skips)
    starter = reference.replace(example.fix, example.was)
    checks = "  - {property: matches_reference, id: values_with_an_unused_parameter, constructor: {unused: true}}\n"
    described = described_with(example, example.interface.replace(", max_norm: 0.5", ""))
    lay_out(course, starter, reference, described + checks)
    judge = Judge(course)
    try:
        right = judge(EXERCISE, reference)
        wrong = judge(EXERCISE, reference.replace(" if each.grad is not None", ""))
    finally:
        judge.close()
    assert (right.outcome, right.score) == (Result.FIXED, 10)
    failed = {check.check for check in wrong.checks if check.finding}
    assert (wrong.outcome, failed) == (Result.NOT_FIXED, {"values_with_an_unused_parameter"})


@pytest.mark.parametrize(
    ("returns", "wrong"),
    [("{'loss': loss.item(), 'count': len(x)}", "{'loss': -loss.item(), 'count': len(x)}"), ("(loss, 2)", "(2, loss)")],
)
def test_what_a_training_step_returns_in_a_container_is_compared(tmp_path, returns, wrong):
    example = EXAMPLES["training_step"]
    course = Course(root=tmp_path)
    reference = example.reference.replace("return loss.item()", f"return {returns}")
    described = described_with(example, example.interface)
    lay_out(course, reference.replace(example.fix, example.was), reference, described)
    judge = Judge(course)
    try:
        right = judge(EXERCISE, reference)
        others = [judge(EXERCISE, reference.replace(returns, each)) for each in (wrong, "None")]
    finally:
        judge.close()
    assert (right.outcome, right.score) == (Result.FIXED, 10)
    assert [each.outcome for each in others] == [Result.NOT_FIXED] * 2


def test_arguments_that_are_keyword_only_are_not_passed_by_position(tmp_path):
    example = EXAMPLES["function"]
    reference = example.reference.replace("top_p(logits, p)", "top_p(logits, *, p)")
    assert reference != example.reference
    course = Course(root=tmp_path)
    described = described_with(example, f"{example.interface}\n  constructor_keyword_only: true")
    lay_out(course, reference.replace(example.fix, example.was), reference, described)
    judge = Judge(course)
    try:
        right = judge(EXERCISE, reference)
    finally:
        judge.close()
    assert (right.outcome, right.score) == (Result.FIXED, 10)


def test_arguments_that_cannot_be_passed_by_position_are_reported(tmp_path):
    example = EXAMPLES["function"]
    path = tmp_path / "exercise.yaml"
    path.write_text(described_with(example, example.interface), encoding="utf-8")
    for parameters in ("logits, *, p", "logits, temperature=1.0, p=0.9"):
        with pytest.raises(SpecError, match=r"interface\.constructor\.p: expected arguments in the order .*, got p; "):
            read_exercise(path, example.reference.replace("top_p(logits, p)", f"top_p({parameters})"))


def test_an_argument_that_is_an_input_too_is_reported(tmp_path):
    example = EXAMPLES["loss"]
    path = tmp_path / "exercise.yaml"
    twice = example.interface.replace("smoothing: 0.1", "smoothing: 0.1, labels: 3")
    path.write_text(described_with(example, twice), encoding="utf-8")
    with pytest.raises(SpecError, match=r"interface\.constructor\.labels: .*, got labels in both; remove it here"):
        read_exercise(path, example.reference)
    check = "  - {property: matches_reference, id: other, inputs: {smoothing: 0.5}}\n"
    path.write_text(described_with(example, example.interface) + check, encoding="utf-8")
    with pytest.raises(SpecError, match=r"checks\[3\]\.inputs\.smoothing: .*, or name it under defaults of the check"):
        read_exercise(path, example.reference)


STATISTICS = """import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean.lerp_(x.mean((0, 1)), 0.3)
        return x - self.mean
"""


def test_statistics_in_float64_may_be_rounded_by_earlier_calls_in_float32(tmp_path):
    course = Course(root=tmp_path)
    interface = """
  class: Norm
  constructor: {width: width}
  inputs: {x: [batch, tokens, width]}
  outputs: [[batch, tokens, width]]"""
    fix, was = "x - self.mean", "x + self.mean"
    sizes = "{batch: 3, tokens: 5, width: 7}, {batch: [2, 4], tokens: [3, 9], width: [2, 8]}"
    described = DESCRIPTION.format(interface=interface, sizes=sizes, was=json.dumps(was), fix=json.dumps(fix))
    described += "  - {property: matches_reference, id: values_in_training, training: true}\n"
    lay_out(course, STATISTICS.replace(fix, was), STATISTICS, described)
    judge = Judge(course)
    otherwise = STATISTICS.replace("lerp_(x.mean((0, 1)), 0.3)", "mul_(0.7).add_(x.mean((0, 1)), alpha=0.3)")
    try:
        verdicts = [judge(EXERCISE, otherwise, seed) for seed in range(3)]
    finally:
        judge.close()
    assert [(each.outcome, each.score) for each in verdicts] == [(Result.FIXED, 10)] * 3


FOUND = {
    "loss": ("smoothed_cross_entropy", {"logits": ["batch", "tokens", "width"], "labels": "integers"}, {}),
    "optimizer": ("AdamW", {"weights": ["rows", "columns"], "bias": ["columns"]}, {"lr"}),
    "training_step": (
        "training_step",
        {"x": ["steps", "batch", "width"], "y": "integers"},
        {"width", "outputs", "max_norm"},
    ),
    "dataset": ("Chunks", {"tokens": "integers"}, {"length"}),
    "function": ("top_p", {"logits": ["batch", "tokens", "width"]}, {"p"}),
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_new_recognises_a_kind_and_what_its_inputs_are(own_course, tmp_path, kind):
    example = EXAMPLES[kind]
    starter = example.reference.replace(example.fix, example.was)
    (tmp_path / "mine.py").write_text(starter, encoding="utf-8")
    told = create_exercise(own_course, EXERCISE, tmp_path / "mine.py")
    name, inputs, given = FOUND[kind]
    phrase = f"a{'n' * (kind == 'optimizer')} {kind.replace('_', ' ')}"
    assert f"{name} looks like {phrase} with these inputs: {', '.join(inputs)}." in told
    path = own_course.description(EXERCISE)
    described = yaml.safe_load(path.read_text(encoding="utf-8"))["interface"]
    assert described["kind"] == kind
    assert described.get("class", described.get("function")) == name
    assert {key: "integers" if isinstance(spec, dict) else spec for key, spec in described["inputs"].items()} == inputs
    assert set(described["constructor"]) == set(given)
    ignored = {spec.get("ignored") for spec in described["inputs"].values() if isinstance(spec, dict)}
    assert ignored == ({-100} if kind == "loss" else {None} if ignored else set())

    text = path.read_text(encoding="utf-8")
    text = text.replace(
        "FILL IN (a line, or a part of a line, that occurs once in the starter)", json.dumps(example.was)
    )
    text = text.replace("FILL IN (the text that replaces it in the reference)", json.dumps(example.fix))
    text = text.replace("p: FILL IN (a number", "p: 0.9  # (a number").replace(
        "length: FILL IN (a number", "length: 3  # (a"
    )
    text = text.replace("FILL IN (a short name, such as softmax-over-queries)", "a-defect")
    numbers = itertools.count()
    path.write_text(re.sub(r"FILL IN \(.*\)", lambda _: f"words {next(numbers)}", text), encoding="utf-8")
    derive_files(own_course, load_exercise(path))
    assert own_course.reference_text(EXERCISE) == example.reference
    judge = Judge(own_course)
    try:
        wrong, right = (judge(EXERCISE, text) for text in (starter, example.reference))
    finally:
        judge.close()
    assert (wrong.outcome, wrong.score) == (Result.NOT_FIXED, 0)
    assert (right.outcome, right.score) == (Result.FIXED, 10)
    readme = (own_course.exercise_folder(EXERCISE) / "README.md").read_text(encoding="utf-8")
    assert f"`{name}(" in readme
    assert "nn.Module" not in readme
