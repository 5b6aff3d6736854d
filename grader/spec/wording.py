"""The words in which a description's faults are told: what a type expects, what was found, what to write."""

from typing import Any

from msgspec import inspect as mi

from grader.spec.document import Node
from grader.spec.fields import PATTERNS
from grader.spec.problem import KeyPath, listed, nearest, quoted

SPECIAL = {
    "hints": "three hints, from a nudge to nearly the answer",
    "sizes": "a list of size cases, each with a number for every size",
    "between": "two numbers, the smaller first",
    "axes": "two axes, that of the queries and that of the keys",
    "outputs": "a list of shapes, one for each tensor that comes out",
    "property": "the name of a built-in property",
}

EXAMPLES = {
    "attribute": "attn",
    "axes": "[-2, -1]",
    "between": "[0.0, 1.0]",
    "batch": "2",
    "becomes": "x = y",
    "checks": "[{property: matches_reference}]",
    "class": "MultiHeadAttention",
    "constructor": "{embed_dim: embed_dim, dropout: 0.0}",
    "defects": "[{id: swapped-axes, ...}]",
    "equals": "embed_dim",
    "equivalents": "[{was: ..., becomes: ..., reason: ...}]",
    "errors": "[ValueError]",
    "fix": "scores / math.sqrt(self.head_dim)",
    "format_version": "1",
    "hints": "[a nudge, a question, nearly the answer]",
    "id": "swapped-axes",
    "input": "x",
    "integers": "vocab",
    "inputs": "{x: [batch, tokens, embed_dim]}",
    "interface": "{class: ..., constructor: ..., inputs: ..., outputs: ...}",
    "sizes": "[{batch: 1, tokens: 5, embed_dim: 12}]",
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
    "source": "{title: a notebook on attention}",
    "story": "one paragraph about who wrote it and what they noticed",
    "title": "what people notice",
    "to": "{context_length: 9}",
    "url": "https://example.org/notebook",
    "was": "scores / math.sqrt(self.embed_dim)",
    "why": "what it did, and why nobody saw it",
}

ITEMS = {
    "checks": "{property: matches_reference}",
    "defects": "{id: swapped-axes, ...}",
    "equivalents": "{was: ..., becomes: ..., reason: ...}",
    "errors": "ValueError",
    "hints": "a sentence",
    "sizes": "{batch: 1, tokens: 5, embed_dim: 12}",
    "mentions": "tokens",
    "outputs": "[batch, tokens, embed_dim]",
    "parameters": "q_proj.weight",
}
"""What one item of a list may be."""


A_MADE_TENSOR = "a made tensor ({mask: ..., shape: ...} or {integers: ..., shape: ...})"


def name_of_tag(kind: mi.StructType) -> str:
    """The property that a check's record stands for."""
    return str(kind.tag)


def expected_words(kind: mi.Type, name: str = "", *, with_bounds: bool = False) -> str:
    """What a value of this type is."""
    match kind:
        case mi.TupleType() | mi.ListType() | mi.VarTupleType():
            return SPECIAL.get(name, "a list")
        case mi.StrType():
            return PATTERNS[kind.pattern] if kind.pattern else "text"
        case mi.BoolType():
            return "true or false"
        case mi.IntType():
            return "a whole number" + (_bounds(kind) if with_bounds else "")
        case mi.FloatType():
            return "a number" + (_bounds(kind) if with_bounds else "")
        case mi.NoneType():
            return "null"
        case mi.EnumType() | mi.LiteralType():
            return listed(map(str, choices(kind)), "or")
        case mi.UnionType():
            return _union_words(kind)
        case mi.StructType():
            keys = [field.encode_name for field in kind.fields if field.required and field.name != "id"]
            return f"a mapping with {listed(keys)}" if keys else "a mapping"
    return SPECIAL.get(name, "a mapping")


def _bounds(kind: mi.IntType | mi.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:g} to {kind.le:g}"
    if kind.gt is not None:
        return f" above {kind.gt:g}" + (f" and up to {kind.le:g}" if kind.le is not None else "")
    return f" of at least {kind.ge:g}" if kind.ge is not None else ""


def _union_words(kind: mi.UnionType) -> str:
    structs = [member for member in kind.types if isinstance(member, mi.StructType)]
    if len(structs) > 1:
        return "a mapping with a property and its arguments"
    words = [A_MADE_TENSOR if member in structs else expected_words(member) for member in kind.types]
    return listed(dict.fromkeys(words), "or")


def choices(kind: mi.EnumType | mi.LiteralType) -> list[Any]:
    """The values a closed set allows."""
    return [each.value for each in kind.cls] if isinstance(kind, mi.EnumType) else list(kind.values)


def found_words(node: Node) -> str:
    """What stands there."""
    value = node.value
    if node.is_bare_exponent():
        return f"the text {value} (YAML reads a number only where it has a dot and a signed exponent)"
    if isinstance(value, str):
        return quoted(value) if value.strip() else "an empty text"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        meant = str(value).lower()
        return meant if node.raw.lower() == meant else f"the bare word {node.raw}, which YAML reads as {meant}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"a mapping with {listed(map(str, value))}" if value else "an empty mapping"
    return node.raw


def remedy_words(kind: mi.Type, node: Node, path: KeyPath) -> str:
    """What to write in place of what stands there."""
    name = str(path[-1]) if path and isinstance(path[-1], str) else ""
    key = f"{name}: " if name else ""
    members = kind.types if isinstance(kind, mi.UnionType) else (kind,)
    is_number = any(isinstance(member, mi.IntType | mi.FloatType) for member in members)
    if is_number and node.is_bare_exponent():
        return f"write {key}{_with_dot(node.raw)}"
    if isinstance(kind, mi.IntType | mi.FloatType) and _fits_without_quotes(kind, node.value):
        return f"write {key}{node.value.strip()} without quotes"
    if isinstance(kind, mi.StrType) and isinstance(node.value, bool | int | float):
        return f'put it in quotes: {key}"{node.raw}"'
    if isinstance(kind, mi.EnumType) and (near := nearest(str(node.value), choices(kind))):
        return f"write {key}{near}"
    if isinstance(kind, mi.ListType | mi.VarTupleType) and isinstance(node.value, str) and node.value:
        return f"write {key}[{node.raw}]"
    item = ITEMS.get(str(path[-2])) if len(path) > 1 and not name else None
    return f"write {key}{item or example(kind, name)}"


def _fits_without_quotes(kind: mi.IntType | mi.FloatType, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    text = value.strip().removeprefix("-")
    return text.isdecimal() or (isinstance(kind, mi.FloatType) and text.replace(".", "", 1).isdecimal())


def _with_dot(raw: str) -> str:
    """A number with an exponent as YAML 1.1 wants it: 1e-5 as 1.0e-5."""
    mantissa, exponent = raw.lower().split("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"


def example(kind: mi.Type, name: str) -> str:
    """Something that could stand there."""
    if isinstance(kind, mi.EnumType | mi.LiteralType):
        return str(choices(kind)[0])
    if name in EXAMPLES:
        return EXAMPLES[name]
    if isinstance(kind, mi.IntType | mi.FloatType):
        return "2"
    if isinstance(kind, mi.UnionType):
        return example(kind.types[0], "")
    return "true" if isinstance(kind, mi.BoolType) else "batch" if isinstance(kind, mi.StrType) else "..."
