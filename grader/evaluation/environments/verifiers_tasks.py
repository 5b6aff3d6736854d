"""Hunts as a taskset of verifiers (its `v1` interface): `vf-validate grader-hunts`, `vf-eval grader-hunts`."""

from collections.abc import Iterator

import verifiers.v1 as vf
from verifiers.v1.envs.single_agent import SingleAgentEnv, SingleAgentEnvConfig

from grader.api import open_course
from grader.evaluation.assessment import Assessment
from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.environments.questions import assess, hunts_of, question
from grader.evaluation.rewards import Scheme


class HuntTaskConfig(vf.TaskConfig):
    """How answers are judged: `--env.taskset.task.*`."""

    form: Form = Form.FIX
    scheme: Scheme = Scheme.ALL_OR_NOTHING
    course: str | None = None
    """The folder that contains `exercises/`; by default the course that contains the current folder."""


class HuntTask(vf.Task[vf.TaskData, vf.State, HuntTaskConfig]):
    """A hunt. The last reply of the model is its answer."""

    @property
    def key(self) -> str:
        return f"{self.data.id}/{self.config.form}"

    async def assess(self, answer: str) -> Assessment:
        """Return the assessment of an answer; raise `RuntimeError` if the kit cannot judge, so that nothing counts."""
        config = self.config
        (hunt,) = hunts_of([str(self.data.id)], config.course)
        found = await assess(hunt, config.form, answer, scheme=config.scheme, course=config.course)
        if found.value is None:
            raise RuntimeError(f"{found.feedback} {found.record.get('reason') or ''}")
        return found

    @vf.reward
    async def judged(self, trace: vf.Trace) -> float:
        """Return the reward of the last reply."""
        value = (await self.assess(trace.last_reply)).value
        assert value is not None
        return value

    async def validate(self, runtime: vf.Runtime) -> bool | None:  # noqa: ARG002 - the kit brings its own sandbox
        """Return True if the reference, or the model trap, gets the full reward; None if there is no such answer."""
        path = FORMS[self.config.form].right_answer(open_course(self.config.course), str(self.data.id))
        if path is None or not path.is_file():
            return None
        found = await self.assess(f"```python\n{path.read_text(encoding='utf-8')}\n```")
        return found.value == 1


class HuntsConfig(vf.TasksetConfig):
    """Which hunts are loaded: `--env.taskset.*`."""

    exercises: tuple[str, ...] = ()
    """Their ids; by default all."""
    task: HuntTaskConfig = HuntTaskConfig()


class HuntTaskset(vf.Taskset[HuntTask, HuntsConfig]):
    """The hunts of a course."""

    def load(self) -> Iterator[HuntTask]:
        task = self.config.task
        FORMS[task.form].require_scheme(task.scheme)
        for hunt in hunts_of(self.config.exercises, task.course, task.form):
            prompt = question(hunt, task.form, task.course)
            yield HuntTask(vf.TaskData(id=hunt.id, name=hunt.id, description=hunt.title, prompt=prompt), task)


class HuntEnvConfig(SingleAgentEnvConfig):
    """`--env.attempts` is the number of answers that the model may give to a hunt."""

    attempts: int = 1


class HuntEnv(SingleAgentEnv, vf.Env[HuntEnvConfig]):
    """An environment in which the model may answer again after reading findings."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        assert isinstance(task, HuntTask)
        async with agents.agent.interaction(task) as chat:
            answer = await chat.turn()
            for left in range(self.config.attempts - 1, 0, -1):
                if answer.terminated:
                    break
                found = await task.assess(answer.last_reply)
                if found.value == 1:
                    break
                answer = await chat.turn(f"{found.feedback}\n\nAnswers left: {left}.")
