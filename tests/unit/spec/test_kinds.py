"""A kind of subject is one class: no other module names a kind."""

import ast
from pathlib import Path

import pytest

from grader.spec.kinds import KINDS, Definition, Kind, KindName, recognize
from tests.support.paths import ROOT

KIT = ROOT / "grader"
OTHERS = [path for path in sorted(KIT.rglob("*.py")) if path != KIT / "spec/kinds.py"]
CLASSES = {type(kind).__name__ for kind in KINDS.values()}
MEMBERS = {kind.name for kind in KindName}


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(KIT)))
def test_no_other_module_names_a_kind(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    imported = {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "grader.spec.kinds"
        for alias in node.names
    }
    members = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute) and node.attr in MEMBERS}
    assert imported & CLASSES == set()
    assert {name for name in members if name.startswith(("Kind.", "KindName."))} == set()


@pytest.mark.parametrize("name", KindName)
def test_each_name_has_a_class_that_says_all_that_a_kind_says(name: KindName) -> None:
    kind = KINDS[name]
    declared = {each for each in Kind.__annotations__ if hasattr(kind, each)}
    assert declared == Kind.__annotations__.keys()
    assert kind.offers_class or kind.offers_function
    assert kind.class_is_module or kind.adapter


def test_the_last_definition_of_the_leading_kind_is_what_an_exercise_is_about() -> None:
    loss = Definition(name="hinge_loss", is_class=False)
    helper = Definition(name="mean_of", is_class=False)
    data = Definition(name="Items", is_class=True, methods=["__getitem__"])
    step = Definition(name="train_step", is_class=False, parameters=["model", "optimizer", "x"])
    assert recognize([helper, loss]) == (KINDS[KindName.LOSS], loss)
    assert recognize([loss, helper]) == (KINDS[KindName.FUNCTION], helper)
    assert recognize([data, loss]) == (KINDS[KindName.DATASET], data)
    assert recognize([step, data, loss]) == (KINDS[KindName.TRAINING_STEP], step)
    assert recognize([]) is None
