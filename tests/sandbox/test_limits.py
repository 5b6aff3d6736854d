"""A message about an exceeded limit names the limit, the amount used and the amount allowed."""

import msgspec
import pytest
from msgspec import structs

from grader.checks.findings import crash_finding
from grader.checks.outcome import Status
from grader.report.findings import sentence
from grader.sandbox.protocol import Raised
from grader.spec.exercise import Limits, Seconds
from grader.submission import MAX_SOURCE_BYTES
from grader.verdict.verdict import Result
from tests.support.hostile import at_import, in_forward, reference
from tests.support.judging import AMPLE

SMALL = Limits(seconds=AMPLE.seconds, memory_mb=512)
TIGHT = Limits(seconds=Seconds(load=1.5, check=0.5, total=20.0))
LOOP = "while True: pass"


def seen(verdict, status):
    """The messages of the checks that ended so, each once."""
    return {sentence(outcome.finding) for outcome in verdict.checks if outcome.status is status}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("torch.ones(2**33)", "it asked for 32.0 GB at once, and 512.0 MB are allowed in all"),
        ("torch.ones(10**15, dtype=torch.int8)", "it asked for 909.5 TB at once, and 512.0 MB are allowed in all"),
        ("torch.randn(30_000, 30_000)", "it asked for 3.4 GB at once, and 512.0 MB are allowed in all"),
        (
            "import numpy; numpy.ones((2**31,), dtype='f4')",
            "it asked for 8.00 GiB at once, and 512.0 MB are allowed in all",
        ),
        ("bytearray(2**32)", "512.0 MB are allowed in all"),
        pytest.param(
            "hoard = [bytearray(10_000_000) for _ in range(1000)]",
            "512.0 MB are allowed in all",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_out_of_memory_says_how_much_was_asked_for_how_much_there_is_and_in_which_line(judge_text, line, text):
    verdict = judge_text("exercise_03", in_forward(line, reference()), limits=SMALL)
    crashes = [outcome.finding for outcome in verdict.checks if outcome.status is Status.CRASHED]
    assert len(crashes) > sum(outcome.status is not Status.NOT_RUN for outcome in verdict.checks) / 2
    assert {sentence(each) for each in crashes} == {f"it ran out of the memory it may use: {text}"}
    assert {each.location.text.strip() for each in crashes} == {line}


def test_out_of_memory_while_loading_says_the_same(judge_text):
    verdict = judge_text("exercise_03", at_import("table = torch.zeros(2**33)", reference()), limits=SMALL)
    assert verdict.outcome is Result.NOT_GRADABLE
    assert verdict.reason == (
        "it raises while it is loading: it ran out of the memory it may use: it asked for 32.0 GB at once, and "
        "512.0 MB are allowed in all; fix that line (attention.py, line 3)"
    )


@pytest.mark.slow
def test_a_slow_check_is_reported_with_both_times_and_its_line_and_not_tried_a_third_time(judge_text):
    verdict = judge_text("exercise_03", in_forward(LOOP, reference()), limits=TIGHT)
    texts = seen(verdict, Status.TIMED_OUT)
    assert any(text.startswith("it was still running after 0.5 s (a check may take 0.5 s)") for text in texts), texts
    lines = {outcome.finding.location.text.strip() for outcome in verdict.checks if outcome.status is Status.TIMED_OUT}
    assert lines == {LOOP}
    assert seen(verdict, Status.NOT_RUN) == {"it hung 2 times in forward, so it is not run again"}


def test_a_submission_that_is_slow_at_each_call_is_reported_with_the_total_limit(judge_text):
    limits = Limits(seconds=Seconds(total=1.0))
    verdict = judge_text("exercise_03", in_forward("time.sleep(0.1)", reference()), limits=limits)
    assert seen(verdict, Status.NOT_RUN) == {"the 1 s for all checks were used up before this check"}


def test_slow_loading_is_reported_with_both_times(judge_text):
    verdict = judge_text("exercise_03", at_import(LOOP), limits=TIGHT)
    assert verdict.reason == (
        "it was still running after 1.5 s (loading may take 1.5 s) while it was loading; keep the file to imports and "
        "definitions (attention.py, line 3)"
    )


def test_endless_output_is_reported_with_the_limit_and_the_line(judge_text):
    limits = Limits(output_bytes=12_345)
    verdict = judge_text("exercise_03", in_forward("print('x' * 100_000, flush=True)", reference()), limits=limits)
    assert seen(verdict, Status.CRASHED) == {"it printed more than 12,345 bytes, the limit"}
    first = next(outcome.finding for outcome in verdict.checks if outcome.finding)
    assert first.location.text.strip() == "print('x' * 100_000, flush=True)"


def test_output_within_the_limit_in_each_call_costs_a_right_fix_nothing(judge_text):
    limits = structs.replace(AMPLE, output_bytes=100_000)
    verdict = judge_text("exercise_03", in_forward("print('x' * 2_000)", reference()), limits=limits)
    assert (verdict.outcome, verdict.score) == (Result.FIXED, 10)


def test_source_over_the_limit_is_not_graded_and_the_reason_names_both_sizes(own_course, run_cli):
    module = own_course.editable_files("exercise_03")[0]
    module.write_text(f"{module.read_text(encoding='utf-8')}#{'é' * (MAX_SOURCE_BYTES // 2)}\n", encoding="utf-8")
    done = run_cli("exercise_03", cwd=own_course.root)
    size = module.stat().st_size
    expected = f"attention.py has {size:,} bytes of source, and at most {MAX_SOURCE_BYTES:,} are graded"
    assert expected in " ".join(done.stdout.split())


@pytest.mark.parametrize("text", ["you tried to allocate " + "9" * 5000 + " bytes", "tried to allocate 1e9 bytes", ""])
def test_a_message_that_only_resembles_torchs_is_not_parsed_wrongly(text):
    raised = Raised(type="MemoryError", bases=[], text=text)
    assert sentence(crash_finding(raised, SMALL)) == (
        "it ran out of the memory it may use: 512.0 MB are allowed in all"
    )


def test_another_exception_is_reported_with_its_own_message():
    raised = msgspec.structs.replace(Raised(type="ValueError", bases=[], text="too little memory"))
    assert sentence(crash_finding(raised, SMALL)) == "ValueError: too little memory"


def test_what_torch_takes_to_move_to_another_device_is_not_charged(judge_text):
    slow = in_forward("if x.device.type == 'meta': time.sleep(1.2)", reference())
    assert judge_text("exercise_03", slow).outcome is Result.FIXED
