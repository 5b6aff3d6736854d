"""Fresh hunts: drafts restore their solution, the same seed gives the same files, and every hunt holds when graded."""

import ast
import itertools
import random
from pathlib import Path

import msgspec
import pytest

from grader import Result, exercises, fresh_hunts, grade
from grader import api as interface
from grader.checks.outcome import Examination, FailureKind, Finding, Outcome, Status
from grader.errors import UsageError
from grader.evaluation.fresh.drafts import candidates_of, rewritten
from grader.evaluation.fresh.made import Origin
from grader.evaluation.fresh.making import _failing, _starter
from grader.spec.exercise import Defect
from grader.spec.fragments import make_variant, put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from tests.support.paths import ROOT

REFERENCE = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")


@pytest.fixture(autouse=True, scope="module")
def _examiners_end_with_this_module():
    yield
    interface._pool.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> tuple[Course, list[str]]:
    """A course with one fresh hunt."""
    folder = tmp_path_factory.mktemp("fresh") / "course"
    hunts = list(itertools.islice(fresh_hunts(folder, seed=3, course=ROOT, bases=["exercise_29"]), 1))
    return Course(root=folder), [hunt.id for hunt in hunts]


def test_a_draft_is_rewritten_in_the_same_way_by_the_same_seed_and_keeps_its_class():
    texts = [rewritten(REFERENCE, random.Random(seed)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    for text, rules in texts:
        assert "class CausalSelfAttention(nn.Module)" in text
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(REFERENCE))
        assert rules


def test_every_fault_is_whole_lines_that_occur_once_and_can_be_put_back():
    candidates = list(candidates_of(REFERENCE, random.Random(5)))
    assert len(candidates) > 50
    assert len({candidate.operator for candidate in candidates}) > 8
    lines = REFERENCE.split("\n")
    for candidate in candidates:
        assert "\n".join(lines[candidate.first : candidate.end]) == candidate.fix
        changed = "\n".join([*lines[: candidate.first], *candidate.was.split("\n"), *lines[candidate.end :]])
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(REFERENCE))
        assert put_back(REFERENCE, [defect_of(candidate)]) == changed
        assert "pass" not in candidate.was.split()
        assert _starter(REFERENCE, [defect_of(candidate)]) == changed


def test_a_draft_has_neither_docstrings_nor_needless_parentheses_nor_a_negative_zero():
    source = (
        '"""What the solution does."""\nimport torch\n\n\nclass Layer(torch.nn.Module):\n    """Right."""\n\n'
        "    def forward(self, x):\n"
        '        """Return (batch, width)."""\n'
        "        total = ((x - 1) * (2)).sum(dim=-1)\n"
        "        return (total / 3)\n"
    )
    text, _ = rewritten(source, random.Random(0))
    texts = [text, *(each.was for each in candidates_of(text, random.Random(5)))]
    for each in texts:
        assert "((" not in each.replace("((x", "")
        for mark in ('"""', "-0", "+1", "(2)", "return (", "(total"):
            assert mark not in each
    assert any("dim=0" in each for each in texts)


def defect_of(candidate) -> Defect:
    return Defect(
        id="one", title="one", points=1, was=candidate.was, fix=candidate.fix, hints=("a", "b", "c"), why="it matters"
    )


def test_a_result_that_is_discarded_is_among_the_faults():
    candidates = [each for each in candidates_of(REFERENCE, random.Random(5)) if each.operator == "result discarded"]
    assert len(candidates) == 1
    assert "attn_scores = attn_scores.masked_fill" in candidates[0].fix
    assert "attn_scores = " not in candidates[0].was


@pytest.mark.parametrize("status", [Status.CRASHED, Status.TIMED_OUT, Status.NOT_RUN])
def test_a_variant_that_crashes_or_hangs_is_no_hunt(status):
    passed = Outcome(check="one", status=Status.PASSED)
    failed = Outcome(check="two", status=Status.FAILED, finding=Finding(kind=FailureKind.VALUES))
    assert _failing(Examination(outcomes=[passed, failed])) == {"two": "failed:values"}
    assert _failing(Examination(outcomes=[passed, Outcome(check="two", status=status)])) is None
    assert _failing(Examination(outcomes=[], unloadable=Finding(kind=FailureKind.LOAD))) is None


def test_a_hunt_has_all_files_of_a_hunt_and_gives_nothing_away(one):
    course, (hunt_id,) = one
    assert course.exercise_ids() == [hunt_id] == ["exercise_01"]
    exercise = load_exercise(course.description(hunt_id))
    module, notebook = course.editable_files(hunt_id)
    starter = module.read_text(encoding="utf-8")
    assert put_back(course.reference_text(hunt_id), exercise.defects) == starter
    assert course.pristine(module).read_text(encoding="utf-8") == starter
    assert notebook.is_file()
    assert course.key(hunt_id).is_file()
    readme = (course.exercise_folder(hunt_id) / "README.md").read_text(encoding="utf-8")
    for defect in exercise.defects:
        assert defect.title not in readme
        assert isinstance(defect.fix, str)
        assert defect.fix.strip() not in readme
    written = msgspec.json.decode((course.description(hunt_id).parent / "origin.json").read_bytes())
    origin = msgspec.convert(written, Origin)
    assert (written["seed"], written["number"], origin.base) == (3, 1, "exercise_29")
    base = load_exercise(Course(root=ROOT).description(origin.base))
    assert exercise.source.adapted_from == base.source.adapted_from
    (hunt,) = exercises(course=course.root)
    assert hunt.license_note == "Adapted from huggingface/transformers, licence Apache-2.0."
    assert hunt.source_url == ""


def test_the_starter_scores_nothing_and_the_reference_everything(one):
    course, (hunt_id,) = one
    starter = grade(hunt_id, course.editable_files(hunt_id)[0], course=course.root)
    reference = grade(hunt_id, course.reference(hunt_id), course=course.root)
    assert (starter.outcome, starter.score) == (Result.NOT_FIXED, 0)
    assert {each.status for each in starter.defects} == {DefectStatus.PRESENT}
    assert (reference.outcome, reference.score) == (Result.FIXED, reference.max_score)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_files_and_every_subset_is_identified(tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        hunts = fresh_hunts(folder, seed=8, course=ROOT, bases=["exercise_03", "exercise_29", "exercise_09"])
        assert len(list(itertools.islice(hunts, 6))) == 6
    one, two = (files_of(folder) for folder in folders)
    assert one == two
    course = Course(root=folders[0])
    starters = set()
    for hunt_id in course.exercise_ids():
        exercise = load_exercise(course.description(hunt_id))
        reference = course.reference_text(hunt_id)
        starters.add(course.editable_files(hunt_id)[0].read_bytes())
        for subset in exercise.subsets():
            text = make_variant(reference, exercise, subset)
            verdict = grade(hunt_id, text, course=course.root)
            assert {each.id for each in verdict.defects if each.status is DefectStatus.PRESENT} == subset
            assert (verdict.outcome is Result.FIXED) == (not subset)
    assert len(starters) == 6


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files but caches, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".grader", "__pycache__"} & set(path.parts)
    }


def test_wrong_orders_are_errors_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="is in use; name a new folder"):
        fresh_hunts(tmp_path, seed=1, course=ROOT)
    with pytest.raises(UsageError, match="there is no exercise_99 here"):
        fresh_hunts(tmp_path / "new", seed=1, course=ROOT, bases=["exercise_99"])
    for seed in (-1, "1", 2**31, True, None):
        with pytest.raises(UsageError, match=r"seed is .*; use a whole number from 0 to 2147483647"):
            fresh_hunts(tmp_path / "new", seed=seed, course=ROOT)
    assert not (tmp_path / "new").exists()
