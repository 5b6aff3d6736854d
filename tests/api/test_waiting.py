"""What a caller waits for: timeouts, cancelled tasks, verdicts as they come, errors of one exercise or source."""

import asyncio
import ctypes
import os
import threading
import time
from pathlib import Path

import jsonschema
import pytest

import grader
from grader import Result, Verdict, agrade, grade, grade_many, to_dict, verdict_schema
from grader import api as interface
from grader.errors import UsageError
from tests.support.api import end_examiners_and_threads
from tests.support.paths import ROOT
from tests.support.watching import examiners_of

REFERENCE = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
STARTER = (ROOT / "exercises/exercise_03/.starter/attention.py").read_text(encoding="utf-8")
UNPARSABLE = "class CausalSelfAttention(:\n"
ENDLESS = "while True: pass\n"


@pytest.fixture(autouse=True, scope="module")
def _examiners_and_threads_end_with_this_module():
    yield
    end_examiners_and_threads()


@pytest.mark.slow
def test_a_timeout_is_a_verdict_without_a_score_and_the_next_submission_is_judged():
    grade("exercise_03", UNPARSABLE)
    started = time.monotonic()
    verdict = grade("exercise_03", ENDLESS, timeout=0.5)
    assert time.monotonic() - started < 2
    assert (verdict.outcome, verdict.score, verdict.exit_code()) == (Result.NOT_JUDGED, None, 3)
    assert verdict.reason == "not judged: there was no verdict after 0.5 s; allow more time"
    assert grade("exercise_03", UNPARSABLE, timeout=60).outcome is Result.NOT_GRADABLE


@pytest.mark.parametrize("timeout", [0, -1, "1", float("nan"), float("inf")])
def test_an_invalid_timeout_is_an_error(timeout):
    with pytest.raises(UsageError, match=r"timeout is .*; use a finite number of seconds above 0"):
        grade("exercise_03", REFERENCE, timeout=timeout)


def test_a_cancelled_task_ends_at_once_and_leaves_no_process_and_no_slot():
    async def cancel() -> tuple[float, set[int]]:
        task = asyncio.create_task(agrade("exercise_03", ENDLESS))
        await asyncio.sleep(1.5)
        examiners = set(examiners_of(os.getpid()))
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started, examiners

    interface._pool.close()
    seconds, examiners = asyncio.run(cancel())
    assert seconds < 1  # 0.05 on an idle machine
    assert len(examiners) == 1
    assert not [each for each in examiners if Path(f"/proc/{each}").exists()]
    for _ in range(interface.CORES):
        assert interface._slots.acquire(blocking=False)
    for _ in range(interface.CORES):
        interface._slots.release()


def test_more_tasks_than_cores_are_all_judged_and_one_that_waits_can_be_cancelled():
    async def run() -> list[Result]:
        tasks = [asyncio.create_task(agrade("exercise_03", UNPARSABLE)) for _ in range(3 * interface.CORES)]
        waiting = asyncio.create_task(agrade("exercise_03", ENDLESS))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return [verdict.outcome for verdict in await asyncio.gather(*tasks)]

    assert asyncio.run(run()) == [Result.NOT_GRADABLE] * 3 * interface.CORES


def test_an_event_loop_that_closes_without_waiting_leaves_the_kit_usable():
    loop = asyncio.new_event_loop()
    task = loop.create_task(agrade("exercise_03", REFERENCE))
    loop.call_later(0.1, loop.stop)
    loop.run_forever()
    loop.close()
    assert not task.done()
    del task
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED


def test_an_exception_thrown_into_a_thread_that_grades_leaves_the_kit_usable():
    raised: list[type[BaseException]] = []

    def judge() -> None:
        try:
            grade("exercise_03", ENDLESS, timeout=2)
        except KeyboardInterrupt:
            raised.append(KeyboardInterrupt)

    thread = threading.Thread(target=judge)
    thread.start()
    time.sleep(0.5)
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
    )
    thread.join(20)
    assert not thread.is_alive()
    assert raised == [KeyboardInterrupt]
    assert grade("exercise_03", REFERENCE).outcome is Result.FIXED


@pytest.mark.slow
def test_without_order_a_submission_that_hangs_delays_no_other_one_and_tags_name_them():
    for _ in grade_many([("exercise_03", REFERENCE)] * 2, jobs=2):
        pass
    submissions = [("exercise_03", ENDLESS, "endless"), *(("exercise_03", STARTER, index) for index in range(6))]
    verdicts = grade_many(submissions, jobs=2, ordered=False)
    found = dict(verdicts)
    assert next(iter(found)) != "endless"
    assert set(found) == {"endless", *range(6)}
    assert found["endless"].outcome is Result.NOT_GRADABLE
    assert all(found[index].outcome is Result.NOT_FIXED for index in range(6))


def test_the_timeout_of_a_task_counts_from_its_call():
    async def all_at_once():
        calls = [agrade("exercise_03", ENDLESS, timeout=1.0) for _ in range(8 * interface.CORES)]
        return await asyncio.gather(*calls)

    grade("exercise_03", UNPARSABLE)
    started = time.monotonic()
    verdicts = asyncio.run(all_at_once())
    assert time.monotonic() - started < 4
    assert {verdict.outcome for verdict in verdicts} == {Result.NOT_JUDGED}


@pytest.mark.parametrize("ordered", [True, False])
def test_an_invalid_item_is_an_error_after_the_verdicts_on_those_before_it(ordered):
    tags = []
    verdicts = grade_many([("exercise_03", UNPARSABLE, 0), ("exercise_03",)], jobs=2, ordered=ordered)
    with pytest.raises(TypeError, match=r"a submission is \(exercise, source\)"):
        tags.extend(tag for tag, _ in verdicts)
    assert tags == [0]


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_verdicts_on_submissions_already_read_come_before_the_exception_of_the_iterable(ordered):
    def failing():
        yield "exercise_03", UNPARSABLE, 0
        yield "exercise_03", REFERENCE, 1
        raise LookupError("no more")

    tags = []
    verdicts = grade_many(failing(), jobs=2, ordered=ordered)
    with pytest.raises(LookupError, match="no more"):
        tags.extend(tag for tag, _ in verdicts)
    assert sorted(tags) == [0, 1]


def test_errors_of_one_exercise_or_source_are_verdicts_on_request(tmp_path):
    submissions = [
        ("exercise_99", REFERENCE),
        ("exercise_03", tmp_path / "missing.py"),
        ("exercise_03", 3),
        (None, REFERENCE),
        ("exercise_03", UNPARSABLE),
    ]
    verdicts = list(grade_many(submissions, errors="return", jobs=1))
    assert [each.outcome for each in verdicts] == [Result.NOT_JUDGED] * 4 + [Result.NOT_GRADABLE]
    assert [each.score for each in verdicts] == [None] * 4 + [0.0]
    assert "there is no exercise_99" in verdicts[0].reason
    assert "there is no file" in verdicts[1].reason
    assert "a submission is text or a pathlib.Path, not int" in verdicts[2].reason
    for verdict in verdicts:
        jsonschema.validate(to_dict(verdict), verdict_schema())


def test_what_the_caller_does_wrong_is_an_error_with_a_remedy():
    with pytest.raises(UsageError, match='errors is \'ignore\'; use "raise" or "return"'):
        grade_many([], errors="ignore")
    with pytest.raises(UsageError, match="jobs is 'two'; use a whole number from 1"):
        grade_many([], jobs="two")
    with pytest.raises(TypeError, match=r"a submission is \(exercise, source\) or \(exercise, source, tag\), not 'e'"):
        list(grade_many("exercise_03"))
    with pytest.raises(UsageError, match="course is 3; name the folder that contains exercises/"):
        grade("exercise_03", REFERENCE, course=3)


@pytest.mark.parametrize("source", [REFERENCE, STARTER, UNPARSABLE], ids=["reference", "starter", "unparsable"])
def test_a_verdict_as_data_fits_its_schema_and_numbers_defects_as_students_know_them(source):
    data = to_dict(grade("exercise_03", source, seed=5))
    jsonschema.validate(data, verdict_schema())
    assert [(defect["id"], defect["number"]) for defect in data["defects"]] == [
        ("mask-discarded", 1),
        ("long-sequence-unmasked", 2),
    ]
    assert set(verdict_schema()["$defs"]["Result"]["enum"]) == set(Result)


def test_every_field_of_the_schema_is_described():
    schema = verdict_schema()
    for part in (schema, schema["$defs"]["DefectData"], schema["$defs"]["CheckData"]):
        assert [key for key, field in part["properties"].items() if not field.get("description")] == []
        assert set(part["required"]) == set(part["properties"])


def test_a_wrong_document_does_not_fit_the_schema():
    data = to_dict(grade("exercise_03", UNPARSABLE))
    for wrong in ({"outcome": "passed"}, {"score": "0"}, {"defects": [{}]}, {"format_version": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | wrong, verdict_schema())


def test_all_that_a_verdict_contains_is_public_and_documented():
    for name in ("Verdict", "DefectVerdict", "Outcome", "Finding", "Reason", "Hunt", "Result", "Status", "Scheme"):
        assert name in grader.__all__
        assert getattr(grader, name).__doc__
    assert isinstance(grade("exercise_03", UNPARSABLE), Verdict)
    assert Path(grader.__file__).is_file()
