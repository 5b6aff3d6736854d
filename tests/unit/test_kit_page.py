"""Every path and function that grader/README.md names exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

KIT = ROOT / "grader"
PAGE = (KIT / "README.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w./]+(?:\.py|\.md|\.json|/))(?::([\w.]+))?`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=str)
def test_every_path_and_name_on_the_page_exists(path: str, name: str) -> None:
    file = KIT / path if (KIT / path).exists() else ROOT / path
    assert file.exists()
    if name:
        assert is_defined(file, name.split("."))


def test_the_page_names_every_room() -> None:
    rooms = {path.name for path in KIT.iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"`{room}/" not in PAGE} == set()


def is_defined(file: Path, names: list[str]) -> bool:
    """Whether a module defines a function or class, or a class a method."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for name in names:
        found = [node for node in body if getattr(node, "name", "") == name]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True
