"""Hunts as tasks of inspect_ai: `inspect eval grader/fix_hunts --model MODEL`."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.environments.questions import assess, hunts_of, question
from grader.evaluation.rewards import Scheme


@task
def fix_hunts(
    exercises: list[str] | None = None, attempts: int = 1, scheme: str = "all_or_nothing", course: str | None = None
) -> Task:
    """Repair defective attention code. The model may answer `attempts` times, with findings in between."""
    return _task(Form.FIX, exercises, attempts, scheme, course)


@task
def write_traps(
    exercises: list[str] | None = None, attempts: int = 1, scheme: str = "points", course: str | None = None
) -> Task:
    """Write tests that right attention code passes and defective code fails."""
    return _task(Form.TRAP, exercises, attempts, scheme, course)


@task
def predict_behaviour(exercises: list[str] | None = None, course: str | None = None) -> Task:
    """Answer questions on what defective attention code does, and on what it should do."""
    return _task(Form.PREDICT, exercises, 1, "points", course)


@task
def locate_defects(exercises: list[str] | None = None, attempts: int = 1, course: str | None = None) -> Task:
    """Make claims about values that are true of defective attention code and false of right code."""
    return _task(Form.LOCATE, exercises, attempts, "points", course)


def _task(form: Form, exercises: list[str] | None, attempts: int, scheme: str, course: str | None) -> Task:
    FORMS[form].require_scheme(scheme)
    samples = [
        Sample(id=hunt.id, input=question(hunt, form, course), metadata={"canary": hunt.canary})
        for hunt in hunts_of(exercises or (), course, form)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=f"grader-{form}"),
        solver=answer_repeatedly(str(form), attempts, course),
        scorer=kit_judges(str(form), scheme, course),
    )


@solver
def answer_repeatedly(form: str, attempts: int, course: str | None) -> Solver:
    """Let the model answer, and answer again after reading findings, until its answer is right."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        (hunt,) = hunts_of([str(state.sample_id)], course)
        for left in reversed(range(attempts)):
            state = await generate(state)
            if left == 0:
                break
            found = await assess(hunt, Form(form), state.output.completion, course=course)
            if found.value is None or found.value == 1:
                break
            state.messages.append(ChatMessageUser(content=f"{found.feedback}\n\nAnswers left: {left}."))
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def kit_judges(form: str, scheme: str, course: str | None) -> Scorer:
    """Score the last answer with fresh random inputs. If the kit cannot judge, the sample has no score."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the kit knows what is right
        (hunt,) = hunts_of([str(state.sample_id)], course)
        found = await assess(hunt, Form(form), state.output.completion, scheme=Scheme(scheme), course=course)
        if found.value is None:
            return Score.unscored(
                reason="scoring_failed", answer=found.code, explanation=found.feedback, metadata=found.record
            )
        return Score(value=found.value, answer=found.code, explanation=found.feedback, metadata=found.record)

    return score
