"""What every environment needs: the question for a model, and the assessment of its answer."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.api import open_course
from grader.errors import KitError, SpecError, UsageError
from grader.evaluation.assessment import Assessment
from grader.evaluation.catalogue import Hunt, hunt_of
from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.rewards import Scheme
from grader.spec.loading import load_exercise


def hunts_of(exercise_ids: Iterable[str] = (), course: str | Path | None = None, form: Form = Form.FIX) -> list[Hunt]:
    """Return the hunts of these ids, by default all. Leave out those that do not have this form.

    There is nothing to locate in a starter without defects. Raise `UsageError` for an unknown id, or if no hunt is
    left.
    """
    found = open_course(course)
    known = found.exercise_ids()
    chosen = list(exercise_ids) or known
    for each in chosen:
        if each not in known:
            raise UsageError(f"there is no {each} here; use one of {', '.join(known)}")
    chosen = [each for each in chosen if FORMS[form].suits(load_exercise(found.description(each)))]
    if not chosen:
        raise UsageError(f"no hunt in {found.root} has the form {form}; choose another form, course or hunt")
    return [hunt_of(found, each) for each in chosen]


def question(hunt: Hunt, form: Form, course: str | Path | None = None) -> str:
    """Return the question for a model: story, interface, file and task."""
    task = FORMS[form].task(hunt, open_course(course))
    return f"{hunt.prompt}\n`{hunt.file_name}`:\n\n```python\n{hunt.starter.rstrip()}\n```\n\n{task}\n"


async def assess(
    hunt: Hunt,
    form: Form,
    answer: str,
    *,
    scheme: Scheme = Scheme.ALL_OR_NOTHING,
    course: str | Path | None = None,
) -> Assessment:
    """Assess a model's answer. If the kit fails, the assessment has no value; a failure never gives the value 0.

    The scheme applies to fixes and traps. Raise `UsageError` if the arguments are wrong, because then no answer could
    be judged.
    """
    chosen, found = FORMS[form], open_course(course)
    chosen.require_scheme(scheme)
    code = answer
    try:
        code = chosen.answer_in(answer, hunt, found)
        return await chosen.assess(code, hunt, scheme, found)
    except KitError as error:
        if isinstance(error, UsageError) and not isinstance(error, SpecError):  # a wrong description is the course's
            raise
        return Assessment(value=None, feedback="The kit could not judge this answer.", code=code, record=_error(error))


def _error(error: KitError) -> dict[str, Any]:
    return {"error": type(error).__name__, "reason": str(error)}
