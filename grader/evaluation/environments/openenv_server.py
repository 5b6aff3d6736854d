"""Hunts as an environment of OpenEnv: `uvicorn grader.evaluation.environments.openenv_server:app`."""

import asyncio
import os
import uuid
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app

from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.environments.questions import assess, hunts_of, question
from grader.evaluation.rewards import Scheme

MAX_SESSIONS = 64


class HuntAction(Action):
    """An answer of a model."""

    answer: str


class HuntObservation(Observation):
    """The text for the model: first the question, then the feedback on its answer.

    The reward is 0 until the episode is done, so that the sum is the reward of the last answer. It is None if the kit
    could not judge; leave such an episode out.
    """

    exercise: str
    text: str
    attempts_left: int


class HuntState(State):
    """The hunt of the episode, and its form."""

    exercise: str = ""
    form: Form = Form.FIX


class HuntEnvironment(Environment[HuntAction, HuntObservation, HuntState]):
    """An episode is one hunt. The model may answer until its answer is right, `attempts` times at most."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        *,
        form: Form = Form.FIX,
        attempts: int = 1,
        scheme: Scheme = Scheme.ALL_OR_NOTHING,
        course: str | None = None,
    ) -> None:
        super().__init__()
        FORMS[form].require_scheme(scheme)
        self._attempts = attempts
        self._scheme = scheme
        self._course = course
        self._hunts = hunts_of(course=course, form=form)
        self._hunt = self._hunts[0]
        self._state = HuntState(form=form)
        self._left = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, exercise: str | None = None, **_: Any
    ) -> HuntObservation:
        """Begin with the given hunt, or with the one that the seed chooses; by default the first."""
        (self._hunt,) = hunts_of([exercise or self._hunts[(seed or 0) % len(self._hunts)].id], self._course)
        self._left = self._attempts
        self._state = HuntState(
            episode_id=episode_id or str(uuid.uuid4()), exercise=self._hunt.id, form=self._state.form
        )
        return self._observation(question(self._hunt, self._state.form, self._course), reward=None, done=False)

    def step(self, action: HuntAction, timeout_s: float | None = None, **_: Any) -> HuntObservation:
        """Judge an answer."""
        return asyncio.run(self.step_async(action, timeout_s))

    async def step_async(
        self,
        action: HuntAction,
        timeout_s: float | None = None,  # noqa: ARG002 - the hunt's own limits end every submission
        **_: Any,
    ) -> HuntObservation:
        """Judge an answer. A fault of the kit ends the episode without a reward."""
        if self._left == 0:
            raise ValueError("the episode is over; call reset")
        self._left -= 1
        self._state.step_count += 1
        found = await assess(self._hunt, self._state.form, action.answer, scheme=self._scheme, course=self._course)
        if found.value is None or found.value == 1:
            self._left = 0
        reward = 0.0 if self._left and found.value is not None else found.value
        return self._observation(found.feedback, reward=reward, done=self._left == 0)

    @property
    def state(self) -> HuntState:
        return self._state

    def _observation(self, text: str, *, reward: float | None, done: bool) -> HuntObservation:
        return HuntObservation(exercise=self._hunt.id, text=text, attempts_left=self._left, reward=reward, done=done)


def _environment() -> HuntEnvironment:
    """Return an environment with the settings of the process: `GRADER_FORM`, `_ATTEMPTS`, `_SCHEME`, `_COURSE`."""
    return HuntEnvironment(
        form=Form(os.environ.get("GRADER_FORM", "fix")),
        attempts=int(os.environ.get("GRADER_ATTEMPTS", "1")),
        scheme=Scheme(os.environ.get("GRADER_SCHEME", "all_or_nothing")),
        course=os.environ.get("GRADER_COURSE"),
    )


app = create_app(_environment, HuntAction, HuntObservation, env_name="grader_hunts", max_concurrent_envs=MAX_SESSIONS)
