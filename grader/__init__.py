"""A bug-hunting course in attention code, and the grader that judges it.

From Python, one submission or any number of them::

    from grader import grade, grade_many

    verdict = grade("exercise_03", source)  # source: a module's text, or a pathlib.Path
    verdict.outcome, verdict.score, verdict.max_score

    for verdict in grade_many(("exercise_03", source) for source in candidates):
        ...

Importing this imports neither torch nor pytest; they are loaded in a process of their own when first needed.

Public is what `__all__` names here and, for hidden tests, in `grader.testing`. Every other module, name and file below
this package is the kit's own and may change with any version. Within the kit, a name with a leading underscore is its
module's own; one without is there for other modules of the kit.
"""

from typing import Any

__all__ = [
    "BrokenExerciseError",
    "DefectStatus",
    "KitError",
    "OpenHostError",
    "Result",
    "SpecError",
    "UsageError",
    "Verdict",
    "__version__",
    "grade",
    "grade_many",
]

_MODULES = {
    "BrokenExerciseError": "errors",
    "DefectStatus": "verdict.attribution",
    "KitError": "errors",
    "OpenHostError": "errors",
    "Result": "verdict.verdict",
    "SpecError": "errors",
    "UsageError": "errors",
    "Verdict": "verdict.verdict",
    "grade": "api",
    "grade_many": "api",
}
"""The module that each public name comes from, imported when the name is first asked for."""


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("grader")
    elif name in _MODULES:
        from importlib import import_module

        value = getattr(import_module(f"grader.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext grader` in a notebook: `%%grade`, `%grade`, `%hint` and `%diff`."""
    from grader.notebook import GraderMagics

    ipython.register_magics(GraderMagics)
