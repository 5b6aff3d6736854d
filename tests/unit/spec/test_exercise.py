"""Descriptions are read, and errors name their place; the course's exercises keep their promises."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from grader.errors import SpecError
from grader.spec.exercise import Defect
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise, read_exercise
from grader.spec.soundness import size_problems
from grader.submission import read_submission

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]
EVERY_EXERCISE = pytest.mark.parametrize("exercise_id", EXERCISES)

DESCRIPTION = """\
format_version: 1
title: A hunt
difficulty: 1
source: {title: a notebook}
story: Once upon a time.
interface:
  class: Attention
  constructor: {size: size}
  inputs: {x: [batch, size]}
  outputs: [[batch, size]]
sizes: [{batch: 1, size: 2}]
defects:
  - id: first
    title: the first
    points: 7
    was: x = 1
    fix: x = 2
    hints: [a, b, c]
    why: because
nothing_else_broke: 3
checks:
  - property: matches_reference
  - property: keeps_dtype
"""


@pytest.fixture
def load(tmp_path):
    """Load a description with one line replaced by others."""

    def load(before: str = "", after: str = ""):
        assert before in DESCRIPTION
        path = tmp_path / "exercise_90" / "exercise.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(DESCRIPTION.replace(before, after, 1) if before else DESCRIPTION, encoding="utf-8")
        return load_exercise(path)

    return load


def test_a_description_becomes_an_exercise_with_every_check_named(load):
    exercise = load()
    assert exercise.id == "exercise_90"
    assert [check.id for check in exercise.checks] == ["matches_reference", "keeps_dtype"]
    assert exercise.max_score() == 10
    assert list(exercise.subsets()) == [frozenset(), frozenset({"first"})]


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [
        (
            "difficulty: 1",
            "difficulty: 1\ntitle: Another",
            r"exercise\.yaml:4:1: title: expected each key once, got a second one",
        ),
        ("    points: 7", "    points: 7\n    points: 8", r":16:5: defects\[0\]\.points: expected each key once"),
        (
            "points: 7",
            "points: two",
            r'exercise\.yaml:15:13: defects\[0\]\.points: expected a number, got "two"; write points',
        ),
        (
            "difficulty: 1",
            "difficulty: easy",
            r':3:13: difficulty: expected an integer, got "easy"; write difficulty: 2',
        ),
        ("[a, b, c]", "[a, b]", r":18:12: defects\[0\]\.hints: expected three hints, .*, got 2; write 1 more"),
        ("    why: because\n", "", r":13:5: defects\[0\]\.why: expected text, got no such key; write why: "),
        (
            "    why: because",
            "    why: because\n    wy: so",
            r':20:5: defects\[0\]\.wy: expected a known key, got "wy"',
        ),
        (
            "nothing_else_broke: 3",
            "nothing_else_broke: 3\nbonus: 1",
            r':21:1: bonus: expected one of the keys: .*got "bonus"',
        ),
        (
            "keeps_dtype",
            "keeps_type",
            r':23:15: checks\[1\]\.property: .* got "keeps_type"; write property: keeps_dtype',
        ),
        (
            "keeps_dtype",
            "keeps_dtype\n    gradient: 1",
            r':24:5: checks\[1\]\.gradient: .*, got "gradient"; remove it',
        ),
        (
            "keeps_dtype",
            "matches_reference",
            r":23:5: checks\[1\]\.id: expected a unique id, got matches_reference, the id of",
        ),
        (
            "sizes: [{batch: 1, size: 2}]",
            "sizes: [{batch: 1, size: 2}, {batch: [5, 2], size: [tokens, 2, 3]}]",
            r":11:38: sizes\[1\]\.batch: expected two numbers, the smaller first, got 5 and 2; write \[2, 6\]",
        ),
        ("title: A hunt", "title: [A hunt", r"exercise\.yaml:\d+:\d+: "),
        (
            "title: A hunt",
            "title: !!python/name:os.system",
            r":2:8: title: expected a value without a tag, got !!python",
        ),
        ("title: A hunt", "[title]: A hunt", r":2:1: expected a plain word as a key, got a list"),
        (
            "fix: x = 2",
            "fix: [x = 2, y = 3]",
            r":17:10: defects\[0\]\.fix: expected as many fragments as in `was`, got 2, and 1 in was",
        ),
    ],
)
def test_a_wrong_description_is_refused_with_the_place_and_the_fault(load, before, after, refusal):
    with pytest.raises(SpecError, match=refusal):
        load(before, after)


@pytest.mark.parametrize(
    "license_", ["MIT", "0BSD", "GPL-2.0+", "LicenseRef-of-its-own", "not stated", "not looked up (no copy was found)"]
)
def test_a_license_is_an_identifier_or_says_why_there_is_none(load, license_):
    exercise = load("{title: a notebook}", f"{{title: a notebook, adapted_from: [{{work: w, license: {license_}}}]}}")
    assert [(each.work, each.license) for each in exercise.source.adapted_from] == [("w", license_)]


@pytest.mark.parametrize(
    "license_", ["mit", "none", "Apache 2.0", "MIT, as stated", "not looked up", "not looked up ()"]
)
def test_a_license_of_another_form_is_refused_with_its_place_and_the_remedy(load, license_):
    refusal = (
        r"exercise\.yaml:4:\d+: source\.adapted_from\[0\]\.license: expected an SPDX identifier, .*; write license: "
    )
    with pytest.raises(SpecError, match=refusal):
        load("{title: a notebook}", f'{{title: a notebook, adapted_from: [{{work: w, license: "{license_}"}}]}}')


def test_a_description_that_is_not_yaml_is_refused(tmp_path):
    path = tmp_path / "exercise.yaml"
    with pytest.raises(SpecError, match=r"exercise\.yaml: cannot be read: No such file or directory"):
        load_exercise(path)
    refusals = {
        b"": ":1:1: expected a mapping",
        b"title: \xe9": ":1:8: expected text in UTF-8, got the byte 0xe9",
        b"a: \0": r":1:4: expected printable text, got the control character U\+0000",
        "title: a\u202eb".encode(): r":1:9: expected printable text, got the control character U\+202E",
        b'title: "a\\u2066b"': r":1:8: title: expected printable text, got the control character U\+2066; remove it",
        b'title: "a\\e[2J"': r":1:8: title: expected printable text, got the control character U\+001B; remove it",
    }
    for content, refusal in refusals.items():
        path.write_bytes(content)
        with pytest.raises(SpecError, match=refusal):
            load_exercise(path)


def defect(was, fix) -> Defect:
    return Defect(id="d", title="t", points=1, was=was, fix=fix, hints=("a", "b", "c"), why="w")


def test_a_one_line_fragment_is_put_back_inside_a_line():
    text = "def f():\n    return a // b  # why\n"
    assert put_back(text, [defect("a / b", "a // b")]) == "def f():\n    return a / b  # why\n"


def test_a_fragment_of_several_lines_is_put_back_at_its_indentation():
    text = "class A:\n    def f():\n        x = 1\n\n        y = 2\n"
    assert put_back(text, [defect("x = 3\n", "x = 1\n\ny = 2\n")]) == "class A:\n    def f():\n        x = 3\n"
    assert put_back("    a\n", [defect("if a:\n    b\n", "a\n")]) == "    if a:\n        b\n"


def test_every_pair_of_fragments_is_put_back():
    assert put_back("a b", [defect(["x", "y"], ["a", "b"])]) == "x y"


@pytest.mark.parametrize(
    ("text", "fix", "found"),
    [
        ("y", "x", "nowhere"),
        ("x x", "x", "2 times"),
        ("x\n    x\n", "x", "2 times"),
        ("x\ny\n  x\n  y\n", "x\ny", "2 times"),
        ("x\n  y\n", "x\ny", "nowhere"),
        ("if x\ny\n", "x\ny", "nowhere"),
    ],
)
def test_a_fragment_that_does_not_stand_exactly_once_is_refused(text, fix, found):
    with pytest.raises(SpecError, match=f"defect d: the fragment 'x' occurs {found}; it must occur once"):
        put_back(text, [defect("z", fix)])


@EVERY_EXERCISE
def test_the_starter_is_the_reference_with_every_defect_put_back(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    starter = course.editable_files(exercise_id)[0].read_text(encoding="utf-8")
    reference = course.reference_text(exercise_id)
    assert put_back(reference, exercise.defects) == starter
    for each in exercise.defects:
        for was, _ in each.edits():
            assert put_back(starter, [defect(was, was)]) == starter  # once, or this raises


@EVERY_EXERCISE
def test_the_notebook_holds_the_starters_syntax_tree(course, exercise_id):
    module, notebook = course.editable_files(exercise_id)
    chunks = read_submission(notebook, notebook.name).chunks
    body = [node for chunk in chunks for node in ast.parse(chunk.text).body]
    expected = ast.parse(module.read_text(encoding="utf-8")).body
    assert [ast.dump(node) for node in body] == [ast.dump(node) for node in expected]


@EVERY_EXERCISE
def test_the_notebook_is_handed_out_clean(course, exercise_id):
    notebook = nbformat.read(course.editable_files(exercise_id)[1], as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert any("demonstration" in cell.metadata.get("tags", []) for cell in code)
    assert notebook.cells[0].cell_type == "markdown"


@EVERY_EXERCISE
def test_the_pristine_copies_equal_what_is_handed_out(course, exercise_id):
    for path in course.editable_files(exercise_id):
        assert course.pristine(path).read_bytes() == path.read_bytes()


@EVERY_EXERCISE
def test_points_sum_to_ten_and_every_defect_has_three_hints_and_a_reason(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    assert exercise.max_score() == 10
    assert exercise.nothing_else_broke == 3
    for each in exercise.defects:
        assert len({hint.strip() for hint in each.hints} - {""}) == 3
        assert each.points > 0
        assert each.why.strip()


@EVERY_EXERCISE
def test_what_a_student_reads_first_names_the_class_and_no_defect(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    module, notebook = course.editable_files(exercise_id)
    readme = (module.parent / "README.md").read_text(encoding="utf-8")
    assert f"{exercise.interface.class_name}(" in readme
    assert f"python -m grader {exercise_id}" in readme
    for text in (readme, module.read_text(encoding="utf-8"), notebook.read_text(encoding="utf-8")):
        for each in exercise.defects:
            assert each.id not in text
            assert each.title.lower() not in text.lower()


@EVERY_EXERCISE
def test_no_shipped_file_says_where_a_defect_is(course, exercise_id):
    for path in [*course.editable_files(exercise_id), Path(course.reference(exercise_id))]:
        text = path.read_text(encoding="utf-8").lower()
        assert not re.search(r"\b(bug|defect|fixme|todo|wrong|broken)\b", text), path


def test_a_description_is_read_once_for_as_long_as_it_stays_as_it_is(load, tmp_path):
    first = load()
    path = tmp_path / "exercise_90" / "exercise.yaml"
    assert load_exercise(path) is first
    changed = path.read_text(encoding="utf-8").replace("title: A hunt", "title: Another hunt")
    path.write_text(changed, encoding="utf-8")
    assert load_exercise(path).title == "Another hunt"


def drawn(load, spec: str):
    import torch

    from grader.checks.case import make_case, seed_draws
    from grader.checks.size_cases import SizeCase

    exercise = load("inputs: {x: [batch, size]}", f"inputs: {{x: [batch, size], ids: {spec}}}")
    seed_draws("integers")
    ids = make_case(exercise, exercise.checks[0], SizeCase(sizes={"batch": 7, "size": 5})).inputs["ids"]
    assert isinstance(ids, torch.Tensor)
    assert ids.shape == (7, 5)
    return ids


def test_integers_are_drawn_from_their_range_with_its_ends_and_with_what_is_ignored(load):
    assert drawn(load, "{integers: size, shape: [batch, size]}").unique().tolist() == [0, 1, 2, 3, 4]
    assert drawn(load, "{integers: 4, start: 2, shape: [batch, size]}").unique().tolist() == [2, 3]
    labels = drawn(load, "{integers: size, ignored: -100, shape: [batch, size]}")
    assert labels.unique().tolist() == [-100, 0, 1, 2, 3, 4]
    assert 0 < (labels == -100).sum() < labels.numel() / 2
    evenly = drawn(load, "{between: [0.25, 0.75], shape: [batch, size]}")
    assert 0.25 <= evenly.min() < 0.35
    assert 0.65 < evenly.max() < 0.75


def test_zeros_are_at_the_second_place_of_their_axis(load):
    zeros = drawn(load, "{zeros: size, shape: [batch, size]}") == 0
    assert zeros[:, 1].all()
    assert zeros.sum() == len(zeros)


def test_a_token_that_is_changed_becomes_another_of_the_same_input(load):
    import torch

    from grader.checks.case import Case
    from grader.checks.size_cases import SizeCase

    ids = drawn(load, "{integers: size, ignored: -100, shape: [batch, size]}")
    changed = Case(size_case=SizeCase(sizes={}), arguments={}, inputs={"ids": ids}).inputs_with_change("ids", 1, 2)[
        "ids"
    ]
    assert set(changed.unique().tolist()) <= set(ids.unique().tolist())
    assert bool((changed[:, 2] != ids[:, 2]).all())
    assert torch.equal(changed[:, [0, 1, 3, 4]], ids[:, [0, 1, 3, 4]])


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("{shape: [batch]}", "expected one of mask, integers, between and zeros, got none of them"),
        (
            "{integers: sizes, shape: [batch]}",
            "inputs.ids.integers: expected a name in the size cases.*write size$",
        ),
        (
            "{integers: 2, start: 2, shape: [batch]}",
            "integers: expected a number above start, which is 2, got 2; write",
        ),
        ("{mask: causal, start: 2, shape: [batch, size]}", "start: expected mask without start, got both; remove"),
        ("{mask: causal, integers: size, shape: [batch, size]}", "expected true or false for a mask, got size"),
        ("{between: [1.0, 0.5], shape: [batch]}", "between: expected two numbers, the smaller first, got 1 and 0.5"),
        ("{between: [0.5, 1.0], integers: 3, shape: [batch]}", "integers: expected between without integers, got both"),
        ("{zeros: size, integers: 3, shape: [batch, size]}", "integers: expected zeros without integers, got both"),
        ("{mask: causal, zeros: size, shape: [batch, size]}", "zeros: expected mask without zeros, got both; remove"),
        (
            "{zeros: sise, shape: [batch, size]}",
            'zeros: expected an axis of the shape: batch or size, got "sise"; write',
        ),
    ],
)
def test_a_contradictory_tensor_is_refused_with_its_place(load, spec, problem):
    with pytest.raises(SpecError, match=problem):
        load("inputs: {x: [batch, size]}", f"inputs: {{x: [batch, size], ids: {spec}}}")


WITH_BOTH = """\
from torch import nn


class Helper(nn.Module):
    def forward(self, y):
        return y


class Attention(nn.Module):
    def __init__(self, size, bias=False):
        super().__init__()
        x = 2

    def forward(self, x):
        return x
"""


@pytest.fixture
def hold(tmp_path):
    """Hold a description with one line replaced against the reference."""

    def hold(
        before: str,
        after: str,
        reference: str = WITH_BOTH,
        starter: str | None = None,
        checks: str = "",
        variations: str = "",
        file: str = "exercise.yaml",
    ) -> str:
        assert before in DESCRIPTION
        path = tmp_path / "exercise_90" / "exercise.yaml"
        path.parent.mkdir(exist_ok=True)
        path.with_name("variations.py").write_text(variations, encoding="utf-8")
        path.write_text(DESCRIPTION.replace(before, after, 1) + checks, encoding="utf-8")
        with pytest.raises(SpecError) as refused:
            read_exercise(path, None if starter else reference, starter)
        return str(refused.value).partition(f"{file}:")[2]

    return hold


def test_names_that_the_reference_lacks_are_reported_with_their_place(hold):
    assert hold("class: Attention", "class: Atention") == (
        '7:10: interface.class: expected a class of the reference: Helper or Attention, got "Atention"; write Attention'
    )
    assert hold("inputs: {x: [batch, size]}", "inputs: {xs: [batch, size]}") == (
        '9:12: interface.inputs.xs: expected an input of forward: x, got "xs"; write x'
    )
    assert hold("{size: size}", "{sise: size}") == (
        '8:17: interface.constructor.sise: expected an argument of the class: size or bias, got "sise"; write size'
    )
    assert hold("{size: size}", "{bias: true}") == (
        "8:16: interface.constructor: expected every argument that has no default, got no size; "
        "add size: 2, with a value or the name of a size for each"
    )
    assert hold("- property: keeps_dtype", "- {property: keeps_dtype, method: backward}") == (
        '23:37: checks[1].method: expected a method of the class: forward or __init__, got "backward"; '
        "write one of these names"
    ).replace("forward or __init__", "__init__ or forward")


VARIATIONS = """\
import submission


class Twice(submission.Attention):
    def both(self, x):
        return x
"""
CALLING_BOTH = "- property: matches_reference\n    method: both\n    inputs: {x: [batch, size]}\n    variation: Twice\n"


def test_a_method_may_be_one_that_the_variation_defines(hold):
    misspelt = CALLING_BOTH.replace("method: both", "method: boht")
    assert hold("- property: keeps_dtype", misspelt, variations=VARIATIONS).endswith('or both, got "boht"; write both')


def test_a_variation_that_is_not_there_is_reported_with_its_place(hold):
    misspelt = CALLING_BOTH.replace("Twice", "Twise")
    assert hold("- property: keeps_dtype", misspelt, variations=VARIATIONS).endswith(
        'checks[1].variation: expected a class in variations.py: Twice, got "Twise"; write Twice'
    )
    assert hold("- property: keeps_dtype", CALLING_BOTH).endswith(
        'variation: expected a class in variations.py, got "Twice"; '
        "write class Twice in variations.py, beside this file"
    )


def test_variations_that_are_not_python_are_reported_with_their_place(hold):
    told = hold("- property: keeps_dtype", CALLING_BOTH, variations=f"{VARIATIONS}        +\n", file="variations.py")
    assert told == "7: expected Python, got invalid syntax; correct that line"


def test_a_misspelt_argument_of_the_constructor_is_not_a_misspelt_default(hold):
    both = "constructor: {bais: true, size: size}"
    told = hold("constructor: {size: size}", both, checks="  - {property: keeps_dtype, id: plain, defaults: [bias]}\n")
    assert told == (
        '8:17: interface.constructor.bais: expected an argument of the class: size or bias, got "bais"; write bias'
    )


def test_a_fix_that_is_not_python_is_reported_with_place_and_error(hold):
    starter = WITH_BOTH.replace("x = 2", "x = 1")
    assert hold("fix: x = 2", "fix: x = (2", starter=starter) == (
        "17:10: defects[0].fix: expected valid Python after the replacement in the starter, "
        "got '(' was never closed, at \"x = (2\"; write whole lines, with the indentation that they have in the starter"
    )
    assert hold("was: x = 1", "was: x = 3", starter=starter).startswith(
        "16:10: defects[0].was: expected a fragment that occurs once in the starter, got no occurrence"
    )


def test_unreasonable_sizes_are_refused_with_their_place(load):
    with pytest.raises(SpecError, match=r":11:\d+: sizes\[0\].size: expected a size of at most 100,000, got 1,000,000"):
        load("sizes: [{batch: 1, size: 2}]", "sizes: [{batch: 1, size: 1000000}]")
    with pytest.raises(SpecError, match=r"sizes\[0\]: expected inputs of at most 1,000,000 numbers, got 15,000,000 in"):
        load("sizes: [{batch: 1, size: 2}]", "sizes: [{batch: 300, size: 50000}]")
    random_cases = "sizes: [{batch: 1, size: 2}, {batch: [300, 400], size: [batch, 90, 99]}]"
    with pytest.raises(SpecError, match=r"sizes\[1\]: expected inputs of at most 1,000,000 numbers, got 15,840,000 in"):
        load("sizes: [{batch: 1, size: 2}]", random_cases)


def test_sizes_may_be_equal_if_they_differ_in_another_case():
    size_cases = [{"heads": 1, "width": 12, "head": 12}, {"heads": 4, "width": 24, "head": 6}]
    assert list(size_problems(size_cases, ())) == []
    told = [each.found for each in size_problems([*size_cases[:1], {"heads": 5, "width": 24, "head": 24}], ())]
    assert told == ["12 for width and head", "24 for width and head"]
