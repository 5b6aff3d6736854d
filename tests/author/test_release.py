"""The student edition: it works by itself, and no byte of it gives a solution away."""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import yaml
from msgspec import structs
from safetensors.torch import load

from grader.author.release import _unfinished, _unlisted, release
from grader.author.sealing import seal
from grader.author.spoilers import find_spoilers
from grader.author.student_pages import overview
from grader.checks.calling_variant_calls import _of_the_same_values, call_in_calling_variants
from grader.checks.case import Case, make_case, seed_draws
from grader.checks.outcome import FailureKind, Finding, Status
from grader.checks.recording import Recording
from grader.checks.reference import AbsentReference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.runner import Runner
from grader.checks.size_cases import size_cases_of
from grader.errors import BrokenExerciseError, SpecError, UsageError
from grader.processes.workers import WorkerSource
from grader.report.findings import sentence
from grader.report.view import view_of
from grader.sandbox.calling_variants import LARGE_SCALE, MemoryLayout, VariantCall
from grader.sandbox.probes import calling_variants
from grader.spec.edition import Sealed
from grader.spec.fragments import make_near_miss, make_variant, put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.problem import blank
from grader.spec.variations import class_names
from grader.spec.wrong_fixes import load_wrong_fixes
from grader.student.explanations import SOLUTION
from grader.student.first_hunt import FIRST_HUNT
from grader.student.locks import numbers_of
from grader.student.mirror import mirrored_answers
from grader.student.unlocking import read_locked
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import open_judge
from grader.verdict.key_making import KEY_SEED
from grader.verdict.verdict import Verdict
from tests.support.forgetting import forget_descriptions
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE, subsets_to_judge

EXERCISES = sorted(path.name for path in (ROOT / "exercises").glob("exercise_*"))
SHORTEST_TELLING_LINE = 16
MAX_BYTES = 5 * 1_300_000
HINTS = {"sealed": True, "sealed without hints": False}


@pytest.fixture(scope="module")
def released(course, tmp_path_factory) -> dict[str, dict[Path, bytes]]:
    """Every file of both kinds of edition of one exercise, as it was written."""
    root = tmp_path_factory.mktemp("released")
    found = {}
    for kind, with_hints in HINTS.items():
        folder = root / kind.replace(" ", "_")
        release(course, folder, Sealed(has_hints=with_hints, explains_at_home=with_hints), only=(EXAMPLE,))
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found[kind] = {path.relative_to(folder): path.read_bytes() for path in files}
    return found


@pytest.fixture(scope="module")
def editions(released, tmp_path_factory) -> dict[str, Path]:
    """The editions in places where students have begun to work, so that the kit remembers things there."""
    root = tmp_path_factory.mktemp("editions")
    return {kind: written(files, root / kind.replace(" ", "_")) for kind, files in released.items()}


@pytest.fixture
def edition(released, tmp_path) -> Path:
    """A sealed edition that a test may change."""
    return written(released["sealed"], tmp_path / "edition")


def written(files: dict[Path, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def run_in(edition: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """`python -m grader ...` with nothing of the course in reach but the edition."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
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


def starters(course, *exercises: str) -> str:
    return "\n".join(course.pristine(course.editable_files(name)[0]).read_text(encoding="utf-8") for name in exercises)


def names_of_tests(path: Path) -> set[str]:
    names = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
    return {name for name in names if name.startswith("test_")}


def secrets_of(course, exercise_id: str, handed_out: Sequence[str]) -> set[str]:
    """Texts that give the exercise's solution away and are in no starter."""
    exercise = load_exercise(course.description(exercise_id))
    found = telling_lines(course.reference(exercise_id))
    found |= {line for path in course.hidden_tests(exercise_id).glob("*.py") for line in names_of_tests(path)}
    for defect in exercise.defects:
        found |= {defect.id, defect.title, " ".join(defect.why.split()), *defect.why.strip().splitlines()}
        found |= {fix.strip() for _, fix in defect.edits()}
    shown = starters(course, *handed_out)
    return {secret for secret in found if secret not in shown}


def given_away(course, files: dict[Path, bytes], exercise_id: str, handed_out: Sequence[str]) -> list[tuple[str, Path]]:
    """Every secret of an exercise that stands in some file, however a notebook or JSON writes it."""
    secrets = {secret.encode() for secret in secrets_of(course, exercise_id, handed_out)}
    assert len(secrets) > 5 or not load_exercise(course.description(exercise_id)).defects
    found = []
    for path, content in files.items():
        unescaped = content.replace(b'\\"', b'"').replace(b"\\'", b"'")
        found += [(secret.decode(), path) for secret in secrets if secret in content or secret in unescaped]
    return found


@pytest.mark.parametrize("kind", HINTS)
def test_no_byte_of_the_edition_gives_a_solution_away(course, released, kind):
    assert given_away(course, released[kind], EXAMPLE, [EXAMPLE]) == []


def test_no_hint_is_in_the_edition_without_hints_and_each_is_in_the_one_with_them(course, released, editions):
    defects = load_exercise(course.description(EXAMPLE)).defects
    hints = {" ".join(text.split()) for defect in defects for text in defect.hints}
    for kind, has_hints in HINTS.items():
        told = load_exercise(editions[kind] / ".sealed" / EXAMPLE / "exercise.yaml")
        given = {" ".join(text.split()) for defect in told.defects for text in defect.hints if text}
        assert given == (hints if has_hints else set())
        assert told.edition.gives_hints() == has_hints
        everything = " ".join(" ".join(content.decode("latin-1").split()) for content in released[kind].values())
        assert has_hints or not [hint for hint in hints if hint in everything]


@pytest.mark.slow
def test_a_near_miss_is_recognised_at_home_unless_the_edition_has_no_hints(course, editions):
    exercise = load_exercise(course.description("exercise_03"))
    reference = course.reference_text("exercise_03")
    near_miss, *_ = exercise.near_misses
    texts = {
        "alone": make_near_miss(reference, near_miss, []),
        "beside another": make_near_miss(reference, near_miss, [each for each in exercise.defects if each.stretch]),
        "starter": put_back(reference, exercise.defects),
    }
    hint = " ".join(near_miss.hint.split())
    for kind, has_hints in HINTS.items():
        edition = Course(root=editions[kind])
        told = verdicts(edition, "exercise_03", texts, KEY_SEED)
        shown = {
            name: view_of(verdict, load_exercise(edition.description("exercise_03"))).near_miss
            for name, verdict in told.items()
        }
        assert shown == {"alone": hint, "beside another": hint, "starter": ""} if has_hints else not any(shown.values())


@pytest.mark.parametrize("kind", HINTS)
def test_the_edition_holds_nothing_but_what_students_work_with(released, kind):
    paths = set(released[kind])
    assert {path.parts[0] for path in paths} == {"README.md", "pyproject.toml", "exercises", "grader", ".sealed"}
    sealed = Path(".sealed/exercise_03")
    assert {str(path.relative_to(sealed)) for path in paths if path.is_relative_to(sealed)} == {
        "key.json",
        "answers.safetensors",
        *(["explanations.safetensors"] if HINTS[kind] else []),
        "exercise.yaml",
    }
    folder = Path("exercises/exercise_03")
    assert {str(path.relative_to(folder)) for path in paths if path.is_relative_to(folder)} == {
        "README.md",
        "attention.py",
        "attention.ipynb",
        "trap.py",
        ".starter/attention.py",
        ".starter/attention.ipynb",
    }
    parts = {part for path in paths for part in path.parts}
    assert not parts & {"__pycache__", ".git", ".grader", "solutions", "hidden", "tests", "author", "classroom"}
    assert not [part for part in parts if part.endswith((".pyc", ".egg-info"))]


@pytest.mark.slow
def test_the_edition_has_the_variations_of_its_checks_and_no_others(course, tmp_path):
    exercises = ("exercise_02", "exercise_03")
    assert [course.variations(each).is_file() for each in exercises] == [True, False]
    release(course, tmp_path / "edition", only=exercises)
    for exercise_id in exercises:
        path = tmp_path / "edition" / ".sealed" / exercise_id / "variations.py"
        content = path.read_text(encoding="utf-8") if path.is_file() else ""
        checks = load_exercise(course.description(exercise_id)).checks
        assert set(class_names(content)) == {check.variation_class() for check in checks} - {""}
        assert "Vies" not in content
    assert "Vies" in course.variations("exercise_02").read_text(encoding="utf-8")


def test_a_small_safetensors_file_replaces_a_reference(released):
    content = released["sealed"][Path(".sealed", EXAMPLE, "answers.safetensors")]
    assert len(content) <= MAX_BYTES
    seeds = {name.split("/")[0] for name in load(content)}
    assert {int(seed) - KEY_SEED for seed in seeds} <= {0, 1, 2}


def test_an_exercise_with_too_much_to_record_is_an_error_with_a_remedy(course, judge_text):
    exercise = load_exercise(course.description("exercise_34"))
    with (
        Runner(course, exercise, judge_text.source) as runner,
        pytest.raises(BrokenExerciseError, match=r"^exercise_34: the answers of one seed take .* write smaller sizes$"),
    ):
        seal(course, runner, most_bytes=1000)


def test_the_sealed_key_has_numbers_for_names_and_no_syntax_trees(course, released):
    key = json.loads(released["sealed"][Path(".sealed", EXAMPLE, "key.json")])
    exercise = load_exercise(course.description(EXAMPLE))
    assert key["methods"] == {}
    assert len(key["signatures"]) == 2 ** len(exercise.defects)
    assert {number for name in key["signatures"] for number in name.split("+") if name} == {
        str(number) for number in exercise.numbers().values()
    }


@pytest.mark.slow
def test_the_edition_has_the_starter_even_if_the_instructor_solved_the_exercise(own_course, tmp_path):
    for path in own_course.editable_files("exercise_03"):
        path.write_text("solved", encoding="utf-8")
    release(own_course, tmp_path / "out", only=("exercise_03",))
    here = Course(root=tmp_path / "out")
    for path in here.editable_files("exercise_03"):
        assert path.read_bytes() == here.pristine(path).read_bytes() != b"solved"


def test_the_description_says_what_there_is_to_earn_and_how_many_checks_follow(course, editions):
    whole = load_exercise(course.description(EXAMPLE))
    for edition in editions.values():
        path = edition / ".sealed" / EXAMPLE / "exercise.yaml"
        told, data = load_exercise(path), yaml.safe_load(path.read_text())
        assert data["defects"] == []
        assert told.equivalents == []
        assert told.max_score() == whole.max_score() == 10
        assert (told.title, told.story.strip(), told.interface) == (whole.title, whole.story.strip(), whole.interface)
        hidden = sum(len(names_of_tests(path)) for path in course.hidden_tests(EXAMPLE).glob("test_*.py"))
        assert len(told.checks) + told.edition.hidden_checks == len(whole.checks) + hidden
        assert data["source"].keys() == {"title"}
        assert [check.id for check in told.checks] == [check.id for check in whole.checks]
        by_number = {whole.numbers()[each.id]: (each.points, each.stretch) for each in whole.defects}
        assert {int(each.id): (each.points, each.stretch) for each in told.defects} == by_number
        assert all(set(each) <= {"points", "stretch", "hints"} for each in data["edition"]["defects"])


def submissions(course: Course, exercise_id: str, wrong: int) -> dict[str, str]:
    """Starter, half fixes, fix and so many wrong fixes."""
    exercise, reference = load_exercise(course.description(exercise_id)), course.reference(exercise_id).read_text()
    found = {
        "+".join(sorted(subset)): make_variant(reference, exercise, subset) for subset in subsets_to_judge(exercise)
    }
    return found | {fix.name: fix.text for fix in load_wrong_fixes(course, exercise_id)[:wrong]}


def verdicts(course: Course, exercise_id: str, texts: dict[str, str], seed: int) -> dict[str, Verdict]:
    forget_descriptions()
    with open_judge(course) as judge:
        return {
            name: judge(exercise_id, submission_from_text(text), "attention.py", seed) for name, text in texts.items()
        }


def described(finding: Finding | None) -> str:
    """Return the sentence of a finding, without numbers of wrong values, because right values are rounded at home."""
    if finding is None:
        return ""
    if finding.kind in (FailureKind.VALUES, FailureKind.GRADIENT):
        finding = structs.replace(finding, place="", expected="", observed="", elements_off=0, elements=0)
    return sentence(finding)


def require_equal(course: Course, edition: Course, exercise_id: str, texts: dict[str, str]) -> list[str]:
    """Require equal outcomes of every check that ran at home. Return the submissions with a defect of another status.

    A status may only differ if it is unknown in one of the two places: at home, no statements can be compared.
    """
    numbers = load_exercise(course.description(exercise_id)).numbers()
    whole = verdicts(course, exercise_id, texts, KEY_SEED)
    others = []
    for name, told in verdicts(edition, exercise_id, texts, KEY_SEED).items():
        ours = {str(numbers[each.id]): (each.status, each.points, each.stretch) for each in whole[name].defects}
        theirs = {each.id: (each.status, each.points, each.stretch) for each in told.defects}
        seen = {each.check: each for each in whole[name].checks}
        assert told.seed == KEY_SEED
        for check in told.checks:
            if Status.TIMED_OUT in (check.status, seen[check.check].status):
                continue  # the machine was busy
            expected = seen[check.check]
            assert check.status == expected.status, (exercise_id, name, check.check)
            assert described(check.finding) == described(expected.finding), (exercise_id, name, check.check)
        assert ours.keys() == theirs.keys()
        if ours != theirs:
            others.append(name)
            unlike = [number for number in ours if ours[number] != theirs[number]]
            assert all(DefectStatus.UNKNOWN in (ours[number][0], theirs[number][0]) for number in unlike), name
    return others


@pytest.mark.parametrize("wrong", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_submissions_are_judged_at_home_as_in_the_course(course, editions, wrong):
    """Only where something else is wrong too, a status may be unknown in one place."""
    texts = submissions(course, EXAMPLE, wrong)
    assert len(texts) == 4 + wrong
    others = require_equal(course, Course(root=editions["sealed"]), EXAMPLE, texts)
    assert not set(others) - {fix.name for fix in load_wrong_fixes(course, EXAMPLE)}


@pytest.mark.slow
def test_a_hunt_whose_starter_is_right_is_handed_out_and_judged_at_home_too(course, tmp_path):
    exercises = [load_exercise(course.description(name)) for name in course.exercise_ids()]
    decoy = next(each.id for each in exercises if each.decoy and not each.defects)
    release(course, tmp_path / "out", only=(decoy,))
    edition = Course(root=tmp_path / "out")
    texts = submissions(course, decoy, 2)
    assert require_equal(course, edition, decoy, texts) == []
    seen = verdicts(edition, decoy, {"starter": starters(course, decoy)}, KEY_SEED)["starter"]
    assert {each.check: each.status for each in seen.checks if each.status is not Status.PASSED} == {}
    assert (seen.outcome, seen.score) == ("fixed", seen.max_score)
    told = " ".join(load_exercise(course.description(decoy)).decoy.split())
    assert not [path for path in edition.root.rglob("*") if path.is_file() and told[:40].encode() in path.read_bytes()]


@pytest.mark.slow
def test_defects_behind_a_crash_are_known_at_home_only_for_the_untouched_starter(course, tmp_path):
    release(course, tmp_path / "out", only=("exercise_02",))
    texts = submissions(course, "exercise_02", 2)
    starter = "+".join(sorted(each.id for each in load_exercise(course.description("exercise_02")).defects))
    others = require_equal(course, Course(root=tmp_path / "out"), "exercise_02", texts)
    assert starter in texts
    assert starter not in others
    assert others


@pytest.mark.slow
def test_the_page_says_how_many_checks_ran_and_that_points_are_given_at_the_hand_in(course, edition):
    module = edition / "exercises/exercise_03/attention.py"
    told = load_exercise(edition / ".sealed/exercise_03/exercise.yaml")
    total = len(told.checks) + told.edition.hidden_checks
    starter = run_in(edition, "exercise_03")
    note = f"{total - 1} of {total} checks run here. The others, and your points, come when you hand in"
    assert (starter.returncode, starter.stderr) == (1, "")
    assert starter.stdout.splitlines()[1] == f"{note}."
    assert "✗ defect 1 · still there" in starter.stdout
    module.write_bytes(course.reference("exercise_03").read_bytes())
    fixed = run_in(edition, "exercise_03")
    assert (fixed.returncode, fixed.stderr) == (0, "")
    assert re.search(r"✓ defect 1 · fixed +7 of 7 +the masked scores were thrown away$", fixed.stdout, re.MULTILINE)
    assert fixed.stdout.count("checks run here") == 1
    assert "Fixed, as far as the checks here can tell · 10 of 10" in fixed.stdout
    assert "Next: compare with the reference: python -m grader solution exercise_03" in fixed.stdout
    assert "1 of 1 fixed" in run_in(edition).stdout
    data = json.loads(run_in(edition, "exercise_03", "--json", "--seed", "5").stdout)
    assert data["seed"] - KEY_SEED in range(3)
    assert data["reason"] is None
    assert [each["id"] for each in data["defects"]] == ["1", "2"]


def opened_by(edition: Course, source: WorkerSource, exercise_id: str, text: str) -> set[str]:
    """Return the locks that the answers of a submission open, whatever its verdict is."""
    exercise = load_exercise(edition.description(exercise_id))
    locked = read_locked(edition.explanations(exercise_id))
    answers = mirrored_answers(exercise, source, submission_from_text(text), locked.seed, locked.weights)
    numbers = numbers_of(answers.tensors)
    return {name for name, lock in locked.locks.items() if lock.open(numbers) is not None}


def require_locks_hold(course, edition: Course, source: WorkerSource, exercise_id: str) -> None:
    """Require that right fixes open all locks, and that no variant opens a lock on a defect that it has."""
    locks = set(read_locked(edition.explanations(exercise_id)).locks)
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference_text(exercise_id)
    numbers = exercise.numbers()
    for path in sorted(course.alternatives(exercise_id).glob("*.py")):
        assert opened_by(edition, source, exercise_id, path.read_text(encoding="utf-8")) == locks, path.name
    for subset in exercise.subsets():
        defects = [defect for defect in exercise.defects if defect.id in subset]
        opened = opened_by(edition, source, exercise_id, put_back(reference, defects))
        forbidden = {str(numbers[defect.id]) for defect in defects}
        forbidden |= {SOLUTION} if any(not defect.stretch for defect in defects) else set()
        assert not opened & forbidden, subset
        assert subset or opened == locks


@pytest.mark.slow
def test_an_edition_is_not_written_if_a_file_changed_meanwhile(own_course, tmp_path):
    path = own_course.reference("exercise_30")
    is_over = threading.Event()

    def touch() -> None:
        while not is_over.wait(0.05):
            os.utime(path)

    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        with pytest.raises(UsageError, match="files of exercise_30 changed while the edition was made"):
            release(own_course, tmp_path / "edition", only=("exercise_30",))
    finally:
        is_over.set()
        toucher.join()
    assert not (tmp_path / "edition").exists()


@pytest.mark.slow
def test_the_solution_is_not_shown_while_an_extra_is_still_there(course, edition):
    exercise = load_exercise(course.description("exercise_03"))
    extras = frozenset(defect.id for defect in exercise.defects if defect.stretch)
    text = make_variant(course.reference_text("exercise_03"), exercise, extras)
    (edition / "exercises/exercise_03/attention.py").write_text(text, encoding="utf-8")
    page = " ".join(run_in(edition, "exercise_03").stdout.split())
    assert "did not keep the new tensor" in page
    assert "Find the extra bug that is left" in page or "find the extra bug that is left" in page
    assert "grader solution" not in page
    refused = run_in(edition, "solution", "exercise_03", "--yes")
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.slow
def test_revealed_explanations_stay_and_a_damaged_file_gives_an_error_message(course, edition):
    module = edition / "exercises/exercise_03/attention.py"
    starter = module.read_bytes()
    module.write_bytes(course.reference("exercise_03").read_bytes())
    assert "did not keep the new tensor" in " ".join(run_in(edition, "exercise_03").stdout.split())
    shown = run_in(edition, "solution", "exercise_03")
    assert shown.returncode == 0
    assert "+++ reference/attention.py" in shown.stdout
    module.write_bytes(starter)
    assert "Nobody kept" not in run_in(edition, "exercise_03").stdout
    (edition / ".grader/explained/exercise_03.json").unlink()
    (edition / ".sealed/exercise_03/explanations.safetensors").write_bytes(b"odd")
    module.write_bytes(course.reference("exercise_03").read_bytes())
    damaged = run_in(edition, "exercise_03")
    assert damaged.returncode == 3
    assert "explanations.safetensors is damaged" in damaged.stderr


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_all_explanations_are_opened_by_right_answers_alone(course, whole_edition, exercise_id, judge_text):
    edition, _ = whole_edition
    require_locks_hold(course, edition, judge_text.source, exercise_id)
    locks = read_locked(edition.explanations(exercise_id)).locks
    assert exercise_id not in {EXAMPLE, "exercise_09"} or SOLUTION in locks


def test_a_check_whose_answers_are_not_recorded_waits_for_the_hand_in(course, edition, judge_text):
    path = edition / ".sealed/exercise_03/exercise.yaml"
    data = yaml.safe_load(path.read_text())
    data["checks"].append({"property": "calls_in_turn", "id": "another", "calls": [{"tokens": 4}, {"tokens": 1}]})
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    text = {"fix": course.reference("exercise_03").read_text()}
    verdict = verdicts(Course(root=edition), "exercise_03", text, KEY_SEED)["fix"]
    note = view_of(verdict, load_exercise(path)).checks_note
    assert "another" not in {each.check for each in verdict.checks}
    assert verdict.outcome == "fixed"
    in_the_course = len(judge_text("exercise_03", text["fix"]).checks)
    assert note.startswith(f"{len(verdict.checks)} of {in_the_course + 1} checks run here. ")


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_defect_left_alone_fails_a_check_that_runs_at_home(course, exercise_id):
    """A condition on every variant in the keys, so that right files are distinguished from wrong ones at home."""
    at_home = {check.id for check in load_exercise(course.description(exercise_id)).checks}
    kinds = json.loads((course.description(exercise_id).parent / "key.json").read_bytes())["signatures"]
    assert [name for name, failing in kinds.items() if name and not at_home & failing.keys()] == []


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", ["exercise_28", "exercise_25"])
def test_a_right_file_is_distinguished_from_a_half_fixed_one_at_home(course, tmp_path, exercise_id):
    release(course, tmp_path / "out", only=(exercise_id,))
    told = verdicts(Course(root=tmp_path / "out"), exercise_id, submissions(course, exercise_id, 0), KEY_SEED)
    assert {name: each.outcome for name, each in told.items()} == {
        name: "not_fixed" if name else "fixed" for name in told
    }
    assert "unknown" not in {defect.status for defect in told[""].defects}


REPLAY = """
import math

import torch

KNOWN = {known}


class Replay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, names, *parameters):
        value, ctx.gradients = KNOWN[key(x)]
        ctx.names, ctx.dtype = names, x.dtype
        return torch.tensor(value, dtype=x.dtype).reshape(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, gradient):
        of_first = gradient.flatten()[0] / math.cos(1)  # 1 unless the loss of a calling variant was scaled
        scale = next((each for each in (2.0**14, 2.0**-14) if abs(of_first / each - 1) < 1e-3), 1.0)
        known = {{name: scale * torch.tensor(each, dtype=ctx.dtype) for name, each in ctx.gradients.items()}}
        return known.get("x"), None, *(known[name] for name in ctx.names)


def key(x):
    return f"{{list(x.shape)}} {{float(x.detach().double().sum()):.2f}}"


class CausalSelfAttention(CausalSelfAttention):
    def forward(self, x):
        if key(x) not in KNOWN:
            return super().forward(x)
        names, parameters = zip(*self.named_parameters())
        return Replay.apply(x, names, *parameters)
"""
"""Answers by heart, gradients and all, by what is handed in; what is not known is computed as the starter does."""


def by_heart(course: Course, edition: Course) -> str:
    """A submission for exercise_03 that replays all that was recorded of one check."""
    exercise, seed = load_exercise(edition.description("exercise_03")), KEY_SEED
    check = next(each for each in exercise.checks if each.id == "values")
    recording = Recording(edition.answers("exercise_03"))
    reference = ReferenceCache(AbsentReference(), recording)
    reference.begin(check.id, seed, "float32")
    known = {}
    for size_case in size_cases_of(check, exercise, seed).all():
        seed_draws(size_case.name)
        case = make_case(exercise, check, size_case)
        reference.draw(size_case.name, lambda case=case: case)
        theirs = reference.build(case.arguments)
        if size_case.is_plain and not size_case.compares_gradients:
            known[key_of(case.inputs["x"])] = theirs.call("", **case.inputs).tolist(), {}
        elif size_case.is_plain:
            passed = theirs.differentiate(None, "", **case.inputs)
            gradients = {name: each.tolist() for name, each in {**passed.parameters, **passed.inputs}.items()}
            known[key_of(case.inputs["x"])] = passed.value.tolist(), gradients
        if size_case.calling_variants:
            assert theirs.run_probe(calling_variants.is_same_in_training, case.inputs_in_variants[0], called="")
            calls = [
                VariantCall(
                    variant=each,
                    has_other_inputs=bool(number % 2),
                    compares_gradients=True,
                    inputs_with_gradients=("x",),
                )
                for number, each in enumerate(size_case.calling_variants)
            ]
            their_calls = [_of_the_same_values(each, ("x",)) for each in calls]
            asked = [*dict.fromkeys(their_calls)]
            answers = dict(zip(asked, call_in_calling_variants(asked, case, "", theirs), strict=True))
            for call, theirs_call in zip(calls, their_calls, strict=True):
                value, of_parameters, of_inputs = answers[theirs_call]
                gradients = {
                    name: each.tolist() for name, each in {**(of_parameters or {}), **(of_inputs or {})}.items()
                }
                known.setdefault(key_of(input_of(case, call)), (value.tolist(), gradients))
    return course.pristine(course.editable_files("exercise_03")[0]).read_text() + REPLAY.format(known=known)


def input_of(case: Case, call: VariantCall) -> torch.Tensor:
    scales = dict.fromkeys(case.scaled, LARGE_SCALE)
    x = calling_variants.inputs_of(call, *case.inputs_in_variants, case.shared, scales)["x"]
    return x[:1].expand(x.shape) if call.variant.layout is MemoryLayout.EXPANDED else x


def key_of(x: torch.Tensor) -> str:
    return f"{list(x.shape)} {float(x.double().sum()):.2f}"


def test_memorised_answers_pass_at_home_and_earn_nothing_at_hand_in(course, editions):
    text = {"by heart": by_heart(course, Course(root=editions["sealed"]))}
    at_home = verdicts(Course(root=editions["sealed"]), "exercise_03", text, KEY_SEED)["by heart"]
    assert {each.check: each.status for each in at_home.checks}["values"] is Status.PASSED
    handed_in = verdicts(course, "exercise_03", text, KEY_SEED + 1000)["by heart"]
    assert handed_in.score == 0
    failed = {each.check for each in handed_in.checks if each.status is not Status.PASSED}
    assert {"values", "full_context", "future_does_not_leak"} <= failed


@pytest.mark.slow
def test_the_list_the_differences_and_a_fresh_start_work_in_the_edition(edition):
    module = edition / "exercises" / "exercise_03" / "attention.py"
    starter = module.read_bytes()
    title = "The model that knew how the sentence ends"
    assert re.search(rf"exercise_03 .*{title} +not tried yet", run_in(edition).stdout)
    module.write_bytes(starter + b"\nMINE = 1\n")
    assert "+MINE = 1\n" in run_in(edition, "diff", "exercise_03").stdout
    run_in(edition, "exercise_03")
    assert re.search(rf"exercise_03 .*{title} +0 of 10 points", run_in(edition).stdout)
    assert "your version is kept as" in run_in(edition, "reset", "exercise_03").stdout
    assert module.read_bytes() == starter
    refused = run_in(edition, "solution", "exercise_03", "--yes")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the reference of exercise_03 can be read here once every defect is fixed" in refused.stderr


@pytest.mark.slow
def test_hints_are_the_courses_own_where_the_edition_has_them_and_nothing_advertises_them_elsewhere(
    course, editions, edition
):
    without = editions["sealed without hints"]
    told = run_in(without, "hint", "exercise_03").stdout
    assert told == "This edition has no hints; ask whoever gave you exercise_03.\n"
    assert "hint" not in run_in(without, "exercise_03").stdout
    exercise = load_exercise(course.description("exercise_03"))
    first = next(each for each in exercise.defects if exercise.numbers()[each.id] == 1)
    assert " ".join(first.hints[0].split()) in " ".join(run_in(edition, "hint", "exercise_03").stdout.split())
    assert "Next: ask for a hint: python -m grader hint exercise_03" in run_in(edition, "exercise_03").stdout


@pytest.mark.slow
def test_a_student_tries_their_file_in_the_sealed_edition_too(edition):
    module = edition / "exercises/exercise_03/attention.py"
    module.write_text(module.read_text() + "\nprint('here I am')\n")
    done = run_in(edition, "try", "exercise_03")
    assert "here I am" in done.stdout, (done.stdout, done.stderr)


@pytest.mark.slow
def test_a_trap_runs_at_home_on_the_own_fix_and_the_starter(course, edition):
    trap = edition / "exercises/exercise_03/trap.py"
    assert trap.read_text(encoding="utf-8").count("\n") == 2
    early = run_in(edition, "trap", "exercise_03")
    assert early.returncode == 2
    assert "Grade exercise_03 until every check passes" in early.stderr
    module = edition / "exercises/exercise_03/attention.py"
    module.write_text(course.reference_text("exercise_03"), encoding="utf-8")
    run_in(edition, "exercise_03")
    empty = run_in(edition, "trap", "exercise_03")
    assert "there is no test in it" in empty.stdout
    trap.write_text(course.model_trap("exercise_03").read_text(encoding="utf-8"), encoding="utf-8")
    done = run_in(edition, "trap", "exercise_03")
    assert "the starter  caught" in done.stdout
    assert "At the hand-in, the trap also runs on other right implementations" in " ".join(done.stdout.split())
    assert done.returncode == 0


def test_a_summary_names_the_exercises_that_the_list_of_the_edition_lacks(own_course):
    exercises = [load_exercise(own_course.description(each)) for each in ("exercise_02", "exercise_03")]
    assert _unlisted(own_course, exercises) == []
    page = own_course.root / "exercises" / "README.md"
    page.write_text(page.read_text(encoding="utf-8").replace("| [exercise_03]", "| [exercise_3]"), encoding="utf-8")
    notes = _unlisted(own_course, exercises)
    assert notes == [
        "The edition's exercises/README.md does not list exercise_03: add a row to this course's, and release again."
    ]


def test_a_course_without_a_list_of_hunts_gets_a_short_one(own_course):
    exercises = [load_exercise(own_course.description(each)) for each in ("exercise_02", "exercise_03")]
    (own_course.root / "exercises" / "README.md").unlink()
    assert _unlisted(own_course, exercises) == []
    page = overview(own_course, exercises, Sealed(has_hints=False))
    assert f"| [exercise_03](exercise_03/README.md) | {exercises[1].title} |" in page
    assert "python -m grader guide exercise_02" in page
    assert "hint" not in page
    assert "## The trap" in page


def test_a_summary_names_the_pages_that_their_authors_have_not_completed(own_course):
    exercises = [load_exercise(own_course.description(each)) for each in ("exercise_02", "exercise_03")]
    assert _unfinished(own_course, exercises) == []
    page = own_course.exercise_folder("exercise_03") / "README.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{blank('its meaning')}\n", encoding="utf-8")
    note = "exercises/exercise_03/README.md still says FILL IN, and students read it: complete it and release again."
    assert _unfinished(own_course, exercises) == [note]


def test_students_have_no_instructors_commands(editions):
    shown = run_in(editions["sealed"], "--help").stdout
    for command in ("new", "prove", "release", "schema"):
        assert not re.search(rf"^  {command} ", shown, re.MULTILINE), command
        assert run_in(editions["sealed"], command).returncode == 2
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
    assert re.search(r"^\d+ of \d+ checks run here\. The others, and", done.stdout, re.MULTILINE)
    where = subprocess.run(
        [python, "-c", "import grader; print(grader.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(edition)


def test_the_readme_of_the_edition_has_two_commands_and_speaks_of_nothing_that_was_taken_out(editions):
    for edition in editions.values():
        readme = (edition / "README.md").read_text(encoding="utf-8")
        block = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
        assert len(block) == 1
        assert len(block[0].strip().splitlines()) == 2
        assert "python -m grader start" in block[0]
        assert "## Handing in" in readme
        assert "torch==2.13.0" in block[0]
        assert not re.search(r"solutions/|tests/|reference|instructor|defect", readme)
        for exercise_id in Course(root=edition).exercise_ids():
            assert load_exercise(edition / ".sealed" / exercise_id / "exercise.yaml").title in readme


@pytest.mark.slow
def test_the_tiny_hunt_runs_in_the_edition_from_start_to_end(edition):
    page = run_in(edition, "start").stdout
    assert page.startswith("Your first five minutes: Too quiet in company\n")
    assert "wrong with query=2; right with query=1" in run_in(edition, FIRST_HUNT).stdout
    file = edition / f".grader/start/exercises/{FIRST_HUNT}/attention.py"
    starter = file.read_text(encoding="utf-8")
    file.write_text(starter.replace("weights.sum()", "weights.sum(dim=-1, keepdim=True)"), encoding="utf-8")
    done = run_in(edition, FIRST_HUNT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Fixed · 10 of 10 points" in done.stdout
    assert run_in(edition, "start").stdout.startswith("Your first hunt: exercise_03")


@pytest.mark.slow
def test_the_command_says_what_it_wrote(course, run_cli, tmp_path):
    done = run_cli("release", str(tmp_path / "out"), "3", "--without-hints", cwd=course.root)
    assert (done.returncode, done.stderr) == (0, "")
    pattern = (
        r"out is the student edition: 1 exercise without hints, \d+ checks that run at home, "
        r"1 that run only when a file is handed in\."
    )
    assert re.search(pattern, done.stdout)
    again = run_cli("release", str(tmp_path / "out"), cwd=course.root)
    assert again.returncode == 2
    assert "is not empty, and nothing is overwritten" in again.stderr


@pytest.mark.slow
def test_a_starter_never_looks_done(own_course, tmp_path):
    out = tmp_path / "out"
    path = own_course.description("exercise_03")
    text = path.read_text()
    start, end = text.index("\nchecks:"), text.index("\nequivalents:")
    path.write_text(f"{text[:start]}\nchecks:\n  - property: returns_shapes\n{text[end:]}")
    with pytest.raises(SpecError, match="exercise_03: its starter passes every check that needs no Python"):
        release(own_course, out, only=("exercise_03",))
    assert not out.exists()


def test_where_there_are_no_hints_and_no_explanations_no_page_speaks_of_them(editions):
    for kind, edition in editions.items():
        pages = [path.read_text(encoding="utf-8") for path in edition.rglob("*.md")]
        assert len(pages) == 2 + len(Course(root=edition).exercise_ids())
        assert any("hint" in page for page in pages) == HINTS[kind]
        assert any("solution" in page for page in pages) == HINTS[kind]


def test_a_place_inside_the_course_is_refused(own_course):
    for folder in ("exercises/out", "solutions/exercise_03/out", "tests/out"):
        with pytest.raises(UsageError, match="is inside the course's own"):
            release(own_course, own_course.root / folder)


def test_a_starter_that_is_not_the_reference_with_its_defects_is_not_handed_out(own_course, tmp_path):
    module = own_course.pristine(own_course.editable_files("exercise_03")[0])
    module.write_bytes(own_course.reference("exercise_03").read_bytes())
    with pytest.raises(SpecError, match=r"exercise_03/\.starter/attention\.py: is not the reference with every defect"):
        release(own_course, tmp_path / "out", only=("exercise_03",))
    assert not (tmp_path / "out").exists()


def test_a_docstring_may_be_missing_on_one_side_and_a_cell_that_is_no_python_may_not_be_there(own_course):
    from grader.author.release import _why_unfit

    exercise = load_exercise(own_course.description("exercise_03"))
    module, notebook = map(own_course.pristine, own_course.editable_files("exercise_03"))
    for path in (module, own_course.reference("exercise_03")):
        docstring, _, code = path.read_text(encoding="utf-8").partition('"""\n\n')
        assert docstring.startswith('"""')
        path.write_text(code, encoding="utf-8")
    assert _why_unfit(own_course, exercise) == []
    notebook.write_text(
        notebook.read_text(encoding="utf-8").replace("import torch", "import torch ("), encoding="utf-8"
    )
    (told,) = _why_unfit(own_course, exercise)
    assert told.startswith("exercises/exercise_03/.starter/attention.ipynb: is not the reference with every defect")


@pytest.mark.slow
def test_a_page_that_gives_something_away_is_not_handed_out(own_course, tmp_path):
    exercise = load_exercise(own_course.description("exercise_03"))
    reference = own_course.reference_text("exercise_03").splitlines()
    readme = own_course.exercise_folder("exercise_03") / "README.md"
    before = readme.read_text(encoding="utf-8")
    spoilers = (
        exercise.defects[0].id,
        exercise.defects[0].title,
        str(exercise.defects[0].fix),
        next(line.strip() for line in reference if "attn_scores = attn_scores.masked_fill" in line),
    )
    for spoiler in spoilers:
        readme.write_text(f"{before}\n{spoiler}\n", encoding="utf-8")
        assert "exercises/exercise_03/README.md gives away" in " ".join(spoilers_in(own_course, readme))
    with pytest.raises(SpecError, match=r"exercises/exercise_03/README\.md gives away"):
        release(own_course, tmp_path / "out", only=("exercise_03",))
    assert not (tmp_path / "out").exists()


def spoilers_in(course: Course, page: Path) -> list[str]:
    """The messages about a page of exercise_03 in an edition."""
    exercise = load_exercise(course.description("exercise_03"))
    return find_spoilers(course, [exercise], {page.relative_to(course.root): page.read_bytes()})


def test_an_edition_cannot_be_made_from_an_edition(editions, tmp_path):
    for edition in editions.values():
        with pytest.raises(UsageError, match="this is a student edition already"):
            release(Course(root=edition), tmp_path / "out")


@pytest.fixture(scope="module")
def whole_edition(course, request, tmp_path_factory) -> tuple[Course, dict[Path, bytes]]:
    """The edition of all exercises that tests ask for, and its files as they were written."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    asking = [item for item in request.session.items if "whole_edition" in item.fixturenames]
    release(course, folder, only=tuple({item.callspec.params["exercise_id"] for item in asking}))
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return Course(root=folder), files


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_exercise_is_judged_at_home_as_in_the_course(course, whole_edition, exercise_id):
    """A verdict that cannot be the same is unknown: behind a crash, or if only a hidden check decides."""
    edition, files = whole_edition
    require_equal(course, edition, exercise_id, submissions(course, exercise_id, 3))
    assert given_away(course, files, exercise_id, edition.exercise_ids()) == []
    assert edition.answers(exercise_id).stat().st_size <= MAX_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_starter_looks_done_at_home_but_one_that_is_right(course, whole_edition, exercise_id):
    edition, _ = whole_edition
    seen = verdicts(edition, exercise_id, {"starter": starters(course, exercise_id)}, KEY_SEED)["starter"]
    is_right = not load_exercise(course.description(exercise_id)).defects
    assert seen.outcome == ("fixed" if is_right else "not_fixed")
    assert not [each.id for each in seen.defects if each.status is DefectStatus.FIXED]
