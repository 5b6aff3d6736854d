"""Validate an exercise.yaml with the schema that editors use, and turn each error into a `Problem`."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from grader.spec.document import Document
from grader.spec.exercise import EDITION_KEYS
from grader.spec.fields import PATTERNS
from grader.spec.problem import MAX_PROBLEMS, KeyPath, Problem, listed, nearest, quoted
from grader.spec.schema import description_schema

Schema = dict[str, Any]

EXPECTED_VALUES = {
    "axes": "two axes, of the queries and of the keys",
    "between": "two numbers, the smaller first",
    "checks": "a list of checks, each a mapping with a property and its arguments",
    "hints": "three hints, of which the last nearly gives the answer",
    "outputs": "a list of shapes, one for each returned tensor",
    "property": "the name of a built-in property",
    "sizes": "a list of size cases, each with a number for every size",
}
"""Descriptions of the values of keys, where the type alone says too little."""

TYPE_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}

EXAMPLES = {
    "adapted_from": "[{work: owner/name, license: not stated}]",
    "attribute": "attn",
    "axes": "[-2, -1]",
    "batch": "2",
    "becomes": "x = y",
    "between": "[0.0, 1.0]",
    "checks": "[{property: matches_reference}]",
    "class": "MultiHeadAttention",
    "constructor": "{embed_dim: embed_dim, dropout: 0.0}",
    "defect": "swapped-axes",
    "defects": "[{id: swapped-axes, ...}]",
    "equals": "embed_dim",
    "equivalents": "[{was: ..., becomes: ..., reason: ...}]",
    "errors": "[ValueError]",
    "fix": "scores / math.sqrt(self.head_dim)",
    "hint": "what this does, and what to look at",
    "hints": "[a nudge, a question, nearly the answer]",
    "id": "swapped-axes",
    "input": "x",
    "inputs": "{x: [batch, tokens, embed_dim]}",
    "integers": "vocab",
    "interface": "{class: ..., constructor: ..., inputs: ..., outputs: ...}",
    "license": "the identifier from https://spdx.org/licenses, such as Apache-2.0",
    "limits": "{memory_mb: 2048}",
    "mask": "mask",
    "mentions": "[tokens]",
    "name": "num_heads",
    "near_misses": "[{id: zero-for-minus-infinity, defect: ..., was: ..., becomes: ..., hint: ...}]",
    "nothing_else_broke": "3",
    "outputs": "[[batch, tokens, embed_dim]]",
    "parameters": "[q_proj.weight]",
    "property": "matches_reference",
    "reason": "only the wording of an error differs",
    "seconds": "{check: 5.0}",
    "shape": "[batch, 1, tokens, tokens]",
    "sizes": "[{batch: 1, tokens: 5, embed_dim: 12}]",
    "source": "{title: a notebook on attention}",
    "story": "one paragraph about who wrote it and what they noticed",
    "title": "the symptom in one line",
    "to": "{context_length: 9}",
    "url": "https://example.org/notebook",
    "was": "scores / math.sqrt(self.embed_dim)",
    "why": "what the defect did, and why nobody noticed it",
    "work": "owner/name",
}
"""An example of the value of each key. A list's example also gives the example of an item."""


def schema_problems(document: Document) -> list[Problem]:
    """Return a problem for each value of the document that does not match the schema."""
    from jsonschema import Draft202012Validator  # imported here because only a wrong exercise.yaml needs it

    translation = _Translation(document)
    written_by_author = {key: value for key, value in document.data.items() if key not in EDITION_KEYS}
    problems: dict[tuple[Any, ...], Problem] = {}
    for error in Draft202012Validator(description_schema()).iter_errors(written_by_author):
        for problem in translation.problems(error):
            problems.setdefault((problem.path, problem.expected), problem)
    return list(problems.values())


class _Translation:
    """Translates the validator's errors into problems. Values are quoted as the document has them."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lookups = 0

    def problems(self, error: Any) -> Iterator[Problem]:
        path: KeyPath = tuple(error.absolute_path)
        schema, value = error.schema, error.instance
        if "propertyNames" in error.schema_path:
            expected = PATTERNS.get(schema.get("pattern", ""), "another key")
            yield Problem(
                path=(*path, value), expected=expected, found=quoted(value), remedy="write another name", at_key=True
            )
        elif error.validator == "anyOf":
            yield from self._of_alternatives(error, path)
        elif error.validator == "additionalProperties":
            yield from self._unknown_keys(value, schema, path)
        elif error.validator == "required":
            yield from self._missing_keys(value, schema, path)
        elif error.validator in ("minItems", "maxItems", "maxProperties"):
            yield self._wrong_count(error, path)
        elif error.validator != "items":  # too many are counted already
            yield self._wrong_value(schema, value, path)

    def _of_alternatives(self, error: Any, path: KeyPath) -> Iterator[Problem]:
        """Yield the problems of the alternative whose type the value has. If there is none, yield one problem."""
        by_alternative = groupby(error.context, key=lambda each: each.relative_schema_path[0])
        for _, group in by_alternative:
            errors = list(group)
            if not any(each.validator in ("type", "const") and not each.relative_path for each in errors):
                for each in errors:
                    yield from self.problems(each)
                return
        yield self._wrong_value(error.schema, error.instance, path)

    def _unknown_keys(self, value: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[Problem]:
        known, check = schema["properties"], _property_of(schema)
        of = f" of {check}" if check else ""
        for key in value.keys() - known.keys():
            owners = [_property_of(each) for each in _definitions().values() if check and key in _keys(each)]
            if key == "id" and not path:
                expected, remedy = "no id, because the folder's name is the id", "remove it"
            elif near := self._similar_key(key, value, known):
                expected, remedy = f"a known key{of}", f"write {near}"
            elif owners:
                expected, remedy = f"a known key{of}", f"remove it: it is an argument of {listed(owners)}"
            else:
                expected, remedy = f"one of the keys{of}: {', '.join(known)}", "remove it"
            yield Problem(path=(*path, key), expected=expected, found=quoted(key), remedy=remedy, at_key=True)

    def _similar_key(self, key: str, value: dict[str, Any], known: Iterable[str]) -> str:
        """Return the known key that is most similar to an unknown key. Prefer keys that the mapping lacks."""
        self._lookups += 1
        missing = [each for each in known if each not in value]
        return nearest(key, [*missing, *known]) if self._lookups < MAX_PROBLEMS else ""

    def _missing_keys(self, value: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[Problem]:
        known = schema.get("properties", {})
        unknown = value.keys() - known.keys() if schema.get("additionalProperties") is False else ()
        suggested = {self._similar_key(key, value, known) for key in unknown}
        for name in schema["required"]:
            if name not in value and name not in suggested:
                yield Problem(
                    path=(*path, name),
                    expected=_expected(known.get(name, {}), name),
                    found="no such key",
                    remedy=f"write {name}: {_example(known.get(name, {}), name)}",
                )

    def _wrong_count(self, error: Any, path: KeyPath) -> Problem:
        count, bound = len(error.instance), error.validator_value
        if "prefixItems" in error.schema:
            remedy = f"write {bound - count} more" if count < bound else f"keep {bound}"
            return Problem(path=path, expected=_expected(error.schema, _key_at(path)), found=str(count), remedy=remedy)
        if error.validator == "minItems":
            return Problem(
                path=path, expected=f"at least {bound}", found=str(count), remedy=f"write {bound - count} more"
            )
        return Problem(path=path, expected=f"at most {bound}", found=str(count), remedy=f"keep {bound}")

    def _wrong_value(self, schema: Schema, value: Any, path: KeyPath) -> Problem:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        expected = _expected(schema, _key_at(path), with_bounds=is_number)
        return Problem(
            path=path, expected=expected, found=self._found(value, path), remedy=self._remedy(schema, value, path)
        )

    def _found(self, value: Any, path: KeyPath) -> str:
        raw = self._document.raw.get(path, "")
        if isinstance(value, str):
            return quoted(value) if value.strip() else "an empty text"
        if value is None:
            return "nothing"
        if isinstance(value, bool):
            word = str(value).lower()
            return word if raw.lower() == word else f"the unquoted word {raw}, which YAML reads as {word}"
        if isinstance(value, list):
            return f"a list of {len(value)}"
        if isinstance(value, dict):
            return f"a mapping with {listed(map(str, value))}" if value else "an empty mapping"
        return raw

    def _remedy(self, schema: Schema, value: Any, path: KeyPath) -> str:
        name, raw = _key_at(path), self._document.raw.get(path, "")
        key = f"{name}: " if name else ""
        if owner := self._list_beside(path, name):
            return f"write {key}{raw} beside {owner}, as an argument of the check; an item of {owner} has sizes only"
        schema = _resolved(schema)
        kind, choices = schema.get("type"), schema.get("enum", [])
        if kind in ("integer", "number") and isinstance(value, str) and _is_number(value, kind):
            return f"write {key}{value.strip()} without quotes"
        if kind == "string" and isinstance(value, bool | int | float):
            return f'put it in quotes: {key}"{raw}"'
        if choices and (near := nearest(str(value), map(str, choices))):
            return f"write {key}{near}"
        if name == "property":
            return "write matches_reference, or another property from tests/README.md"
        if kind == "array" and isinstance(value, str) and value:
            return f"write {key}[{raw}]"
        key_of_list = str(path[-2]) if len(path) > 1 and not name else ""
        example = EXAMPLES.get(key_of_list, "")
        return f"write {key}{example[1:-1] if example.startswith('[') else _example(schema, name)}"

    def _list_beside(self, path: KeyPath, name: str) -> str:
        """Return the key of a check's list, such as calls, if an item of it has one of the check's own arguments."""
        match path:
            case ("checks", int(number), str(owner), int(), _):
                check = self._document.data["checks"][number]
                known = [each for each in _definitions().values() if _property_of(each) == check.get("property")]
                return owner if any(name in _keys(each) for each in known) else ""
        return ""


def _key_at(path: KeyPath) -> str:
    """Return the key at the end of a path; empty for an item of a list."""
    return path[-1] if path and isinstance(path[-1], str) else ""


def _definitions() -> dict[str, Schema]:
    definitions: dict[str, Schema] = description_schema()["$defs"]
    return definitions


def _resolved(schema: Schema) -> Schema:
    return _definitions()[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _keys(schema: Schema) -> Iterable[str]:
    return schema.get("properties", {}) if _property_of(schema) else ()


def _property_of(schema: Schema) -> str:
    """Return the property that a schema belongs to; empty if it belongs to none."""
    return str(schema.get("properties", {}).get("property", {}).get("const", ""))


def _expected(schema: Schema, name: str = "", *, with_bounds: bool = False) -> str:
    schema = _resolved(schema)
    if name in EXPECTED_VALUES:
        return EXPECTED_VALUES[name]
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return listed(map(str, schema["enum"]), "or")
    if "anyOf" in schema:
        return _expected_of_any(schema, with_bounds=with_bounds)
    kind = schema.get("type", "")
    if kind == "object" and schema.get("required"):
        return f"a mapping with {listed(schema['required'])}"
    description = PATTERNS.get(schema.get("pattern", ""), TYPE_NAMES.get(kind, "a value"))
    return description + (_bounds(schema) if with_bounds else "")


def _expected_of_any(schema: Schema, *, with_bounds: bool) -> str:
    alternatives = [_resolved(each) for each in schema["anyOf"]]
    types = [each.get("type") for each in alternatives]
    if "default" in schema and schema["default"] is None:
        alternatives = [each for each in alternatives if each.get("type") != "null"]
    if "number" in types:
        alternatives = [each for each in alternatives if each.get("type") != "integer"]
    return listed(dict.fromkeys(_expected(each, with_bounds=with_bounds) for each in alternatives), "or")


def _bounds(schema: Schema) -> str:
    low, above, high = (schema.get(bound) for bound in ("minimum", "exclusiveMinimum", "maximum"))
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if above is not None:
        return f" above {above:g}" + (f" and up to {high:g}" if high is not None else "")
    return f" of at least {low:g}" if low is not None else ""


def _example(schema: Schema, name: str) -> str:
    """Return an example of a value that matches the schema."""
    schema = _resolved(schema)
    if name in EXAMPLES and EXAMPLES[name] in schema.get("enum", [EXAMPLES[name]]):
        return EXAMPLES[name]
    if "const" in schema or "enum" in schema:
        return str(schema.get("const", schema.get("enum", [""])[0]))
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], "")
    return {"boolean": "true", "integer": "2", "number": "2", "string": "batch"}.get(schema.get("type", ""), "...")


def _is_number(text: str, kind: str) -> bool:
    digits = text.strip().removeprefix("-")
    return digits.isdecimal() or (kind == "number" and digits.replace(".", "", 1).isdecimal())
