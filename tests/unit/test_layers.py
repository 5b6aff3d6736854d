"""A stage imports only stages to its left, and the untrusted side imports nothing of the kit but itself."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

KIT = ROOT / "grader"

ORDER = [
    "errors",
    "course",
    "submission",
    "worker",
    "examiner",
    "testing",
    "verdict",
    "service",
    "api",
    "student",
    "gradebook",
    "report",
    "batch",
    "watch",
    "author",
    "commands",
    "notebook",
    "cli",
    "__main__",
]


PLUGIN_POINT = ("course", "grader.checks.properties")
"""A description is read into the properties themselves, which bring their functions along: this room alone imports from
its right, and of the examiner only what needs no torch."""


def stage_of(path: Path) -> str:
    return path.relative_to(KIT).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of the kit that a module imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [
                f"{node.module}.{alias.name}" if node.module == "grader" else str(node.module) for alias in node.names
            ]
        else:
            continue
        yield from (name for name in names if name.startswith("grader."))


def imported_packages(path: Path) -> set[str]:
    """The packages that a module imports when it is imported or run."""
    trees = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in trees if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in trees if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


MODULES = sorted(path for path in KIT.rglob("*.py") if path != KIT / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(KIT)))
def test_a_stage_imports_only_stages_to_its_left(path: Path) -> None:
    place = ORDER.index(stage_of(path))
    later = {name for name in imported_modules(path) if ORDER.index(name.split(".")[1]) > place}
    assert {(stage_of(path), name) for name in later} <= {PLUGIN_POINT}


@pytest.mark.parametrize("path", sorted((KIT / "worker").glob("*.py")), ids=lambda path: path.name)
def test_the_worker_imports_nothing_of_the_kit_but_its_own(path: Path) -> None:
    assert {name.split(".")[1] for name in imported_modules(path)} <= {"worker"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(KIT)))
def test_only_the_command_line_prints_and_only_the_worker_executes(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in called
    if stage_of(path) not in {"cli", "commands", "notebook", "__main__"} and path.relative_to(KIT) != Path(
        "report/console.py"
    ):
        assert "click" not in imported_packages(path)
    if path.relative_to(KIT) != Path("sandbox/server.py"):
        assert not called & {"exec", "eval"}


LIGHT = ("course", "submission", "verdict", "service", "api", "student", "gradebook", "report", "batch", "watch")
"""Rooms that hold no check and run no submission: what they are asked for must not take a second to import."""


def test_rooms_that_run_nothing_import_no_torch() -> None:
    paths = [path.relative_to(ROOT).with_suffix("") for path in MODULES if stage_of(path) in LIGHT]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    code = f"import sys, {', '.join(names)}\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(KIT)))
def test_no_module_is_two_things(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
