"""A bug-hunting course in attention code, and the grader that judges it.

From Python, one submission or any number of them::

    from grader import grade, grade_many

    verdict = grade("exercise_03", source)  # source: a module's text, or a pathlib.Path
    verdict.outcome, verdict.score, verdict.max_score

    for verdict in grade_many(("exercise_03", source) for source in candidates):
        ...

Importing this imports neither torch nor pytest; they are loaded in a process of their own when first needed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.api import grade, grade_many
    from grader.errors import KitError
    from grader.verdict.attribution import DefectStatus
    from grader.verdict.verdict import Result, Verdict

__all__ = ["DefectStatus", "KitError", "Result", "Verdict", "grade", "grade_many"]

HOMES = {
    "DefectStatus": "verdict.attribution",
    "KitError": "errors",
    "Result": "verdict.verdict",
    "Verdict": "verdict.verdict",
    "grade": "api",
    "grade_many": "api",
}
"""The module that each public name comes from, imported when the name is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"grader.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
