"""Torch may lie outside the interpreter's own folders; a grading there is the one of a virtual environment."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.support.commands import Done
from tests.support.hostile import in_forward, reference
from tests.support.paths import ROOT

PACKAGES = Path(torch.__file__).parents[1]
SECONDS = 120

Installation = Callable[..., Done]


def bare_environment(folder: Path) -> tuple[Path, Path]:
    """Make an environment without packages; return its interpreter and the folder of its packages."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    return folder / "bin" / "python", packages


def linked(folder: Path) -> Path:
    """Make a folder that holds a link to each installed package, as some installers do."""
    folder.mkdir(parents=True)
    for each in PACKAGES.iterdir():
        (folder / each.name).symlink_to(each)
    return folder


def on_the_path(folder: Path) -> tuple[Path, dict[str, str]]:
    python, _ = bare_environment(folder / "environment")
    return python, {"PYTHONPATH": f"{linked(folder / 'packages')}{os.pathsep}{ROOT}"}


def in_a_pth_file(folder: Path) -> tuple[Path, dict[str, str]]:
    python, packages = bare_environment(folder / "environment")
    (packages / "elsewhere.pth").write_text(f"{PACKAGES}\n{ROOT}\n", encoding="utf-8")
    return python, {}


def in_the_user_site(folder: Path) -> tuple[Path, dict[str, str]]:
    _, packages = bare_environment(folder / "named")
    site = folder / "user" / packages.relative_to(folder / "named")
    site.parent.mkdir(parents=True)
    site.symlink_to(PACKAGES)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return base, {"PYTHONUSERBASE": str(folder / "user"), "PYTHONPATH": str(ROOT)}


SLOW = [pytest.param(place, marks=pytest.mark.slow) for place in (on_the_path, in_a_pth_file)]


@pytest.fixture(params=[*SLOW, in_the_user_site], ids=lambda place: place.__name__)
def run_there(request: pytest.FixtureRequest, tmp_path: Path) -> Installation:
    """Run `python -m grader ...` with an interpreter whose torch lies elsewhere."""
    python, places = request.param(tmp_path)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}

    def run(*arguments: object, **more: str) -> Done:
        return subprocess.run(
            [str(python), "-m", "grader", *map(str, arguments)],
            cwd=ROOT,
            env=environment | places | more,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.mark.slow
def test_a_grading_is_the_one_of_a_virtual_environment(run_there: Installation, tmp_path: Path) -> None:
    printing = tmp_path / "attention.py"
    printing.write_text(in_forward("print(x)", reference()), encoding="utf-8")
    for exercise, file in (
        ("exercise_05", ROOT / "solutions" / "exercise_05" / "attention.py"),
        ("exercise_03", printing),
    ):
        done = run_there(exercise, "--file", file, "--json", "--strict")
        assert done.returncode in (0, 1), done.stderr
        verdict = json.loads(done.stdout)
        crashed = [check["finding"] for check in verdict["checks"] if check["status"] == "crashed"]
        assert crashed == []
        assert all(verdict["isolation"].values())
        assert verdict["outcome"] == ("fixed" if file != printing else verdict["outcome"])


def test_the_doctor_prints_a_tensor_there(run_there: Installation) -> None:
    done = run_there("doctor")
    assert "starts, is confined and prints a tensor" in " ".join(done.stdout.split()), done.stdout + done.stderr


@pytest.mark.slow
def test_a_folder_of_libraries_around_the_home_folder_stays_closed_and_the_doctor_says_so(
    run_there: Installation,
) -> None:
    done = run_there("doctor", HOME=str(PACKAGES / "torch"))
    assert done.returncode == 1
    assert "cannot print a tensor: ModuleNotFoundError: No module named" in " ".join(done.stdout.split()), done
