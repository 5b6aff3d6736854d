"""A new exercise, from a faulty file to a description that grades: nothing is executed, and one YAML is edited."""

import ast
import json
import re
import sys
from typing import ClassVar

import nbformat
import pytest
from msgspec import structs

from grader.author.derived_files import derive_files
from grader.author.first_checks import first_checks
from grader.author.interface import find_interface
from grader.author.new import create_exercise
from grader.author.proposal import propose
from grader.author.scaffold import describe
from grader.author.sizes import propose_sizes
from grader.author.static_steps import compare_sources
from grader.author.survivors import missing_checks
from grader.checks.size_cases import draw_sizes
from grader.errors import SpecError, UsageError
from grader.spec.exercise import Defect
from grader.spec.fragments import fix_defects, put_back
from grader.spec.kinds import KINDS, KindName
from grader.spec.loading import load_exercise
from grader.spec.problem import BLANK
from grader.submission import read_submission
from tests.support.notebooks import code, markdown, notebook

EXERCISE = "exercise_42"

BUGGY = '''\
"""Multi-head attention, as small as it gets."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, self.num_heads, self.head_dim).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_dim)
        weights = torch.softmax(scores, dim=-2)
        joined = (self.dropout(weights) @ v).transpose(1, 2).reshape(batch, tokens, width)
        return self.out(joined), weights
'''

ANSWERS = {
    "title": "Everybody looks at once",
    "source.title": "a file on a desk",
    "story": "Ada's layer trains. Its weights sum to one the wrong way round, says a colleague.",
    "defects[0].id": "softmax-over-queries",
    "defects[0].title": "the softmax runs over the queries",
    "defects[0].was": "torch.softmax(scores, dim=-2)",
    "defects[0].fix": "torch.softmax(scores, dim=-1)",
    "defects[0].hints[0]": "Add up the weights of one query.",
    "defects[0].hints[1]": "What should they add up to?",
    "defects[0].hints[2]": "Look at the axis of the softmax.",
    "defects[0].why": "Each key shared out its attention among the queries.",
}
PLACE = re.compile(r"exercise\.yaml:(\d+):(\d+): (\S+): ")


@pytest.fixture
def new(own_course, tmp_path):
    """Lay out exercise_42 around a source text."""

    def new(source: str = BUGGY, name: str = "my_buggy_file.py") -> str:
        (tmp_path / name).write_text(source, encoding="utf-8")
        return create_exercise(own_course, EXERCISE, tmp_path / name)

    return new


def fill_in(course, answers=ANSWERS) -> None:
    """Put an answer at each line and column that loading complains of."""
    path = course.description(EXERCISE)
    with pytest.raises(SpecError) as refusal:
        load_exercise(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    for line, column, at in PLACE.findall(str(refusal.value)):
        row = int(line) - 1
        if "FILL IN" not in lines[row]:  # a folded text: its mark is that of the >
            row += 1
        start = lines[row].index("FILL IN")
        assert start >= int(column) - 1 or row >= int(line)
        lines[row] = lines[row][:start] + (answers[at] if row >= int(line) else json.dumps(answers[at]))
    path.write_text("\n".join(lines), encoding="utf-8")


def module(constructor: str, forward: str, body: str = "return x") -> str:
    return (
        "from torch import nn\n\nclass Net(nn.Module):\n"
        f"    def __init__(self, {constructor}):\n        super().__init__()\n\n"
        f"    def forward(self, {forward}):\n        {body}\n"
    )


def proposed(constructor: str, forward: str, body: str = "return x"):
    return propose(find_interface(module(constructor, forward, body), "net.py"))


@pytest.mark.slow
def test_a_new_exercise_goes_from_a_faulty_file_to_verdicts_by_editing_one_yaml(own_course, new, run_cli):
    new()
    fill_in(own_course)
    exercise = load_exercise(own_course.description(EXERCISE))
    changed = derive_files(own_course, exercise)
    assert {path.name for path in changed} == {"attention.py", "attention.ipynb", "README.md"}
    assert own_course.reference(EXERCISE).read_text() == BUGGY.replace("dim=-2)", "dim=-1)")

    starter = run_cli(EXERCISE, "--json", cwd=own_course.root)
    verdict = json.loads(starter.stdout)
    assert (starter.returncode, verdict["outcome"], verdict["score"]) == (1, "not_fixed", 0)
    assert [(each["id"], each["status"]) for each in verdict["defects"]] == [("softmax-over-queries", "present")]
    assert verdict["regressions"] == []

    reference = run_cli(EXERCISE, "--json", "--file", own_course.reference(EXERCISE), cwd=own_course.root)
    verdict = json.loads(reference.stdout)
    assert (reference.returncode, verdict["outcome"], verdict["score"]) == (0, "fixed", 10)

    proof = run_cli("prove", EXERCISE, cwd=own_course.root, timeout=600)
    assert proof.returncode == 0, proof.stdout
    page = " ".join(proof.stdout.split())
    assert f"exercises/README.md: has no row for {EXERCISE}" in page
    assert "put some, written by other people, into tests/corpus/alternatives/exercise_42/" in page
    for path in own_course.editable_files(EXERCISE)[1:]:
        story = nbformat.read(path, as_version=4).cells[0].source
        assert story.startswith("# Everybody looks at once\n\nAda's layer trains.")
        assert path.read_bytes() == own_course.pristine(path).read_bytes()
    readme = (own_course.exercise_folder(EXERCISE) / "README.md").read_text()
    assert readme.startswith("# Everybody looks at once\n")
    assert "Ada's layer trains." in readme
    assert "`MultiHeadAttention(embed_dim, num_heads, dropout=0.1)`" in readme
    assert "| `dropout` | FILL IN (its meaning) |" in readme
    assert "softmax-over-queries" not in readme


def test_the_command_says_what_it_found_and_what_comes_next(own_course, run_cli, tmp_path):
    (tmp_path / "mine.py").write_text(BUGGY)
    done = run_cli("new", EXERCISE, "--from", "mine.py", cwd=own_course.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "MultiHeadAttention is built with embed_dim, num_heads and called with x." in done.stdout
    assert f"edit solutions/{EXERCISE}/exercise.yaml: 11 places say FILL IN" in done.stdout
    assert f"python -m grader prove {EXERCISE}" in done.stdout


def test_what_is_still_blank_is_named_with_line_and_column_all_at_once(own_course, new, run_cli):
    new()
    done = run_cli(EXERCISE, cwd=own_course.root)
    assert done.returncode == 2
    lines = own_course.description(EXERCISE).read_text().split("\n")
    places = PLACE.findall(done.stderr)
    assert [at for _, _, at in places] == list(ANSWERS)
    for line, column, at in places:
        assert lines[int(line) - 1][int(column) - 1 :].startswith(("FILL IN", ">")), at
    assert "solutions" in done.stderr
    assert "the text that replaces it in the reference" in done.stderr


def test_an_unfinished_exercise_does_not_hide_the_others_in_the_list(own_course, new, run_cli):
    new()
    done = run_cli(cwd=own_course.root)
    assert done.returncode == 0
    assert "The model that knew how the sentence ends" in done.stdout
    assert f"{EXERCISE}  ○○○○○  (its description is wrong; grade it to see the error)" in done.stdout
    assert f"python -m grader {EXERCISE}" not in done.stdout


def test_every_file_is_there_and_the_twins_and_pristine_copies_agree(own_course, new):
    new()
    first, second = own_course.editable_files(EXERCISE)
    for path in (first, second):
        assert own_course.pristine(path).read_bytes() == path.read_bytes()
    assert first.read_text() == BUGGY == own_course.reference(EXERCISE).read_text()
    chunks = read_submission(second, second.name).chunks
    assert [ast.dump(node) for chunk in chunks for node in ast.parse(chunk.text).body] == [
        ast.dump(node) for node in ast.parse(BUGGY).body
    ]
    nbformat.validate(nbformat.read(second, as_version=4))


def test_nothing_is_ever_overwritten(own_course, new):
    new()
    before = {path: path.read_bytes() for path in own_course.root.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="exercises/exercise_42 exists already, and new overwrites nothing"):
        new()
    del before[own_course.root / "my_buggy_file.py"]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_solution_that_is_there_already_is_kept_too(own_course, new):
    (own_course.root / "solutions" / EXERCISE).mkdir()
    with pytest.raises(UsageError, match="solutions/exercise_42 exists already"):
        new()
    assert not own_course.exercise_folder(EXERCISE).exists()


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        ("def f(:\n", r"my_buggy_file\.py:1:\d+: cannot be parsed: "),
        ("class A: pass\n", "no class derived from nn.Module has a forward; the classes found: A"),
        ("x = 1\n", "the classes found: none"),
        ("from torch import nn\nclass A(nn.Module): pass\n", "the classes found: A"),
        ("", "is empty"),
    ],
)
def test_a_file_without_a_module_is_refused_before_anything_is_written(own_course, new, source, refusal):
    with pytest.raises(UsageError, match=refusal):
        new(source)
    assert EXERCISE not in own_course.exercise_ids()
    assert not (own_course.root / "solutions" / EXERCISE).exists()


def test_a_wrong_name_and_a_missing_file_are_refused(own_course, tmp_path):
    with pytest.raises(UsageError, match="exercise_4 is not a name for an exercise"):
        create_exercise(own_course, "exercise_4", tmp_path / "a.py")
    with pytest.raises(UsageError, match=r"there is no file .*a\.py; name the file"):
        create_exercise(own_course, EXERCISE, tmp_path / "a.py")


def test_the_file_is_parsed_and_never_executed(own_course, new):
    told = new(f"import pathlib\npathlib.Path({str(own_course.root / 'ran')!r}).touch()\n{BUGGY}")
    assert "MultiHeadAttention" in told
    assert not (own_course.root / "ran").exists()


def test_of_several_modules_the_last_with_a_forward_is_the_entry():
    source = (
        "import torch.nn as nn\n"
        "class Base(nn.Module):\n    def __init__(self, width): ...\n    def forward(self, x): return x\n"
        "class Entry(Base):\n    pass\n"
        "class NoForward(nn.Module):\n    pass\n"
        "class Plain:\n    def forward(self, x): return x\n"
    )
    found = find_interface(source, "a.py")
    assert (found.class_name, found.others) == ("Entry", ["Base"])
    assert [parameter.name for parameter in found.constructor] == ["width"]
    assert [parameter.name for parameter in found.forward] == ["x"]


def test_keyword_only_inputs_and_other_layouts_are_read():
    found = proposed(
        "heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True",
        "*, query, key, value, mask=None",
        "seq_len, batch_size, _ = query.shape",
    )
    assert found.constructor == {"heads": "heads", "d_model": "d_model"}
    assert found.inputs == {
        "query": ["queries", "batch", "d_model"],
        "key": ["keys", "batch", "d_model"],
        "value": ["keys", "batch", "d_model"],
    }
    assert found.left_out == ["mask"]
    assert found.dropout == "dropout_prob"


@pytest.mark.parametrize(
    ("constructor", "forward", "flags"),
    [
        ("width, heads", "x", set()),
        ("width, *, heads", "x", {"constructor_keyword_only"}),
        ("width, heads", "*, x", {"keyword_only"}),
        ("width, mode='sum', heads=2", "x", {"constructor_keyword_only"}),  # a gap
    ],
)
def test_the_description_says_which_arguments_are_keyword_only(constructor, forward, flags):
    found = find_interface(module(constructor, forward), "net.py")
    lines = describe(found, propose(found), "net.py").splitlines()
    assert {line.strip().partition(":")[0] for line in lines if "keyword_only" in line} == flags


def test_token_ids_and_lengths_of_a_module_are_whole_numbers():
    source = (
        "class Tagger(nn.Module):\n    def __init__(self, vocab_size, width):\n        pass\n\n"
        "    def forward(self, input_ids, lengths):\n        return self.out(input_ids)\n"
    )
    proposal = propose(find_interface(source, "tagger.py"))
    assert proposal.inputs == {
        "input_ids": {"integers": "vocab_size", "shape": ["batch", "tokens"]},
        "lengths": {"integers": "tokens", "start": 1, "inclusive": True, "shape": ["batch"]},
    }
    assert proposal.outputs == [["batch", "tokens", "width"]]
    cross = propose(find_interface(source.replace("(self, input_ids,", "(self, x, memory, token_ids,"), "tagger.py"))
    assert cross.inputs == {
        "x": ["batch", "queries", "width"],
        "memory": ["batch", "keys", "width"],
        "token_ids": {"integers": "vocab_size", "shape": ["batch", "queries"]},
        "lengths": {"integers": "queries", "start": 1, "inclusive": True, "shape": ["batch"]},
    }


@pytest.mark.parametrize("annotation", ["List[torch.Tensor]", "list[Tensor]", "Optional[Sequence[torch.Tensor]]"])
def test_a_list_of_tensors_gets_a_remark_on_what_to_write_instead(own_course, new, annotation):
    page = new(f"def collate(sequences: {annotation}, weights: torch.Tensor):\n    return sequences[0] * weights\n")
    assert "\nA check can only pass single tensors as `sequences`, not lists of tensors. Change the file: " in page
    text = own_course.description(EXERCISE).read_text()
    assert "    # A check can only pass a single tensor as sequences, not a list of tensors. Let the code take" in text
    assert "tensor as weights" not in text


def test_a_datasets_constructor_arguments_are_passed_unchanged():
    source = (
        "class Windows:\n    def __init__(self, token_ids, max_length, stride):\n        pass\n\n"
        "    def __getitem__(self, index):\n        pass\n"
    )
    proposal = propose(find_interface(source, "windows.py"))
    assert proposal.inputs == {"token_ids": {"integers": 50, "shape": ["items"]}}
    assert proposal.constructor == {"max_length": 3, "stride": 3}
    assert proposal.blanks == []


def test_axes_of_a_kinds_own_inputs_get_sizes_whatever_their_names():
    class Grouped(type(KINDS[KindName.OPTIMIZER])):
        own_inputs: ClassVar = {"rates": ["groups", "columns"]}

    source = "class Decay:\n    def step(self):\n        pass\n\n    def zero_grad(self):\n        pass\n"
    proposal = propose(structs.replace(find_interface(source, "decay.py"), kind=Grouped()))
    assert {*map(frozenset, proposal.fixed_sizes + proposal.random_sizes)} == {frozenset({"groups", "columns"})}


def test_axes_that_a_docstring_names_are_taken_over():
    source = """
def reciprocal_rank(scores, answers):
    '''scores (queries, items), answers (queries,): one over the rank of each right answer.'''
    return scores.gather(1, answers[:, None])


def mixed_step(model, optimizer, x, y):
    '''x: (batch, features), y: (batch,).'''
"""
    rank, step = source.split("\n\n\n")
    found = propose(find_interface(rank, "rank.py")).inputs
    assert found == {"scores": ["batch", "width"], "answers": {"integers": "width", "shape": ["batch"]}}
    found = propose(find_interface(step, "step.py")).inputs
    assert found == {"x": ["steps", "batch", "width"], "y": {"integers": "classes", "shape": ["steps", "batch"]}}


def test_a_source_of_keys_has_its_own_width_and_a_mask_the_axes_that_the_source_uses():
    body = "B, N, C = x.shape\n        scores = scores.masked_fill(~context_mask[:, None, None, :], -1e9)"
    source = module("dim, num_heads, context_dim", "x, context, context_mask=None", body)
    interface = find_interface(source, "cross.py")
    found = propose(interface)
    assert found.inputs == {"x": ["batch", "queries", "dim"], "context": ["batch", "keys", "context_dim"]}
    assert found.constructor == {"dim": "dim", "num_heads": "num_heads", "context_dim": "context_dim"}
    masked = {"context_mask": {"mask": "random", "shape": ["batch", "keys"]}}
    assert masked in [check.get("inputs") for check in first_checks(interface, found)]


def test_features_that_are_taken_in_pairs_are_even_and_a_base_is_no_size():
    body = "a, b = x.chunk(2, dim=-1)\n        return x"
    interface = find_interface(module("d_model, n_heads, base=10000", "x", body), "rotary.py")
    found = propose(interface)
    assert found.constructor == {"d_model": "d_model", "n_heads": "n_heads"}
    assert interface.halves_features
    pairs = [["n_heads", size, size] for size in (10, 8, 4, 4)]
    assert [size_case["d_model"] for size_case in found.random_sizes] == pairs
    assert all(size_case["d_model"] // size_case["n_heads"] % 2 == 0 for size_case in found.fixed_sizes)
    turn = propose(find_interface("def turn(z):\n    a, b = z.chunk(2, -1)\n    return a\n", "turn.py"))
    assert [size_case["width"] for size_case in turn.fixed_sizes] == [4, 6, 10]


def test_lengths_and_distances_of_a_function_are_sizes_and_whole_numbers():
    table = propose(find_interface("def bias(table, q_len, k_len):\n    return table\n", "bias.py"))
    assert (table.blanks, table.constructor) == ([], {"q_len": "q_len", "k_len": "k_len"})
    assert [(size_case["q_len"], size_case["k_len"]) for size_case in table.fixed_sizes] == [(1, 1), (4, 9), (8, 7)]
    bucket = propose(find_interface("def bucket(relative_position, far=9):\n    return relative_position\n", "b.py"))
    distances = {"integers": 200, "start": -200, "shape": ["batch", "tokens"]}
    assert (bucket.inputs, bucket.outputs) == ({"relative_position": distances}, [["batch", "tokens"]])


def test_a_value_that_only_the_author_knows_is_left_blank():
    found = proposed("config, d_model, activation: str, causal: bool", "x")
    assert found.blanks == ["config", "activation"]
    assert found.constructor["causal"] is True


@pytest.mark.parametrize(
    ("constructor", "forward"),
    [
        ("embed_dim, num_heads", "x"),
        ("d_in, d_out, context_length, dropout, num_heads, qkv_bias=False", "x"),
        ("d_model, d_k, d_v, h", "q, k, v"),
        ("dim=64, heads=8, dim_head=16", "x, context"),
    ],
)
def test_the_fixed_sizes_begins_with_ones_and_keeps_sizes_apart(constructor, forward):
    fixed_sizes = proposed(constructor, forward).fixed_sizes
    lengths = [name for name in fixed_sizes[0] if name in ("batch", "tokens", "queries", "keys")]
    assert all(fixed_sizes[0][name] == 1 for name in lengths)
    last = list(fixed_sizes[-1].values())
    assert len(set(last)) == len(last)
    assert all(all(size_case[name] <= fixed_sizes[-1][name] for name in size_case) for size_case in fixed_sizes)


POOLING = """
import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self, size, hidden, bias=True, mode="both", temperature=1.0, slopes=(1, 2), eps=1e-8, seed=None):
        super().__init__()
        if temperature <= 0:
            raise ValueError("too cold")
        self.mode = mode

    def forward(self, x):
        return x if self.mode == "plain" or self.mode in ("mean", "both") else -x
"""


def first(source: str, name: str = "mine.py") -> dict[str, dict]:
    """The checks of a new description, by their names."""
    interface = find_interface(source, name)
    return {each.get("id", each["property"]): each for each in first_checks(interface, propose(interface))}


def test_other_values_than_the_defaults_are_tried_in_the_signatures_order():
    """By position, all earlier arguments are passed too; values that the source does not give are left blank."""
    checks = first(POOLING)
    given = {name: each["constructor"] for name, each in checks.items() if name.startswith("values_with_")}
    assert given == {
        "values_with_bias_off": {"bias": False},
        "values_with_mode_plain": {"bias": True, "mode": "plain"},
        "values_with_mode_mean": {"bias": True, "mode": "mean"},
        "values_with_other_temperature": {"bias": True, "mode": "both", "temperature": 0.6},
    }
    assert checks["temperature_is_refused"] == {
        "property": "raises",
        "id": "temperature_is_refused",
        "at": "constructor",
        "errors": ["ValueError"],
        "constructor": {"temperature": 0},
    }


def test_arguments_that_must_fit_the_inputs_keep_their_defaults():
    source = "def share(scores, dim=1, num_classes=10, k=6, flag=False, dtype=None):\n    return scores.softmax(dim)\n"
    given = [each["constructor"] for name, each in first(source).items() if name.startswith("values_")]
    assert given == [{"dim": 1, "num_classes": 10, "k": 3}, {"dim": 1, "num_classes": 10, "k": 6, "flag": True}]


def test_sizes_with_defaults_are_tried_at_them():
    checks = first(module("dim=64, heads=8, dim_head=64, depth=5", "x"))
    by_default = checks["values_by_default"]
    assert {"dim", "heads", "depth"} >= {*by_default["defaults"]} >= {"heads"}
    (size_case,) = by_default["sizes"]
    assert all(
        size_case[name] == {"dim": 64, "heads": 8, "dim_head": 64, "depth": 5}[name] for name in by_default["defaults"]
    )
    assert len({*size_case.values()}) == len(size_case)


def test_an_input_is_as_wide_as_the_layer_that_it_goes_into():
    """`query_dim` is no head's size where x goes into a layer of that width."""
    source = """
from torch import nn


class Cross(nn.Module):
    def __init__(self, query_dim, context_dim, num_heads):
        super().__init__()
        self.to_q = nn.Linear(query_dim, query_dim)
        self.to_k = nn.Linear(context_dim, query_dim)
        self.to_out = nn.Linear(query_dim, query_dim)

    def forward(self, x, context):
        q, k = self.split(self.to_q(x)), self.split(self.to_k(context))
        return self.to_out(q @ k), q
"""
    proposal = propose(find_interface(source, "cross.py"))
    assert proposal.inputs == {"x": ["batch", "queries", "query_dim"], "context": ["batch", "keys", "context_dim"]}
    assert proposal.outputs == [["batch", "queries", "query_dim"], ["batch", "num_heads", "queries", "keys"]]
    assert all(size_case["query_dim"] % size_case["num_heads"] == 0 for size_case in proposal.fixed_sizes)


@pytest.mark.parametrize(
    "source", [module("dim, heads", "x, memory"), "def step_loss(logits, targets):\n    return logits.mean()\n"]
)
def test_a_size_case_begins_with_the_batch(source):
    proposal = propose(find_interface(source, "mine.py"))
    assert {next(iter(case)) for case in [*proposal.fixed_sizes, *proposal.random_sizes]} == {"batch"}


def test_every_size_of_a_constructor_gets_a_value():
    widths = ", ".join(f"width_{number}" for number in range(6))
    proposal = proposed(f"{widths}, q_heads, kv_heads", "x")
    assert {*proposal.constructor} <= {*proposal.fixed_sizes[0]} == {*proposal.random_sizes[0]}


def test_optional_arguments_of_forward_are_tried():
    checks = first(module("dim, heads", "x, start_pos: int, offset=0, is_causal=False, context=None"))
    assert checks["values_with_other_offset"]["inputs"] == {"offset": 1}
    assert checks["values_with_is_causal_on"]["inputs"] == {"is_causal": True}
    assert checks["values_with_another_source"]["inputs"] == {"context": ["batch", 7, "dim"]}
    assert proposed("dim, heads", "x, start_pos: int, use_cache: bool").inputs == {
        "x": ["batch", "tokens", "dim"],
        "start_pos": 3,
        "use_cache": True,
    }


REMEMBERING = """
from torch import nn


class Cached(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.max_len = max_len
        self.cache = None

    def reset(self):
        self.cache = None

    def forward(self, x, use_cache=False):
        if use_cache and x.size(1) > self.max_len:
            raise ValueError("too long")
        self.cache = x
        return x
"""


def test_a_module_with_memory_gets_a_check_of_successive_calls():
    checks = first(REMEMBERING)
    assert "values_with_use_cache_on" not in checks, "calls that only their sum is bounded for"
    calls = [{"tokens": 4}, {"tokens": 1}, {"tokens": 3}]
    given = {"property": "calls_in_turn", "inputs": {"use_cache": True}, "calls": calls}
    assert checks["calls_in_turn"] == given
    assert checks["calls_with_reset"] == {**given, "id": "calls_with_reset", "after_each": "reset"}
    too_long = checks["too_long_is_refused"]
    assert too_long["inputs"] == {"use_cache": True}
    assert [size_case["tokens"] - size_case["max_len"] for size_case in too_long["sizes"]] == [1]
    assert "calls_in_turn" not in first(module("dim, heads", "x"))


AVERAGING = """
import torch
from torch import nn


class Averaging(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))

    def forward(self, x):
        if self.training:
            self.centre.lerp_(x.mean(0).detach(), 0.1)
        return x - self.centre
"""


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("", ""),
        (".lerp_(x.mean(0).detach(), 0.1)", " = 0.9 * self.centre + 0.1 * x.mean(0).detach()"),
        (".lerp_(x.mean(0).detach(), 0.1)", "[:] += 0.1 * x.mean(dim=0).detach()"),
        ('register_buffer("centre", torch.zeros(width))', "centre = nn.Buffer(torch.zeros(width))"),
    ],
)
def test_a_module_with_running_averages_by_hand_gets_a_check_of_what_training_leaves(was, becomes):
    source = AVERAGING.replace(was, becomes)
    expected = {
        "property": "calls_in_turn",
        "id": "statistics_of_training",
        "training": True,
        "evaluates_last": True,
        "calls": [{"batch": 6}, {"batch": 3}, {"batch": 5}],
    }
    assert first(source)["statistics_of_training"] == expected
    proposal = propose(find_interface(source, "averaging.py"))
    assert proposal.inputs == {"x": ["batch", "width"]}
    assert [size_case["batch"] for size_case in proposal.fixed_sizes] == [2, 2, 3], "statistics need two samples"


@pytest.mark.parametrize(
    "change",
    [
        ("self.centre.lerp_", "self.other.lerp_"),
        ('register_buffer("centre", ', 'note("centre", '),
        ("if self.training:", "if x.size(0) > 1:"),
    ],
)
def test_a_buffer_that_training_leaves_alone_needs_no_such_check(change):
    assert "statistics_of_training" not in first(AVERAGING.replace(*change))


def test_a_proof_proposes_the_check_of_running_averages_if_the_description_has_none(own_course, new):
    new(AVERAGING)
    fill_in(own_course, ANSWERS | {"defects[0].was": "0.1)", "defects[0].fix": "0.2)"})
    exercise = load_exercise(own_course.description(EXERCISE))
    assert missing_checks(AVERAGING, exercise, 1) == []
    checks = [check for check in exercise.checks if check.id != "statistics_of_training"]
    [proposed] = missing_checks(AVERAGING, structs.replace(exercise, checks=checks), 1)
    assert (proposed["evaluates_last"], proposed["calls"]) == (True, [{"batch": 6}, {"batch": 3}, {"batch": 5}])


def test_the_axes_of_images_and_of_channels_are_read():
    images = proposed("channels", "x", "n, c, h, w = x.shape")
    assert images.inputs == {"x": ["batch", "channels", "height", "breadth"]}
    assert {*images.fixed_sizes[0]} == {"batch", "height", "breadth", "channels"}
    waves = proposed("in_channels, out_channels, kernel_size", "x", "b, c, t = x.shape")
    assert (waves.inputs, waves.outputs) == (
        {"x": ["batch", "in_channels", "tokens"]},
        [["batch", "out_channels", "tokens"]],
    )
    assert [size_case["kernel_size"] for size_case in waves.fixed_sizes] == [1, 1, 1, 3]


def test_a_cell_takes_samples_without_tokens_and_its_optional_state_is_tried():
    layers = "self.mix = nn.Linear(width, hidden)\n        self.keep = nn.Linear(hidden, hidden)"
    source = module("width, hidden", "x, state=None", "return self.mix(x) + self.keep(state)")
    source = source.replace("super().__init__()", layers).replace("class Net", "class NetCell")
    assert propose(find_interface(source, "cell.py")).inputs == {"x": ["batch", "width"]}
    assert first(source)["values_with_state"]["inputs"] == {"state": ["batch", "hidden"]}


def test_code_that_calls_itself_causal_gets_a_check_of_leaks():
    source = module("channels", "x", "b, c, t = x.shape").replace("class Net", "class CausalNet")
    assert first(source)["future_does_not_leak"] == {"property": "future_does_not_leak", "input": "x", "axis": 2}
    assert "future_does_not_leak" not in first(source.replace("Causal", "Any"))


def test_values_on_both_sides_of_a_condition_are_tried():
    source = """
def top_k_filter(logits, top_k=3, filter_value=float("-inf")):
    if top_k <= 0:
        return logits
    top_k = min(top_k, logits.size(-1))
    return logits
"""
    checks = first(source)
    tried = [check["constructor"] for check in checks.values() if "top_k" in check.get("constructor", {})]
    assert tried == [
        {"top_k": 0},
        {"top_k": 1},
        {"top_k": 1000},
        {"top_k": 4},
        {"top_k": 3, "filter_value": -9.0},
    ]


def test_an_axis_named_after_an_integer_argument_has_that_length():
    source = """
def bias(table, query_len, key_len, num_buckets=16):
    '''Looked up in a table of (num_buckets, heads).'''
    return table
"""
    interface = find_interface(source, "bias.py")
    assert propose(interface).inputs == {"table": [16, "width"]}
    _, size_cases = propose_sizes(KINDS[KindName.FUNCTION], ["width", "query_len", "key_len"])
    assert {name: size_cases[1][name] for name in ("query_len", "key_len")} == {
        "query_len": [130, 160],
        "key_len": [130, 160],
    }


def test_a_mask_that_leaves_nothing_is_tried_where_the_file_guards_against_that():
    guarded = "def pool(hidden, mask, eps=1e-9):\n    return hidden / mask.sum(1).clamp(min=eps)\n"
    assert first(guarded)["values_with_a_blind_row_of_mask"]["inputs"]["mask"]["mask"] == "dead_row"
    assert "values_with_a_blind_row_of_mask" not in first(guarded.replace(".clamp(min=eps)", ""))


def test_a_mask_of_keys_hides_half_of_them_and_different_ones_in_each_of_many_samples():
    masking = "return x.masked_fill(~key_mask[:, None, None, :], 0.0)"
    checks = first(module("dim, heads", "x, key_mask=None", masking))
    always, many = checks["matches_reference_with_key_mask"], checks["values_with_many_of_key_mask"]
    assert always["inputs"] == {"key_mask": {"mask": "padding", "shape": ["batch", "tokens"]}}
    assert many["inputs"] == {"key_mask": {"mask": "random", "shape": ["batch", "tokens"]}}
    assert [size_case["batch"] for size_case in many["sizes"]] == [9]


def test_a_bias_flag_is_tried_by_the_parameters_and_training_without_dropout_by_values():
    checks = first(module("dim, heads, dropout=0.0, qkv_bias=True", "x"))
    assert checks["parameters_with_qkv_bias_off"]["property"] == "keeps_parameters"
    assert checks["parameters_with_qkv_bias_off"]["constructor"] == {"qkv_bias": False}
    assert checks["values_in_training"]["training"] is True
    assert "values_in_training" not in first(module("dim, heads, dropout=0.1", "x"))


def test_a_default_among_the_sizes_is_tried_at_sizes_of_its_own():
    """Random sizes are multiples of random heads, so they do not fit the default number of heads."""
    by_default = first(module("dim, heads=4", "x"))["values_by_default"]
    assert by_default["defaults"] == ["heads"]
    assert [(size_case["heads"], size_case["dim"] % 4) for size_case in by_default["sizes"]] == [(4, 0)]


def test_the_special_cases_of_optimizers_and_steps_are_tried():
    optimizer = """
import torch


class Slow(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0.0:
            raise ValueError(lr)

    def step(self, closure=None):
        pass
"""
    checks = first(optimizer)
    assert checks["values_after_many_steps"]["constructor"] == {"steps": 23}
    assert checks["values_with_a_closure"]["constructor"] == {"closure": True}
    assert checks["values_with_other_weight_decay"]["constructor"] == {"weight_decay": 0.25}
    assert checks["values_by_default"]["defaults"] == ["lr"]
    assert checks["lr_is_refused"]["constructor"] == {"lr": 0.0}
    assert "values_with_a_closure" not in first(optimizer.replace(", closure=None", ""))
    step = "def train_step(model, optimizer, x, y, clip=None):\n    return [p for p in x if p.grad is None]\n"
    assert first(step)["values_with_an_unused_parameter"]["constructor"] == {"unused": True}
    assert first(step)["values_with_tight_clip"]["constructor"] == {"clip": 0.001}
    assert propose(find_interface(step, "step.py")).constructor["clip"] == 1000.0


@pytest.mark.parametrize(
    ("constructor", "forward"),
    [
        ("embed_dim, num_heads", "x"),
        ("d_in, d_out, context_length, dropout, num_heads, qkv_bias=False", "x"),
        ("d_model, d_k, d_v, h", "q, k, v"),
        ("dim=64, heads=8, dim_head=16", "x, context"),
        ("vocab_size, width, max_len", "token_ids, lengths"),
    ],
)
def test_sizes_are_drawn_for_every_module_and_fit_together(constructor, forward):
    proposal = proposed(constructor, forward)
    fixed_sizes, size_cases = proposal.fixed_sizes, proposal.random_sizes
    assert len(size_cases) == 4
    for number, size_case in enumerate(size_cases):
        assert size_case.keys() == fixed_sizes[0].keys()
        for seed in range(20):
            sizes = draw_sizes(size_case, f"{number} {seed}")
            heads = next((sizes[name] for name in sizes if name in ("num_heads", "h", "heads")), 1)
            assert all(sizes[name] % heads == 0 for name in sizes if name in ("embed_dim", "d_out", "d_model", "dim"))
            longest = next((sizes[name] for name in sizes if name in ("context_length", "max_len")), None)
            assert longest is None or longest >= sizes["tokens"]
    assert max(draw_sizes(size_cases[1], "long").values()) >= 130


def test_a_notebook_becomes_a_module_and_a_clean_twin(own_course, new):
    cells = [
        markdown("# My layer"),
        code("%matplotlib inline\nimport torch\nfrom torch import nn", count=1),
        code(BUGGY[BUGGY.index("import math") :], count=2),
        code("layer = MultiHeadAttention(12, 2)\nprint(layer)", count=3, outputs=[]),
    ]
    new(notebook(*cells), "mine.ipynb")
    first, second = own_course.editable_files(EXERCISE)
    text = first.read_text()
    assert "matplotlib" not in text
    assert "print(layer)" not in text
    assert not re.search(r"^pass$", text, re.MULTILINE)
    read = nbformat.read(second, as_version=4)
    nbformat.validate(read)
    assert [cell.get("execution_count") for cell in read.cells] == [None] * 5
    assert read.cells[3].metadata.tags == ["demonstration"]
    chunks = read_submission(second, second.name).chunks
    assert [ast.dump(node) for chunk in chunks for node in ast.parse(chunk.text).body] == [
        ast.dump(node) for node in ast.parse(text).body
    ]


def test_the_reference_follows_the_yaml_until_somebody_edits_it(own_course, new):
    new()
    fill_in(own_course, ANSWERS | {"defects[0].fix": "torch.softmax(scores, dim=3)"})
    reference, description = own_course.reference(EXERCISE), own_course.description(EXERCISE)
    derive_files(own_course, load_exercise(description))
    assert "dim=3)" in reference.read_text()
    description.write_text(description.read_text().replace("dim=3)", "dim=-1)"))
    derive_files(own_course, load_exercise(description))
    assert reference.read_text() == BUGGY.replace("dim=-2)", "dim=-1)")
    assert derive_files(own_course, load_exercise(description)) == []
    mine = reference.read_text() + "\n# mine\n"
    reference.write_text(mine)
    assert derive_files(own_course, load_exercise(description)) == []
    assert reference.read_text() == mine


def test_the_page_of_every_exercise_names_each_argument_that_checks_use(own_course):
    for exercise_id in own_course.exercise_ids():
        exercise = load_exercise(own_course.description(exercise_id))
        page = (own_course.exercise_folder(exercise_id) / "README.md").read_text(encoding="utf-8")
        kind = exercise.interface.kind
        used = {*exercise.interface.constructor, *(() if kind.own_inputs else exercise.interface.inputs)}
        for check in exercise.checks:
            used |= {*check.constructor, *check.defaults, *(() if check.method else check.inputs)}
        missing = [name for name in used - {*kind.adapter_arguments} if not re.search(rf"\b{name}\b", page)]
        assert not missing, exercise_id


def test_the_page_of_a_new_exercise_names_the_arguments_that_only_checks_use(own_course, new):
    new(BUGGY.replace("dropout=0.1):", "dropout=0.1, bias=True):").replace("(self, x):", "(self, x, scale=1.0):"))
    fill_in(own_course)
    derive_files(own_course, load_exercise(own_course.description(EXERCISE)))
    readme = (own_course.exercise_folder(EXERCISE) / "README.md").read_text()
    assert "`MultiHeadAttention(embed_dim, num_heads, dropout=0.1, bias=True)` is an `nn.Module`.\n" in readme
    for row in ("`scale`, optional | FILL IN (its meaning)", "`dropout` | FILL IN", "`bias` | FILL IN"):
        assert f"\n| {row}" in readme


def page_of(course) -> str:
    derive_files(course, load_exercise(course.description(EXERCISE)))
    return " ".join((course.exercise_folder(EXERCISE) / "README.md").read_text().split())


def test_the_page_of_a_new_exercise_promises_what_its_checks_require_and_marks_what_only_the_author_knows(
    own_course, new
):
    heading = "class MultiHeadAttention(nn.Module):\n"
    new(BUGGY.replace(heading, f'{heading}    """Looks at every token."""\n\n'))
    fill_in(own_course)
    page = page_of(own_course)
    for promise in (
        "is an `nn.Module`. Looks at every token.",
        "| `x` | `(batch, tokens, embed_dim)` |",
        "| `qkv` | `nn.Linear(embed_dim, 3 * embed_dim)` |",
        "- FILL IN (what `forward` computes",
        "- Samples do not affect each other.",
        "- `x` is not modified.",
        "- A module in float64 computes in float64.",
        "- Dropout acts in training mode only.",
        "with `AssertionError` or `ValueError`: FILL IN (which values it refuses).",
        "Arguments may be passed by keyword, or by position in the order above.",
        "- A module that was called under `torch.inference_mode()` can be trained afterwards.",
    ):
        assert promise in page, promise
    warnings = compare_sources(own_course, load_exercise(own_course.description(EXERCISE))).warnings
    assert any("exercises/exercise_42/README.md: says FILL IN" in warning for warning in warnings)


def test_the_page_of_a_new_exercise_gives_the_limit_of_its_inputs(own_course, new):
    new()
    fill_in(own_course)
    assert "with numbers up to" not in page_of(own_course)
    path = own_course.description(EXERCISE)
    path.write_text(path.read_text().replace("\n  outputs:", "\n  largest_input: 1000\n  outputs:", 1))
    assert "memory layout, with numbers up to 1,000, in training" in page_of(own_course)


def test_the_page_of_a_new_exercise_keeps_the_fix_of_a_constructor_to_itself(own_course, new):
    was = "nn.Linear(embed_dim, 3 * embed_dim)"
    new()
    fill_in(own_course, ANSWERS | {"defects[0].was": was, "defects[0].fix": f"{was[:-1]}, bias=False)"})
    page = page_of(own_course)
    assert "| `qkv` | FILL IN (" in page
    assert "bias=False" not in page
    assert "| `out` | `nn.Linear(embed_dim, embed_dim)` |" in page


def test_the_page_of_a_new_function_promises_no_modes(own_course, new):
    new("def double(x, factor=2.0):\n    return x * factor\n")
    fill_in(own_course, ANSWERS | {"defects[0].was": "x * factor", "defects[0].fix": "x * factor + 0"})
    page = page_of(own_course)
    assert "A call with inputs in float64 computes in float64." in page
    assert "memory layout, with and without gradients" in page
    assert "module" not in page


STEP = """\
import torch


def train_step(model, optimizer, x, y, *, max_norm=1.0, rate=0.5):
    model.train()
    optimizer.zero_grad()
    loss = rate * torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss
"""
DESCENT = """\
import torch


class Descent(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), *, decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad is not None:
                    each.sub_(each.grad, alpha=group["lr"])
"""
PAIRS = """\
class Pairs:
    def __init__(self, tokens, *, length=3):
        self.tokens, self.length = tokens, length

    def __len__(self):
        return len(self.tokens) - self.length

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(index)
        return self.tokens[index : index + self.length]
"""
MASKED = """\
from collections import namedtuple

Found = namedtuple("Found", ["total", "count"])


def masked_sum(x, token_mask=None, *, vocab_size, weight: float = 1.0):
    kept = x if token_mask is None else x * token_mask
    return Found(weight * kept.sum(), vocab_size + kept.sum())
"""


@pytest.mark.parametrize(
    ("source", "was", "fix", "expected"),
    [
        (
            STEP,
            "model.train()",
            "model.train(True)",
            [
                "`train_step(model, optimizer, x, y, *, max_norm=1.0, rate=0.5)` is one step",
                "| `model` | FILL IN (its meaning) | | `optimizer` | FILL IN (its meaning) |",
                "| `x` | `(batch, width)` | | `y` | `(batch)`, whole numbers from 0",
                "| what `train_step` returns | FILL IN (its meaning) |",
                "- `train_step` computes in float64 if its model and batches are in float64. - `x` and `y` are not mod",
                "Arguments may be passed by keyword, and `x` and `y` also by position, in this order.",
            ],
        ),
        (
            DESCENT,
            'alpha=group["lr"]',
            'alpha=-group["lr"]',
            [
                "`Descent(params, lr=0.001, betas=(0.9, 0.999), *, decay=0.0)` is an optimizer.",
                "| `params` | FILL IN (its meaning) | | `lr` | FILL IN (its meaning) | | `betas` |",
                "- `Descent` computes in float64 if its parameters and gradients are in float64.",
                "- Between two steps, a new optimizer may load the state dict and take the next steps.",
            ],
        ),
        (
            PAIRS,
            "len(self.tokens) - self.length",
            "len(self.tokens) - self.length + 1",
            [
                "`Pairs(tokens, *, length=3)` is a dataset or sampler.",
                "- `tokens` is not modified.",
                "- The index -1 gives the last item, and an index past the end raises `IndexError`.",
                "- Items and their order are compared over two epochs",
                "Arguments may be passed by keyword. Everything else",
            ],
        ),
        (
            MASKED,
            "x * token_mask",
            "x * token_mask + 0",
            [
                "`masked_sum(x, token_mask=None, *, vocab_size, weight=1.0)` is a function.",
                "| `x` | `(batch, tokens, vocab_size)` |",
                "| `token_mask` | FILL IN (its meaning) | | `weight` | FILL IN (its meaning) |",
                "| `.total` of what `masked_sum` returns | a single number | | `.count` of what",
            ],
        ),
    ],
    ids=["training step", "optimizer", "dataset", "function"],
)
def test_the_page_of_each_kind_shows_the_signature_and_promises(own_course, new, source, was, fix, expected):
    new(source)
    path = own_course.description(EXERCISE)
    text = path.read_text().replace("outputs:\n    - [batch, tokens, width]", "outputs: [[], []]")
    path.write_text(re.sub(r"vocab_size: .*", "vocab_size: width", text))
    fill_in(own_course, ANSWERS | {"defects[0].was": was, "defects[0].fix": fix})
    page = page_of(own_course)
    for promise in expected:
        assert promise in page, promise


def test_the_page_hides_a_default_that_the_fix_changes_and_shows_keyword_only_arguments(own_course, new):
    fix = "embed_dim, *, num_heads, dropout=0.0)"
    new(BUGGY.replace("embed_dim, num_heads, dropout=0.1)", fix.replace("0.0", "0.1")))
    fill_in(own_course, ANSWERS | {"defects[0].was": "dropout=0.1)", "defects[0].fix": "dropout=0.0)"})
    page = page_of(own_course)
    assert "`MultiHeadAttention(embed_dim, *, num_heads, dropout=...)`" in page
    assert "Arguments may be passed by keyword, and `x` also by position." in page
    assert "| value 1 of what `forward` returns | `(batch, tokens, embed_dim)` | | value 2 of what" in page


def test_the_page_names_keys_of_outputs_and_what_only_the_author_knows_of_masks_and_options(own_course, new):
    source = BUGGY.replace("(self, x):", "(self, x, padding_mask=None, *, use_cache=False):")
    source = source.replace("return self.out(joined), weights", 'return {"weights": weights, "out": self.out(joined)}')
    new(source)
    path = own_course.description(EXERCISE)
    text = path.read_text().replace("    - [batch, tokens, embed_dim]\n", "    - [batch, tokens, embed_dim]\n" * 2)
    mask = "{padding_mask: {mask: padding, shape: [batch, tokens]}, use_cache: true}"
    path.write_text(f"{text}  - {{property: matches_reference, id: masked, inputs: {mask}}}\n")
    fill_in(own_course)
    page = page_of(own_course)
    assert "| `padding_mask`, optional | `(batch, tokens)`, a mask: FILL IN (what true stands for) |" in page
    assert "| `use_cache`, optional, by keyword only | FILL IN (its meaning) |" in page
    assert '| `["out"]` of what `forward` returns | `(batch, tokens, embed_dim)` | | `["weights"]` of what' in page


def test_shipped_references_are_left_alone(own_course):
    for exercise_id in own_course.exercise_ids():
        assert derive_files(own_course, load_exercise(own_course.description(exercise_id))) == []


def test_a_fragment_that_is_not_in_the_starter_is_refused_and_nothing_is_written(own_course, new):
    new()
    fill_in(own_course, ANSWERS | {"defects[0].was": "dim=7)"})
    with pytest.raises(
        SpecError, match=r":\d+:10: defects\[0\]\.was: .* got no occurrence; no line is similar to .dim=7"
    ):
        derive_files(own_course, load_exercise(own_course.description(EXERCISE)))
    assert own_course.reference(EXERCISE).read_text() == BUGGY


def test_a_fix_that_occurs_twice_is_refused_before_anything_is_written(own_course, new):
    new()
    fill_in(own_course, ANSWERS | {"defects[0].was": "dim=-2)", "defects[0].fix": "dim=-1)"})
    with pytest.raises(SpecError, match=r"exercise\.yaml:\d+:10: defects\[0\]\.fix: .*got 2 occurrences, in lines"):
        derive_files(own_course, load_exercise(own_course.description(EXERCISE)))
    assert own_course.reference(EXERCISE).read_text() == BUGGY


def test_fixing_a_defect_reverses_putting_it_back(course):
    for exercise_id in course.exercise_ids():
        exercise = load_exercise(course.description(exercise_id))
        starter = course.pristine(course.editable_files(exercise_id)[0]).read_text(encoding="utf-8")
        reference = course.reference_text(exercise_id)
        assert fix_defects(starter, exercise.defects) == reference
        assert put_back(fix_defects(starter, exercise.defects), exercise.defects) == starter


@pytest.mark.parametrize(
    ("was", "fix"),
    [
        ("x = 1\ny = 2", "y = 2\nx = 1"),
        ("    x = 1\n    y = 2\n", "    y = 2\n    x = 1\n"),
        ("    x = 1\n    y = 2\n", "    y = 3\n"),
        ("    y = 2\n", "    if y:\n        y = 2\n"),
    ],
)
def test_fragments_may_keep_the_indentation_of_the_file(was, fix):
    text = "if c:\n    x = 1\n    y = 2\n    z = 3\n"
    defect = Defect(id="d", title="t", points=1, was=was, fix=fix, hints=("a", "b", "c"), why="w")
    fixed = fix_defects(text, [defect])
    inner = "\n".join(line if line.startswith(" ") else f"    {line}" for line in fix.rstrip().split("\n"))
    assert inner in fixed
    ast.parse(fixed)
    assert put_back(fixed, [defect]) == text


def test_several_fragments_of_several_lines_are_fixed():
    both = Defect(
        id="d", title="t", points=1, was=["x = 1\ny = 2", "a"], fix=["x = 3", "b"], hints=("a", "b", "c"), why="w"
    )
    assert (
        fix_defects("if c:\n    x = 1\n    y = 2\n    z\na\n".replace("a\n", "a\n"), [both])
        == "if c:\n    x = 3\n    z\nb\n"
    )


LOSS = "import torch\n\n\ndef smooth_loss(logits, labels):\n    return (logits - labels).abs().mean()\n"


@pytest.mark.parametrize(("name", "called"), [("", "loss.py"), ("smooth.py", "smooth.py")])
def test_the_file_name_comes_from_the_kind_or_the_author(own_course, tmp_path, name, called):
    source = tmp_path / "buggy.py"
    source.write_text(LOSS, encoding="utf-8")
    create_exercise(own_course, EXERCISE, source, name)
    module, twin = own_course.editable_files(EXERCISE)
    assert (module.name, twin.name) == (called, called.replace(".py", ".ipynb"))
    assert own_course.reference(EXERCISE).name == called
    files = [module, twin, own_course.pristine(module), own_course.pristine(twin), own_course.reference(EXERCISE)]
    assert all(path.is_file() for path in files)
    assert not list(own_course.root.glob(f"*/{EXERCISE}/**/attention.*"))


@pytest.mark.parametrize("name", ["Loss.py", "loss", "../loss.py", "math.py", "torch.py"])
def test_a_name_that_a_module_cannot_have_is_refused(own_course, tmp_path, name):
    source = tmp_path / "buggy.py"
    source.write_text(LOSS, encoding="utf-8")
    with pytest.raises(UsageError, match=r"choose another, in lower case, such as loss\.py"):
        create_exercise(own_course, EXERCISE, source, name)
    assert not own_course.exercise_folder(EXERCISE).exists()


def test_a_new_exercise_has_a_first_model_trap_that_its_author_finishes(own_course, new):
    new()
    text = own_course.model_trap(EXERCISE).read_text()
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert {"test_the_shape", "test_samples_do_not_mix", "test_every_parameter_learns"} <= {*names}
    assert "subject(embed_dim=" in text
    assert BLANK in text


@pytest.mark.parametrize("command", [("prove",), ("release", "out"), ("fresh", "out")])
def test_a_command_names_the_extra_that_is_missing(own_course, run_cli, tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "libcst", None)
    done = run_cli(command[0], *(tmp_path / each for each in command[1:]), cwd=own_course.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "grader: this needs libcst; install it with pip install -e '.[author]'\n"
