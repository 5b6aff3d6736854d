"""The standing of each test of a trap, and its points."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from grader.processes.deadlines import TRAP_SECONDS
from grader.report.trap import render_trap, render_trap_json
from grader.sandbox.traps.messages import Finished
from grader.spec.loading import load_exercise
from grader.submission import submission_from_text
from grader.trap import judge, process_relay, session
from grader.trap.counting import Observation, count_tests
from grader.trap.implementations import Role, implementations_of
from grader.trap.process_relay import ProcessRelay
from grader.trap.relay import Relay
from grader.trap.replies import SubjectWorker
from grader.trap.result import Caught, Standing, TrapResult
from grader.trap.session import Ending, Trap
from tests.support.commands import Done
from tests.support.hostile_traps import hostile_trap
from tests.support.paths import ROOT
from tests.support.traps import Traps, caught, standings, the_test

EXERCISE = "exercise_03"

PAST = """
import torch

def test_the_past_does_not_see_the_future(subject, gaussian):
    attend = subject(input_dim=4, output_dim=6, context_length=8, dropout=0.0)
    x = gaussian(1, 5, 4)
    y = x.clone()
    y[:, 4] = gaussian(1, 4)
    assert torch.allclose(attend(x=x)[:, :4], attend(x=y)[:, :4], atol=1e-5)
"""

TOO_LONG = """
import pytest

@pytest.mark.parametrize("tokens", [3, 9])
def test_a_long_sequence_is_refused(subject, gaussian, tokens):
    attend = subject(4, 6, context_length=tokens - 1, dropout=0.0)
    with pytest.raises(ValueError, match=str(tokens)):
        attend(gaussian(1, tokens, 4))
"""


def test_a_trap_earns_the_points_of_the_defects_that_it_catches(traps: Traps) -> None:
    result = traps(EXERCISE, PAST + TOO_LONG)
    exercise = load_exercise(traps.course.description(EXERCISE))
    implementations = implementations_of(traps.course, exercise, has_every_wrong_fix=False)
    right = sum(each.role is Role.RIGHT for each in implementations)
    assert {test.standing for test in result.tests} == {Standing.COUNTS}
    assert [(test.accepts, test.of) for test in result.tests] == [(right, right)] * 3
    assert caught(result) == [1, 2]
    assert (result.score, result.max_score, result.extra) == (8.0, 8.0, 1.0)
    assert result.catches_all()
    assert (result.subsets.caught, result.subsets.of) == (3, 3)
    assert (result.with_own_test.caught, result.with_own_test.of) == (2, 2)
    page = render_trap(result)
    assert "defect 1  caught by test_the_past_does_not_see_the_future" in page
    assert "mask" not in page  # the defect has no name here


def test_a_test_that_fails_on_the_reference_runs_on_nothing_else_and_the_page_names_the_reference(traps: Traps) -> None:
    text = "def test_zero(subject, gaussian):\n    assert subject(4, 6, 8, 0.0)(gaussian(1, 5, 4)).sum() == 0\n"
    result = traps(EXERCISE, text)
    test = the_test(result)
    assert (test.standing, test.fails_on, test.of) == (Standing.FAILS_REFERENCE, (1,), 1)
    assert "test_zero  does not count: it fails on the reference: line 2: " in render_trap(result)


@pytest.mark.slow
def test_implementations_may_run_one_after_the_other_or_side_by_side(traps: Traps) -> None:
    never_right = (
        "\n\ndef test_nothing(subject, gaussian):\n    assert subject(4, 6, 8, 0.0)(gaussian(1, 5, 4)).sum() == 0\n"
    )
    hangs = "\n\ndef test_hangs(subject):\n    subject(4, 6, 8, 0.0)\n    while True:\n        pass\n"
    found = [traps(EXERCISE, PAST + TOO_LONG + never_right + hangs, lanes=lanes) for lanes in (1, 3)]
    one, other = (structs.replace(each, seconds=0.0) for each in found)
    assert one == other
    assert [each.standing for each in one.tests[-2:]] == [Standing.FAILS_REFERENCE, Standing.TOO_SLOW]


@pytest.mark.slow
def test_waits_that_a_busy_machine_makes_longer_cost_a_trap_no_time(
    traps: Traps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(_started: float) -> float:
        time.sleep(0.2)
        return 0.2

    monkeypatch.setattr(process_relay, "_wait_for_grid", wait)
    result = traps(EXERCISE, PAST)
    assert not result.is_time_up
    assert result.seconds > TRAP_SECONDS  # so the waits would have used up all the time


TWO_STEPS = """
import torch

def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3))

def test_two_steps(subject, gaussian):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        before = model[0].weight.detach().clone()
        subject(model, optimizer, gaussian(8, 4), torch.tensor([0, 1, 2, 0, 1, 2, 0, 0]))
        assert not torch.equal(model[0].weight, before)
    assert all(each.requires_grad for each in model.parameters())
"""

OWN_LAYER = """
import torch

class Net(torch.nn.Module):
    pass

def test_own_layer(subject, gaussian):
    subject(Net(), None, gaussian(4, 4), torch.zeros(4).long())
"""


INNOCENT = """
import numpy as np
import torch
from torch.testing import assert_close

def attend(subject):
    return subject(4, 6, 8, 0.0)

def test_of_luck(subject, gaussian):
    assert attend(subject)(torch.from_numpy(np.random.default_rng().random((1, 5, 4))).float()).isfinite().all()

def test_by_numpy(subject, gaussian):
    x = torch.from_numpy(np.random.randn(1, 5, 4)).float()
    assert_close(attend(subject)(x).shape, torch.Size([1, 5, 6]))

def test_by_a_generator(subject, gaussian):
    x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(3))
    module = attend(subject)
    assert_close(module(x), module(x.clone()))
"""


@pytest.mark.slow
def test_an_unseeded_test_sets_no_other_test_aside(traps: Traps) -> None:
    found = standings(traps(EXERCISE, INNOCENT))
    assert found.pop("test_of_luck") is Standing.OTHER_CAUSE
    assert set(found.values()) == {Standing.COUNTS}


@pytest.mark.slow
def test_a_model_can_take_more_than_one_step(traps: Traps) -> None:
    (test,) = traps("exercise_33", TWO_STEPS).tests
    assert (test.standing, test.reason) == (Standing.COUNTS, "")


def test_a_model_of_another_class_is_refused_with_the_reason(traps: Traps) -> None:
    result = traps("exercise_33", OWN_LAYER)
    assert the_test(result).standing is Standing.FAILS_EARLY
    page = render_trap(result, width=400)
    assert "test_own_layer  does not count: it fails before the subject answers: line 8: NotShippedError" in page
    assert "build the model of torch.nn's own layers, such as nn.Sequential" in page


@pytest.mark.slow
def test_a_defect_that_no_test_catches_earns_nothing(traps: Traps) -> None:
    result = traps(EXERCISE, TOO_LONG)
    assert [each.caught for each in result.defects] == [Caught.NEVER, Caught.ALWAYS]
    assert (result.score, result.extra) == (0.0, 1.0)
    assert not result.catches_all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "standing"),
    [
        ("assert True", Standing.NEVER_CALLS),
        ("assert False", Standing.FAILS_EARLY),
        ("subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))\n    assert False", Standing.FAILS_REFERENCE),
        (
            "x = gaussian(3, 7, 4)\n    m = subject(4, 6, 8, 0.0)\n    assert torch.equal(m(x)[:1, :2], m(x[:1, :2]))",
            Standing.FAILS_RIGHT,
        ),
        ("subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))._no_such_name", Standing.FAILS_REFERENCE),
        ("subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))\n    assert random_bit()", Standing.OTHER_CAUSE),
        ("subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))\n    os._exit(0)", Standing.ENDED),
    ],
)
def test_a_test_that_does_not_count_is_set_aside_and_costs_nothing(traps: Traps, body: str, standing: Standing) -> None:
    head = "import os, torch\ndef random_bit():\n    return os.urandom(1)[0] % 2\n"
    result = traps(EXERCISE, f"{PAST}\n{head}\ndef test_other(subject, gaussian):\n    {body}\n")
    found = standings(result)
    by_chance = {
        Standing.OTHER_CAUSE: {Standing.SOMETIMES, Standing.FAILS_REFERENCE},
        Standing.FAILS_RIGHT: {Standing.FAILS_REFERENCE},
    }
    assert found["test_other"] in {standing, *by_chance.get(standing, ())}
    assert found["test_the_past_does_not_see_the_future"] is Standing.COUNTS
    assert result.score == 8.0 - 1.0  # the subset with the extra defect alone is not caught


@pytest.mark.slow
def test_the_page_names_a_tolerance_that_would_do(traps: Traps) -> None:
    text = """
import torch

def test_formula(subject, gaussian):
    m = subject(4, 6, 8, 0.0)
    x = gaussian(2, 5, 4)
    q, k, v = m.W_query(x), m.W_key(x), m.W_value(x)
    scores = (q @ k.mT / 6**0.5).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    assert torch.equal(m(x), scores.softmax(-1) @ v)
"""
    test = the_test(traps(EXERCISE, text))
    assert test.standing in (Standing.FAILS_RIGHT, Standing.FAILS_REFERENCE, Standing.SOMETIMES)
    assert test.difference is not None
    assert 0 < test.difference < 1e-5
    result = traps(
        EXERCISE,
        text.replace(
            "torch.equal(m(x), scores.softmax(-1) @ v)", "torch.allclose(m(x), scores.softmax(-1) @ v, atol=1e-5)"
        ),
    )
    assert caught(result) == [1]


BY_A_SIGN = """
import os
import torch

def is_wrong(subject, gaussian):
    attend, x = subject(4, 6, 8, 0.0), gaussian(1, 5, 4)
    y = x.clone()
    y[:, 4] += 1
    return not torch.allclose(attend(x)[:, :4], attend(y)[:, :4], atol=1e-5)

def has_sign(subject):
    return repr(subject) == "Sign"

def test_that_stops(subject, gaussian):
    if is_wrong(subject, gaussian){condition}:
        {stop}

def test_by_the_sign(subject, gaussian):
    subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))
    assert not has_sign(subject)

def test_good(subject, gaussian):
    assert not is_wrong(subject, gaussian)
"""


@pytest.mark.parametrize(
    ("stop", "condition", "standing"),
    [
        ("os._exit(0)", "", Standing.COUNTS),
        pytest.param("while True: pass", "", Standing.COUNTS, marks=pytest.mark.slow),
        ("os._exit(0)", " and not has_sign(subject)", Standing.OTHER_CAUSE),
    ],
    ids=["ends its process", "hangs", "ends its process in the replay"],
)
def test_a_test_that_stops_does_not_keep_the_others_from_being_replayed(
    traps: Traps, monkeypatch: pytest.MonkeyPatch, stop: str, condition: str, standing: Standing
) -> None:
    """A sign of the defective implementation that is in no reply stands for the time of a reply."""
    exercise = load_exercise(traps.course.description(EXERCISE))
    reference, *others = implementations_of(traps.course, exercise, has_every_wrong_fix=False)
    (defective,) = (each for each in others if each.defects == {1})
    run_process = ProcessRelay.run
    with_sign = structs.replace(exercise, interface=structs.replace(exercise.interface, class_name="Sign"))

    def run(process: ProcessRelay, *arguments: Any) -> None:
        if isinstance(process._replies, SubjectWorker) and process._replies._subject is defective.source:
            process._exercise = with_sign
        run_process(process, *arguments)

    monkeypatch.setattr(ProcessRelay, "run", run)
    monkeypatch.setattr(judge, "implementations_of", lambda *_, **__: [reference, defective])
    result = traps(EXERCISE, BY_A_SIGN.format(stop=stop, condition=condition))
    assert standings(result) == {
        "test_that_stops": standing,
        "test_by_the_sign": Standing.OTHER_CAUSE,
        "test_good": Standing.COUNTS,
    }
    assert result.defects[0].by == ("test_good",)  # a run that stops has no outcome


def test_a_report_that_json_cannot_store_is_stored_without_its_numbers(traps: Traps) -> None:
    result = traps(EXERCISE, hostile_trap(["a_report_with_nan"]))
    assert msgspec.json.decode(msgspec.json.encode(result), type=TrapResult) == result
    assert result.score == 0.0


LATE = """
import gc

RUNS = []


def test_late(subject, gaussian):
    RUNS.append(1)
    subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))
    requests = [each for each in gc.get_objects() if type(each).__name__ == "RunTests"]
    assert not any(hasattr(each, "runs") or hasattr(each, "seeds") for each in requests)
    assert len(RUNS) < 3
"""


@pytest.mark.slow
def test_what_a_test_learns_at_later_seeds_catches_nothing(traps: Traps) -> None:
    """It fails at the third run, which a wrong fix of a decoy and a combination of defects do not have."""
    result = traps(EXERCISE, LATE)
    assert the_test(result).standing is Standing.SOMETIMES
    assert (result.score, result.extra) == (0.0, 0.0)


SLOW_SUBJECT = """
import torch


def test_slow(subject, gaussian):
    attend, x = subject(1, 1, 2000, 0.0), gaussian(1, 2000, 1)
    with torch.no_grad():
        for _ in range(1000):
            attend(x)
"""


@pytest.mark.slow
def test_a_trap_that_keeps_the_subject_busy_ends_with_its_time(traps: Traps) -> None:
    started = time.monotonic()
    result = traps(EXERCISE, SLOW_SUBJECT)
    assert result.is_time_up or the_test(result).standing is Standing.TOO_SLOW
    assert result.score == 0.0
    assert time.monotonic() - started < 10 * TRAP_SECONDS


def test_a_run_without_a_replay_has_another_cause_unless_the_time_is_up(traps: Traps) -> None:
    exercise = load_exercise(traps.course.description(EXERCISE))
    reference = implementations_of(traps.course, exercise, has_every_wrong_fix=False)[0]
    report = Finished(passed=True)
    outcome = session.TestOutcome(test=0, seed=1, ending=Ending.PASSED, transcript="a", calls=1, report=report)
    observations = [Observation(implementation=reference, outcomes=[outcome], replayed=[])]
    found = [count_tests(["test_a"], observations, is_time_up=is_time_up)[0].standing for is_time_up in (False, True)]
    assert found == [Standing.OTHER_CAUSE, Standing.NOT_RUN]


@pytest.mark.parametrize(
    ("replayed", "standing"), [(Ending.FAILED, Standing.SOMETIMES), (Ending.PASSED, Standing.OTHER_CAUSE)]
)
def test_a_test_that_fails_at_some_seeds_has_another_cause_if_it_differs_after_the_same_replies(
    traps: Traps, replayed: Ending, standing: Standing
) -> None:
    def outcome(seed: int, ending: Ending) -> session.TestOutcome:
        report = Finished(passed=ending is Ending.PASSED)
        return session.TestOutcome(test=0, seed=seed, ending=ending, transcript=f"{seed}", calls=1, report=report)

    reference = implementations_of(
        traps.course, load_exercise(traps.course.description(EXERCISE)), has_every_wrong_fix=False
    )[0]
    first = outcome(1, Ending.PASSED)
    observation = Observation(
        implementation=reference,
        outcomes=[first, outcome(2, Ending.FAILED)],
        replayed=[first, outcome(2, replayed)],
    )
    assert count_tests(["test_a"], [observation], is_time_up=False)[0].standing is standing


@pytest.mark.slow
def test_a_test_that_needs_too_much_memory_is_set_aside_for_its_sizes(traps: Traps) -> None:
    text = "import torch\ndef test_large(subject, gaussian):\n    subject(4, 6, 8, 0.0)\n    torch.zeros(1 << 40)\n"
    test = the_test(traps(EXERCISE, text))
    assert (test.standing, test.line) == (Standing.TOO_LARGE, 4)


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("", "there is no test in it", 0),
        ("def test_a(:\n", "SyntaxError", 1),
        ("x = 1\nimport no_such_library\n", "ModuleNotFoundError", 2),
        ("raise SystemExit\n", "SystemExit", 1),
        ("import os\nos._exit(3)\n", "exit code 3", 0),
    ],
)
def test_a_trap_without_tests_gets_a_reason_with_its_place(traps: Traps, text: str, problem: str, line: int) -> None:
    result = traps(EXERCISE, text)
    assert problem in result.problem
    assert result.line == line
    assert result.score == 0.0
    assert not result.catches_all()


@pytest.mark.slow
def test_the_json_has_the_promised_fields(traps: Traps) -> None:
    data = json.loads(render_trap_json(traps(EXERCISE, PAST)))
    assert {"exercise", "score", "max_score", "extra", "tests", "defects", "subsets", "half_mended", "seed"} <= {*data}
    assert data["tests"][0] == {
        "name": "test_the_past_does_not_see_the_future",
        "counts": True,
        "standing": "counts",
        "reason": None,
    }
    assert data["defects"][0]["caught"] == "always"


@pytest.mark.slow
def test_the_command_judges_a_file(tmp_path: Path, run_cli: Callable[..., Done]) -> None:
    file = tmp_path / "trap.py"
    file.write_text(PAST + TOO_LONG, encoding="utf-8")
    done = run_cli("trap", EXERCISE, "--file", str(file), "--seed", "3", cwd=ROOT)
    assert done.returncode == 0
    assert "Trap: 8 of 8 points and 1 extra" in done.stdout


SLOW = """
import time


def test_it_takes_its_time(subject, gaussian):
    subject(4, 6, 8, 0.0)(gaussian(1, 5, 4))
    time.sleep(1.5)
"""


@pytest.mark.slow
def test_a_run_that_is_cut_because_all_time_is_used_has_no_outcome(traps):
    exercise = load_exercise(traps.course.description("exercise_03"))
    source = submission_from_text(traps.course.reference_text("exercise_03"))
    relay = Relay(traps.source, exercise, Trap(name="trap.py", text=SLOW), seconds=2.5)
    sessions = [relay.run(source, seeds=[1]) for _ in range(2)]
    assert [len(each.outcomes) for each in sessions] == [1, 0]
    assert [each.is_time_up for each in sessions] == [False, True]


CHANGES = """
import pytest
import torch

KEPT = []

def inference_mode():
    KEPT.append(torch.inference_mode())
    KEPT[-1].__enter__()

def settings():
    first = torch.get_default_dtype(), torch.empty(0).device.type, torch.is_grad_enabled()
    modes = torch.is_inference_mode_enabled(), torch.is_anomaly_enabled(), torch.are_deterministic_algorithms_enabled()
    return *first, *modes, torch.is_autocast_enabled("cpu")

@pytest.mark.parametrize("change", [
    lambda: torch.set_default_dtype(torch.float64),
    lambda: torch.set_default_device("meta"),
    lambda: torch.set_grad_enabled(False),
    inference_mode,
    lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
    lambda: torch.use_deterministic_algorithms(True),
    lambda: torch.set_autocast_enabled("cpu", True),
    lambda: torch.manual_seed(5),
    lambda: torch.rand(2),
])
def test_change(subject, gaussian, change):
    subject(4, 6, 8, 0.0)(gaussian(1, 3, 4))
    assert settings() == (torch.float32, "cpu", True, False, False, False, False)
    change()
"""


def test_a_setting_that_a_test_changes_is_named_and_restored_for_the_next_test(traps: Traps) -> None:
    exercise = load_exercise(traps.course.description(EXERCISE))
    source = submission_from_text(traps.course.reference(EXERCISE).read_text(encoding="utf-8"))
    session = Relay(traps.source, exercise, Trap(name="trap.py", text=CHANGES)).run(source, seeds=[1])
    assert [each.report.reason for each in session.outcomes] == [""] * 9
    assert [each.report.changed for each in session.outcomes] == [
        "torch's default dtype",
        "torch's default device",
        "torch's grad mode",
        "torch's inference mode",
        "torch's anomaly mode",
        "torch's deterministic mode",
        "torch's autocast on the CPU",
        "",  # a test may set the seed
        "",  # and draw random numbers
    ]
