"""Measure other graders, if they are installed, on one submission with the kit's own checks.

A peer imports the submission into its own process, as it usually does, and each of its tests runs one of the kit's
checks there. The peers' environment needs no torch: it uses the kit's.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.benchmarks.commands import ENVIRONMENT, SECONDS_ALL, SEED, seconds
from tests.benchmarks.table import CannotRunError, compared, headline, measured
from tests.support.paths import ROOT

EXERCISE = "exercise_03"
SUBMISSION = ROOT / "solutions" / EXERCISE / "attention.py"
KIT = ["-m", "grader", EXERCISE, "--file", str(SUBMISSION)]
ASK = "import importlib.metadata as m; print(m.version({name!r}))"
VERSION = "import sys; print(sys.version_info[:2])"

SHOWN = [str(ROOT), sysconfig.get_path("purelib")]
PRELUDE = f"""
import sys
sys.path += [path for path in {SHOWN!r} if path not in sys.path]
import os
os.environ["OMP_NUM_THREADS"] = "1"
from pathlib import Path
from tests.benchmarks.local import Hunt
from grader.spec.paths import Course
hunt = Hunt(Course(root=Path({str(ROOT)!r})), {EXERCISE!r}, {SEED})
context = hunt.context(Path("attention.py").read_text())
"""
"""The beginning of every peer's test file. The submission is in the peer's working folder."""


class Peer(Struct, frozen=True, kw_only=True):
    """Another grader: how to lay out its folder, and the command that grades there with its Python."""

    name: str
    lay_out: Callable[[Path, Path], None]
    arguments: list[str]
    has_graded: Callable[[str, Path], bool]


def peers(runs: int, venv: Path | None) -> Iterator[str]:
    """Yield lines about each peer beside the kit, which take turns."""
    yield headline("Other graders", f"{runs} runs in turns, the reference of {EXERCISE}, every check passed by all")
    python = venv / "bin" / "python" if venv else Path(sys.executable)
    for peer in PEERS:
        try:
            yield from _beside(peer, python, runs)
        except CannotRunError as error:
            yield f"{peer.name}: not run: {error}"


def _beside(peer: Peer, python: Path, runs: int) -> Iterator[str]:
    version = _version(peer, python)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        peer.lay_out(folder, python)
        _grade(peer, python, folder)  # caches warm
        seconds(KIT)
        theirs, ours = [], []
        for _ in range(runs):
            theirs.append(_grade(peer, python, folder))
            ours.append(seconds(KIT))
    yield measured(f"{peer.name} {version}", theirs, "s")
    yield compared(f"{peer.name} / the kit", theirs, ours)


def _version(peer: Peer, python: Path) -> str:
    """Return the peer's version. Raise `CannotRunError` if it is not installed, or cannot read the kit's torch."""
    found = _run(python, ["-c", ASK.format(name=peer.name)], Path.cwd())
    if found.returncode != 0:
        raise CannotRunError(f"not installed; pip install {peer.name} in an environment, and name it by --peers-venv")
    if _run(python, ["-c", VERSION], Path.cwd()).stdout.strip() != str(sys.version_info[:2]):
        raise CannotRunError("its Python is of another version than the kit's, so it cannot load the kit's torch")
    return found.stdout.strip()


def _grade(peer: Peer, python: Path, folder: Path) -> float:
    started = time.perf_counter()
    done = _run(python, peer.arguments, folder)
    taken = time.perf_counter() - started
    if not peer.has_graded(done.stdout, folder):
        raise CannotRunError(f"it did not pass every check: {(done.stdout + done.stderr).strip()[-600:]}")
    return taken


def _run(python: Path, arguments: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the peers' Python in a folder, which is also its home."""
    own = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"} | own
    try:
        return subprocess.run(
            [str(python), *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_ALL,
            check=False,
        )
    except OSError as error:
        raise CannotRunError(f"{python} cannot be started: {error.strerror}") from None


def _checks() -> list[str]:
    """Return the names of all checks."""
    course = Course(root=ROOT)
    hidden = sorted(course.hidden_tests(EXERCISE).glob("test_*.py"))
    lines = [line for path in hidden for line in path.read_text(encoding="utf-8").split("\n")]
    functions = [line.removeprefix("def ").partition("(")[0] for line in lines if line.startswith("def test_")]
    return [check.id for check in load_exercise(course.description(EXERCISE)).checks] + functions


def _lay_out_check50(folder: Path, _: Path) -> None:
    checks = folder / "checks"
    checks.mkdir()
    (checks / ".cs50.yaml").write_text("check50:\n  files:\n    - !exclude '*'\n    - !require attention.py\n")
    functions = "".join(
        f'\n@check50.check()\ndef check_{number}():\n    """{name}"""\n    hunt.checks[{name!r}](context)\n'
        for number, name in enumerate(_checks())
    )
    opened = PRELUDE.replace('Path("attention.py")', f"Path({str(folder / 'attention.py')!r})")
    (checks / "__init__.py").write_text(f"import check50\n{opened}{functions}")
    (folder / "attention.py").write_text(SUBMISSION.read_text())


def _check50_has_graded(told: str, _: Path) -> bool:
    try:
        results: list[dict[str, Any]] = json.loads(told)["results"]
    except (ValueError, KeyError):
        return False
    return len(results) == len(_checks()) and all(each["passed"] for each in results)


def _lay_out_otter(folder: Path, _: Path) -> None:
    tests = folder / "tests"
    tests.mkdir()
    (folder / "opened.py").write_text(PRELUDE)
    opening = f">>> import sys\n>>> sys.path.append({str(folder)!r})\n>>> from opened import context, hunt\n"
    for name in _checks():
        case = {"code": f"{opening}>>> hunt.checks[{name!r}](context)\n", "hidden": False, "locked": False}
        suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
        (tests / f"{name}.py").write_text(
            f"OK_FORMAT = True\ntest = {{'name': {name!r}, 'points': 1, 'suites': [{suite!r}]}}\n"
        )
    # its process imports the libraries before it opens the submission
    (folder / "attention.py").write_text(PRELUDE.split("from tests.", maxsplit=1)[0] + SUBMISSION.read_text())


def _otter_has_graded(told: str, _: Path) -> bool:
    return "all tests passed" in told.lower()


def _lay_out_nbgrader(folder: Path, python: Path) -> None:
    """Write a course with one assignment: the submission's cell, then a test cell for each check."""
    source, submitted = folder / "source" / "ps1", folder / "submitted" / "ada" / "ps1"
    cells = [_cell("solution", SUBMISSION.read_text(), is_solution=True)]
    opened = PRELUDE.replace('Path("attention.py")', f"Path({str(folder / 'attention.py')!r})")
    cells[0]["source"] = PRELUDE.split("from tests.", maxsplit=1)[0] + cells[0]["source"]
    cells += [
        _cell(f"check-{number}", f"{opened if not number else ''}hunt.checks[{name!r}](context)", is_solution=False)
        for number, name in enumerate(_checks())
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
    (folder / "attention.py").write_text(SUBMISSION.read_text())
    (folder / "nbgrader_config.py").write_text("c = get_config()\nc.ExecutePreprocessor.timeout = 120\n")
    for place in (source, submitted):
        place.mkdir(parents=True)
        (place / "attention.ipynb").write_text(notebook)
    done = _run(python, ["-m", "nbgrader", "generate_assignment", "ps1", "--force"], folder)
    if done.returncode != 0:
        raise CannotRunError(f"its assignment cannot be made: {done.stderr.strip()[-400:]}")


def _cell(name: str, text: str, *, is_solution: bool) -> dict[str, Any]:
    marks = {"grade": not is_solution, "solution": is_solution, "locked": not is_solution, "task": False}
    points = {} if is_solution else {"points": 1}
    nbgrader = {"grade_id": name, "schema_version": 3, "cell_type": "code", **marks, **points}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"nbgrader": nbgrader},
        "source": text,
        "outputs": [],
        "execution_count": None,
    }


def _nbgrader_has_graded(_: str, folder: Path) -> bool:
    graded = folder / "autograded" / "ada" / "ps1" / "attention.ipynb"
    if not graded.is_file():
        return False
    cells = json.loads(graded.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return len(cells) > len(_checks()) and not any(output["output_type"] == "error" for output in outputs)


PEERS = (
    Peer(
        name="check50",
        lay_out=_lay_out_check50,
        arguments=["-m", "check50", "--dev", "checks", "-o", "json"],
        has_graded=_check50_has_graded,
    ),
    Peer(
        name="otter-grader",
        lay_out=_lay_out_otter,
        arguments=["-m", "otter", "check", "attention.py", "-t", "tests"],
        has_graded=_otter_has_graded,
    ),
    Peer(
        name="nbgrader",
        lay_out=_lay_out_nbgrader,
        arguments=["-m", "nbgrader", "autograde", "ps1", "--force"],
        has_graded=_nbgrader_has_graded,
    ),
)
