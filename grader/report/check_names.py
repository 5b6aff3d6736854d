"""Names of checks for students. They say what a check compares, and have numbers where several checks share a name.

Students do not see a check's id, because an id such as "values without bias" says what is wrong. Ids are for `--json`,
`--names` and instructors.
"""

from collections.abc import Mapping, Sequence

from grader.report.property_words import words_for
from grader.spec.exercise import Exercise

HIDDEN_TEST = "custom check"
"""The name of every check in Python, because the id of such a check says what it expects."""

NAMED_CHECKS = 3
"""How many checks a shortened list names."""

LISTED_WHOLE = 4
"""The longest list of checks that is shown in full."""

CheckNames = Mapping[str, str]
"""Maps ids of checks to names."""


def check_names(exercise: Exercise) -> dict[str, str]:
    """Return a name for each check in the exercise's description, by id; equal names get numbers."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for check in exercise.checks:
        name = words_for(check).name or str(type(check).__struct_config__.tag).replace("_", " ")
        counts[name] = counts.get(name, 0) + 1
        names[check.id] = name if counts[name] == 1 else f"{name} {counts[name]}"
    return names


def check_name(check: str, names: CheckNames) -> str:
    """Return the name of a check by its id."""
    return names.get(check, HIDDEN_TEST)


def listed_checks(checks: Sequence[str], names: CheckNames) -> str:
    """Return the quoted names of the first checks in a list of ids, and the number of remaining checks."""
    found = [*dict.fromkeys(check_name(check, names) for check in checks)]
    more = len(found) - NAMED_CHECKS if len(found) > LISTED_WHOLE else 0
    listed = ", ".join(f'"{name}"' for name in (found[:NAMED_CHECKS] if more else found))
    return f"{listed} and {more} more" if more else listed
