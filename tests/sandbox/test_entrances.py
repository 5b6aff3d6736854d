"""Whatever command judges a submission, its workers hold no description: they were forked before one was loaded."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from grader.errors import KitError
from grader.processes.worker_source import CAN_FORK, Forker
from grader.spec.loading import load_exercise
from tests.support.commands import run_program
from tests.support.hostile import starter
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="only forked workers hold what their parent held")

SPY = """
def found_by_a_spy():
    import gc, sys

    gc.unfreeze()  # objects from before the fork are hidden from the collector
    loading = sys.modules.get("grader.spec.loading")
    loaded = list(getattr(loading, "_loaded", None) or {})
    return loaded or [each for each in gc.get_objects() if type(each).__name__ in ("Exercise", "Defect")]
"""
RAISES = "\nif found_by_a_spy():\n    raise RuntimeError('found a description')\n"
TRAP = "\ndef test_nothing_is_found(subject):\n    subject(4, 6, 8, 0.0)\n    assert not found_by_a_spy()\n"

# `try` is missing: it runs the file in the student's own process
COMMANDS = {
    "grade": ("exercise_03",),
    "grade --file": ("exercise_03", "--file", "exercises/exercise_03/attention.py"),
    "grade --json": ("exercise_03", "--json"),
    "grade --all": ("grade", "--all"),
    "hint": ("hint", "exercise_03"),
    "claim": ("claim", "exercise_03", "sound", "--line", "20"),
    "guide": ("guide", "exercise_03", "--card", "1", "--answer", ""),
    "a folder": ("exercises/exercise_03",),
}
UNGRADABLE = ("does not run", "cannot be graded", "cannot run")
"""What `--all`, `claim` and `guide` say about a file that raises while it is loading."""

PLATFORMS = ("gradescope", "prairielearn", "classroom50")


@pytest.fixture
def spied_course(tmp_path: Path) -> Path:
    """A course of two exercises, whose files look for descriptions in the process that runs them."""
    root = tmp_path / "course"
    for part in ("exercises", "solutions"):
        for exercise in ("exercise_03", "exercise_04"):
            shutil.copytree(ROOT / part / exercise, root / part / exercise)
        shutil.copy(ROOT / part / "README.md", root / part)
    for exercise in ("exercise_03", "exercise_04"):
        (root / "exercises" / exercise / "attention.py").write_text(SPY + RAISES + starter(exercise), encoding="utf-8")
    return root


@pytest.mark.parametrize("command", others_slow(COMMANDS))
def test_no_worker_of_a_command_holds_a_description(spied_course: Path, command: str) -> None:
    done = run_program(*COMMANDS[command], "--course", spied_course, cwd=spied_course)
    assert done.returncode in {0, 1}, done.stderr
    assert not [each for each in ("found a description", *UNGRADABLE) if each in done.stdout + done.stderr]


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_worker_of_an_autograder_holds_a_description(
    spied_course: Path, platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLASSROOM", "ASSIGNMENT", "USERNAME", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL"):
        monkeypatch.setenv(name, "ada")
    folder, output = tmp_path / "submission", tmp_path / "results" / "results.json"
    output.parent.mkdir()
    shutil.copytree(spied_course / "exercises" / "exercise_03", folder)
    judge = ("autograder", "exercise_03", "--for", platform, "--judge", folder)
    done = run_program(*judge, "-o", output, "--course", spied_course, cwd=spied_course)
    assert done.returncode == 0, done.stderr
    assert "found a description" not in output.read_text(encoding="utf-8") + done.stdout
    assert "Not yet" in done.stdout


@pytest.mark.slow
def test_no_process_of_a_trap_holds_a_description(spied_course: Path) -> None:
    (spied_course / "exercises" / "exercise_03" / "trap.py").write_text(SPY + TRAP, encoding="utf-8")
    done = run_program("trap", "exercise_03", "--json", "--course", spied_course, cwd=spied_course)
    (test,) = json.loads(done.stdout)["tests"]
    assert test["counts"], test["reason"]


def test_a_process_that_has_loaded_a_description_forks_no_workers(course) -> None:
    load_exercise(course.description("exercise_03"))
    with pytest.raises(KitError, match=r"has loaded exercise_03, so workers that it forks could read its fixes"):
        Forker()
    assert "grader.spec.loading" in sys.modules
