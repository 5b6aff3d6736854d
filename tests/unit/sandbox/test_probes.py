"""Probes are files that linters and debuggers see, and are found by the names that travel to a worker."""

import ast
import re
from pathlib import Path

import pytest

from grader.sandbox.probes import PROBES, name_of, probe_named
from grader.sandbox.probes.dropout import response
from grader.spec.kinds import KINDS
from tests.support.paths import ROOT

KIT = ROOT / "grader"

DEFINES = re.compile(r"^\s*(def|class) \w+.*:", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(KIT.rglob("*.py")), ids=lambda path: str(path.relative_to(KIT)))
def test_no_module_keeps_python_in_a_string(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [text for text in texts if DEFINES.search(text) and "\n" in text] == []


def test_a_probe_function_is_found_by_its_name() -> None:
    assert name_of(response) == "dropout.response"
    assert probe_named("dropout.response") is response


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.adapter], ids=lambda kind: kind.adapter)
def test_each_kind_that_is_no_module_has_an_adapter(kind) -> None:
    assert "Adapter" in vars(PROBES[kind.adapter])
