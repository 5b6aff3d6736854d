"""The records as a JSON Schema, by which editors complete and check an exercise.yaml while it is typed."""

import ast
import inspect
import json
import sys
from types import ModuleType
from typing import Any

import msgspec

from grader.exercise import checks, records
from grader.exercise.records import EDITION_KEYS, Exercise

DIALECT = "https://json-schema.org/draft/2020-12/schema"
GIVEN = ("id", *EDITION_KEYS)
"""Fields that no author writes: the folder gives the id, the release gives the others."""


def render_schema() -> str:
    """The schema as the text of a JSON file."""
    (schema,), parts = msgspec.json.schema_components([Exercise], ref_template="#/$defs/{name}")
    told = _field_descriptions(records) | _field_descriptions(checks)
    for name, part in parts.items():
        _make_friendly(name, part, told)
    exercise = parts.pop("Exercise")
    for name in GIVEN:
        del exercise["properties"][name]
    exercise["required"] = [name for name in exercise["required"] if name not in GIVEN]
    assert schema == {"$ref": "#/$defs/Exercise"}
    whole = {"$schema": DIALECT, **exercise, "title": "exercise.yaml", "$defs": dict(sorted(parts.items()))}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _make_friendly(name: str, part: dict[str, Any], told: dict[tuple[str, str], str]) -> None:
    """Describe each field, and say the one property that a check's record stands for as the constant it is."""
    for field, schema in part.get("properties", {}).items():
        words = next((told[owner, field] for owner in _owners(name) if (owner, field) in told), None)
        if words:
            schema["description"] = words
        if list(schema.get("enum", ())) == schema.get("enum") and len(schema.get("enum", ())) == 1:
            (schema["const"],) = schema.pop("enum")
            if field == "property":
                schema["description"] = part["description"]
    part.pop("title", None)


def _owners(name: str) -> list[str]:
    """A record's class and those it inherits fields from."""
    record = getattr(records, name, None) or getattr(checks, name)
    return [each.__name__ for each in record.__mro__]


def _field_descriptions(module: ModuleType) -> dict[tuple[str, str], str]:
    """The docstring below each field, by the names of record and key."""
    found = {}
    tree = ast.parse(inspect.getsource(module))
    for record in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for field, docstring in zip(record.body, record.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(docstring):
                found[record.name, _key(module, record.name, field.target.id)] = ast.literal_eval(docstring.value)
    return found
