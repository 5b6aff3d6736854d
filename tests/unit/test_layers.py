"""A room imports only rooms above it, no modules import each other in a circle, and the sandbox imports only itself."""

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

KIT = ROOT / "grader"

ROOMS = [
    "errors",
    "spec",
    "submission",
    "sandbox",
    "processes",
    "checks",
    "verdict",
    "trap",
    "report",
    "student",
    "classroom",
    "author",
    "api",
    "evaluation",
    "testing",
    "commands",
    "notebook",
    "cli",
    "warm",
    "__main__",
]
"""From the top down, as `grader/README.md` lists them."""

FACE = "grader"
"""The package itself: it imports a public name when somebody first asks for it."""

LATE = {
    "grader.__main__": "reports a missing package",
    "grader.cli": "a command imports what it needs",
    "grader.commands.arguments": "a command imports what it needs",
    "grader.commands.evaluation": "a command imports what it needs",
    "grader.commands.instructor": "a command imports what it needs",
    "grader.commands.student": "a command imports what it needs",
    "grader.verdict.judge": "workers are forked before the checks are imported, and so torch",
    "grader.evaluation.fresh.service": "workers are forked before the checks are imported, and so torch",
    "grader.sandbox.server": "a worker that runs a trap's tests needs pytest, which grading does not",
    "grader.sandbox.nursery": "the nursery is known where torch is not imported, the server needs it",
    "grader.student.call_words": "workers are forked before the checks are imported, and so torch",
    "grader.student.explanations": "imports torch only to open the explanation of a fix",
    "grader.student.evidence": "workers are forked before the checks are imported, and so torch",
    "grader.student.trial": "started as a program, it imports torch first",
    "grader.author.release": "asks before it imports torch",
    "grader.author.autograder": "asks before it imports torch",
    "grader.checks.pytest_plugin": "workers are forked before the checks are imported, and so torch",
    "grader.checks.runner": "an exercise without hidden tests needs no pytest",
}
"""Modules that import others of the kit inside functions, to start fast, and why. None of them hides a circle."""

Imports = dict[str, set[tuple[str, int]]]
"""The modules that each module imports, each with the line of the import."""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements_in(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement at any depth: walking the expressions too would take ten times as long."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, field, [])


def imports_in(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in statements_in(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def modules_of(package: Path) -> dict[str, Path]:
    """Every module below a package's folder, by its dotted name."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = path
    return modules


def imports_of(package: Path) -> Imports:
    """Every import of the package's own modules, wherever it stands: in functions and behind `TYPE_CHECKING` too."""
    modules = modules_of(package)
    found: Imports = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        home = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = {
            (imported, node.lineno)
            for node in imports_in(tree)
            for imported in _imported(node, home, modules)
            if imported != name
        }
    return found


def _imported(node: ast.Import | ast.ImportFrom, home: str, modules: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
        return
    above = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        whole = f"{base}.{alias.name}"
        if whole in modules:
            yield whole
        elif base in modules:
            yield base


def cycle_in(imports: Imports) -> list[str]:
    """Modules that import each other in a circle, the first one repeated at the end; empty where there are none."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for imported, _ in sorted(imports[name]):
            if circle := search(imported, [*path, name]):
                return circle
        done.add(name)
        return []

    return next((circle for name in sorted(imports) if (circle := search(name, []))), [])


def room_of(module: str) -> str:
    return module.split(".")[1]


IMPORTS = imports_of(KIT)
MODULES = {name: path for name, path in modules_of(KIT).items() if name != FACE}
EVERY_MODULE = pytest.mark.parametrize("module", MODULES)


@EVERY_MODULE
def test_a_room_imports_only_rooms_above_it(module: str) -> None:
    below = {
        (module, imported)
        for imported, _ in IMPORTS[module]
        if imported == FACE or ROOMS.index(room_of(imported)) > ROOMS.index(room_of(module))
    }
    assert below == set()


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name) == "sandbox"])
def test_the_sandbox_imports_nothing_of_the_kit_but_itself(module: str) -> None:
    assert {room_of(imported) for imported, _ in IMPORTS[module]} <= {"sandbox"}


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name) == "spec"])
def test_records_import_nothing_that_acts_on_them(module: str) -> None:
    assert {room_of(imported) for imported, _ in IMPORTS[module]} <= {"spec", "errors"}


def test_no_block_is_for_type_checkers_alone() -> None:
    assert [name for name, path in MODULES.items() if "TYPE_CHECKING" in path.read_text(encoding="utf-8")] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle_in(IMPORTS | {FACE: set()}) == []


@EVERY_MODULE
def test_the_kit_is_imported_at_module_level_but_where_a_reason_is_given(module: str) -> None:
    tree = tree_of(MODULES[module])
    at_the_top = {node.lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)}
    inside = {imported for imported, line in IMPORTS[module] if line not in at_the_top}
    assert bool(inside) == (module in LATE), inside


@pytest.mark.parametrize(
    "planted",
    [
        "from kit.room.one import f",
        "def g():\n    from kit.room.one import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kit.room import one",
        "from . import one",
        "import kit.room.one",
    ],
)
def test_a_planted_circle_is_found(tmp_path: Path, planted: str) -> None:
    room = tmp_path / "kit" / "room"
    room.mkdir(parents=True)
    for folder in (room, room.parent):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (room / "one.py").write_text("from kit.room.two import g\n", encoding="utf-8")
    (room / "two.py").write_text("import os\n", encoding="utf-8")
    assert cycle_in(imports_of(tmp_path / "kit")) == []
    (room / "two.py").write_text(planted, encoding="utf-8")
    assert cycle_in(imports_of(tmp_path / "kit")) == ["kit.room.one", "kit.room.two", "kit.room.one"]


def defined_names(path: Path) -> list[str]:
    """The names that a module defines at its top level, by a class, a function or an assignment."""
    found = []
    for node in tree_of(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        found += [target.id for target in targets if isinstance(target, ast.Name)]
    return found


@pytest.mark.parametrize("name", ["Comparison", "secret_seed", "ModuleProxy", "Session", "seed_of", "with_points"])
def test_a_name_that_several_rooms_use_has_one_meaning(name: str) -> None:
    defining = [module for module, path in MODULES.items() if name in defined_names(path)]
    assert len(defining) == 1, defining


def imported_packages(path: Path) -> set[str]:
    """The packages that a module imports when it is imported or run."""
    nodes = imports_in(tree_of(path))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


PRINTING = ("grader.report.console", "grader.student.trial")


@EVERY_MODULE
def test_only_the_command_line_prints_and_only_the_worker_executes(module: str) -> None:
    path = MODULES[module]
    called = {
        node.func.id
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in called
    if room_of(module) not in {"cli", "commands", "notebook", "__main__"} and module not in PRINTING:
        assert "click" not in imported_packages(path)
    if module != "grader.sandbox.server":
        assert not called & {"exec", "eval"}


LIGHT = ("spec", "submission", "verdict", "trap", "api", "student", "report", "classroom", "commands", "cli")
"""Rooms that hold no check and run no submission: what they are asked for must not take a second to import."""

RUN_CHECKS = {
    "grader.student.draws",
    "grader.student.experiments",
    "grader.student.literals",
    "grader.student.locks",
    "grader.student.mirror",
    "grader.student.replay",
    "grader.student.script",
    "grader.student.unlocking",
    "grader.verdict.key_making",
    "grader.verdict.variants",
}
"""Modules of these rooms that run checks, and those that only they import."""


def test_rooms_that_run_nothing_import_no_torch() -> None:
    names = [name for name in MODULES if room_of(name) in LIGHT and name not in RUN_CHECKS]
    code = f"import sys, {', '.join(names)}\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
