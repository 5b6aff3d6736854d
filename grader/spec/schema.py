"""Make the JSON Schema of exercise.yaml from its records; editors complete and check the file with it."""

import ast
import functools
import inspect
import itertools
import json
from types import ModuleType
from typing import Any, get_args

import msgspec

from grader.spec import exercise as records
from grader.spec import fields, interface
from grader.spec.edition import AnyEdition
from grader.spec.exercise import EDITION_KEYS, Exercise
from grader.spec.properties import PROPERTIES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
GIVEN = ("id", "variations", *EDITION_KEYS)
"""Fields that authors do not write: the folder's name, the file `variations.py`, and what `release` writes."""

EDITION_PARTS = (*(each.__name__ for each in get_args(AnyEdition)), "SealedDefect")
"""Parts of the schema about editions, which authors do not write."""

SHARED = {"constructor": "Arguments", "inputs": "Inputs", "sizes": "Sizes"}
"""Keys whose schema is long and occurs several times, with the name of its shared definition."""


def render_schema() -> str:
    """Return the schema as the text of a JSON file."""
    return json.dumps(description_schema(), indent=1, ensure_ascii=False) + "\n"


@functools.cache
def description_schema() -> dict[str, Any]:
    """Return the schema of the keys that authors write."""
    _, parts = msgspec.json.schema_components([Exercise], ref_template="#/$defs/{name}")
    for name in EDITION_PARTS:
        del parts[name]
    for name, part in parts.items():
        _make_friendly(name, part)
    exercise = parts.pop("Exercise")  # its sizes may be random, unlike the sizes of a check
    shared = {name: _shared_part(parts, key, name) for key, name in SHARED.items()}
    for key in GIVEN:
        del exercise["properties"][key]
    exercise["required"].remove("id")
    checks = exercise["properties"]["checks"]
    check = _chosen_by_property(checks["items"]["anyOf"])
    test = parts["UsualTest"]["properties"]["test"]
    checks["items"] = reference = {"$ref": "#/$defs/Check"}
    parts["UsualTest"]["properties"]["test"] = {**reference, "description": test["description"]}
    definitions = dict(sorted((parts | shared | {"Check": check}).items()))
    return {"$schema": DIALECT, "title": "exercise.yaml", **exercise, "$defs": definitions}


def _chosen_by_property(references: list[dict[str, str]]) -> dict[str, Any]:
    """Return a schema that compares a check only with the property that it names, so that errors concern only it."""
    names = {str(record.__struct_config__.tag): record.__name__ for record in PROPERTIES.values()}
    assert {f"#/$defs/{name}" for name in names.values()} == {each["$ref"] for each in references}
    return {
        "description": "A check: a built-in property with its arguments.",
        "type": "object",
        "required": ["property"],
        "properties": {"property": {"enum": list(names), "description": "The name of a built-in property."}},
        "allOf": [
            {
                "if": {"properties": {"property": {"const": tag}}, "required": ["property"]},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for tag, name in names.items()
        ],
    }


def _make_friendly(name: str, part: dict[str, Any]) -> None:
    """Give each key a description on one line, and write a choice of a single value as a constant."""
    del part["title"]
    part["description"] = part["description"].split("\n\n")[0]
    descriptions = field_descriptions(_record(name))
    for key, schema in part.get("properties", {}).items():
        if len(schema.get("enum", ())) == 1:
            (schema["const"],) = schema.pop("enum")
        if key in descriptions:
            schema["description"] = descriptions[key]
        elif key == "property":
            schema["description"] = part["description"]
        if schema.get("default") in ("", [], {}):
            del schema["default"]


def _record(name: str) -> type:
    """Return the record that a part of the schema describes."""
    properties = {each.__name__: each for each in PROPERTIES.values()}
    record: type = next(
        found
        for found in (properties.get(name), *(getattr(each, name, None) for each in (records, interface, fields)))
        if found
    )
    return record


def _shared_part(parts: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    """Replace a key's schema, equal in all records, by a reference to a shared definition; return the definition."""
    shared: dict[str, Any] = {}
    for part in parts.values():
        schema = part.get("properties", {}).get(key)
        if schema is None:
            continue
        description = schema.pop("description")
        assert shared in ({}, schema)
        shared = dict(schema)
        schema.clear()
        schema |= {"$ref": f"#/$defs/{name}", "description": description}
    return shared


def field_descriptions(record: type) -> dict[str, str]:
    """Return the docstring below each field of a record, inherited fields included, by the field's key."""
    descriptions: dict[str, str] = {}
    for owner in reversed(record.__mro__):
        if not issubclass(owner, msgspec.Struct) or owner is msgspec.Struct:
            continue
        keys = {field.name: field.encode_name for field in msgspec.structs.fields(owner)}
        documented = _docstrings(inspect.getmodule(owner), owner.__name__)
        descriptions |= {keys[name]: text for name, text in documented if name in keys}
    return descriptions


def _docstrings(module: ModuleType | None, record: str) -> list[tuple[str, str]]:
    """Return the fields that a class declares in its source, each with the string below it."""
    assert module is not None
    tree = ast.parse(inspect.getsource(module))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == record)
    found = []
    for field, below in itertools.pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, text))
    return found
