"""Autograder packages, each run as its platform runs it: unpacked at its paths, as its user, by its entry point."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.author.autograder import write_autograder
from grader.author.platform_grading import judge_folder
from grader.classroom.platforms import AUTOGRADERS
from grader.errors import UsageError
from grader.spec.loading import load_exercise
from tests.support.attack_makers import MAKERS
from tests.support.corpus import Attack, read_corpus
from tests.support.forgetting import forget_descriptions
from tests.support.hostile import reference, running_with, starter
from tests.support.planted import plant
from tests.support.platform_host import LEFT_RUNNING, PlatformHost
from tests.support.sampling import others_slow
from tests.support.traps import TOO_LONG

EXERCISE = "exercise_03"
RUNNER = 1001
"""The user of a hosted runner."""

Package = Callable[[str], Path]


@pytest.fixture(scope="module")
def package(course, tmp_path_factory) -> Package:
    """The package for a platform, as it was written: a zip for Gradescope, else a folder."""
    folder, made = tmp_path_factory.mktemp("packages"), {}

    def make(platform: str) -> Path:
        if platform not in made:
            made[platform] = folder / (f"{platform}.zip" if platform == "gradescope" else platform)
            forget_descriptions()
            write_autograder(course, EXERCISE, platform, made[platform])
        return made[platform]

    return make


class Grader:
    """A platform's machine with the package on it, and a folder for what a student hands in."""

    def __init__(self, home: Path, platform: str, package: Path, *, builds: bool = False, **options) -> None:
        self.home = home
        self.platform = platform
        self.environment: dict[str, str] = {}
        for name in ("autograder/environment", "submission", "grade/student"):
            (home / name).mkdir(parents=True)
        self.source = home / "autograder/source"
        if package.suffix == ".zip":
            subprocess.run(["unzip", "-q", package, "-d", self.source], check=True)
        else:
            subprocess.run(["cp", "-r", package, self.source], check=True)
        if platform == "prairielearn":
            self.source = self.source / "image"
        self.results = {
            "gradescope": home / "autograder/results/results.json",
            "prairielearn": home / "grade/results/results.json",
            "classroom50": home / "checkout/result.json",
        }[platform]
        self.submission = {
            "gradescope": home / "autograder/submission",
            "prairielearn": home / "grade/student",
            "classroom50": home / "checkout",
        }[platform]
        self.submission.mkdir(parents=True, exist_ok=True)
        folders = {"/autograder": home / "autograder"}
        if platform != "classroom50":
            folders |= {"/autograder/source": self.source}
        if builds:
            (home / "autograder/environment").rmdir()
        elif platform != "classroom50":
            folders |= {"/autograder/environment": Path(sys.prefix)}
        folders |= {"/grade": home / "grade"} if platform == "prairielearn" else {}
        folders |= {"/checkout": home / "checkout"} if platform == "classroom50" else {}
        variables = {"AUTOGRADER_ROOT": "/autograder", "GRADE_ROOT": "/grade"}
        self.host = PlatformHost(home / "machine", folders, variables=variables, **options)

    def grade(self, text: str | None) -> tuple[subprocess.CompletedProcess[str], dict]:
        """What its entry point says of a file, and the results that are there then; none where there is no file."""
        self.clear()
        if text is not None:
            (self.submission / "attention.py").write_text(text, encoding="utf-8")
        return self.judged()

    def clear(self) -> None:
        for each in self.submission.glob("*"):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()

    def place(self, attack: Attack) -> None:
        """Hand in an attack, which knows where the course lies."""
        self.clear()
        path = self.submission / f"attention{Path(attack.name).suffix}"
        if attack.key in MAKERS:
            MAKERS[attack.key](path)
        else:
            path.write_bytes(self.tell(attack))

    def judged(self) -> tuple[subprocess.CompletedProcess[str], dict]:
        """What its entry point says of what was handed in, and the results that are there then."""
        done = self.run()
        return done, json.loads(self.results.read_text(encoding="utf-8")) if self.results.is_file() else {}

    def run(self) -> subprocess.CompletedProcess[str]:
        if self.platform == "gradescope":
            return self.host.run(["bash", "/autograder/source/run_autograder"], cwd="/autograder")
        if self.platform == "prairielearn":
            return self.host.run(["/autograder/source/entrypoint.sh"])
        told = {
            "CLASSROOM": "attention-2026",
            "ASSIGNMENT": "exercise-03",
            "USERNAME": "ada",
            "SUBMISSION_TAG": "submit/2026-11-22T10-00-00Z-a1b2c3d",
            "COMMIT_URL": "https://example.org/commit/a1b2c3d",
            "RELEASE_URL": "https://example.org/releases/1",
            "AUTOGRADER_PYTHON": sys.executable,
        } | self.environment
        return self.host.run([sys.executable, "/autograder/source/autograder.py"], cwd="/checkout", **told)

    def tell(self, attack: Attack) -> bytes:
        return told(attack, "/autograder/source")


@pytest.fixture
def grader(package, tmp_path) -> Callable[..., Grader]:
    """A platform's machine; without namespaces of its own, as in a container."""

    def make(platform: str, **options) -> Grader:
        return Grader(tmp_path / platform, platform, package(platform), **options)

    return make


def told(attack: Attack, course: str) -> bytes:
    """The attack's text; an attacker knows where the course lies."""
    words = {"@COURSE@": course, "@EXAMINER@": "1", "@PORT@": "9", "@ABSTRACT@": "none"}
    text = attack.source()
    for word, value in words.items():
        text = text.replace(word.encode(), value.encode())
    return text


@pytest.mark.parametrize("platform", others_slow(["gradescope", "prairielearn", "nbgrader"]))
def test_a_student_with_two_files_learns_which_one_was_graded(course, tmp_path, platform):
    folder = tmp_path / "handed in"
    folder.mkdir()
    for twin in course.editable_files("exercise_03"):
        (folder / twin.name).write_bytes(course.pristine(twin).read_bytes() + b"\n")
    (folder / "attention.py").write_bytes(course.reference("exercise_03").read_bytes())
    told = judge_folder(course, "exercise_03", platform, folder, tmp_path / "results.json")
    remark = "Graded: attention.py; attention.ipynb was handed in too: it was not edited."
    assert told.splitlines()[0] == remark
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    page = results[{"gradescope": "output", "prairielearn": "message", "nbgrader": "page"}[platform]]
    assert page.startswith(f"{remark}\n")


@pytest.mark.slow
def test_a_trap_is_judged_beside_the_submission_and_alone(course, tmp_path):
    folder = tmp_path / "handed in"
    folder.mkdir()
    (folder / "trap.py").write_text(TOO_LONG, encoding="utf-8")
    judge_folder(course, EXERCISE, "gradescope", folder, tmp_path / "results.json")
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["score"] == 0.0
    assert "extra 2  caught by test_a_long_sequence_is_refused" in results["output"]
    (folder / "attention.py").write_text(reference(), encoding="utf-8")
    (folder / "trap.py").write_text("def test_a(:\n", encoding="utf-8")
    told = judge_folder(course, EXERCISE, "gradescope", folder, tmp_path / "results.json")
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["score"] == 10.0
    assert "No test ran: trap.py:1: SyntaxError" in results["output"]
    assert "Fixed" in told


def own(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


def attacks(*families: str) -> list[Attack]:
    return [each for each in read_corpus() if each.family in families]


def one_in_each() -> list[Attack]:
    """The last of each family."""
    return list({each.family: each for each in read_corpus()}.values())


def names_and_ids(course) -> list[str]:
    defects = load_exercise(course.description(EXERCISE)).defects
    return [text for defect in defects for text in (defect.id, defect.title)]


@pytest.mark.slow
def test_gradescope_reads_points_for_each_fixed_defect_by_its_number(course, grader):
    machine = grader("gradescope")
    done, results = machine.grade(starter(EXERCISE))
    assert done.returncode == 0, done.stderr
    assert results["score"] == 0
    assert [(test["name"], test["score"], test["max_score"]) for test in results["tests"]] == [
        ("Defect 1", 0, 0),
        ("Defect 2 (extra)", 0, 0),
        ("Everything fixed, and nothing else broken", 0, 10),
    ]
    text = machine.results.read_text(encoding="utf-8") + done.stdout + done.stderr
    assert not [name for name in names_and_ids(course) if name in text]
    done, results = machine.grade(reference(EXERCISE))
    assert (results["score"], {test["status"] for test in results["tests"]}) == (10, {"passed"})


@pytest.mark.parametrize(
    "platform", [pytest.param(each, marks=[pytest.mark.slow] * (each != "gradescope")) for each in AUTOGRADERS]
)
def test_a_package_holds_one_exercise_the_kit_and_exact_versions(package, platform, tmp_path):
    written = package(platform)
    if written.suffix == ".zip":
        with zipfile.ZipFile(written) as archive:
            names = set(archive.namelist())
            modes = {name: archive.getinfo(name).external_attr >> 16 for name in names}
            archive.extractall(tmp_path)
        assert {"setup.sh", "run_autograder"} <= names
        assert modes["run_autograder"] & 0o111
        written = tmp_path
    files = [path for path in written.rglob("*") if path.is_file()]
    (requirements,) = [path for path in files if path.name == "requirements.txt"]
    home = requirements.parent
    pins = requirements.read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert {"torch", "pytest", "msgspec", "pyseccomp"} <= {pin.partition("==")[0] for pin in pins}
    assert not [path for path in files if "__pycache__" in path.parts]
    assert {path.name for path in (home / "exercises").iterdir()} == {EXERCISE}
    assert {path.name for path in (home / "solutions").iterdir()} == {EXERCISE}
    assert (home / "solutions" / EXERCISE / "key.json").is_file()
    assert (home / "tests/hidden" / EXERCISE).is_dir()
    assert (home / "tests/corpus/alternatives" / EXERCISE).is_dir()  # traps run on them
    assert (home / "grader/sandbox/server.py").is_file()
    assert (written / "README.md").is_file()


def test_nothing_is_overwritten_and_a_platform_must_be_known(course, package, run_cli):
    written = package("gradescope")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        write_autograder(course, EXERCISE, "gradescope", written)
    done = run_cli("autograder", EXERCISE, "--for", "blackboard", "-o", "x.zip")
    assert done.returncode == 2
    assert "'classroom50', 'gradescope', 'nbgrader', 'prairielearn'" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_package_can_be_written_to_a_pipe_and_through_a_link(course, tmp_path):
    pipe, target = tmp_path / "pipe.zip", tmp_path / "link"
    os.mkfifo(pipe)
    target.symlink_to(tmp_path / "there")
    reader = subprocess.Popen(["cp", "--copy-contents", pipe, tmp_path / "received"])
    write_autograder(course, EXERCISE, "gradescope", pipe)
    reader.wait(60)
    assert "run_autograder" in zipfile.ZipFile(tmp_path / "received").namelist()
    assert pipe.is_fifo()
    forget_descriptions()
    write_autograder(course, EXERCISE, "classroom50", target)
    assert target.is_symlink()
    assert (tmp_path / "there/autograder.py").is_file()


@pytest.mark.slow
def test_results_go_through_a_pipe_and_a_link_of_the_operators_and_never_through_one_of_the_students(course, tmp_path):
    student, outside = tmp_path / "student", tmp_path / "outside.json"
    student.mkdir()
    (student / "attention.py").write_text("def (:", encoding="utf-8")
    outside.write_text("old", encoding="utf-8")
    (tmp_path / "link.json").symlink_to(outside)
    (student / "link.json").symlink_to(outside)
    judge_folder(course, EXERCISE, "gradescope", student, tmp_path / "link.json")
    assert json.loads(outside.read_text(encoding="utf-8"))["score"] == 0
    assert (tmp_path / "link.json").is_symlink()
    outside.write_text("old", encoding="utf-8")
    judge_folder(course, EXERCISE, "gradescope", student, student / "link.json")
    assert outside.read_text(encoding="utf-8") == "old"
    assert json.loads((student / "link.json").read_text(encoding="utf-8"))["score"] == 0

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cp", "--copy-contents", pipe, tmp_path / "received"])
    judge_folder(course, EXERCISE, "gradescope", student, pipe)
    reader.wait(60)
    assert json.loads((tmp_path / "received").read_text(encoding="utf-8"))["score"] == 0
    assert pipe.is_fifo()


@pytest.mark.slow
def test_gradescope_shows_why_a_file_is_not_gradable_and_which_walls_are_open(grader):
    machine = grader("gradescope", lacks=("namespaces", "landlock"))
    subprocess.run(["chmod", "-R", "go=", machine.source], check=True)  # as setup.sh does
    done, results = machine.grade(None)
    assert (done.returncode, results["score"]) == (0, 0)
    assert "nothing to grade was handed in: hand in attention.py" in results["tests"][0]["output"]
    done, results = machine.grade("def (:\n")
    assert "SyntaxError" in results["tests"][0]["output"]
    (attack,) = [each for each in attacks("secrets") if each.name == "reads_the_reference.py"]
    done, results = machine.grade(machine.tell(attack).decode())
    assert results["score"] == 0
    assert results["extra_data"]["isolation"]["filesystem"] is False
    assert "Open to submissions on this machine: the file system" in done.stdout


@pytest.mark.slow
def test_what_the_kit_cannot_judge_leaves_no_results(grader):
    machine = grader("gradescope")
    machine.results.parent.mkdir()
    machine.results.write_text("{}", encoding="utf-8")
    description = machine.source / "solutions" / EXERCISE / "exercise.yaml"
    description.write_text(description.read_text(encoding="utf-8") + "mistake: 1\n", encoding="utf-8")
    done, results = machine.grade(reference(EXERCISE))
    assert (done.returncode, results) == (2, {})
    assert not machine.results.exists()


@pytest.mark.slow
def test_prairielearn_gets_a_score_up_to_one_and_a_syntax_error_costs_no_attempt(grader):
    machine = grader("prairielearn")
    done, results = machine.grade(reference(EXERCISE))
    assert done.returncode == 0, done.stderr
    assert (results["gradable"], results["score"]) == (True, 1.0)
    assert all({"points", "max_points"} <= set(test) for test in results["tests"])
    done, results = machine.grade("def (:\n")
    assert (done.returncode, results["gradable"], results["score"]) == (0, False, 0.0)
    assert "SyntaxError" in results["format_errors"][0]


def test_prairielearns_question_has_a_story_a_starter_and_an_image(course, package):
    folder = package("prairielearn")
    info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", info["uuid"])
    assert info["gradingMethod"] == "External"
    assert info["externalGradingOptions"]["entrypoint"] == "/autograder/source/entrypoint.sh"
    assert (folder / "image/entrypoint.sh").stat().st_mode & 0o111
    assert "COPY . /autograder/source" in (folder / "image/Dockerfile").read_text(encoding="utf-8")
    page = (folder / "question.html").read_text(encoding="utf-8")
    assert "Mara is teaching" in page
    assert "python -m grader" not in page
    assert (folder / "starter/attention.py").read_text(encoding="utf-8") == starter(EXERCISE)
    assert not [name for name in names_and_ids(course) if name in page]


@pytest.mark.slow
def test_classroom_50_gets_whole_points_and_a_report_whatever_lies_in_the_checkout(grader, tmp_path):
    machine = grader("classroom50", user=RUNNER)
    secret = tmp_path / "classroom50/autograder/secret"
    secret.write_text("the runner's own", encoding="utf-8")
    (machine.submission / "grader").mkdir()
    (machine.submission / "grader/__init__.py").write_text("raise SystemExit(0)", encoding="utf-8")
    (machine.submission / "result.json").symlink_to("/autograder/secret")
    (machine.submission / "report.html").symlink_to("/autograder/secret")
    (machine.submission / "exercises" / EXERCISE).mkdir(parents=True)
    (machine.submission / "exercises" / EXERCISE / "attention.py").write_text(reference(EXERCISE), encoding="utf-8")
    own(tmp_path / "classroom50", RUNNER)
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert secret.read_text(encoding="utf-8") == "the runner's own"
    result = json.loads(machine.results.read_text(encoding="utf-8"))
    assert {"classroom": "attention-2026", "assignment": "exercise-03", "owner": "ada"}.items() <= result.items()
    assert (result["score"], result["max-score"]) == (10, 10)
    assert sum(test["score"] for test in result["tests"]) == 10
    assert all(type(test[key]) is int for test in result["tests"] for key in ("score", "max-score"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result["datetime"])
    report = machine.submission / "report.html"
    assert not report.is_symlink()
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("platform", "user"),
    [
        ("gradescope", 0),
        ("prairielearn", 0),
        ("classroom50", RUNNER),
    ],
)
@pytest.mark.slow
def test_modules_beside_a_submission_run_in_no_interpreter_of_a_package(grader, tmp_path, platform, user):
    """The student's folder has a module for each name that the package starts or imports."""
    machine = grader(platform, user=user)
    machine.clear()
    plant(machine.submission, "/autograder/ran")
    (machine.submission / "attention.py").write_text(reference(EXERCISE), encoding="utf-8")
    own(machine.home, user)
    done, results = machine.judged()
    marker = machine.home / "autograder/ran"
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert (done.returncode, results["score"]) == (0, 1.0 if platform == "prairielearn" else 10), done.stderr


@pytest.mark.slow
def test_modules_in_a_checkout_do_not_run_where_classroom_50_makes_an_environment(grader):
    """Nothing is required, so that pip is quick; the kit then lacks its packages, and gives no verdict."""
    machine = grader("classroom50", user=RUNNER)
    (machine.source / "requirements.txt").write_text("", encoding="utf-8")
    machine.environment = {"AUTOGRADER_PYTHON": ""}
    plant(machine.submission, "/autograder/ran")
    (machine.submission / "attention.py").write_text(reference(EXERCISE), encoding="utf-8")
    own(machine.home, RUNNER)
    done, results = machine.judged()
    marker = machine.home / "autograder/ran"
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert (done.returncode, results) == (3, {}), done.stderr
    assert "environment/bin/python has no " in done.stderr


@pytest.mark.slow
def test_where_nothing_closes_the_reference_no_verdict_is_given(grader, tmp_path):
    machine = grader("classroom50", user=RUNNER, lacks=("namespaces", "landlock"))
    (machine.submission / "attention.py").write_text(reference(EXERCISE), encoding="utf-8")
    (machine.submission / "result.json").write_text('{"score": 10}', encoding="utf-8")
    own(tmp_path / "classroom50", RUNNER)
    done = machine.run()
    assert done.returncode == 3
    assert "submissions could reach the file system of this host" in done.stderr
    assert not machine.results.exists()


MACHINES = (
    ("gradescope", 0, ("namespaces",)),
    ("gradescope", 0, ("namespaces", "landlock")),
    ("prairielearn", 0, ("namespaces",)),
    ("classroom50", RUNNER, ("namespaces",)),
)
WHOLE_FAMILIES = os.environ.get("GRADER_ATTACKS", "").split()
"""Families of attacks that are tried whole, on the first machine."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MACHINES)))
def test_no_attack_reads_the_reference_forges_a_result_or_is_left_running(grader, tmp_path, number):
    """Attacks on files are distributed, because each starts the platform's program again."""
    platform, user, lacks = MACHINES[number]
    some = attacks("secrets", "writing")[number :: len(MACHINES)] + ([] if "landlock" in lacks else one_in_each())
    if WHOLE_FAMILIES and number == 0:
        some = attacks(*WHOLE_FAMILIES)
    machine = grader(platform, user=user, lacks=lacks)
    description = machine.source / "solutions" / EXERCISE / "exercise.yaml"
    with description.open("a", encoding="utf-8") as file:
        file.write("# canary-0123456789abcdef\n")
    if not user:
        subprocess.run(["chmod", "-R", "go=", machine.source], check=True)
    sources = {path: path.read_bytes() for path in machine.source.rglob("*.py")}
    wrong = {}
    for attack in some:
        machine.place(attack)
        if user:
            own(tmp_path / platform, user)
        done, results = machine.judged()
        text = json.dumps(results) + done.stdout
        score = results.get("score", 99) * (10 if platform == "prairielearn" else 1)
        is_forged = not results or score > attack.expected.bound() or "canary-" in text
        if is_forged or LEFT_RUNNING in done.stderr:
            wrong[attack.key] = (done.returncode, done.stderr[-300:], score)
    assert wrong == {}
    assert {path: path.read_bytes() for path in machine.source.rglob("*.py")} == sources


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["gradescope", "prairielearn"])
def test_an_image_needs_only_what_pip_installs(package, tmp_path, monkeypatch, platform):
    """In the image's own root, with this machine's Python and wheels, and none of its packages."""
    monkeypatch.setenv("PIP_NO_COMPILE", "1")  # most of what torch brings is never imported
    machine = Grader(tmp_path / platform, platform, package(platform), builds=True)
    done = machine.host.run(["bash", "/autograder/source/setup.sh"], cwd="/autograder")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 10
    assert not (machine.source.stat().st_mode & 0o077)
    done, results = machine.grade(reference(EXERCISE))
    assert (done.returncode, results["score"]) == (0, {"gradescope": 10, "prairielearn": 1.0}[platform]), done.stderr


NBGRADER = [sys.executable, "-m", "nbgrader"]


def nbgrader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*NBGRADER, *arguments]
    started = {"start_new_session": True}  # attacks aim at process groups
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False, **started)


def notebook_of(text: str, released: Path, target: Path) -> None:
    """The released notebook with a student's text in place of the class."""
    notebook = json.loads(released.read_bytes())
    (cell,) = [each for each in notebook["cells"] if "class CausalSelfAttention" in "".join(each["source"])]
    cell["source"] = text
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(notebook), encoding="utf-8")


def scores_of_nbgrader(folder: Path) -> dict[str, tuple[float, float]]:
    """Each student's points and the most there are, as nbgrader has them once it has graded what was submitted."""
    for arguments in (("autograde", EXERCISE), ("export", "--to", "grades.csv")):
        done = nbgrader(folder, *arguments)
        assert done.returncode == 0, done.stderr
    with (folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}


FORGERY = """
import builtins, subprocess, sys, os, IPython
subprocess.run = lambda *a, **k: (_ for _ in ()).throw(SystemExit)
open(os.environ.get("GRADER_RESULTS", "/tmp/none"), "w").write('{"page": "", "points": 10.0}')
IPython.get_ipython().display_formatter = None
"""


@pytest.mark.slow
def test_nbgrader_gives_the_points_of_the_hidden_cell_and_runs_no_cell_of_a_student(package, tmp_path):
    folder = tmp_path / "nbcourse"
    shutil.copytree(package("nbgrader"), folder)
    done = nbgrader(folder, "generate_assignment", EXERCISE)
    assert done.returncode == 0, done.stderr
    released = folder / "release" / EXERCISE / "attention.ipynb"
    assert "HIDDEN" not in released.read_text(encoding="utf-8")
    marker = tmp_path / "a student's cell ran"
    handed_in = {
        "ada": reference(EXERCISE),
        "bob": starter(EXERCISE),
        "eve": "def (:\n",
        "mal": FORGERY + f"open({str(marker)!r}, 'w').close()\n" + starter(EXERCISE),
    }
    for student, text in handed_in.items():
        notebook_of(text, released, folder / "submitted" / student / EXERCISE / "attention.ipynb")
    scores = scores_of_nbgrader(folder)
    assert scores == {"ada": (10, 10), "bob": (0, 10), "eve": (0, 10), "mal": (0, 10)}
    assert not marker.exists()
    graded = json.loads((folder / "autograded/bob" / EXERCISE / "attention.ipynb").read_bytes())
    outputs = graded["cells"][-1]["outputs"]
    assert [each["output_type"] for each in outputs] == ["stream", "execute_result"]
    assert outputs[0]["name"] == "stdout"
    assert "defect 1 · still there" in "".join(outputs[0]["text"])
    assert "".join(outputs[1]["data"]["text/plain"]) == "0.0"


@pytest.mark.slow
def test_modules_beside_a_notebook_run_in_no_interpreter_and_no_kernel_starts(package, tmp_path):
    folder = tmp_path / "nbcourse"
    shutil.copytree(package("nbgrader"), folder)
    nbgrader(folder, "generate_assignment", EXERCISE)
    released = folder / "release" / EXERCISE / "attention.ipynb"
    marker = tmp_path / "ran"
    for student, text in {"ada": reference(EXERCISE), "eve": starter(EXERCISE)}.items():
        notebook_of(text, released, folder / "submitted" / student / EXERCISE / "attention.ipynb")
    plant(folder / "submitted/eve" / EXERCISE, str(marker))
    scores = scores_of_nbgrader(folder)
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert scores == {"ada": (10, 10), "eve": (0, 10)}


@pytest.mark.slow
def test_a_notebook_gets_no_points_where_the_packages_configuration_is_not_in_use(package, tmp_path):
    folder = tmp_path / "nbcourse"
    shutil.copytree(package("nbgrader"), folder)
    nbgrader(folder, "generate_assignment", EXERCISE)
    released = folder / "release" / EXERCISE / "attention.ipynb"
    notebook_of("x = 1", released, folder / "submitted/ada" / EXERCISE / "attention.ipynb")
    (folder / "nbgrader_config.py").unlink()
    assert scores_of_nbgrader(folder) == {"ada": (0, 10)}


@pytest.mark.slow
def test_no_attack_gets_points_from_nbgrader_or_reads_the_reference(package, tmp_path):
    folder = tmp_path / "nbcourse"
    shutil.copytree(package("nbgrader"), folder)
    with (folder / "autograder/solutions" / EXERCISE / "exercise.yaml").open("a", encoding="utf-8") as file:
        file.write("# canary-0123456789abcdef\n")
    nbgrader(folder, "generate_assignment", EXERCISE)
    released = folder / "release" / EXERCISE / "attention.ipynb"
    written = [each for each in read_corpus() if each.path.is_file() and each.path.suffix == ".py"]
    some = {each.family: each for each in written}
    for family, attack in some.items():
        text = told(attack, str(folder / "autograder")).decode()
        notebook_of(text, released, folder / "submitted" / family / EXERCISE / "attention.ipynb")
    kit = {path: path.read_bytes() for path in (folder / "autograder").rglob("*.py")}
    scores = scores_of_nbgrader(folder)
    assert scores.keys() == some.keys()
    assert [name for name, (score, _) in scores.items() if score > some[name].expected.bound()] == []
    graded = list((folder / "autograded").rglob("*.ipynb"))
    assert len(graded) == len(some)
    assert not [path for path in graded if "canary-0123456789abcdef" in path.read_text(encoding="utf-8")]
    assert {path: path.read_bytes() for path in (folder / "autograder").rglob("*.py")} == kit
    assert not running_with(str(folder))


@pytest.mark.slow
def test_nbgrader_gives_no_points_at_all_where_the_kit_is_at_fault(package, tmp_path):
    folder = tmp_path / "nbcourse"
    shutil.copytree(package("nbgrader"), folder)
    nbgrader(folder, "generate_assignment", EXERCISE)
    (folder / "autograder/solutions" / EXERCISE / "attention.py").write_text("", encoding="utf-8")
    released = folder / "release" / EXERCISE / "attention.ipynb"
    notebook_of(reference(EXERCISE), released, folder / "submitted/ada" / EXERCISE / "attention.ipynb")
    done = nbgrader(folder, "autograde", EXERCISE)
    assert done.returncode != 0
    assert "no verdict, and so no points" in done.stderr
    assert not (folder / "autograded/ada" / EXERCISE).exists()
