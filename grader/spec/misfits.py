"""Where a description breaks the schema that editors use, in words: what was expected, found, and what to write."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from grader.spec.document import Document
from grader.spec.exercise import EDITION_KEYS
from grader.spec.fields import PATTERNS
from grader.spec.problem import MOST_PROBLEMS, KeyPath, Problem, listed, nearest, quoted
from grader.spec.schema import description_schema

Schema = dict[str, Any]

RENAMED = {"ladder": "sizes", "drawn": "sizes"}
"""Keys that descriptions had before, and the keys that they are called now."""

WORDS = {
    "axes": "two axes, that of the queries and that of the keys",
    "between": "two numbers, the smaller first",
    "checks": "a list of checks, each a mapping with a property and its arguments",
    "hints": "three hints, from a nudge to nearly the answer",
    "outputs": "a list of shapes, one for each tensor that comes out",
    "property": "the name of a built-in property",
    "sizes": "a list of size cases, each with a number for every size",
}
"""What a key expects, for keys whose type says too little."""

TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}

EXAMPLES = {
    "attribute": "attn",
    "axes": "[-2, -1]",
    "batch": "2",
    "becomes": "x = y",
    "between": "[0.0, 1.0]",
    "checks": "[{property: matches_reference}]",
    "class": "MultiHeadAttention",
    "constructor": "{embed_dim: embed_dim, dropout: 0.0}",
    "defects": "[{id: swapped-axes, ...}]",
    "equals": "embed_dim",
    "equivalents": "[{was: ..., becomes: ..., reason: ...}]",
    "errors": "[ValueError]",
    "fix": "scores / math.sqrt(self.head_dim)",
    "hints": "[a nudge, a question, nearly the answer]",
    "id": "swapped-axes",
    "input": "x",
    "inputs": "{x: [batch, tokens, embed_dim]}",
    "integers": "vocab",
    "interface": "{class: ..., constructor: ..., inputs: ..., outputs: ...}",
    "limits": "{memory_mb: 2048}",
    "mask": "mask",
    "mentions": "[tokens]",
    "name": "num_heads",
    "nothing_else_broke": "3",
    "outputs": "[[batch, tokens, embed_dim]]",
    "parameters": "[q_proj.weight]",
    "property": "matches_reference",
    "reason": "the two differ only in how an error is worded",
    "seconds": "{check: 5.0}",
    "shape": "[batch, 1, tokens, tokens]",
    "sizes": "[{batch: 1, tokens: 5, embed_dim: 12}]",
    "source": "{title: a notebook on attention}",
    "story": "one paragraph about who wrote it and what they noticed",
    "title": "what people notice",
    "to": "{context_length: 9}",
    "url": "https://example.org/notebook",
    "was": "scores / math.sqrt(self.embed_dim)",
    "why": "what it did, and why nobody saw it",
}
"""An example for each key; for an item of a list, the example is the list's."""


def misfits(document: Document) -> list[Problem]:
    """Return a problem for each part of a document that breaks the schema of descriptions."""
    from jsonschema import Draft202012Validator  # imported here: only wrong descriptions need it

    words, written = _Words(document), {key: part for key, part in document.data.items() if key not in EDITION_KEYS}
    found: dict[tuple[Any, ...], Problem] = {}
    for error in Draft202012Validator(description_schema()).iter_errors(written):
        for each in words.problems(error):
            found.setdefault((each.path, each.expected), each)
    return list(found.values())


class _Words:
    """Puts a validator's errors into words, with the text of the document at hand."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lookups = 0

    def problems(self, error: Any) -> Iterator[Problem]:
        path: KeyPath = tuple(error.absolute_path)
        schema, value = error.schema, error.instance
        if "propertyNames" in error.schema_path:
            what = PATTERNS.get(schema.get("pattern", ""), "another key")
            yield Problem((*path, value), what, quoted(value), "write another name", at_key=True)
        elif error.validator == "anyOf":
            yield from self._of_alternatives(error, path)
        elif error.validator == "additionalProperties":
            yield from self._unknown_keys(value, schema, path)
        elif error.validator == "required":
            yield from self._missing_keys(value, schema, path)
        elif error.validator in ("minItems", "maxItems", "maxProperties"):
            yield self._wrong_count(error, path)
        elif error.validator != "items":  # too many are counted already
            yield self._misfit(schema, value, path)

    def _of_alternatives(self, error: Any, path: KeyPath) -> Iterator[Problem]:
        """Yield the problems of the alternative that has the value's type; one problem if none has."""
        by_alternative = groupby(error.context, key=lambda each: each.relative_schema_path[0])
        for _, group in by_alternative:
            errors = list(group)
            if not any(each.validator in ("type", "const") and not each.relative_path for each in errors):
                for each in errors:
                    yield from self.problems(each)
                return
        yield self._misfit(error.schema, error.instance, path)

    def _unknown_keys(self, value: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[Problem]:
        known, check = schema["properties"], _property_of(schema)
        of = f" of {check}" if check else ""
        for key in value.keys() - known.keys():
            owners = [_property_of(each) for each in _definitions().values() if check and key in _keys(each)]
            if key in RENAMED and RENAMED[key] in known:
                new = RENAMED[key]
                is_second = new in value or key != next(each for each in RENAMED if each in value)
                expected = f"{new}, as this key is now called"
                remedy = f"add its items to {new}:" if is_second else f"write {new}:"
            elif key == "id" and not path:
                expected, remedy = "the folder's name to be the id", "take it out"
            elif near := self._meant(key, value, known):
                expected, remedy = f"a known key{of}", f"write {near}"
            elif owners:
                expected, remedy = f"a known key{of}", f"take it out: it is an argument of {listed(owners)}"
            else:
                expected, remedy = f"one of the keys{of}: {', '.join(known)}", "take it out"
            yield Problem((*path, key), expected, quoted(key), remedy, at_key=True)

    def _meant(self, key: str, value: dict[str, Any], known: Iterable[str]) -> str:
        """Return the known key that an unknown one is probably meant as, a missing one first."""
        self._lookups += 1
        missing = [each for each in known if each not in value]
        return nearest(key, [*missing, *known]) if self._lookups < MOST_PROBLEMS else ""

    def _missing_keys(self, value: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[Problem]:
        known = schema.get("properties", {})
        unknown = value.keys() - known.keys() if schema.get("additionalProperties") is False else ()
        meant = {RENAMED.get(key) or self._meant(key, value, known) for key in unknown}
        for name in schema["required"]:
            if name not in value and name not in meant:
                what = _expected(known.get(name, {}), name)
                yield Problem(
                    (*path, name), what, "no such key", f"write {name}: {_example(known.get(name, {}), name)}"
                )

    def _wrong_count(self, error: Any, path: KeyPath) -> Problem:
        count, bound = len(error.instance), error.validator_value
        if "prefixItems" in error.schema:
            remedy = f"write {bound - count} more" if count < bound else f"keep {bound}"
            return Problem(path, _expected(error.schema, _key_at(path)), str(count), remedy)
        if error.validator == "minItems":
            return Problem(path, f"at least {bound}", str(count), f"write {bound - count} more")
        return Problem(path, f"at most {bound}", str(count), f"keep {bound}")

    def _misfit(self, schema: Schema, value: Any, path: KeyPath) -> Problem:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        expected = _expected(schema, _key_at(path), with_bounds=is_number)
        return Problem(path, expected, self._found(value, path), self._remedy(schema, value, path))

    def _found(self, value: Any, path: KeyPath) -> str:
        raw = self._document.raw.get(path, "")
        if isinstance(value, str):
            return quoted(value) if value.strip() else "an empty text"
        if value is None:
            return "nothing"
        if isinstance(value, bool):
            meant = str(value).lower()
            return meant if raw.lower() == meant else f"the bare word {raw}, which YAML reads as {meant}"
        if isinstance(value, list):
            return f"a list of {len(value)}"
        if isinstance(value, dict):
            return f"a mapping with {listed(map(str, value))}" if value else "an empty mapping"
        return raw

    def _remedy(self, schema: Schema, value: Any, path: KeyPath) -> str:
        name, raw = _key_at(path), self._document.raw.get(path, "")
        key = f"{name}: " if name else ""
        schema = _resolved(schema)
        kind, choices = schema.get("type"), schema.get("enum", [])
        if kind in ("integer", "number") and isinstance(value, str) and _is_number(value, kind):
            return f"write {key}{value.strip()} without quotes"
        if kind == "string" and isinstance(value, bool | int | float):
            return f'put it in quotes: {key}"{raw}"'
        if choices and (near := nearest(str(value), map(str, choices))):
            return f"write {key}{near}"
        if name == "property":
            return "write matches_reference, or another of tests/README.md"
        if kind == "array" and isinstance(value, str) and value:
            return f"write {key}[{raw}]"
        above = str(path[-2]) if len(path) > 1 and not name else ""
        item = EXAMPLES.get(above, "")
        return f"write {key}{item[1:-1] if item.startswith('[') else _example(schema, name)}"


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
    """Return the name of the property whose arguments a schema describes; empty for any other schema."""
    return str(schema.get("properties", {}).get("property", {}).get("const", ""))


def _expected(schema: Schema, name: str = "", *, with_bounds: bool = False) -> str:
    schema = _resolved(schema)
    if name in WORDS:
        return WORDS[name]
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return listed(map(str, schema["enum"]), "or")
    if "anyOf" in schema:
        return _expected_of_any(schema, with_bounds=with_bounds)
    kind = schema.get("type", "")
    if kind == "object" and schema.get("required"):
        return f"a mapping with {listed(schema['required'])}"
    words = PATTERNS.get(schema.get("pattern", ""), TYPES.get(kind, "a value"))
    return words + (_bounds(schema) if with_bounds else "")


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
    """Return an example of a value."""
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
