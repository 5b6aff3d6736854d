"""A bug-hunting course in attention code, and the grader that judges it.

Grade from Python::

    from grader import grade, grade_many

    verdict = grade("exercise_03", source)  # source: a module's text, or a pathlib.Path
    verdict.outcome, verdict.score, verdict.max_score

    for verdict in grade_many(("exercise_03", source) for source in sources):
        ...

`solutions/EVALUATION.md` describes the interface for teams that train and evaluate models.

Importing the package imports neither torch nor pytest; an examiner process imports them when a submission is judged.

The names in `__all__` and, for hidden tests, in `grader.testing` are public. Everything else in the package may change
with any version. A leading underscore marks names that only their own module uses.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "BrokenExerciseError": "errors",
    "DefectStatus": "verdict.attribution",
    "DefectVerdict": "verdict.verdict",
    "FailureKind": "checks.outcome",
    "Finding": "checks.outcome",
    "Hunt": "evaluation.catalogue",
    "KitError": "errors",
    "OpenHostError": "errors",
    "Outcome": "checks.outcome",
    "Reason": "verdict.attribution",
    "Result": "verdict.verdict",
    "Scheme": "evaluation.rewards",
    "SpecError": "errors",
    "Split": "evaluation.seeds",
    "Status": "checks.outcome",
    "UnknownReason": "verdict.attribution",
    "UsageError": "errors",
    "TrapResult": "trap.result",
    "Verdict": "verdict.verdict",
    "agrade": "api",
    "cheats": "evaluation.cheats",
    "exercises": "evaluation.catalogue",
    "extract_code": "evaluation.answers",
    "extract_tests": "evaluation.answers",
    "fresh_hunts": "evaluation.fresh.hunts",
    "grade": "api",
    "grade_many": "api",
    "grade_trap": "api",
    "reward": "evaluation.rewards",
    "seed_of": "evaluation.seeds",
    "to_dict": "report.json",
    "trap_cheats": "evaluation.cheats",
    "trap_reward": "evaluation.rewards",
    "verdict_schema": "report.json",
}
"""The module of each public name, imported at its first use. Type checkers read the same names in `__init__.pyi`."""

__all__ = ["__version__", *_MODULES]  # noqa: PLE0604 - the unpacked keys are strings


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("grader")
    elif name in _MODULES:
        value = getattr(import_module(f"grader.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics of `notebook.py`; IPython calls this for `%load_ext grader`."""
    from grader.notebook import GraderMagics

    ipython.register_magics(GraderMagics)
