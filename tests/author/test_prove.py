"""A proof finds gaps in the checks of an exercise; the proof of every exercise of the course succeeds."""

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import structs

from grader.author.differential import find_differences
from grader.author.mutants import OPERATORS, Mutant, is_same_in_other_words, mutants_of
from grader.author.new import create_exercise
from grader.author.output_shapes import describe_shapes
from grader.author.proof import ALWAYS_DONE, STEPS, MutantStatus, Record, Step, Survivor
from grader.author.proof_cache import ProofCache
from grader.author.proof_page import render_proofs
from grader.author.prove import prove, record_of
from grader.author.static_steps import constant_sizes, points_step, unmatched_equivalent
from grader.author.survivors import advise, missing_checks
from grader.author.usual_tests import run_usual_tests
from grader.processes.task_pool import TaskPool
from grader.report.phrases import story
from grader.spec.exercise import Equivalent, Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.key_making import has_key
from tests.support.commands import run_program
from tests.support.sampling import others_slow

EXERCISE = "exercise_06"

MODULE = """\
class Attention(nn.Module):
    def __init__(self, d_model, heads, bias=True, p=0.1):
        super().__init__()
        self.d_model = d_model
        self.d_k = d_model // heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(p)
        self.register_buffer("later", torch.triu(torch.ones(9, 9), diagonal=1))

    def forward(self, x, flag=False):
        batch, tokens, _ = x.shape
        {line}
"""

EXPECTED = {
    "projection swapped": ("q = self.q_proj(x)", ["q = self.k_proj(x)", "q = self.out(x)"]),
    "scale dropped or doubled": ("s = s / math.sqrt(9)", ["s = (s)", "s = (s / math.sqrt(9) / math.sqrt(9))"]),
    "root of another size": (
        "r = math.sqrt(self.d_k)",
        ["r = math.sqrt(self.d_model)", "r = math.sqrt(batch)", "r = math.sqrt(tokens)"],
    ),
    "softmax over another axis": (
        "w = torch.softmax(s, dim=-1)",
        ["w = torch.softmax(s, dim=-2)", "w = torch.softmax(s, dim=0)", "w = torch.softmax(s, dim=1)"],
    ),
    "mask upside down": ("s = s.masked_fill(m == 0, -1e9)", ["s = s.masked_fill(~(m == 0), -1e9)"]),
    "mask after softmax": (
        "w = F.softmax(s.masked_fill(m, -torch.inf), dim=-1)",
        [],  # one line has the mask and the softmax; another test covers it
    ),
    "mask diagonal moved": ("m = torch.tril(o)", ["m = torch.tril(o, diagonal=-1)", "m = torch.tril(o, diagonal=1)"]),
    "fill value too small": (
        "s = s.masked_fill(m, float('-inf'))",
        [f"s = s.masked_fill(m, {value})" for value in ("0.0", "-1.0", "-10.0", "float('inf')")],
    ),
    "transpose removed": ("k = k.transpose(1, 2)", ["k = k"]),
    "view for transpose": ("k = k.transpose(1, 2)", ["k = k.reshape(k.transpose(1, 2).shape)"]),
    "reshape by view": ("x = x.reshape(batch, -1)", ["x = x.view(batch, -1)"]),
    "arguments swapped": (
        "y = attend(q, k, v)",
        ["y = attend(k, q, v)", "y = attend(v, k, q)", "y = attend(q, v, k)"],
    ),
    "factors swapped": ("y = w @ v", ["y = (v) @ (w)"]),
    "einsum letters swapped": (
        "s = einsum('ij,jk->ik', a, b)",
        [f"s = einsum('{pattern}', a, b)" for pattern in ("ji,jk->ik", "ij,kj->ik", "ij,jk->ki")],
    ),
    "dropout always on or gone": (
        "w = self.dropout(w)",
        ["w = torch.nn.functional.dropout(w, self.dropout.p)", "w = w"],
    ),
    "bias flag ignored": (
        "y = make(4, 4, bias=bias)",
        ["y = make(4, 4, bias=True)", "y = make(4, 4, bias=False)"],
    ),
    "buffer not registered": ('self.register_buffer("mask", m)', ["self.mask = m"]),
    "in place": ("s = s * 2", ["s = s.mul_(2)"]),
    "dtype or device pinned": (
        "y = self.out(x)",
        ["y = self.out((x).float())", "y = self.out((x).cpu())"],
    ),
    "detached": ("y = self.out(x)", ["y = self.out(x).detach()", "y = self.out((x).detach())"]),
    "layer skipped or residual added": ("y = self.out(x)", ["y = x", "y = (self.out(x) + x)"]),
    "constant moved": ("y = x[1, -1]", ["y = x[2, -1]", "y = x[0, -1]", "y = x[1, 0]", "y = x[1, -2]"]),
    "truth value flipped": ("y = True", ["y = False"]),
    "negation dropped": ("y = not x, ~x, -x", ["y = x, ~x, -x", "y = not x, x, -x", "y = not x, ~x, x"]),
    "operator replaced": (
        "y = x is None or tokens > 3",
        ["y = x is None and tokens > 3", "y = x is not None or tokens > 3", "y = x is None or tokens >= 3"],
    ),
    "None assigned": ("y = x", ["y = None"]),
    "argument dropped": ("y = f(x, 2)", ["y = f(None, 2)", "y = f(x, None)", "y = f(x, )", "y = f(2)"]),
    "statement removed": ("y = x", ["pass"]),
    "condition negated": ("y = x if flag else 0", ["y = x if not (flag) else 0"]),
    "operand dropped": ("y = flag or x", ["y = (flag)", "y = (x)"]),
}


def lines_made(operator: str, line: str) -> list[str]:
    """What one operator makes of the last line of the module."""
    source = MODULE.format(line=line)
    last = len(source.splitlines())
    made = [each for each in mutants_of(source, {operator: OPERATORS[operator]}) if each.line == last]
    return [each.change()[1] for each in made]


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_makes_the_mistakes_that_it_is_named_for(operator: str) -> None:
    line, expected = EXPECTED[operator]
    assert lines_made(operator, line) == expected


def test_every_operator_is_tested() -> None:
    assert set(EXPECTED) == set(OPERATORS)
    assert all(operator.advice for operator in OPERATORS.values())


def test_a_mask_after_the_softmax_is_one_change_of_two_lines() -> None:
    source = "def forward(s, mask):\n    s = s.masked_fill(mask == 0, -1e9)\n    return torch.softmax(s, dim=-1)\n"
    (mutant,) = mutants_of(source, {"mask after softmax": OPERATORS["mask after softmax"]})
    assert mutant.text == (
        "def forward(s, mask):\n    s = s\n    return torch.softmax(s, dim=-1).masked_fill(mask == 0, 0.0)\n"
    )


def test_a_bias_left_to_its_default_a_diagonal_and_a_dtype_are_changed_where_they_stand() -> None:
    source = MODULE.format(line="return x.to(dtype=self.out.weight.dtype)")
    changes = {each.change() for each in mutants_of(source)}
    before = "self.out = nn.Linear(d_model, d_model)"
    assert (before, "self.out = nn.Linear(d_model, d_model, bias=False)") in changes
    triangle = 'self.register_buffer("later", torch.triu(torch.ones(9, 9), diagonal={}))'
    assert {(triangle.format(1), triangle.format(number)) for number in (0, 2)} <= changes
    assert ("return x.to(dtype=self.out.weight.dtype)", "return x.to(dtype=torch.float32)") in changes


def test_no_two_mutants_have_one_tree_and_none_has_the_source_s() -> None:
    texts = [each.text for each in mutants_of("y = 1 + 1\nz = f(1, 1)\n")]
    assert len(texts) == len(set(texts))
    assert "y = 1 + 1\nz = f(1, 1)\n" not in texts


def test_words_imports_and_annotations_are_left_alone() -> None:
    source = '"""Says 1."""\nimport math\n\ndef f(x: tuple[1, 2]):\n    """2."""\n    print(x + 3)\n    return x\n'
    assert {each.line for each in mutants_of(source)} == {7}


WEAK_CHECKS = "checks:\n  - property: returns_shapes\n"

DOUBTFUL = """\
equivalents:
  - was: attention = torch.matmul(torch.softmax(score, dim=-1), value)
    becomes: attention = torch.matmul(torch.softmax(score, dim=-2), value)
    reason: who is to say which axis it was
  - was: key = self.w_key(x)
    becomes: key = self.w_lock(x)
    reason: no operator makes this
  - was: score = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.head_dim)
    becomes: score = torch.matmul(query, key.transpose(+2, -1)) / math.sqrt(self.head_dim)
    reason: There are four axes, so 2 and -2 are the same one.
"""


def weaken(course: Course) -> None:
    """Leave only a check of shapes, and declare two mutants equivalent that are not."""
    description = course.description(EXERCISE)
    kept = description.read_text(encoding="utf-8").split("checks:\n")[0]
    description.write_text(kept + WEAK_CHECKS + DOUBTFUL, encoding="utf-8")


@pytest.mark.slow
def test_a_weak_exercise_is_refused_with_its_survivors_and_its_false_equivalents(own_course: Course) -> None:
    weaken(own_course)
    result = run_program("prove", EXERCISE, cwd=own_course.root, columns=160, timeout=300)
    assert result.returncode == 1, result.stderr
    table, _, problems = result.stdout.partition(f"\n{EXERCISE}\n")
    survived = int(re.findall(rf"^{EXERCISE} .* (\d+)$", table, re.MULTILINE)[-1])
    assert survived > 20
    assert problems.count("survived: ") == survived
    assert "0 of 1 proofs hold." in result.stdout
    told = " ".join(problems.split())
    assert re.search(
        r"survived: projection swapped, line 28 - key = self\.w_key\(x\) \+ key = self\.w_query\(x\) .*?"
        r" differs with .*?; add a check of such a call, such as matches_reference; every_parameter_learns names "
        r"the projection",
        told,
    ), told
    declared = yaml.safe_load(problems[problems.index("declare it there:") :].split("\n\n")[0].partition("\n")[2])
    assert 0 < len(declared) < survived / 2, "only the mutants that never differed"
    assert not [each for each in declared if "w_query(x)" in each["becomes"]]
    assert "equivalents: declared equivalent, but the output differs with" in told
    assert "softmax(score, dim=-2), value)" in told
    assert "the equivalent 'key = self.w_key(x)' -> 'key = self.w_lock(x)' matches no mutant; remove the entry" in told
    assert told.count("declared equivalent, but") == 1


@pytest.mark.slow
def test_an_interrupted_proof_goes_on_where_it_stopped(own_course: Course) -> None:
    totals = []

    def stop_after_six(done: int, total: int) -> None:
        totals.append(total)
        if done == 6:
            raise KeyboardInterrupt

    record = record_of(own_course, EXERCISE)
    record.unlink(missing_ok=True)
    with pytest.raises(KeyboardInterrupt):
        prove(own_course, [EXERCISE], stop_after_six)
    cache = own_course.state_folder() / "proofs" / f"{EXERCISE}.jsonl"
    cache.write_bytes(cache.read_bytes() + b'\n["status-0123')  # the line that was being written
    (proof,) = prove(own_course, [EXERCISE], lambda _, total: totals.append(total))
    assert totals[-1] == totals[0] - 6
    assert proof.holds(), proof
    assert sum(proof.statuses.values()) == len(mutants_of(own_course.reference_text(EXERCISE)))
    assert proof.statuses[MutantStatus.SURVIVED] == 0

    cache.rename(cache.with_suffix(".aside"))
    (again,) = prove(own_course, [EXERCISE], lambda _, total: totals.append(total))
    assert (totals[-1], again) == (0, structs.replace(proof, recorded=True))
    assert "1 of 1 proofs hold, 1 of them from records; --fresh proves them again." in render_proofs([again])
    cache.with_suffix(".aside").rename(cache)
    written = record.read_bytes()
    record.write_bytes(written.replace(b'"value": ', b'"value": 1'))  # more mutants than there are
    (again,) = prove(own_course, [EXERCISE], lambda _, total: totals.append(total))
    assert (totals[-1], again, record.read_bytes()) == (0, proof, written)
    own_course.key(EXERCISE).unlink()
    prove(own_course, [EXERCISE], lambda _, total: totals.append(total))
    assert totals[-1] == 1  # the key is written anew
    assert has_key(own_course, EXERCISE)

    refused = own_course.alternatives(EXERCISE) / "wrong.py"
    refused.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(own_course.pristine(own_course.editable_files(EXERCISE)[0]), refused)
    (failing,) = prove(own_course, [EXERCISE], lambda *_: None)
    assert [step.name for step in failing.steps if not step.holds()] == ["alternatives", "model trap"]
    assert not record.exists()


SOUND = Record(
    digest="digest",
    steps=[Step(name=name) for name in STEPS.keys() - ALWAYS_DONE],
    statuses={MutantStatus.VALUE: 3, MutantStatus.EQUIVALENT: 1},
)


@pytest.mark.parametrize(
    "other",
    [
        {"digest": "another"},
        {"statuses": {MutantStatus.VALUE: 3}},
        {"statuses": {MutantStatus.VALUE: 3, MutantStatus.SURVIVED: 1}},
        {"steps": SOUND.steps[1:]},
        {"steps": [Step(name=step.name, problems=["refused"]) for step in SOUND.steps]},
    ],
    ids=["of other sources", "of fewer mutants", "with a survivor", "not whole", "did not hold"],
)
def test_a_record_counts_if_it_belongs_to_a_successful_whole_proof_of_these_sources(other: dict) -> None:
    assert SOUND.is_sound("digest", 4)
    assert not structs.replace(SOUND, **other).is_sound("digest", 4)


def test_a_proof_forgets_what_depends_on_what_was_changed_and_nothing_else(own_course: Course) -> None:
    def known() -> tuple[dict[str, MutantStatus], dict[str, list[Step]]]:
        cache = ProofCache(own_course, EXERCISE)
        return cache.load_all("status", ["x=1"], MutantStatus), cache.load_all("steps", ["judge_exactly"], list[Step])

    description = own_course.description(EXERCISE)
    text = description.read_text(encoding="utf-8")
    alternative = own_course.alternatives(EXERCISE) / "another.py"
    alternative.parent.mkdir(parents=True, exist_ok=True)
    alternative.write_text("x = 1\n", encoding="utf-8")
    cache = ProofCache(own_course, EXERCISE)
    cache.store("status", "x=1", MutantStatus.VALUE)
    cache.store("steps", "judge_exactly", [Step(name="scores")])
    status, steps = {"x=1": MutantStatus.VALUE}, {"judge_exactly": [Step(name="scores")]}

    declared = "- was: a = 1\n    becomes: a = 2\n    reason: nothing reads it\n"
    description.write_text(f"{text}\n  {declared}", encoding="utf-8")  # texts, points and declarations change nothing
    alternative.write_text("# one\nx = 1\n", encoding="utf-8")
    assert known() == (status, steps)

    alternative.write_text("x = 2\n", encoding="utf-8")
    assert known() == (status, {})

    description.write_text(text.replace("check: 5", "check: 4") + "limits: {memory_mb: 1024}\n", encoding="utf-8")
    assert known() == ({}, {})


def test_comments_and_docstrings_of_a_reference_do_not_change_its_mutants() -> None:
    plain = 'def f(x):\n    """Add."""\n    return x + 3\n'
    commented = '# new\ndef f(x):\n    """Add three."""\n    return x + 3  # three\n'
    assert {mutant.tree for mutant in mutants_of(plain)} == {mutant.tree for mutant in mutants_of(commented)}


def test_a_starter_or_notebook_that_differs_from_the_reference_is_named(own_course: Course) -> None:
    from grader.author.static_steps import compare_sources
    from grader.spec.loading import load_exercise

    exercise = load_exercise(own_course.description(EXERCISE))
    module, notebook = (own_course.pristine(path) for path in own_course.editable_files(EXERCISE))
    assert compare_sources(own_course, exercise).holds()
    swap(module, "value = self.w_value(x)", "value = self.w_value(x)  # yes")
    (words,) = compare_sources(own_course, exercise).problems
    assert re.search(r"exercises/exercise_06/.starter/attention.py:29: is worded differently from the reference", words)
    swap(module, "value = self.w_value(x)", "value = self.w_key(x)")
    problems = compare_sources(own_course, exercise).problems
    assert len(problems) == 2  # the module differs from the notebook too
    swap(module, "value = self.w_key(x)  # yes", "value = self.w_value(x)")
    swap(notebook, "self.w_value(x)", "self.w_key(x)")
    (cells,) = compare_sources(own_course, exercise).problems
    assert cells.startswith("exercises/exercise_06/.starter/attention.ipynb: its code cells differ from the module")
    swap(notebook, "self.w_key(x)", "self.w_value(x")
    assert compare_sources(own_course, exercise).problems == [
        cells
    ]  # a cell that is not Python differs from the module too
    swap(notebook, "self.w_value(x", "self.w_value(x)")
    swap(notebook, '"metadata"', '"metadat"')
    words, *_ = compare_sources(own_course, exercise).problems
    assert words.startswith("exercises/exercise_06/.starter/attention.ipynb: is not a valid notebook (")


def swap(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_points_that_do_not_add_up_to_ten_are_reported(own_course: Course) -> None:
    description = own_course.description(EXERCISE)
    assert points_step(load_exercise(description)).warnings == []
    swap(description, "nothing_else_broke: 3", "nothing_else_broke: 2.5")
    (warning,) = points_step(load_exercise(description)).warnings
    assert warning.startswith("the defects' points and nothing_else_broke add up to 9.5 (7 + 2.5), not to 10")


@pytest.mark.parametrize(
    ("was", "remedy"),
    [
        ("h is None", "write whole lines, as `prove` prints them"),
        ("+ h)\n        return state", "write whole lines, as `prove` prints them"),
        ("        if h is None:", "remove the entry"),
        ("no line", "remove the entry"),
    ],
)
def test_a_declared_equivalent_that_is_a_part_of_a_line_is_to_be_written_whole(was: str, remedy: str) -> None:
    declared = Equivalent(was=was, becomes="other", reason="they compute the same")
    assert unmatched_equivalent(RECURRENT, declared).endswith(f"matches no mutant; {remedy}")


def test_a_head_size_that_never_varies_is_reported(course: Course) -> None:
    for exercise_id in course.exercise_ids():
        assert constant_sizes(load_exercise(course.description(exercise_id))) == [], exercise_id
    exercise = load_exercise(course.description("exercise_01"))
    sizes = [{"batch": 3, "tokens": 5, "embed_dim": heads * 6, "num_heads": heads} for heads in (1, 2, 4)]
    sizes[0]["embed_dim"] = 12
    (warning,) = constant_sizes(structs.replace(exercise, sizes=sizes))
    assert warning.startswith(
        "embed_dim / num_heads is 6 in every size case where num_heads is not 1, so a fix with that number"
    )
    assert constant_sizes(structs.replace(exercise, sizes=[*sizes, *exercise.random_sizes])) == []


@pytest.mark.parametrize("command", others_slow([[EXERCISE], ["prove", EXERCISE]]), ids=["graded", "proven"])
def test_two_checks_of_one_name_are_refused_with_the_places_of_both(
    own_course: Course, run_cli, command: list[str]
) -> None:
    folder = own_course.hidden_tests(EXERCISE)
    folder.mkdir(parents=True)
    for name in ("test_one.py", "test_two.py"):
        (folder / name).write_text("\n\ndef test_heads(subject):\n    subject\n", encoding="utf-8")
    refused = run_cli(*command, cwd=own_course.root)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert (
        f"tests/hidden/{EXERCISE}/test_two.py:3: expected a unique name, got test_heads, the name of "
        f"tests/hidden/{EXERCISE}/test_one.py:3; rename one"
    ) in " ".join(refused.stderr.split())


USUAL_TESTS = """\
    missed_by:
      - says: the right shapes
        test: {property: returns_shapes}
      - says: everything
        test: {property: matches_reference}
"""


def test_a_usual_test_that_detects_the_defect_is_reported(judge_text, own_course: Course) -> None:
    path = own_course.description("exercise_03")
    text = re.sub(r"\n    missed_by:\n(?:      .*\n)+", "\n", path.read_text(encoding="utf-8"))
    text = re.sub(r"(\n    why: >\n(?:      .*\n)+)", rf"\1{USUAL_TESTS}", text, count=1)
    path.write_text(text, encoding="utf-8")
    [step] = run_usual_tests(judge_text.source, own_course.root, "exercise_03")
    defect = load_exercise(path).defects[0]
    assert step.figures == "2"
    assert {each.partition(": ")[0] for each in step.problems} == {defect.id}
    assert all("missed_by[1]" in each and "detects the defect" in each for each in step.problems)
    assert story(defect).endswith(" The usual tests passed: the right shapes; everything.")


FOCAL = """\
import torch


def focal_loss(logits, targets, gamma=2.0, smoothing=0.0, reduction="mean"):
    if gamma < 0:
        raise ValueError("gamma")
    log_p = torch.log_softmax(logits, -1)
    loss = -(log_p * (1 - log_p.exp()) ** gamma).gather(-1, targets[..., None])
    if smoothing > 0:
        even = log_p.mean(-1)
        loss = loss * (1 - smoothing) - smoothing * even
    return loss.mean() if reduction == "mean" else loss.sum()
"""


def focal(checks: str) -> Exercise:
    """A description of FOCAL with these checks; no file is read."""
    data = {
        "id": EXERCISE,
        "format_version": 1,
        "title": "A hunt",
        "difficulty": 1,
        "source": {"title": "a notebook"},
        "story": "Once.",
        "interface": {
            "kind": "loss",
            "function": "focal_loss",
            "constructor": {},
            "inputs": {"logits": ["batch", "width"], "targets": {"integers": "width", "shape": ["batch"]}},
            "outputs": [[]],
        },
        "sizes": [{"batch": 2, "width": 3}],
        "defects": [],
        "nothing_else_broke": 3,
        "checks": yaml.safe_load(checks),
    }
    return msgspec.convert(data, Exercise)


def test_a_check_is_proposed_for_a_line_that_no_check_reaches() -> None:
    """Checks vary the argument that the mutant depends on; arguments that checks vary already are left out."""

    def told(word: str, checks: str = "- property: matches_reference") -> dict[str, Any]:
        line = next(number for number, line in enumerate(FOCAL.splitlines(), 1) if word in line)
        return {each["id"]: each["constructor"] for each in missing_checks(FOCAL, focal(checks), line)}

    smoothed = {"values_with_other_smoothing": {"gamma": 2.0, "smoothing": 0.25}}
    assert told("even = ") == told("smoothing > 0") == told("loss * (1") == smoothed
    assert told("raise ValueError") == {"values_with_other_gamma": {"gamma": 1.2}, "gamma_is_refused": {"gamma": -1}}
    assert told("log_softmax") == {}
    tried = "- property: matches_reference\n- {property: matches_reference, id: a, constructor: {smoothing: 0.25}}"
    assert told("even = ", tried) == {}
    cooler = FOCAL.replace("gamma=2.0", "gamma=3.0")
    assert cooler != FOCAL
    [changed] = missing_checks(FOCAL, focal("- property: matches_reference"), 1, cooler)[:1]
    assert changed["constructor"] == {"gamma": 1.2}, "of a signature, what was changed alone"
    assert "smoothing" not in str(missing_checks(FOCAL, focal("- property: matches_reference"), 1, cooler))
    refused = (
        "- {property: raises, constructor: {gamma: -2.0}}\n- {property: matches_reference, constructor: {gamma: 1.2}}"
    )
    assert told("raise ValueError", refused) == {}


SAME = {
    "max(len(x), 1)": "max(1, len(x))",
    "raise ValueError(f'{x} is no number')": "raise ValueError(None)",
    "y = softmax(x, dim=-1)": "y = softmax(x, dim=None)",
    "y = max(x, 1) + min(2, y)": "y = max(1, x) + min(2, y)",
}
OTHER = {
    "max(len(x), 1)": "max(len(x), 0)",
    "raise ValueError(f'{x} is no number')": "raise TypeError(f'{x} is no number')",
    "clip(x, 1)": "clip(1, x)",
    "y = f(x, 1)": "y = f(1, x)",
}


@pytest.mark.parametrize(("before", "after"), [*SAME.items(), *OTHER.items()])
def test_a_mutant_that_may_compute_the_same_is_recognised(before: str, after: str) -> None:
    assert is_same_in_other_words(before, Mutant(operator="some", line=1, diff="", text=after)) == (
        SAME.get(before) == after
    )


TRIPLE = "import torch\n\n\ndef triple(scores):\n    return 4 * scores\n"


def small_exercise(
    course: Course, exercise_id: str, fix: str, *, was: str = "4 * scores", source: str = TRIPLE
) -> Path:
    """An exercise with one defect, filled in; its description."""
    (course.root / "mine.py").write_text(source, encoding="utf-8")
    create_exercise(course, exercise_id, course.root / "mine.py")
    path = course.description(exercise_id)
    text = path.read_text(encoding="utf-8")
    for place, answer in (("a line, or a part", was), ("the text that replaces", fix), ("a short name", "four")):
        text, count = re.subn(rf"FILL IN \({place}.*\)", json.dumps(answer), text)
        assert count == 1, place
    numbers = itertools.count()
    path.write_text(re.sub(r"FILL IN \(.*\)", lambda _: f"words {next(numbers)}", text), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_wrong_description_stops_its_own_proof_alone(tmp_path: Path, run_cli) -> None:
    """The error is reported in the order of the exercises, with the exit code of a wrong description."""
    course = Course(root=tmp_path)
    small_exercise(course, "exercise_61", "3 * scores")
    wrong = small_exercise(course, "exercise_62", "3 * scores")
    wrong.write_text(wrong.read_text(encoding="utf-8").replace("difficulty: 2", "difficulty: 12"), encoding="utf-8")
    done = run_cli("prove", cwd=course.root, timeout=300)
    assert (done.returncode, done.stderr) == (2, "")
    assert re.search(r"exercise_62\n✗ sources: .*exercise\.yaml:4:13: difficulty: expected ", done.stdout)
    assert re.search(r"^exercise_61 +! .*✓ 2 x 5 ", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^exercise_61 +4 +4 +0 +0 +0\nexercise_62 +·( +·){4}$", done.stdout, re.MULTILINE), done.stdout
    assert "1 of 2 proofs hold" in done.stdout
    alone = run_cli("prove", "exercise_62", cwd=course.root)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "exercise.yaml:4:13: difficulty: expected " in alone.stderr


RECURRENT = """import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, width, gain=1.0):
        super().__init__()
        self.step = nn.Linear(width, width)
        self.gain = gain

    def forward(self, x, h=None):
        if h is None:
            h = torch.zeros_like(x)
        state = torch.tanh(self.step(x) + h)
        return state * self.gain
"""
RECURRENT_YAML = """format_version: 1
title: A hunt
difficulty: 1
source: {title: a notebook}
story: Once upon a time.
interface:
  class: Cell
  constructor: {width: width}
  inputs: {x: [batch, width], h: [batch, width]}
  outputs:
    - [batch, width]
sizes: [{batch: 2, width: 5}]
defects: []
decoy: the gain
nothing_else_broke: 10
checks:
  - {property: matches_reference}
"""


def advice(tmp_path: Path, reference: str, changes: list[tuple[str, str]]) -> list[Survivor]:
    """Ask for advice on changes of RECURRENT as if they had survived."""
    course = Course(root=tmp_path)
    module = course.exercise_folder("exercise_61") / "attention.py"
    texts = {module: RECURRENT, course.pristine(module): RECURRENT, course.reference("exercise_61"): reference}
    for path, text in {**texts, tmp_path / "solutions/exercise_61/exercise.yaml": RECURRENT_YAML}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    mutants = []
    for before, after in changes:
        line = RECURRENT[: RECURRENT.index(before)].count("\n") + 1
        diff = f"@@ {line} @@\n-{before}\n+{after}\n"
        text = reference.replace(before, after)
        mutants.append(Mutant(operator="operator replaced", line=line, diff=diff, text=text))
    pool = TaskPool(1)
    try:
        return pool.submit(advise, course.root, "exercise_61", mutants).result()
    finally:
        pool.close()


def test_a_mutant_is_offered_as_equivalent_only_if_it_never_differs_also_beyond_the_checks(tmp_path: Path) -> None:
    changes = [
        ("        if h is None:", "        if h is not None and False:"),
        ("self.step(x) + h", "h + self.step(x)"),
        ("* self.gain", "* 1.0"),
    ]
    crashing, reordered, ungained = advice(tmp_path, RECURRENT, changes)
    assert "without h" in crashing.difference
    assert not crashing.is_equivalent()
    assert (reordered.difference, reordered.checks, reordered.is_equivalent()) == ("", "", True)
    assert "constructor: {gain: 0.6}" in ungained.checks, "a check that was seen to catch it"
    assert not ungained.is_equivalent()


def test_no_advice_is_given_while_the_reference_fails_its_checks(tmp_path: Path) -> None:
    wrong = RECURRENT.replace("return state", "return torch.rand(9).sum() * state")
    (survivor,) = advice(tmp_path, wrong, [("self.step(x) + h", "h + self.step(x)")])
    assert (survivor.is_comparable, survivor.is_equivalent(), survivor.checks) == (False, False, "")
    assert "correct the reference or its checks first" in survivor.remedy()


@pytest.mark.slow
def test_no_mutant_is_tried_if_the_reference_fails_its_checks(tmp_path: Path, monkeypatch) -> None:
    """On one core, the first tasks judge the reference, and all mutants wait behind them."""
    monkeypatch.setattr("grader.author.prove.usable_cores", lambda: 1)
    course = Course(root=tmp_path)
    small_exercise(course, "exercise_61", "torch.rand(1) * scores")
    done = []
    [proof] = prove(course, ["exercise_61"], lambda *numbers: done.append(numbers))
    assert done[-1][0] == done[-1][1], "also the tasks that were cancelled are done"
    assert (proof.statuses, proof.survivors, proof.holds()) == ({}, [], False)
    assert "status-" not in (course.state_folder() / "proofs" / "exercise_61.jsonl").read_text(encoding="utf-8")
    page = render_proofs([proof], width=200)
    assert "the reference of exercise_61 fails its own checks" in page
    assert re.search(r"^exercise_61 .*·( +·){4}$", page, re.MULTILINE), page
    assert "survived:" not in page


@pytest.mark.slow
def test_the_shapes_of_the_reference_are_reported_if_the_description_differs(tmp_path: Path, run_cli) -> None:
    course = Course(root=tmp_path)
    small_exercise(course, "exercise_61", "torch.cat([scores.sum(1)] * 2, -1)")
    done = run_cli("prove", "exercise_61", cwd=course.root, timeout=300)
    told = done.stdout
    assert done.returncode == 1, done.stderr
    assert "says; write\n  outputs:\n    - [batch, width_times_2]\nsizes:\n  - {batch: 1, tokens: 1, width: 4," in told
    assert "{batch: 1, tokens: 5, width: 7, width_times_2: 14}" in told
    assert re.search(r"\n  - .*batch: \[2, 6\], .*width: \[3, 13\], width_times_2: \[width, 2, 2\]", told)
    assert "! scores: all other results are those of a copy with these outputs" in told
    assert "· not reached" not in told


def test_sizes_of_outputs_are_expressed_by_known_sizes():
    fixed_sizes = [{"tokens": 5, "past": 1, "width": 12, "heads": 1}, {"tokens": 5, "past": 3, "width": 24, "heads": 4}]
    random_sizes = [{"tokens": [6, 9], "past": [3, 8], "width": ["heads", 5, 9], "heads": [3, 6]}]
    shapes = [[(1, 5, 12), (6, 12)], [(1, 5, 24), (8, 6)]]
    assert describe_shapes(shapes, fixed_sizes, random_sizes).text() == (
        "  outputs:\n"
        "    - [1, tokens, width]\n"
        "    - [tokens_plus_past, width_over_heads]\n"
        "sizes:\n"
        "  - {tokens: 5, past: 1, width: 12, heads: 1, tokens_plus_past: 6, width_over_heads: 12}\n"
        "  - {tokens: 5, past: 3, width: 24, heads: 4, tokens_plus_past: 8, width_over_heads: 6}\n"
        "  - {tokens: 6, past: 3, width: 15, heads: 3, tokens_plus_past: 9, width_over_heads: 5}"
    )


SPECTRUM = """import torch
from torch import nn


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return (self.gain + torch.fft.rfft(x, dim=1)).abs()
"""


@pytest.mark.slow
def test_a_length_that_no_size_expresses_is_a_blank_in_random_size_cases(tmp_path: Path, run_cli) -> None:
    """The advice leads to a proof without problems of shapes, once its blanks are filled in."""
    course = Course(root=tmp_path)
    path = small_exercise(course, "exercise_61", "self.gain * torch.fft", was="self.gain + torch.fft", source=SPECTRUM)
    page = run_cli("prove", "exercise_61", cwd=course.root, timeout=300).stdout
    lines = page[page.index("  outputs:") :].partition("\n!")[0]
    assert "\n# length_2 depends on tokens, but no range can express it: it is no multiple," in lines
    advised = yaml.safe_load(f"interface:\n{lines}")
    assert advised["interface"]["outputs"] == [["batch", "length_2", 16]]
    assert advised["sizes"][-2:] == [
        {"batch": [37, 48], "tokens": 2, "length_2": "FILL IN (its number)"},
        {"batch": 4, "tokens": 4, "length_2": "FILL IN (its number)"},
    ]
    description = yaml.safe_load(path.read_text(encoding="utf-8"))
    description["interface"] |= advised["interface"]
    path.write_text(yaml.safe_dump({**description, "sizes": advised["sizes"]}), encoding="utf-8")
    refused = run_cli("prove", "exercise_61", cwd=course.root, timeout=300)
    assert refused.returncode == 2
    assert "length_2: " in refused.stderr
    for sizes in advised["sizes"]:
        sizes["length_2"] = sizes["tokens"] // 2 + 1
    path.write_text(yaml.safe_dump({**description, "sizes": advised["sizes"]}), encoding="utf-8")
    page = run_cli("prove", "exercise_61", cwd=course.root, timeout=300).stdout
    assert "✗ scores" not in page
    assert "✓ 5 x 2" in page


@pytest.mark.slow
def test_a_mutant_that_computes_in_float32_counts_where_checks_require_float64(course):
    differ = {}
    pool = TaskPool(1)
    try:
        for exercise_id, call in (("exercise_26", "self.up(x)"), ("exercise_03", "self.W_value(x)")):
            reference = course.reference_text(exercise_id)
            assert reference.count(call) == 1
            texts = [reference, reference.replace(call, f"{call}.float().to(x.dtype)")]
            differ[exercise_id] = pool.submit(find_differences, course.root, exercise_id, texts).result()
    finally:
        pool.close()
    assert differ["exercise_26"][0] == ""
    assert "in float64" in differ["exercise_26"][1]
    assert differ["exercise_03"] == ["", ""]
