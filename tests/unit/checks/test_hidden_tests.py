"""A hidden test may be written as any pytest test: its outcomes are outcomes, and only the kit is blamed for a skip."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from grader.checks import pytest_plugin
from grader.checks.hidden_tests import collect_hidden_tests
from grader.checks.outcome import FailureKind
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.processes.worker_source import Forker
from grader.report.findings import sentence, size_words
from grader.sandbox.torch_import import import_torch
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import submission_from_text
from tests.support.forgetting import forget_descriptions
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

REFERENCE = "solutions/exercise_05/attention.py"
ORDINARY = '''
"""Tests in pytest's own words; each fails for a module that has no output_dim."""

import pytest

from grader.testing import SubjectRaisedError

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}


def knows(subject):
    try:
        return subject(**ARGUMENTS).attribute("output_dim") == 12
    except SubjectRaisedError:
        return False


def test_bare(subject):
    assert knows(subject)


def test_told(subject):
    assert knows(subject), "the size of the output: expected 12, saw none"


def test_fails(subject):
    if not knows(subject):
        pytest.fail("the size of the output is not kept")


def test_raises(subject):
    with pytest.raises(SubjectRaisedError):
        subject(**ARGUMENTS).attribute("output_dim" if not knows(subject) else "no_such_name")
    if not knows(subject):
        with pytest.raises(SubjectRaisedError):
            subject(**ARGUMENTS)


def test_long(subject):
    assert knows(subject), "a long story " * 1000
'''


BUILT = "built with input_dim=5, output_dim=12, context_length=8, dropout=0.0, num_heads=3"
"""How a finding describes `subject(**ARGUMENTS)`."""

KEPT = {"output-dim-misnamed", "returns_shapes", "knows_its_output_dim"}
"""A defect and checks: each test here has keys made, which takes as long as subsets of defects and checks are many."""


@pytest.fixture
def own_course(own_course: Course) -> Course:
    """A copy of the course in which exercise 05 has one defect and two checks."""
    path = own_course.description("exercise_05")
    description = yaml.safe_load(path.read_text(encoding="utf-8"))
    description["defects"] = [each for each in description["defects"] if each["id"] in KEPT]
    description["checks"] = [each for each in description["checks"] if {each.get("id"), each["property"]} & KEPT]
    path.write_text(yaml.safe_dump(description, sort_keys=False), encoding="utf-8")
    return own_course


@pytest.fixture
def course_with(own_course: Course) -> Iterator:
    """Writes a hidden test file of exercise 05, and gives a judge of that course."""
    judges: list[Judge] = []

    def write(text: str) -> Judge:
        (own_course.hidden_tests("exercise_05") / "test_own.py").write_text(text, encoding="utf-8")
        judges.append(Judge(own_course))
        return judges[-1]

    yield write
    for judge in judges:
        judge.close()


def source_of(name: str) -> str:
    return (ROOT / name / "exercise_05" / "attention.py").read_text(encoding="utf-8")


def test_a_pytest_failure_is_a_failure_with_its_own_message(own_course: Course, run_cli) -> None:
    (own_course.hidden_tests("exercise_05") / "test_ordinary.py").write_text(ORDINARY, encoding="utf-8")
    fixed = json.loads(run_cli("exercise_05", "--json", "--file", REFERENCE, cwd=own_course.root).stdout)
    assert fixed["outcome"] == "fixed"
    verdict = json.loads(run_cli("exercise_05", "--json", cwd=own_course.root).stdout)
    assert verdict["outcome"] == "not_fixed"
    seen = {check["id"]: check for check in verdict["checks"] if check["id"] in ORDINARY}
    assert {check["status"] for check in seen.values()} == {"failed"}
    assert seen["test_told"]["finding"] == f"the size of the output: expected 12, saw none; {BUILT}"
    assert seen["test_fails"]["finding"] == f"the size of the output is not kept; {BUILT}"
    assert seen["test_raises"]["finding"] == f"expected SubjectRaisedError, got no exception; {BUILT}"
    assert seen["test_bare"]["finding"] == f"an assertion of this check does not hold; {BUILT}"
    assert len(seen["test_long"]["finding"].removesuffix(f"; {BUILT}")) < 500
    assert len(seen) == 5


def test_a_finding_says_how_the_test_built_and_called_the_module(course_with) -> None:
    body = """def test_it(subject, gaussian):
    known = knows(subject)
    subject(**ARGUMENTS)(x=gaussian(2, 3, 5))
    assert known
"""
    verdict = course_with(ORDINARY.partition("def test_bare")[0] + body)("exercise_05", source_of("exercises"))
    (finding,) = (outcome.finding for outcome in verdict.checks if outcome.check == "test_it")
    assert size_words(finding) == f"{BUILT}; called with x of shape (2, 3, 5)"


@pytest.mark.parametrize(
    ("body", "said"),
    others_slow(
        [
            ('    pytest.skip("not today")', "test_it skips: not today"),
            ('    pytest.importorskip("no_such_package")', "test_it skips: could not import"),
            ('    pytest.exit("enough")', "test_it ends pytest: enough"),
            ("    pytest.xfail('some day')", "test_it skips: some day"),
        ]
    ),
)
def test_a_check_that_skips_is_the_kits_fault(course_with, body: str, said: str) -> None:
    judge = course_with(f"import pytest\n\n\ndef test_it(subject):\n{body}\n")
    with pytest.raises(BrokenExerciseError, match=f"exercise_05.*{re.escape(said)}"):
        judge("exercise_05", source_of("solutions"))


@pytest.mark.slow
def test_a_skip_that_only_defective_modules_reach_is_the_kits_fault_too(course_with) -> None:
    judge = course_with(ORDINARY.replace('pytest.fail("the size', 'pytest.skip("the size'))
    with pytest.raises(BrokenExerciseError, match="test_fails skips: the size of the output"):
        judge("exercise_05", source_of("exercises"))


@pytest.mark.slow
def test_a_skip_mark_is_the_kits_fault_too(course_with) -> None:
    judge = course_with("import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_it(subject):\n    assert 0\n")
    with pytest.raises(BrokenExerciseError, match="test_it skips: later"):
        judge("exercise_05", source_of("solutions"))


@pytest.mark.slow
def test_a_batch_goes_on_where_pytest_says_that_a_check_failed(own_course: Course, tmp_path: Path, run_cli) -> None:
    (own_course.hidden_tests("exercise_05") / "test_ordinary.py").write_text(ORDINARY, encoding="utf-8")
    for student in ("ada", "ben"):
        folder = tmp_path / "handed" / student / "exercise_05"
        folder.mkdir(parents=True)
        (folder / "attention.py").write_text(source_of("exercises"), encoding="utf-8")
    done = run_cli("batch", tmp_path / "handed", "--gradebook", tmp_path / "class.sqlite", cwd=own_course.root)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "2" in done.stdout


def test_opening_an_exercise_collects_no_other_so_that_it_takes_as_long_among_many(
    judge_text: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[Path] = []
    note = lambda collector: collected.append(collector.path)  # noqa: E731 - as a hook
    monkeypatch.setattr(pytest_plugin, "pytest_collectstart", note, raising=False)
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    with Runner(judge_text.course, exercise, judge_text.source) as runner:
        names = runner.check_ids()
    assert {path.parent.name for path in collected} == {"exercise_03"}
    assert {*names} > {check.id for check in exercise.checks}  # and the hidden tests'


DYING = '''
"""A test that goes on once a worker has died, and one that asks again for what cannot be built."""

import pytest

from grader.checks.session import SubjectDiedError, SubjectRaisedError

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}


def test_survivors(subject, gaussian):
    module = subject(**ARGUMENTS)
    try:
        subject.build({**ARGUMENTS, "num_heads": 4})(x=gaussian(1, 2, 5))
    except SubjectDiedError:
        pass
    module(x=gaussian(1, 2, 5))


def test_twice(subject, gaussian):
    module = subject.build({**ARGUMENTS, "num_heads": 2}, at_once=False)
    try:
        module(x=gaussian(1, 2, 5))
    except SubjectRaisedError:
        pass
    module(x=gaussian(1, 2, 5))
'''

ENDS = "        super().__init__()\n"


@pytest.mark.slow
def test_a_module_that_went_with_its_worker_is_not_said_to_raise_what_the_kit_looks_it_up_with(course_with) -> None:
    lines = ENDS + "        if num_heads == 4: import os; os._exit(3)\n"
    lines += "        if num_heads == 2: raise RuntimeError('two is odd')\n"
    source = source_of("solutions")
    assert source.count(ENDS) == 1
    verdict = course_with(DYING)("exercise_05", source.replace(ENDS, lines))
    seen = {outcome.check: outcome for outcome in verdict.checks}
    assert sentence(seen["test_survivors"].finding) == (
        "it ended the process with exit code 3 earlier, and the modules built before were lost"
    )
    assert sentence(seen["test_twice"].finding) == "RuntimeError: two is odd"


FAULTY = '''
"""Tests whose failing branches are wrong themselves, and one that meets a value of another form."""

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}


def test_it(subject, reference, gaussian):
    x = gaussian(2, 5, 5)
    ours, theirs = subject(**ARGUMENTS)(x=x), reference(**ARGUMENTS)(x=x)
    if CONDITION:
        BODY
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit_with(ours)", "NameError: name 'exit_with' is not defined"),
        ("ours.shap and theirs", "AttributeError: 'Tensor' object has no attribute 'shap'"),
    ],
)
def test_a_check_that_is_wrong_itself_is_the_kits_fault(course_with, body: str, said: str) -> None:
    judge = course_with(FAULTY.replace("CONDITION", "ours.shape != theirs.shape").replace("BODY", body))
    source = re.sub("return (.*)", r"return (\1)[:, :1]", source_of("solutions"))
    with pytest.raises(BrokenExerciseError, match=rf"test_it fails by itself, test_\w+\.py, line 11: {said}"):
        judge("exercise_05", source)


def test_an_error_caused_by_another_form_is_reported_with_the_form(course_with) -> None:
    judge = course_with(FAULTY.replace("CONDITION", "True").replace("BODY", "ours + theirs"))
    source = re.sub("return (.*)", r"return {'no': \1}", source_of("solutions"))
    verdict = judge("exercise_05", source)
    seen = {outcome.check: outcome for outcome in verdict.checks}["test_it"]
    assert (seen.status, seen.finding.kind, seen.finding.detail) == ("failed", FailureKind.FORM, "TypeError")
    assert sentence(seen.finding) == (
        "the returned value does not have the form that the interface declares: "
        "TypeError: unsupported operand type(s) for +: 'dict' and 'Tensor'"
    )


DRIFTING = '''
"""A test that asks another question each time, so that it is run once more, and fails in between."""

from grader.testing import Failure

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}
TIMES = []


def test_drift(subject, reference, gaussian):
    TIMES.append(1)
    reference(**ARGUMENTS)(x=gaussian(len(TIMES), 5, 5))
    subject(**ARGUMENTS)(x=gaussian(2, 5, 5))
    if len(TIMES) == 2:
        raise Failure("values", "off in between", deviation="stale")
'''


def test_a_check_that_is_run_once_more_leaves_nothing_of_its_first_run_behind(own_course: Course) -> None:
    (own_course.hidden_tests("exercise_05") / "test_drift.py").write_text(DRIFTING, encoding="utf-8")
    exercise = load_exercise(own_course.description("exercise_05"))
    reference = submission_from_text(source_of("solutions"))

    import_torch()
    forget_descriptions()
    forker = Forker()
    try:
        with Runner(own_course, exercise, forker) as runner:
            seen = [runner.examine(reference, 7, only=["test_drift"]) for _ in range(2)]
    finally:
        forker.close()
    assert [[outcome.status for outcome in each.outcomes] for each in seen] == [["passed"], ["passed"]]
    assert [each.deviations for each in seen] == [{}, {}]


WEIGHING = '''
"""A test that builds one module of the submission with the weights of another."""

import torch

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}


def test_weights(subject, reference, gaussian):
    theirs = reference(**ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    again = subject.build(ARGUMENTS, like=ours)
    assert {name: tuple(weight.shape) for name, weight in ours.weights().items()} == ours.shapes() == theirs.shapes()
    assert all(torch.equal(weight, theirs.weights()[name]) for name, weight in ours.weights().items())
    x = gaussian(2, 5, 5)
    assert torch.equal(again(x=x), ours(x=x))
'''


def test_the_weights_of_the_submission_are_those_that_it_computes_with(course_with) -> None:
    verdict = course_with(WEIGHING)("exercise_05", source_of("solutions"))
    assert {outcome.check: outcome.status for outcome in verdict.checks}["test_weights"] == "passed"


def test_files_with_one_name_in_two_courses_and_versions_of_one_file_are_imported_anew(tmp_path: Path) -> None:
    files = [tmp_path / each / "tests/hidden/exercise_01/test_own.py" for each in ("one", "other")]
    found = []
    for file, name in zip([*files, files[0]], ("of_one", "of_the_other", "of_one_edited"), strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def test_{name}():\n    pass\n", encoding="utf-8")
        with collect_hidden_tests(file.parents[3], [file]) as tests:
            found += [test.name for test in tests]
    assert found == ["test_of_one", "test_of_the_other", "test_of_one_edited"]


def test_options_for_other_runs_of_pytest_change_nothing(own_course: Course, monkeypatch, run_cli) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option -x")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    verdict = json.loads(run_cli("exercise_05", "--json", "--file", REFERENCE, cwd=own_course.root).stdout)
    assert verdict["outcome"] == "fixed"
