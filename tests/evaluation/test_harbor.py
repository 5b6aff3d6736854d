"""Harbor task folders: what each side contains, and the rewards of right, wrong, hostile and missing files."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grader import cheats
from grader.errors import UsageError
from grader.evaluation.catalogue import hunt_of
from grader.evaluation.environments.forms import Form
from grader.evaluation.guided import inquiry
from grader.evaluation.harbor.exporting import export_tasks
from grader.evaluation.rewards import Scheme
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.commands import run_program
from tests.support.paths import ROOT

COURSE = Course(root=ROOT)
EXERCISE = "exercise_29"
REFERENCE = COURSE.reference_text(EXERCISE)
FILE = COURSE.module_name(EXERCISE)
HOSTILE = "import os\nos._exit(0)\n"


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    """The task folder of one exercise."""
    (folder,) = export_tasks(COURSE, tmp_path_factory.mktemp("tasks"), [EXERCISE])
    return folder


def test_the_agents_side_has_the_starter_and_no_part_of_the_answer(task):
    environment = {path.name for path in (task / "environment").iterdir()}
    assert environment == {"Dockerfile", FILE}
    shown = "\n".join(
        path.read_text(encoding="utf-8") for path in [*(task / "environment").iterdir(), task / "instruction.md"]
    )
    for defect in load_exercise(COURSE.description(EXERCISE)).defects:
        assert defect.id not in shown
        assert defect.title not in shown
        for was, fix in defect.edits():
            assert was.strip() in shown
            assert fix.strip() not in shown
    assert not (task / "solution").exists()


def test_the_settings_name_a_separate_verifier_and_the_one_file_that_it_gets(task):
    settings = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
    assert settings["artifacts"] == [f"/app/{FILE}"]
    assert settings["verifier"]["environment_mode"] == "separate"
    assert settings["verifier"]["environment"]["allow_internet"] is False
    canary = settings["metadata"]["canary"]
    assert canary in (task / "instruction.md").read_text(encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(task / "tests/test.sh")], check=False).returncode == 0
    assert os.access(task / "tests/test.sh", os.X_OK)


def test_settings_of_every_exercise_can_be_read(tmp_path):
    for folder in export_tasks(COURSE, tmp_path, ["exercise_03", "exercise_05", "exercise_34"]):
        settings = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        assert settings["task"]["name"] == f"grader/{folder.name}"
        assert settings["metadata"]["license_note"].startswith("Adapted from ")


def verified(task: Path, folder: Path, file: Path, form: Form = Form.FIX) -> tuple[int, str | None]:
    """Run the verifier as its container does. Return its exit code and the reward that it wrote."""
    verifier = task / "tests" / "verifier"
    module = "grader.evaluation.harbor.verifying"
    command = [sys.executable, "-m", module, verifier / "course", task.name, file, folder, "all_or_nothing", form]
    done = subprocess.run(command, cwd=verifier, capture_output=True, text=True, timeout=120, check=False)
    reward = folder / "reward.txt"
    return done.returncode, reward.read_text(encoding="utf-8").strip() if reward.exists() else None


@pytest.mark.slow
def test_the_reference_earns_everything_and_a_hostile_file_nothing(task, tmp_path):
    file = tmp_path / FILE
    file.write_text(REFERENCE, encoding="utf-8")
    assert verified(task, tmp_path / "logs", file) == (0, "1.000000")
    assert (tmp_path / "logs/verdict.json").is_file()
    file.write_text(HOSTILE, encoding="utf-8")
    assert verified(task, tmp_path / "logs", file) == (0, "0.000000")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["# see fix.py", "fix.py", ""])
def test_a_text_that_looks_like_a_path_is_judged_and_earns_nothing(task, tmp_path, text):
    file = tmp_path / FILE
    file.write_text(text, encoding="utf-8")
    assert verified(task, tmp_path / "logs", file) == (0, "0.000000")


def test_a_missing_file_and_a_link_to_the_reference_earn_nothing(task, tmp_path):
    file = tmp_path / FILE
    assert verified(task, tmp_path / "logs", file) == (0, "0.000000")
    file.symlink_to(task / "tests/verifier/course/solutions" / EXERCISE / FILE)
    assert verified(task, tmp_path / "logs", file) == (0, "0.000000")


def test_a_fault_of_the_kit_leaves_no_reward_not_even_a_forged_one(task, tmp_path):
    file, logs = tmp_path / FILE, tmp_path / "logs"
    file.write_text(REFERENCE, encoding="utf-8")
    logs.mkdir()
    (logs / "reward.txt").write_text("1", encoding="utf-8")
    description = task / "tests/verifier/course/solutions" / EXERCISE / "exercise.yaml"
    right = description.read_text(encoding="utf-8")
    description.write_text("title: [", encoding="utf-8")
    try:
        assert verified(task, logs, file) == (3, None)
    finally:
        description.write_text(right, encoding="utf-8")


def right_answer(form: Form, exercise_id: str) -> str:
    """Return what earns everything in another form than a fix."""
    match form:
        case Form.TRAP:
            fenced = '"""Tests that can be run like this:\n\n```\npytest trap.py\n```\n"""\n\n'
            return fenced + COURSE.model_trap(exercise_id).read_text(encoding="utf-8")
        case Form.PREDICT:
            questions = inquiry.inquire(COURSE, exercise_id).questions
            return "\n".join(f"{number}: {each.right + 1}" for number, each in enumerate(questions, 1))
    return "attn_scores unchanged 41\nattn_weights[0, 0, 1] not equals 0\n"


@pytest.fixture(scope="module")
def _inquiries_end():
    yield
    inquiry.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_inquiries_end")
@pytest.mark.parametrize("form", [Form.LOCATE, Form.TRAP, Form.PREDICT])
def test_the_other_forms_have_an_answer_of_their_own_that_alone_is_judged(tmp_path, form):
    (task,) = export_tasks(COURSE, tmp_path / "tasks", ["exercise_03"], form=form)
    settings = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
    (answer,) = settings["artifacts"]
    assert settings["metadata"]["form"] == form
    assert f"Write your answer to `{answer}`" in (task / "instruction.md").read_text(encoding="utf-8")
    assert f"{answer} /logs/verifier all_or_nothing {form}\n" in (task / "tests/test.sh").read_text(encoding="utf-8")

    file, right = tmp_path / Path(answer).name, right_answer(form, "exercise_03")
    assert verified(task, tmp_path / "logs", file, form) == (0, "0.000000")
    file.write_text(right, encoding="utf-8")
    assert verified(task, tmp_path / "logs", file, form) == (0, "1.000000")
    file.write_text(COURSE.reference_text("exercise_03"), encoding="utf-8")
    assert verified(task, tmp_path / "logs", file, form) == (0, "0.000000")
    other = tmp_path / "right.txt"
    other.write_text(right, encoding="utf-8")
    file.unlink()
    file.symlink_to(other)
    assert verified(task, tmp_path / "logs", file, form) == (0, "0.000000")


def test_there_is_nothing_to_locate_in_a_decoy_and_no_solution_but_for_fixes(tmp_path):
    with pytest.raises(UsageError, match=r"no hunt in .* has the form locate; choose another form, course or hunt"):
        export_tasks(COURSE, tmp_path, ["exercise_35"], form=Form.LOCATE)
    with pytest.raises(UsageError, match="there are no solutions in the form trap"):
        export_tasks(COURSE, tmp_path, ["exercise_03"], form=Form.TRAP, with_solutions=True)


def test_no_task_is_written_for_traps_with_a_scheme_that_cannot_reward_them(tmp_path):
    with pytest.raises(UsageError, match="for a trap, use points, all_or_nothing or per_defect"):
        export_tasks(COURSE, tmp_path / "tasks", [EXERCISE], form=Form.TRAP, scheme=Scheme.DENSE)
    assert not (tmp_path / "tasks").exists()


@pytest.mark.slow
def test_the_starter_earns_nothing_in_any_scheme_but_the_dense_one(task, tmp_path):
    verifier = task / "tests" / "verifier"
    for scheme in Scheme:
        command = [sys.executable, "-m", "grader.evaluation.harbor.verifying", verifier / "course", EXERCISE]
        arguments = [task / "environment" / FILE, tmp_path, scheme, Form.FIX]
        subprocess.run([*command, *arguments], cwd=verifier, timeout=120, check=True)
        earned = float((tmp_path / "reward.txt").read_text(encoding="utf-8"))
        assert (0 < earned < 1) if scheme is Scheme.DENSE else earned == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", cheats(hunt_of(COURSE, EXERCISE)))
def test_a_cheat_earns_nothing(task, tmp_path, name):
    file = tmp_path / FILE
    file.write_text(cheats(hunt_of(COURSE, EXERCISE))[name], encoding="utf-8")
    assert verified(task, tmp_path / "logs", file) == (0, "0.000000")


def test_solutions_are_added_if_asked_for_and_nothing_is_overwritten(tmp_path):
    (folder,) = export_tasks(COURSE, tmp_path, [EXERCISE], with_solutions=True)
    assert (folder / "solution" / FILE).read_text(encoding="utf-8") == REFERENCE
    assert os.access(folder / "solution/solve.sh", os.X_OK)
    with pytest.raises(UsageError, match="exists, and nothing is overwritten"):
        export_tasks(COURSE, tmp_path, [EXERCISE])
    with pytest.raises(UsageError, match="there is no exercise_99"):
        export_tasks(COURSE, tmp_path, ["exercise_99"])


def test_the_command_offers_every_form_and_scheme_and_writes_for_harbor_by_default(tmp_path):
    shown = " ".join(run_program("export-tasks", "--help").stdout.split())
    assert f"--form [{'|'.join(Form)}]" in shown
    assert f"--scheme [{'|'.join(Scheme)}]" in shown
    done = run_program("export-tasks", tmp_path / "default", "--exercise", EXERCISE)
    assert (done.returncode, done.stdout) == (0, f"Wrote 1 task to {tmp_path / 'default'}.\n")
    done = run_program("export-tasks", "--to", "harbor", tmp_path / "named", "--exercise", EXERCISE)
    assert (done.returncode, done.stdout) == (0, f"Wrote 1 task to {tmp_path / 'named'}.\n")
    done = run_program("export-tasks", tmp_path / "traps", "--form", "trap", "--scheme", "dense")
    assert done.returncode == UsageError.exit_code
    assert "for a trap, use points, all_or_nothing or per_defect" in done.stderr
