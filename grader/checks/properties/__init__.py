"""The built-in properties: a module for each family, and a function registered for each record."""

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
    """Run the property's function; it raises `Failure` if the property does not hold for the case."""
    FUNCTIONS[type(check)](check, context, case)
