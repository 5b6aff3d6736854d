"""The kit from Python: what is imported, what is returned, in which order, and what is left behind."""

import itertools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from grader import DefectStatus, Result, Verdict, grade, grade_many
from grader import api as interface
from grader.errors import SpecError, UsageError
from tests.support.hostile import ended
from tests.support.paths import HOST, ROOT
from tests.support.watching import examiners_of, small_course

REFERENCE = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
STARTER = (ROOT / "exercises/exercise_03/.starter/attention.py").read_text(encoding="utf-8")
UNPARSABLE = "class CausalSelfAttention(:\n"


@pytest.fixture(autouse=True, scope="module")
def _examiners_end_with_this_module():
    yield
    interface._pool.close()


def test_importing_the_package_imports_neither_torch_nor_pytest_nor_anything_of_the_kit():
    script = "import sys, grader; print(*sorted(sys.modules)); from grader import grade, grade_many, Verdict; "
    script += "print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    bare, used = (set(line.split()) for line in done.stdout.splitlines())
    assert not [name for name in bare if name.startswith("grader.")]
    assert not used & {"torch", "pytest", "numpy", "nbformat", "asyncio"}


def test_a_name_that_is_not_public_is_an_attribute_error():
    import grader

    assert set(grader.__all__) <= set(dir(grader))
    with pytest.raises(AttributeError, match="no attribute 'grades'"):
        grader.grades  # noqa: B018 - asking for it is the test


def test_every_public_name_exists_and_comes_from_the_module_that_defines_it():
    import grader

    public = {name: getattr(grader, name) for name in grader.__all__}
    assert public["__version__"] == metadata.version("grader")
    assert all(vars(grader)[name] is value for name, value in public.items())
    assert {"UsageError", "SpecError", "BrokenExerciseError", "OpenHostError"} <= public.keys()
    assert issubclass(grader.UsageError, grader.KitError)


def test_text_and_path_get_the_same_verdict_from_the_same_seed(tmp_path):
    path = tmp_path / "attention.py"
    path.write_text(STARTER, encoding="utf-8")
    by_text, by_path = grade("exercise_03", STARTER, seed=5), grade("exercise_03", path, seed=5)
    assert isinstance(by_text, Verdict)
    assert (by_text.outcome, by_text.score, by_text.seed) == (Result.NOT_FIXED, 0.0, 5)
    assert {defect.status for defect in by_text.defects} == {DefectStatus.PRESENT}
    assert [check.finding for check in by_text.checks] == [check.finding for check in by_path.checks]
    assert (by_text.file, by_path.file) == ("attention.py", str(path))
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED


def test_text_with_a_byte_order_mark_and_other_line_ends_is_read_as_in_a_file():
    assert grade("exercise_03", "\ufeff" + REFERENCE.replace("\n", "\r\n")).outcome is Result.FIXED


def test_a_second_call_needs_no_second_import_of_torch():
    grade("exercise_03", REFERENCE)
    examiners = examiners_of(os.getpid())
    assert examiners
    grade("exercise_03", REFERENCE)
    assert examiners_of(os.getpid()) == examiners


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (UNPARSABLE, "SyntaxError"),
        ("", "the source is empty"),
        ("x\0 = 1", "null|NUL"),
        ("x = '\ud800'", "lone surrogate"),
        ("import os; os._exit(0)", "exit code 0"),
        ("x = 1\n" * 2_000_000, "bytes of source"),
    ],
    ids=["unparsable", "empty", "NUL", "surrogate", "exit", "huge"],
)
def test_whatever_a_submission_is_it_gets_a_verdict(source, reason):
    verdict = grade("exercise_03", source)
    assert verdict.outcome is Result.NOT_GRADABLE
    assert re.search(reason, verdict.reason)


def test_a_seed_may_be_any_whole_number_type():
    assert grade("exercise_03", REFERENCE, seed=np.int64(7)).seed == 7


def test_what_the_caller_does_wrong_is_an_error():
    with pytest.raises(UsageError, match="there is no exercise_99"):
        grade("exercise_99", REFERENCE)
    with pytest.raises(UsageError, match="no exercises/ in"):
        grade("exercise_03", REFERENCE, course=ROOT / "grader")
    with pytest.raises(UsageError, match="seed is -1"):
        grade("exercise_03", REFERENCE, seed=-1)
    for seed in (1.5, "a", 2**31, True):
        with pytest.raises(UsageError, match=f"seed is {seed!r}; use a whole number from 0 to 2147483647"):
            grade("exercise_03", REFERENCE, seed=seed)
    for path in (Path("nowhere/attention.py"), Path("solutions")):
        with pytest.raises(UsageError, match=f"there is no file {path}; name the .py or .ipynb file"):
            grade("exercise_03", path)
    with pytest.raises(UsageError, match=r"a file's name, not the text .*; pass pathlib.Path\('x/attention.py'"):
        grade("exercise_03", "x/attention.py")
    assert grade("exercise_03", "the fix is in attention.py").outcome == "not_gradable"
    with pytest.raises(UsageError, match="jobs is 0"):
        grade_many([], jobs=0)
    with pytest.raises(TypeError, match="bytes"):
        grade("exercise_03", b"x = 1")


@pytest.mark.slow
def test_grade_many_yields_only_verdicts_in_order_and_with_one_seed():
    sources = [REFERENCE, UNPARSABLE, STARTER, "import os; os.abort()", "\ud800", REFERENCE, STARTER]
    verdicts = list(grade_many((("exercise_03", source) for source in sources), jobs=2))
    wanted = {REFERENCE: Result.FIXED, STARTER: Result.NOT_FIXED}
    assert [verdict.outcome for verdict in verdicts] == [wanted.get(source, Result.NOT_GRADABLE) for source in sources]
    assert len({verdict.seed for verdict in verdicts}) == 1


@pytest.mark.slow
def test_an_endless_iterable_is_read_a_few_ahead_and_closing_cancels_the_judged_ones():
    taken = itertools.count()
    position = 0

    def endless():
        nonlocal position
        for position in taken:
            yield "exercise_03", REFERENCE if position < 2 else "while True: pass\n"

    before = set(examiners_of(os.getpid()))
    verdicts = grade_many(endless(), jobs=2)
    assert position == 0
    assert [next(verdicts).outcome for _ in range(2)] == [Result.FIXED] * 2
    assert position < 2 + 4 * 2 + 1
    started = time.monotonic()
    verdicts.close()
    assert time.monotonic() - started < 5  # a loop's own limits are longer
    assert ended(set(examiners_of(os.getpid())) - before)


def test_an_error_of_the_iterable_or_of_an_exercise_is_raised_in_its_turn():
    def failing():
        yield "exercise_03", REFERENCE
        raise LookupError("no more")

    verdicts = grade_many(failing(), jobs=1)
    with pytest.raises(LookupError, match="no more"):
        list(verdicts)
    verdicts = grade_many([("exercise_03", UNPARSABLE), ("exercise_99", REFERENCE), ("exercise_03", REFERENCE)], jobs=1)
    assert next(verdicts).outcome is Result.NOT_GRADABLE
    with pytest.raises(UsageError, match="exercise_99"):
        next(verdicts)
    assert list(verdicts) == []


@pytest.mark.slow
def test_threads_may_call_at_once():
    found: list[Result] = []
    threads = [
        threading.Thread(target=lambda source=source: found.append(grade("exercise_03", source).outcome))
        for source in [REFERENCE, STARTER] * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([Result.FIXED, Result.NOT_FIXED] * 3)


@pytest.mark.slow
def test_a_forked_child_grades_for_itself_and_the_parents_examiner_is_untouched():
    grade("exercise_03", REFERENCE)
    ours = set(examiners_of(os.getpid()))
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        answers = pool.map(_grade_in_child, [REFERENCE, STARTER])
    assert [answer[0] for answer in answers] == [Result.FIXED, Result.NOT_FIXED]
    assert all(len(answer[1]) == 1 and not set(answer[1]) & ours for answer in answers)
    assert set(examiners_of(os.getpid())) == ours
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED


def _grade_in_child(source: str) -> tuple[Result, list[int]]:
    return grade("exercise_03", source).outcome, examiners_of(os.getpid())


@pytest.mark.slow
def test_a_changed_exercise_is_read_again(tmp_path):
    course = small_course(tmp_path, "exercise_03")
    assert grade("exercise_03", REFERENCE, course=course).max_score == 10
    description = course / "solutions/exercise_03/exercise.yaml"
    text = description.read_text(encoding="utf-8")
    description.write_text(text.replace("nothing_else_broke: 3", "nothing_else_broke: 5"), encoding="utf-8")
    assert grade("exercise_03", REFERENCE, course=course).max_score == 12
    description.write_text("title: [", encoding="utf-8")
    with pytest.raises(SpecError, match=r"exercise\.yaml:\d"):
        grade("exercise_03", REFERENCE, course=course)


@pytest.mark.slow
def test_an_examiner_that_died_is_replaced_and_two_deaths_are_reported(monkeypatch):
    grade("exercise_03", REFERENCE)
    for process in examiners_of(os.getpid()):
        os.kill(process, signal.SIGKILL)
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED

    stop = threading.Event()

    def kill_all():
        while not stop.wait(0.02):
            for process in examiners_of(os.getpid()):
                os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        verdict = grade("exercise_03", REFERENCE)
    finally:
        stop.set()
        killer.join()
    assert (verdict.outcome, verdict.score, verdict.exit_code()) == (Result.NOT_JUDGED, None, 3)
    assert verdict.reason.startswith("not judged: ")
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED


LEFT_ALONE = """
import sys
from grader import grade, grade_many
print(grade("exercise_03", open("solutions/exercise_03/attention.py").read()).outcome, flush=True)
if "many" in sys.argv:
    for verdict in grade_many(("exercise_03", "while True: pass") for _ in range(9)):
        pass
if "loop" in sys.argv:
    grade("exercise_03", "while True: pass")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["many", "", "loop", "killed"])
def test_nothing_is_left_when_the_embedding_program_ends(tmp_path, how):
    course = small_course(tmp_path, "exercise_03")
    with (course / "solutions/exercise_03/exercise.yaml").open("a", encoding="utf-8") as description:
        description.write("\nlimits:\n  seconds: {load: 2, check: 2, total: 4}\n")
    program = subprocess.Popen(
        [sys.executable, "-c", LEFT_ALONE, "many" if how == "killed" else how],
        cwd=course,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    assert program.stdout.readline() == "fixed\n"
    if how:
        time.sleep(0.5)
        left = group_of(program.pid) - {program.pid}
        assert left
        if how == "killed":
            program.kill()
        else:
            os.killpg(program.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
    status = program.wait(20)
    assert ended(group_of(program.pid))
    told = program.stderr.read()
    program.stdout.close()
    program.stderr.close()
    if how in ("many", "loop"):
        assert status == -signal.SIGINT
        assert told.count("Traceback") == 1  # its own, none of an examiner's
    else:
        assert told == ""


ON_AN_OPEN_HOST = """
from pathlib import Path
from grader import KitError, grade
source = Path("solutions/exercise_03/attention.py")
try:
    grade("exercise_03", source)
except KitError as error:
    print(error)
verdict = grade("exercise_03", source, strict=False)
print(verdict.outcome, verdict.isolation["filesystem"])
"""


@pytest.mark.slow
def test_where_files_are_open_nothing_is_judged_unless_strict_is_false():
    host = [sys.executable, str(HOST), "--without", "landlock,namespaces", "--"]
    command = [*host, sys.executable, "-c", ON_AN_OPEN_HOST]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    refused, judged = done.stdout.splitlines()
    assert "submissions could reach the file system of this host" in refused
    assert judged == "fixed False"


def test_the_example_in_the_readme_runs(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    course = small_course(tmp_path, "exercise_03")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=course,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "not_fixed 0.0 10.0\nfixed 10.0\nnot_fixed 0.0\n"


def group_of(leader: int) -> set[int]:
    """The processes of a session that are no zombies."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.add(int(path.parent.name))
    return found


@pytest.mark.slow
def test_a_trap_is_judged_from_its_text(tmp_path):
    from grader import UsageError, grade_trap

    text = (ROOT / "solutions/exercise_06/trap.py").read_text(encoding="utf-8")
    result = grade_trap("exercise_06", text, seed=4)
    assert (result.score, result.max_score, result.seed) == (8.0, 8.0, 4)
    path = tmp_path / "trap.py"
    path.write_text("def test_nothing(subject):\n    pass\n", encoding="utf-8")
    assert [test.standing for test in grade_trap("exercise_06", path).tests] == ["never_calls"]
    with pytest.raises(UsageError, match="there is no file"):
        grade_trap("exercise_06", tmp_path / "none.py")
