"""An exercise -> the part of its description that students may read."""

from typing import Any

import msgspec
import yaml
from msgspec import Struct

from grader.exercise import Exercise
from grader.exercise import checks as c
from grader.exercise.checks import Check

NEEDS_NO_REFERENCE = (
    c.ReturnsShapes,
    c.FutureDoesNotLeak,
    c.MaskHides,
    c.SamplesDoNotMix,
    c.RowsSumToOne,
    c.LeavesInputsAlone,
    c.Prints,
    c.PrintsNothing,
    c.Raises,
    c.AttributeEquals,
)

INTRODUCTION = "# What students may know of this exercise. More checks follow when a solution is handed in.\n"


def public_checks(exercise: Exercise) -> list[Check]:
    """The checks that a student edition can run, without the names of the defects that they are for."""
    found = [check for check in exercise.checks if check.public and isinstance(check, NEEDS_NO_REFERENCE)]
    return [msgspec.structs.replace(check, for_=()) for check in found]


def public_description(exercise: Exercise, hidden_checks: int, *, with_hints: bool) -> str:
    """The exercise.yaml of a student edition: nothing of defects but, where asked, their hints."""
    defects = sorted(exercise.defects, key=lambda defect: defect.stretch)
    description = {
        "format_version": exercise.format_version,
        "title": exercise.title,
        "difficulty": exercise.difficulty,
        "source": {"title": exercise.source.title},
        "story": exercise.story.strip(),
        "interface": msgspec.to_builtins(exercise.interface),
        "ladder": exercise.ladder,
        "total_points": exercise.max_score(),
        "nothing_else_broke": exercise.nothing_else_broke,
        "hidden_checks": hidden_checks,
        "defects": [],
        "checks": [_given(check) for check in public_checks(exercise)],
        "limits": msgspec.to_builtins(exercise.limits),
    }
    if with_hints:
        description["hints"] = [[text.strip() for text in defect.hints] for defect in defects]
    return INTRODUCTION + _yaml(description)


def _given(record: Struct) -> dict[str, Any]:
    """A record's fields, without those that have their defaults."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    for field in msgspec.structs.fields(record):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if getattr(record, field.name) == default:
            data.pop(field.encode_name, None)
    return data


def _yaml(data: dict[str, Any]) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes out again what stands twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True
