"""However a submission ends, hangs or floods, there is a verdict in time that names it, and nothing is left behind."""

import json
import re
import shutil
import time

import pytest

from grader.checks.outcome import Status
from grader.report.findings import sentence
from grader.spec.exercise import Limits, Seconds
from grader.submission import Submission, read_submission
from grader.verdict.verdict import DefectStatus, Result, Verdict
from tests.support.commands import run_program
from tests.support.hostile import Household, at_import, in_forward, reference, running_with, starter
from tests.support.judging import Judge
from tests.support.notebooks import code, notebook
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

SMALL = Limits(memory_mb=256, seconds=Seconds(load=20, check=20, total=60))
QUICK = Limits(seconds=Seconds(load=1.2, check=0.4, total=1.2))
"""Small enough for tests that wait for them, and large beside the milliseconds that a well-behaved submission takes."""

MARGIN = 20.0
"""Seconds beyond the limits: this machine may be busy."""

LOOP = "while True: pass"

REFUSED = "Operation not permitted"
"""Where system calls are filtered, a worker may not signal anybody, itself included."""

ENDINGS = {
    "os._exit": ("os._exit(0)", "ended the process with exit code 0"),
    "os._exit with a code": ("os._exit(3)", "ended the process with exit code 3"),
    "sys.exit": ("sys.exit(0)", "tried to end the program"),
    "SystemExit": ("raise SystemExit", "tried to end the program"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "a segmentation fault": ("ctypes.string_at(0)", "segmentation fault"),
    "abort": ("os.abort()", "was ended by SIGABRT|segmentation fault"),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", f"was killed|{REFUSED}"),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", f"was ended by SIGTERM|{REFUSED}"),
    "200 MB of stdout": ("for _ in range(200): print('x' * 1_000_000)", "printed more than 1,000,000 bytes"),
    "200 MB of stdout, unbuffered": ("for _ in range(200): os.write(1, b'x' * 1_000_000)", "printed more than 1,000"),
    "recursion": ("def again(): again()\nagain()", "RecursionError"),
    "a memory hog": ("hoard = []\nwhile True: hoard.append(torch.empty(10_000_000))", "ran out of the memory"),
    "a huge tensor": ("torch.ones(10 ** 11)", "ran out of the memory"),
    "an exception without a face": (
        "class Odd(Exception):\n    def __str__(self): raise Odd\nraise Odd",
        "its message cannot be shown",
    ),
    "an exception in surrogates": ("raise ValueError(chr(0xD800))", r"\\ud800"),
    "an exception in disguise": ("odd = SyntaxError('odd')\nodd.filename = []\nraise odd", "cannot be shown"),
}

HANGS = {
    "an endless loop": LOOP,
    "a C call that keeps the interpreter lock": "ctypes.PyDLL(None).sleep(600)",
    "a regular expression": "re.match('(a+)+$', 'a' * 64 + 'b')",
    "ignored signals": "for each in {*range(1, 65)} - {9, 19, 32, 33}: signal.signal(each, signal.SIG_IGN)\n" + LOOP,
    "a loop in __del__": f"class Last:\n    def __del__(self):\n        {LOOP}\nLast()",
    "a loop that catches everything": "while True:\n    try: time.sleep(60)\n    except BaseException: pass",
    "a loop in an exception's text": f"class Odd(Exception):\n    def __str__(self):\n        {LOOP}\nraise Odd",
}

EACH_HANG = [pytest.param(name, marks=[pytest.mark.slow] * (number > 1)) for number, name in enumerate(HANGS)]
"""Each takes its deadline to end."""

HARMLESS = {
    "threads that never end": "for _ in range(3): threading.Thread(target=time.sleep, args=(600,)).start()",
    "a loop at exit": f"def last():\n    {LOOP}\natexit.register(last)",
    "a loop in __del__ of what is kept": f"class Last:\n    def __del__(self):\n        {LOOP}\nkept = Last()",
    "a closed stdout": "sys.stdout.close()",
    "no stdout": "sys.stdout = sys.stderr = None",
}
"""Actions that do not prevent a verdict."""


@pytest.fixture(scope="module", autouse=True)
def _has_judged_before(judge_text: Judge) -> None:
    judge_text("exercise_03", starter())  # the files that are opened only once are open


@pytest.fixture(autouse=True)
def _nothing_is_left(_has_judged_before: None):
    before = Household()
    yield
    after = Household()
    assert after.processes == before.processes
    assert after.descriptors == before.descriptors


def assert_names(verdict: Verdict, words: str) -> None:
    """The first check that did not pass says what happened, and no defect counts as fixed."""
    assert verdict.outcome is Result.NOT_FIXED
    assert verdict.score == 0
    first = next(seen for seen in verdict.checks if seen.status is not Status.PASSED)
    assert first.finding is not None
    assert re.search(words, sentence(first.finding))
    assert all(defect.status is not DefectStatus.FIXED for defect in verdict.defects)


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_at_import_is_named(judge_text: Judge, name: str) -> None:
    lines, words = ENDINGS[name]
    verdict = judge_text("exercise_03", at_import(lines), limits=SMALL)
    assert verdict.outcome is Result.NOT_GRADABLE
    assert re.search(words, verdict.reason or "")
    assert (verdict.score, verdict.exit_code()) == (0, 1)


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_in_forward_is_named_by_its_check(judge_text: Judge, name: str) -> None:
    lines, words = ENDINGS[name]
    assert_names(judge_text("exercise_03", in_forward(lines), limits=SMALL), words)


@pytest.mark.parametrize("name", EACH_HANG)
def test_a_hang_at_import_ends_at_the_limit_for_loading(judge_text: Judge, name: str) -> None:
    started = time.monotonic()
    verdict = judge_text("exercise_03", at_import(HANGS[name]), limits=QUICK)
    assert verdict.outcome is Result.NOT_GRADABLE
    assert "still running after 1." in (verdict.reason or "")
    assert time.monotonic() - started < QUICK.seconds.load + MARGIN


@pytest.mark.parametrize("name", EACH_HANG)
def test_a_hang_in_forward_costs_no_more_than_the_whole_budget(judge_text: Judge, name: str) -> None:
    started = time.monotonic()
    verdict = judge_text("exercise_03", in_forward(HANGS[name]), limits=QUICK)
    assert time.monotonic() - started < QUICK.seconds.total + MARGIN
    assert_names(verdict, "still running after 0.")
    ends = [seen.status for seen in verdict.checks]
    assert ends[0] is Status.TIMED_OUT
    assert ends[-1] is Status.NOT_RUN
    assert set(ends) == {Status.TIMED_OUT, Status.NOT_RUN}


MOST_SECONDS = {Result.NOT_FIXED: 6.0, Result.NOT_GRADABLE: 8.0}
"""Loading may take 6 s by itself; nothing is tried after it."""

NAP = "while True: time.sleep(0.01)"
"""An endless loop that leaves the processor to others, for a test that waits for seconds."""

CHECK_ENDED = r"it was still running after [1-5]\.\d s"
"""A check may take 3 s (1 s after a hang), or 50 times as long as the reference takes on this machine."""

STUCK = {
    "in forward": (in_forward(NAP), None, Result.NOT_FIXED, CHECK_ENDED, "attention.py, line 3[01]"),
    "in __init__": (
        starter().replace("super().__init__()\n", f"super().__init__()\n        {LOOP}\n"),
        QUICK,
        Result.NOT_FIXED,
        "it was still running after 0.",
        "attention.py, line 1[56]",
    ),
    "at import": (
        at_import(LOOP),
        QUICK,
        Result.NOT_GRADABLE,
        "it was still running after 1.2 s",
        "attention.py, line [34]",
    ),
    "at import, for as long as it may": (
        at_import(LOOP),
        None,
        Result.NOT_GRADABLE,
        "it was still running after 6.0 s",
        "attention.py, line [34]",
    ),
    "in a notebook cell": (
        notebook(code(starter()), code(f"x = 1\n{LOOP}")),
        QUICK,
        Result.NOT_GRADABLE,
        "it was still running after 1.2 s",
        "code cell 2, line [23]",
    ),
}
"""Where an endless loop is: the limits (None for the exercise's own), the outcome, how the sentence begins, and the
lines it may name."""


@pytest.mark.parametrize(
    "place", [pytest.param(each, marks=[pytest.mark.slow] * each.endswith("may")) for each in STUCK]
)
def test_an_endless_loop_costs_seconds_and_the_sentence_says_where_it_is(judge_text: Judge, tmp_path, place) -> None:
    text, limits, outcome, words, line = STUCK[place]
    path = tmp_path / ("attention.ipynb" if text.startswith("{") else "attention.py")
    path.write_text(text, encoding="utf-8")
    submission = read_submission(path, path.name)
    assert isinstance(submission, Submission)
    verdict = judge_text("exercise_03", submission, limits=limits)
    found = verdict.unloadable or next(each.finding for each in verdict.checks if each.finding)
    assert re.match(words, sentence(found)), found
    assert re.fullmatch(line, str(found.location)), found
    assert (verdict.outcome, verdict.score) == (outcome, 0)
    assert verdict.seconds <= MOST_SECONDS[outcome] + MARGIN


SLOW_AT_FIRST = "slow_at_first = [2]\n" + in_forward("if slow_at_first: time.sleep(slow_at_first.pop())", reference())
"""Sleeps for two seconds in the first call of each worker, as long as torch's late imports take on a slow computer."""


def test_a_right_fix_that_is_slow_at_its_first_call_gets_everything(judge_text: Judge) -> None:
    assert judge_text.refused("exercise_03", {"slow at first": SLOW_AT_FIRST}) == {}


@pytest.mark.parametrize("name", others_slow(HARMLESS))
def test_what_only_lingers_changes_no_verdict(judge_text: Judge, name: str) -> None:
    plain, lingering = judge_text.many("exercise_03", [starter(), at_import(HARMLESS[name])])
    assert lingering.outcome is Result.NOT_FIXED, lingering.reason
    assert lingering.defects == plain.defects
    assert [seen.signature() for seen in lingering.checks] == [seen.signature() for seen in plain.checks]


def test_a_forked_daemon_is_gone_once_the_verdict_is_there(judge_text: Judge) -> None:
    daemon = "if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(600)\n        os._exit(0)"
    where_allowed = f"try:\n    {daemon}\nexcept PermissionError: pass"
    verdict = judge_text("exercise_03", at_import(where_allowed))
    assert verdict.outcome is Result.NOT_FIXED


@pytest.mark.slow
def test_limits_of_the_description_hold_on_the_command_line(tmp_path) -> None:
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "exercise_03", tmp_path / part / "exercise_03")
    description = tmp_path / "solutions" / "exercise_03" / "exercise.yaml"
    limits = "\nlimits:\n  seconds: {load: 3, check: 1, total: 15}\n"
    description.write_text(description.read_text(encoding="utf-8") + limits, encoding="utf-8")
    (tmp_path / "looping.py").write_text(in_forward(LOOP), encoding="utf-8")
    done = run_program("exercise_03", "--file", str(tmp_path / "looping.py"), "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    verdict = json.loads(done.stdout)
    assert verdict["score"] == 0
    assert 2 < verdict["seconds"] < 6 + MARGIN
    assert verdict["checks"][0]["status"] == "timed_out"
    assert verdict["checks"][0]["finding"].startswith("it was still running after 1.")
    assert verdict["checks"][-1] == {
        "id": "values_of_many_and_wide",
        "status": "not_run",
        "finding": "it hung 2 times in forward, so it is not run again",
        "advice": "",
        "seconds": 0.0,
    }
    assert running_with(str(tmp_path)) == set()
