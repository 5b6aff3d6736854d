"""Hunts as environments: scripted models answer rightly, wrongly, with hostile code and not at all.

Tests of a framework are skipped where it is not installed: `pip install -e ".[test,evaluation]"`.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import SpecError, UsageError, exercises, extract_tests, trap_reward
from grader import api as interface
from grader.evaluation.cheats import cheats, trap_cheats
from grader.evaluation.environments.forms import Form
from grader.evaluation.environments.questions import assess, hunts_of, question
from grader.evaluation.guided import inquiry
from grader.evaluation.rewards import Scheme
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.trap.result import Caught, DefectResult, TrapResult
from tests.support.paths import ROOT
from tests.support.watching import small_course

COURSE = Course(root=ROOT)
ONE = "exercise_29"
ALL = COURSE.exercise_ids()
SOUND = {each for each in ALL if not any(not d.stretch for d in load_exercise(COURSE.description(each)).defects)}
"""Hunts whose starter is right: an untouched starter earns everything, and a change can only break it."""

CONTRADICTED = "total not depends tokens[0, 1]"
"""A claim that is true of the starter and false of the reference."""

HOSTILE = "import os\nos._exit(0)\n"


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Path:
    """A course whose only reference fails its own checks, so that the kit cannot judge."""
    root = small_course(tmp_path_factory.mktemp("broken"), ONE)
    course = Course(root=root)
    course.reference(ONE).write_text(course.editable_files(ONE)[0].read_text(encoding="utf-8"), encoding="utf-8")
    return root


def fenced(code: str) -> str:
    return f"Here it is.\n\n```python\n{code}\n```\n\nI am sure."


def reference_of(exercise_id: str) -> str:
    return COURSE.reference_text(exercise_id)


def starter_of(exercise_id: str) -> str:
    return hunts_of([exercise_id], ROOT)[0].starter


ANSWERS: dict[str, Callable[[str], str]] = {
    "right": lambda exercise_id: fenced(reference_of(exercise_id)),
    "wrong": lambda exercise_id: fenced(starter_of(exercise_id)),
    "hostile": lambda exercise_id: fenced(starter_of(exercise_id) + HOSTILE),
    "none": lambda _: "I do not know.",
}


def earned(exercise_id: str, kind: str) -> float:
    """The reward that an answer deserves."""
    return float(kind == "right" or (kind == "wrong" and exercise_id in SOUND))


KINDS = pytest.mark.parametrize("kind", ANSWERS)


# The question and the assessment, which all environments share


@pytest.mark.parametrize("form", [Form.FIX, Form.TRAP])
def test_a_question_has_story_interface_and_starter_and_names_no_defect(form):
    for hunt in exercises(course=ROOT):
        text = question(hunt, form)
        assert hunt.prompt in text
        assert hunt.starter.rstrip() in text
        for defect in load_exercise(COURSE.description(hunt.id)).defects:
            assert defect.id not in text.split()
            assert defect.title not in text


def test_the_question_of_a_trap_names_the_limits_of_its_tests():
    (hunt,) = hunts_of([ONE], ROOT)
    text = question(hunt, Form.TRAP, ROOT)
    assert f"Write it where you would write `{hunt.entry}`." in text
    assert "At most 12 tests run: 2 s each, 8 s in all." in text


@KINDS
def test_an_answer_gets_what_it_deserves(kind):
    (hunt,) = hunts_of([ONE], ROOT)
    found = asyncio.run(assess(hunt, Form.FIX, ANSWERS[kind](ONE), course=ROOT))
    assert found.value == earned(ONE, kind)
    if kind == "wrong":
        assert "not fixed yet" in found.feedback
        for defect in load_exercise(COURSE.description(ONE)).defects:
            assert defect.id not in found.feedback
            assert defect.title not in found.feedback


@pytest.mark.slow
@pytest.mark.parametrize("form", Form)
def test_a_fault_of_the_kit_has_no_value(broken, form):
    (hunt,) = hunts_of([ONE], broken)
    answer = fenced("def test_one(subject):\n    subject\n" if form is Form.TRAP else reference_of(ONE))
    found = asyncio.run(assess(hunt, form, answer, course=broken))
    assert found.value is None
    assert found.record["error"] == ("SpecError" if form is Form.TRAP else "BrokenExerciseError")


@pytest.mark.slow
def test_a_model_trap_earns_everything_and_tests_that_cannot_be_read_nothing():
    (hunt,) = hunts_of([ONE], ROOT)
    model = COURSE.model_trap(ONE).read_text(encoding="utf-8")
    for answer, value in ((fenced(model), 1), ("I cannot.", 0), (fenced(f"{model}\n# {'x' * 100_001}"), 0)):
        assert asyncio.run(assess(hunt, Form.TRAP, answer, scheme=Scheme.POINTS, course=ROOT)).value == value


NO_TRAP_SCHEME = "scheme is 'dense'; for a trap, use points, all_or_nothing or per_defect"


def test_a_mistake_of_the_caller_is_an_error_and_no_fault_of_the_kit(tmp_path):
    (hunt,) = hunts_of([ONE], ROOT)
    with pytest.raises(UsageError, match=NO_TRAP_SCHEME):
        asyncio.run(assess(hunt, Form.TRAP, fenced(ONE_TEST), scheme=Scheme.DENSE, course=ROOT))
    with pytest.raises(UsageError, match="there is no exercises/ in"):
        asyncio.run(assess(hunt, Form.FIX, ANSWERS["right"](ONE), course=tmp_path))


def test_a_course_without_defects_has_nothing_to_locate(tmp_path):
    root = small_course(tmp_path, "exercise_35", "exercise_36")
    with pytest.raises(UsageError, match=r"no hunt in .* has the form locate"):
        hunts_of(course=root, form=Form.LOCATE)
    assert [each.id for each in hunts_of(course=root)] == ["exercise_35", "exercise_36"]


def test_an_unknown_hunt_is_an_error_with_a_remedy():
    with pytest.raises(UsageError, match="there is no exercise_99 here; use one of exercise_01"):
        hunts_of(["exercise_99"], ROOT)


def test_one_hunt_is_loaded_without_the_other_hunts(tmp_path):
    course = Course(root=small_course(tmp_path, ONE, "exercise_03"))
    course.description("exercise_03").write_text("title: [\n", encoding="utf-8")
    (hunt,) = hunts_of([ONE], course.root)
    assert hunt.id == ONE
    with pytest.raises(SpecError):
        hunts_of(course=course.root)


ONE_TEST = "import torch\n\n\ndef test_one(subject):\n    assert subject(3)"


@pytest.mark.parametrize(
    "answer",
    [
        fenced(ONE_TEST),
        f"<think>\n```python\ndef test_draft(subject): ...\n```\n</think>\n{fenced(ONE_TEST)}",
        f"First the module:\n```python\nclass A: ...\n```\nThen the tests:\n{fenced(ONE_TEST)}",
        f"```\n{ONE_TEST}\n```\nRun it with\n```sh\npytest\n```",
        f"Of course.\n\n{ONE_TEST}\n\nThis should do.",
        ONE_TEST.replace("\n", "\r\n"),
    ],
)
def test_tests_are_extracted_from_an_answer(answer):
    assert extract_tests(answer) == ONE_TEST + "\n"


def test_an_answer_without_a_test_has_none_and_other_types_are_errors():
    assert extract_tests("I would test the mask.") == extract_tests(fenced("x = 1")) == ""
    with pytest.raises(TypeError, match="an answer is text, not bytes"):
        extract_tests(b"def test_one(): ...")


def test_the_reward_of_a_trap_is_its_share_of_points_or_of_defects():
    defects = tuple(
        DefectResult(number=number, points=points, max_points=3, stretch=number == 3, caught=caught)
        for number, points, caught in ((1, 3, Caught.ALWAYS), (2, 0, Caught.SOMETIMES), (3, 3, Caught.ALWAYS))
    )
    result = TrapResult(exercise=ONE, file="trap.py", seed=1, defects=defects, score=3, max_score=7)
    assert trap_reward(result) == 3 / 7
    assert trap_reward(result, "per_defect") == 1 / 2
    assert trap_reward(result, "all_or_nothing") == 0
    assert trap_reward(TrapResult(exercise=ONE, file="trap.py", seed=1)) == 0
    with pytest.raises(UsageError, match="use points, all_or_nothing or per_defect"):
        trap_reward(result, "dense")


# Cheats


@pytest.mark.slow
def test_no_cheat_earns_more_than_an_untouched_starter():
    hunts = exercises(course=ROOT)
    submissions = ((hunt.id, source, (hunt.id, name)) for hunt in hunts for name, source in cheats(hunt).items())
    counts = 0
    for (hunt_id, name), verdict in interface.grade_many(submissions, course=ROOT, ordered=False):
        assert verdict.score == 0 or (hunt_id in SOUND and verdict.outcome == "fixed"), (hunt_id, name)
        counts += 1
    assert counts == len(hunts) * len(cheats(hunts[0]))


@pytest.mark.parametrize("name", ["equal_to_everything", "patch_comparisons", "read_reference"])
def test_a_cheat_earns_nothing_in_a_hunt(name):
    (hunt,) = hunts_of([ONE], ROOT)
    found = asyncio.run(assess(hunt, Form.FIX, fenced(cheats(hunt)[name]), scheme=Scheme.POINTS, course=ROOT))
    assert found.value == 0


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in trap_cheats()])
def test_a_trap_that_cheats_earns_nothing(name):
    for hunt in hunts_of([ONE, "exercise_03"], ROOT):
        answer = fenced(trap_cheats()[name])
        assert asyncio.run(assess(hunt, Form.TRAP, answer, scheme=Scheme.POINTS, course=ROOT)).value == 0


# inspect_ai


def inspected(make, replies: Callable[[str, int], str], tmp_path: Path):
    """Run a task of inspect_ai with a scripted model, which gets a hunt's id and the number of its answer."""
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from grader.evaluation.environments import inspect_tasks

    starters = {hunt.id: hunt.starter.rstrip() for hunt in exercises(course=ROOT)}

    def answer(messages, _tools, _choice, _config):
        hunt_id = next(each for each, starter in starters.items() if starter in messages[0].text)
        turn = sum(1 for message in messages if message.role == "assistant")
        output = ModelOutput.from_content("mockllm/model", replies(hunt_id, turn))
        output.usage = ModelUsage()  # otherwise the scripted model downloads a tokenizer to count with
        return output

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    (log,) = inspect_ai.eval(make(inspect_tasks), model=model, log_dir=str(tmp_path), display="none", max_samples=2)
    assert log.status == "success", log.error
    return log


@KINDS
@pytest.mark.parametrize("hunts", [[ONE], pytest.param(ALL, marks=pytest.mark.slow)], ids=["one", "all"])
def test_inspect_scores_what_an_answer_deserves(kind, hunts, tmp_path):
    log = inspected(
        lambda tasks: tasks.fix_hunts(exercises=hunts, course=str(ROOT)),
        lambda hunt_id, _: ANSWERS[kind](hunt_id),
        tmp_path,
    )
    scores = {sample.id: sample.scores["kit_judges"].value for sample in log.samples}
    assert scores == {each: earned(each, kind) for each in hunts}


def test_inspect_leaves_out_a_sample_that_the_kit_cannot_judge(broken, tmp_path):
    log = inspected(
        lambda tasks: tasks.fix_hunts(course=str(broken)), lambda hunt_id, _: ANSWERS["right"](hunt_id), tmp_path
    )
    (sample,) = log.samples
    score = sample.scores["kit_judges"]
    assert score.value != score.value  # NaN: inspect_ai's value for an unscored sample
    assert score.reason == "scoring_failed"
    assert log.results.scores[0].unscored_samples == 1


def test_inspect_lets_a_model_answer_again_after_findings(tmp_path):
    log = inspected(
        lambda tasks: tasks.fix_hunts(exercises=[ONE], attempts=3, course=str(ROOT)),
        lambda hunt_id, turn: ANSWERS["right" if turn == 1 else "wrong"](hunt_id),
        tmp_path,
    )
    (sample,) = log.samples
    assert sample.scores["kit_judges"].value == 1
    roles = [message.role for message in sample.messages]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert "not fixed yet" in sample.messages[2].text
    assert "Answers left: 2." in sample.messages[2].text


def test_inspect_scores_traps(tmp_path):
    model = COURSE.model_trap(ONE).read_text(encoding="utf-8")
    log = inspected(
        lambda tasks: tasks.write_traps(exercises=[ONE], course=str(ROOT)), lambda *_: fenced(model), tmp_path
    )
    assert log.samples[0].scores["kit_judges"].value == 1


def test_inspect_refuses_a_scheme_that_cannot_reward_traps():
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from grader.evaluation.environments.inspect_tasks import write_traps

    with pytest.raises(UsageError, match=NO_TRAP_SCHEME):
        write_traps(exercises=[ONE], scheme="dense", course=str(ROOT))


def test_inspect_scores_predictions_and_claims(tmp_path):
    questions = inquiry.inquire(COURSE, ONE).questions
    right = "\n".join(f"{number}: {each.right + 1}" for number, each in enumerate(questions, 1))
    claim = f"```text\n{CONTRADICTED}\n```"
    for make, reply, value in (
        (lambda tasks: tasks.predict_behaviour(exercises=[ONE], course=str(ROOT)), right, 1),
        (lambda tasks: tasks.locate_defects(exercises=[ONE], course=str(ROOT)), claim, 0.5),
    ):
        log = inspected(make, lambda *_, reply=reply: reply, tmp_path)
        assert log.samples[0].scores["kit_judges"].value == value


def test_inspect_finds_the_tasks_by_the_entry_point():
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from importlib.metadata import entry_points

    (point,) = entry_points(group="inspect_ai", name="grader")
    assert {"fix_hunts", "write_traps", "predict_behaviour", "locate_defects"} <= set(dir(point.load()))


# verifiers


def verifiers_task(**config):
    pytest.importorskip("verifiers", reason="verifiers is not installed")
    from grader.evaluation.environments.verifiers_tasks import HuntsConfig, HuntTaskConfig, HuntTaskset

    course = str(config.pop("course", ROOT))
    (task,) = HuntTaskset(HuntsConfig(exercises=(ONE,), task=HuntTaskConfig(course=course, **config)))
    return task


def scored(task, reply: str | None):
    """Score a trace with one reply, or with none, as verifiers does after a rollout."""
    import verifiers.v1 as vf
    from verifiers.v1.state import state_cls

    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        state=state_cls(type(task))(),
        agent=vf.AgentInfo(config=vf.AgentConfig(), name="agent"),
    )
    if reply is not None:
        trace.nodes.append(vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True))
    asyncio.run(task.score(trace))
    return trace


@KINDS
def test_verifiers_rewards_what_an_answer_deserves(kind):
    task = verifiers_task()
    assert scored(task, ANSWERS[kind](ONE)).reward == earned(ONE, kind)


def test_verifiers_rewards_claims():
    task = verifiers_task(form=Form.LOCATE)
    assert "The forms of claims" in task.data.prompt
    assert scored(task, f"```text\n{CONTRADICTED}\n```").reward == 0.5


def test_verifiers_refuses_a_scheme_that_cannot_reward_traps():
    with pytest.raises(UsageError, match=NO_TRAP_SCHEME):
        verifiers_task(form=Form.TRAP, scheme=Scheme.DENSE)


def test_verifiers_gives_nothing_for_no_reply():
    assert scored(verifiers_task(), None).reward == 0


def test_a_fault_of_the_kit_is_an_error_of_verifiers_and_no_reward(broken):
    import_error = pytest.importorskip("verifiers.v1.errors", reason="verifiers is not installed")
    with pytest.raises(import_error.TaskError, match="The kit could not judge"):
        scored(verifiers_task(course=broken), ANSWERS["right"](ONE))


def validated(tmp_path: Path, *options: str) -> list[dict]:
    """Run `vf-validate grader-hunts`, and return its rows."""
    pytest.importorskip("verifiers", reason="verifiers is not installed")
    command = [str(Path(sys.executable).with_name("vf-validate")), "grader-hunts", "-o", str(tmp_path), *options]
    command += ["--runtime.type", "subprocess"]
    environment = os.environ | {"HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (results,) = tmp_path.rglob("results.jsonl")
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def test_verifiers_validates_a_hunt_by_its_reference(tmp_path):
    (row,) = validated(tmp_path, "--taskset.exercises", json.dumps([ONE]))
    assert (row["name"], row["reason"]) == (ONE, "valid")


@pytest.mark.slow
@pytest.mark.parametrize("form", [Form.FIX, Form.TRAP])
def test_verifiers_validates_all_hunts(tmp_path, form):
    rows = validated(tmp_path, "--only-gold", "--taskset.task.form", form, "--max-concurrent", "2")
    wanted = {each for each in ALL if form is Form.FIX or COURSE.model_trap(each).is_file()}
    assert {row["name"] for row in rows if row["reason"] == "valid"} == wanted


# OpenEnv


def environment(**settings):
    pytest.importorskip("openenv", reason="openenv-core is not installed")
    from grader.evaluation.environments.openenv_server import HuntEnvironment

    return HuntEnvironment(**{"course": str(ROOT)} | settings)


def step(environment, answer: str):
    from grader.evaluation.environments.openenv_server import HuntAction

    return environment.step(HuntAction(answer=answer))


@KINDS
@pytest.mark.parametrize("hunts", [[ONE], pytest.param(ALL, marks=pytest.mark.slow)], ids=["one", "all"])
def test_openenv_rewards_what_an_answer_deserves(kind, hunts):
    played = environment()
    for each in hunts:
        first = played.reset(exercise=each)
        assert (first.reward, first.done, first.attempts_left) == (None, False, 1)
        assert starter_of(each).rstrip() in first.text
        last = step(played, ANSWERS[kind](each))
        assert (last.reward, last.done) == (earned(each, kind), True)


def test_openenv_ends_an_episode_without_a_reward_if_the_kit_cannot_judge(broken):
    played = environment(course=str(broken), attempts=3)
    played.reset()
    last = step(played, ANSWERS["right"](ONE))
    assert (last.reward, last.done) == (None, True)


def test_openenv_pays_the_last_answer_alone():
    played = environment(attempts=3, scheme=Scheme.DENSE)
    played.reset(exercise=ONE)
    wrong = step(played, ANSWERS["wrong"](ONE))
    assert (wrong.reward, wrong.done, wrong.attempts_left) == (0, False, 2)
    assert "not fixed yet" in wrong.text
    right = step(played, ANSWERS["right"](ONE))
    assert (right.reward, right.done, played.state.step_count) == (1, True, 2)
    with pytest.raises(ValueError, match="the episode is over; call reset"):
        step(played, "again")


def test_openenv_refuses_a_scheme_that_cannot_reward_traps_and_a_course_without_a_hunt_of_the_form(tmp_path):
    with pytest.raises(UsageError, match=NO_TRAP_SCHEME):
        environment(form=Form.TRAP, scheme=Scheme.DENSE)
    with pytest.raises(UsageError, match=r"no hunt in .* has the form locate"):
        environment(form=Form.LOCATE, course=str(small_course(tmp_path, "exercise_35")))


def test_openenv_chooses_a_hunt_by_seed():
    played = environment()
    assert [played.reset(seed=seed).exercise for seed in (0, 1, 37)] == [ALL[0], ALL[1], ALL[0]]


def test_openenv_serves_the_environment_over_its_protocol():
    pytest.importorskip("openenv", reason="openenv-core is not installed")
    from fastapi.testclient import TestClient

    from grader.evaluation.environments.openenv_server import app

    with TestClient(app).websocket_connect("/ws") as socket:
        socket.send_json({"type": "reset", "data": {"exercise": ONE}})
        first = socket.receive_json()["data"]
        assert first["observation"]["exercise"] == ONE
        socket.send_json({"type": "step", "data": {"answer": ANSWERS["right"](ONE)}})
        last = socket.receive_json()["data"]
        assert (last["reward"], last["done"]) == (1, True)
