"""The student edition: it works by itself, and no byte of it gives a solution away."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from grader.author.release import public_checks, release
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.errors import SpecError, UsageError
from grader.examiner.properties.leaks import FutureDoesNotLeak
from grader.examiner.properties.values import EveryParameterLearns, KeepsDtype, MatchesReference
from grader.report.json import render_json
from grader.submission.choice import choice_of
from grader.verdict.judge import grade

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]
SHORTEST_TELLING_LINE = 16
FIRST_LINE = (
    r"Only public checks ran: (all \d+|\d+ of \d+) public checks pass; (\d+) hidden ones follow when you hand it in\."
)


@pytest.fixture(scope="module")
def released(course, tmp_path_factory) -> dict[bool, dict[Path, bytes]]:
    """Every file of the edition without hints and of the one with them, as it was written."""
    root = tmp_path_factory.mktemp("released")
    found = {}
    for with_hints in (False, True):
        folder = root / f"edition{with_hints:d}"
        release(course, folder, with_hints=with_hints)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found[with_hints] = {path.relative_to(folder): path.read_bytes() for path in files}
    return found


@pytest.fixture(scope="module")
def editions(released, tmp_path_factory) -> dict[bool, Path]:
    """Both editions in places where students have begun to work, so that the kit remembers things there."""
    root = tmp_path_factory.mktemp("editions")
    return {with_hints: written(files, root / f"{with_hints:d}") for with_hints, files in released.items()}


@pytest.fixture
def edition(released, tmp_path) -> Path:
    """An edition without hints that a test may change."""
    return written(released[False], tmp_path / "edition")


def written(files: dict[Path, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def run_in(edition: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """`python -m grader ...` with nothing of the course in reach but the edition."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "100", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if python == sys.executable:
        environment["PYTHONPATH"] = str(edition)
    return subprocess.run(
        [python, "-m", "grader", *arguments],
        cwd=edition,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def telling_lines(path: Path) -> set[str]:
    lines = {line.strip() for line in path.read_text(encoding="utf-8").splitlines()}
    return {line for line in lines if len(line) >= SHORTEST_TELLING_LINE and not line.endswith(("(", "[", "{"))}


def starters(course) -> str:
    return "\n".join(course.pristine(course.editable_files(name)[0]).read_text(encoding="utf-8") for name in EXERCISES)


def secrets_of(course, exercise_id: str) -> set[str]:
    """What gives the exercise's solution away and stands in no starter."""
    exercise = load_exercise(course.description(exercise_id))
    found = telling_lines(course.reference(exercise_id))
    for defect in exercise.defects:
        found |= {defect.id, defect.title, " ".join(defect.why.split()), *defect.why.strip().splitlines()}
        found |= {fix.strip() for _, fix in defect.edits()}
    return {secret for secret in found if secret not in starters(course)}


@pytest.mark.parametrize("with_hints", [False, True])
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_byte_of_the_edition_gives_a_solution_away(course, released, exercise_id, with_hints):
    secrets = {secret.encode() for secret in secrets_of(course, exercise_id)}
    assert len(secrets) > 5
    for path, content in released[with_hints].items():
        unescaped = content.replace(b'\\"', b'"').replace(b"\\'", b"'")  # as notebooks hold it
        assert not [secret for secret in secrets if secret in content or secret in unescaped], path


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_hint_is_in_the_edition_without_hints_and_each_is_in_the_one_with_them(
    course, released, editions, exercise_id
):
    exercise = load_exercise(course.description(exercise_id))
    hints = {" ".join(text.split()) for defect in exercise.defects for text in defect.hints}
    for with_hints, edition in editions.items():
        told = load_exercise(edition / "exercises" / exercise_id / "exercise.yaml").hints
        assert {" ".join(text.split()) for texts in told for text in texts} == (hints if with_hints else set())
    everything = " ".join(" ".join(content.decode().split()) for content in released[False].values())
    assert not [hint for hint in hints if hint in everything]


def test_no_line_of_the_hidden_tests_is_in_the_edition(course, released):
    handed_out = starters(course) + "".join(
        path.read_text(encoding="utf-8").replace('\\"', '"') for path in (course.root / "exercises").rglob("*.ipynb")
    )
    paths = [path for name in EXERCISES for path in course.hidden_tests(name).glob("*.py")]
    assert paths
    for path in paths:
        names = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        secrets = {name for name in names if name.startswith("test_")}
        secrets.add(str(ast.get_docstring(ast.parse(path.read_text()))).splitlines()[0])
        in_exercises = {line for line in telling_lines(path) - {""} if line not in handed_out}
        for file, content in released[False].items():
            text = content.decode()
            assert not [secret for secret in secrets if secret in text], file
            if "exercises" in file.parts:
                assert not [line for line in in_exercises if line in text], file


def test_the_edition_holds_nothing_but_what_students_work_with(released):
    paths = set(released[False])
    assert {path.parts[0] for path in paths} == {"README.md", "pyproject.toml", "exercises", "grader"}
    for exercise_id in EXERCISES:
        folder = Path("exercises") / exercise_id
        assert {str(path.relative_to(folder)) for path in paths if path.is_relative_to(folder)} == {
            "README.md",
            "exercise.yaml",
            "attention.py",
            "attention.ipynb",
            ".starter/attention.py",
            ".starter/attention.ipynb",
        }
    parts = {part for path in paths for part in path.parts}
    assert not parts & {"__pycache__", ".git", ".grader", "solutions", "hidden", "tests", "key.json", "author"}
    assert not [part for part in parts if part.endswith((".pyc", ".egg-info"))]


def test_what_students_edit_is_the_starter_even_where_the_instructor_has_solved_it(own_course, tmp_path):
    for path in own_course.editable_files("exercise_03"):
        path.write_text("solved", encoding="utf-8")
    release(own_course, tmp_path / "out")
    here = Course(tmp_path / "out")
    for path in here.editable_files("exercise_03"):
        assert path.read_bytes() == here.pristine(path).read_bytes() != b"solved"


def test_the_public_description_says_what_there_is_to_earn_and_how_many_checks_follow(course, editions):
    paths = [course.description(name) for name in EXERCISES]
    paths += [path for name in EXERCISES for path in course.hidden_tests(name).glob("test_*.py")]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", *map(str, paths)]
    collected = subprocess.run(collect, cwd=course.root, capture_output=True, text=True, check=True).stdout
    for exercise_id in EXERCISES:
        whole = load_exercise(course.description(exercise_id))
        told = load_exercise(editions[False] / "exercises" / exercise_id / "exercise.yaml")
        assert told.defects == []
        assert told.equivalents == []
        assert told.max_score() == whole.max_score() == 10
        assert (told.title, told.story.strip(), told.interface) == (whole.title, whole.story.strip(), whole.interface)
        assert 2 <= len(told.checks) <= 4
        assert len(told.checks) + told.hidden_checks == len(re.findall(rf"/{exercise_id}/.*::", collected))
        data = yaml.safe_load((editions[False] / "exercises" / exercise_id / "exercise.yaml").read_text())
        assert "hints" not in data
        assert data["source"].keys() == {"title"}


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_grading_in_the_edition_says_first_that_only_public_checks_ran(editions, exercise_id):
    edition = editions[False]
    done = run_in(edition, exercise_id)
    assert (done.returncode, done.stderr) == (1, "")
    first = re.fullmatch(FIRST_LINE, done.stdout.splitlines()[0])
    told = load_exercise(edition / "exercises" / exercise_id / "exercise.yaml")
    assert first
    assert int(first[2]) == told.hidden_checks > 0
    assert not re.search(r"\b(Fixed|fixed|whole)\b", done.stdout)
    for check in told.checks:
        assert check.id.replace("_", " ") in done.stdout


def test_a_public_check_shows_the_behaviour_of_the_starter(editions):
    done = run_in(editions[False], "exercise_03", "--seed", "3")
    assert done.stdout.startswith("Only public checks ran: 2 of 3 public checks pass; ")
    assert re.search(r"changing token 1 changed the output at token 0 by [\d.]+; expected no change", done.stdout)


def test_the_right_fix_passes_every_public_check_and_is_still_not_called_fixed(course, edition):
    for exercise_id in EXERCISES:
        module = edition / "exercises" / exercise_id / "attention.py"
        module.write_bytes(course.reference(exercise_id).read_bytes())
        told = load_exercise(module.parent / "exercise.yaml")
        passes = f"only public checks ran: all {len(told.checks)} public checks pass; {told.hidden_checks} hidden ones"
        verdict = json.loads(render_json(grade(Course(edition), exercise_id, choice_of(module))))
        assert verdict["outcome"] == "not_fixed"
        assert verdict["reason"] == f"{passes} follow when you hand it in"
        assert (verdict["score"], verdict["max_score"], verdict["defects"], verdict["regressions"]) == (0, 10, [], [])
        assert {check["status"] for check in verdict["checks"]} == {"passed"}
        assert all(verdict["isolation"].values())
        assert grade(Course(edition), exercise_id, choice_of(module)).exit_code() == 1
    done = run_in(edition, "exercise_03", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["reason"].startswith("only public checks ran: all 3 public checks pass; ")
    told = run_in(edition, "exercise_03").stdout
    assert told.splitlines()[0].startswith("Only public checks ran: all 3 public checks pass; ")
    overview = run_in(edition).stdout
    assert "1 of 7 pass their public checks" in overview
    assert "fixed" not in overview


def test_what_cannot_be_graded_is_said_in_the_edition_too(edition):
    (edition / "exercises" / "exercise_03" / "attention.py").write_text("x = (\n")
    done = run_in(edition, "exercise_03")
    assert done.returncode == 1
    assert re.match(r"Only public checks can run here: .* \d+ hidden ones follow when you hand it in\.\n", done.stdout)
    assert "Not gradable: it cannot be compiled: SyntaxError" in done.stdout


def test_the_list_the_differences_and_a_fresh_start_work_in_the_edition(edition):
    module = edition / "exercises" / "exercise_03" / "attention.py"
    starter = module.read_bytes()
    assert "The model that knew how the sentence ends  not tried yet" in run_in(edition).stdout
    module.write_bytes(starter + b"\nMINE = 1\n")
    assert "+MINE = 1\n" in run_in(edition, "diff", "exercise_03").stdout
    run_in(edition, "exercise_03")
    assert "exercise_03  The model that knew how the sentence ends  2 of 3 public checks pass" in run_in(edition).stdout
    assert "your version is kept as" in run_in(edition, "reset", "exercise_03").stdout
    assert module.read_bytes() == starter


def test_hints_come_one_by_one_where_the_edition_has_them(course, released, editions, tmp_path):
    without = run_in(editions[False], "hint", "exercise_03")
    assert (without.returncode, without.stdout) == (
        0,
        "This edition has no hints; ask whoever gave you exercise_03.\n",
    )
    edition = written(released[True], tmp_path / "hints")
    defects = load_exercise(course.description("exercise_03")).defects
    texts = [" ".join(text.split()) for defect in defects for text in defect.hints]
    for number in range(1, len(texts) + 1):
        told = " ".join(run_in(edition, "hint", "exercise_03").stdout.split())
        assert [text in told for text in texts] == [index < number for index in range(len(texts))]
        assert f"Step {number} of {len(texts)}." in told
    assert told.endswith("That was the last one.")
    assert " ".join(run_in(edition, "hint", "exercise_03").stdout.split()) == told
    assert "Next: python -m grader hint exercise_03" in run_in(edition, "exercise_03").stdout


def test_students_have_no_instructors_commands(editions):
    shown = run_in(editions[False], "--help").stdout
    for command in ("new", "prove", "release", "schema"):
        assert not re.search(rf"^  {command} ", shown, re.MULTILINE), command
        assert run_in(editions[False], command).returncode == 2
    assert re.search(r"^  grade ", shown, re.MULTILINE)


@pytest.mark.slow
def test_the_edition_can_be_installed_in_a_fresh_environment(edition, tmp_path):
    """Nothing is downloaded: the environment finds this one's libraries, but not this one's kit."""
    fresh = tmp_path / "fresh"
    venv.create(fresh)
    python = str(fresh / "bin" / "python")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(fresh), "platbase": str(fresh)}))
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "grader" not in path.name and path.suffix != ".pth":
            (libraries / path.name).symlink_to(path)
    (site / "libraries.pth").write_text(f"{libraries}\n")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", python, "install"]
    subprocess.run([*pip, *options, "-e", "."], cwd=edition, check=True, timeout=120)
    done = run_in(edition, "exercise_03", python=python)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.fullmatch(FIRST_LINE, done.stdout.splitlines()[0])
    where = subprocess.run(
        [python, "-c", "import grader; print(grader.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(edition)


def test_the_readme_of_the_edition_has_two_commands_and_speaks_of_nothing_that_was_taken_out(editions):
    readme = (editions[False] / "README.md").read_text(encoding="utf-8")
    block = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert len(block) == 1
    assert len(block[0].strip().splitlines()) == 2
    assert "python -m grader exercise_01" in block[0]
    assert "## Handing in" in readme
    assert "Hidden checks run then, and give the points." in readme
    assert "torch==2.13.0" in block[0]
    assert not re.search(r"solutions/|tests/|reference|instructor|defect", readme)
    for exercise_id in EXERCISES:
        assert load_exercise(editions[False] / "exercises" / exercise_id / "exercise.yaml").title in readme


def test_the_command_says_what_it_wrote(course, run_cli, tmp_path):
    done = run_cli("release", str(tmp_path / "out"), cwd=course.root)
    assert (done.returncode, done.stderr) == (0, "")
    pattern = (
        r"out is the student edition: \d+ exercises with hints, \d+ public checks, \d+ left for when they are handed"
    )
    assert re.search(pattern, done.stdout)
    again = run_cli("release", str(tmp_path / "out"), cwd=course.root)
    assert again.returncode == 2
    assert "is not empty, and nothing is overwritten" in again.stderr


def only(course: Course, *exercises: str) -> Course:
    """The course with these exercises alone."""
    for exercise_id in course.exercise_ids():
        if exercise_id not in exercises:
            shutil.rmtree(course.exercise_folder(exercise_id))
    return course


def test_an_exercise_whose_starter_would_look_done_is_left_out_and_said(own_course, tmp_path):
    course = only(own_course, "exercise_03", "exercise_09")
    told = release(course, tmp_path / "out")
    assert "1 exercises with hints" in told
    assert "exercise_09 was left out: its starter passes every public check, and would look done" in told
    assert Course(tmp_path / "out").exercise_ids() == ["exercise_03"]
    assert "exercise_09" not in (tmp_path / "out" / "exercises" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(SpecError, match="exercise_09 was left out"):
        release(only(course, "exercise_09"), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_where_there_are_no_hints_no_page_speaks_of_them_and_none_of_a_solution(own_course, tmp_path):
    course = only(own_course, "exercise_03")
    for with_hints in (False, True):
        folder = tmp_path / f"{with_hints}"
        release(course, folder, with_hints=with_hints)
        pages = [path.read_text(encoding="utf-8") for path in folder.rglob("*.md")]
        assert len(pages) == 3
        assert any("hint" in page for page in pages) == with_hints
        assert not any("solution" in page for page in pages)


def test_a_place_inside_the_course_is_refused(own_course):
    for folder in ("exercises/out", "solutions/exercise_03/out", "tests/out"):
        with pytest.raises(UsageError, match="lies in the course's own"):
            release(own_course, own_course.root / folder)


def test_a_starter_that_is_not_the_reference_with_its_defects_is_not_handed_out(own_course, tmp_path):
    module = own_course.pristine(own_course.editable_files("exercise_03")[0])
    module.write_bytes(own_course.reference("exercise_03").read_bytes())
    with pytest.raises(SpecError, match=r"exercise_03/\.starter/attention\.py: is not the reference with every defect"):
        release(own_course, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_page_that_gives_something_away_is_not_handed_out(own_course, tmp_path):
    exercise = load_exercise(own_course.description("exercise_03"))
    reference = own_course.reference("exercise_03").read_text(encoding="utf-8").splitlines()
    readme = own_course.exercise_folder("exercise_03") / "README.md"
    before = readme.read_text(encoding="utf-8")
    for spoiler in (
        exercise.defects[0].id,
        exercise.defects[0].title,
        str(exercise.defects[0].fix),
        next(line.strip() for line in reference if "attn_scores = attn_scores.masked_fill" in line),
    ):
        readme.write_text(f"{before}\n{spoiler}\n", encoding="utf-8")
        with pytest.raises(SpecError, match=r"exercises/exercise_03/README\.md holds"):
            release(own_course, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_check_that_needs_the_reference_is_never_public(course):
    exercise = load_exercise(course.description("exercise_03"))
    everything = [
        check.__struct_config__ and type(check)(**(vars_of(check) | {"public": True})) for check in exercise.checks
    ]
    opened = type(exercise)(**(vars_of(exercise) | {"checks": everything}))
    kept = {type(check) for check in opened.checks} - {type(check) for check in public_checks(opened)}
    assert {MatchesReference, EveryParameterLearns, KeepsDtype} <= kept
    assert FutureDoesNotLeak not in kept


def vars_of(record) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_an_edition_cannot_be_made_from_an_edition(editions, tmp_path):
    with pytest.raises(UsageError, match="this is a student edition already"):
        release(Course(editions[False]), tmp_path / "out")
