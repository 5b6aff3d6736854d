"""What the built-in properties do: one module for each family, each function registered for its record."""

from grader.checks.case import Case
from grader.checks.context import FUNCTIONS, Context
from grader.checks.properties import (  # noqa: F401 - each registers its functions
    dropout,
    leaks,
    masks,
    refusals,
    side_effects,
    states,
    symmetries,
    tutorials,
    values,
)
from grader.spec.properties import Property


def try_case(check: Property, context: Context, case: Case) -> None:
    """Raise `Failure` where the property does not hold with this case's sizes and inputs."""
    FUNCTIONS[type(check)](check, context, case)
