"""Values of a description against the records they are to become: every misfit, and values that do fit.

msgspec stops at the first misfit. This goes on, and puts something harmless in the place of what does not fit, so that
what the values mean can still be looked at where they are sound.
"""

import re
from functools import cache
from typing import Any

from msgspec import inspect as mi

from grader.spec.document import Node
from grader.spec.exercise import EDITION_KEYS, Exercise
from grader.spec.problem import (
    MOST_PROBLEMS,
    KeyPath,
    Problem,
    listed,
    missing_from_blank,
    nearest,
    path_text,
    quoted,
)
from grader.spec.wording import choices, example, expected_words, found_words, name_of_tag, remedy_words

BROKEN = object()
SCALARS = ((mi.BoolType, bool), (mi.IntType, int), (mi.FloatType, int | float), (mi.StrType, str))


def fit(root: Node) -> tuple[Any, list[Problem], set[KeyPath]]:
    """Plain data that fits the records, what was wrong with what stood there, and the paths that hold placeholders."""
    fitter = Fitter()
    data = fitter.struct(_exercise_type(), root, (), given=("id",))
    return data, fitter.problems, fitter.misnamed | {problem.path for problem in fitter.problems}


class Fitter:
    """Walks values and types side by side."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.misnamed: set[KeyPath] = set()

    def fit(self, kind: mi.Type, node: Node, path: KeyPath) -> Any:
        """The value where it fits; `BROKEN` where it does not, and a problem that says so."""
        kind = _given(kind)
        if isinstance(node.value, str) and (what := missing_from_blank(node.value)) is not None:
            return self._broken(path, what, "a blank", "it is still to be filled in")
        match kind:
            case mi.UnionType():
                return self._union(kind, node, path)
            case mi.StructType():
                return self.struct(kind, node, path)
        if isinstance(node.value, list | dict):
            return self._collection(kind, node, path)
        if isinstance(kind, mi.EnumType | mi.LiteralType):
            fits = node.value in choices(kind) and not isinstance(node.value, bool)
        else:
            fits = _is_scalar_of(kind, node.value) and _is_within(kind, node.value)
        return node.value if fits else self._misfit(kind, node, path)

    def _collection(self, kind: mi.Type, node: Node, path: KeyPath) -> Any:
        most = getattr(kind, "max_length", None)
        if most is not None and len(node.value) > most:
            return self._broken(path, f"at most {most}", str(len(node.value)), "keep what tells most")
        match kind:
            case mi.ListType() | mi.VarTupleType() if isinstance(node.value, list):
                return [self._whole(kind.item_type, item, (*path, at)) for at, item in enumerate(node.value)]
            case mi.TupleType() if isinstance(node.value, list):
                return self._tuple(kind, node, path)
            case mi.DictType() if isinstance(node.value, dict):
                return self._dict(kind, node, path)
        return self._misfit(kind, node, path)

    def struct(self, kind: mi.StructType, node: Node, path: KeyPath, given: tuple[str, ...] = ()) -> Any:
        """Keys and values of a record; those `given` come from elsewhere."""
        if not isinstance(node.value, dict):
            return self._misfit(kind, node, path)
        fields = {field.encode_name: field for field in kind.fields if field.encode_name not in given}
        missing = [name for name, field in fields.items() if field.required and name not in node.value]
        fitted = {kind.tag_field: kind.tag} if kind.tag_field else {}
        for key, child in node.value.items():
            if key in fields:
                value = self.fit(fields[key].type, child, (*path, key))
                if value is not BROKEN:
                    fitted[key] = value
            elif key != kind.tag_field:
                self._unknown_key(kind, key, list(fields), missing, path)
        for name in missing:
            what = expected_words(fields[name].type, name)
            self._note((*path, name), what, "no such key", f"write {name}: {example(fields[name].type, name)}")
        neutral = {
            name: _neutral(field.type, (*path, name))
            for name, field in fields.items()
            if field.required and name not in fitted
        }
        return fitted | neutral

    def _unknown_key(self, kind: mi.StructType, key: str, known: list[str], missing: list[str], path: KeyPath) -> None:
        is_told = len(self.problems) < MOST_PROBLEMS
        near = nearest(key, [*missing, *known]) if is_told else ""
        if near in missing:
            missing.remove(near)
            self.misnamed.add((*path, near))
        of = f" of {name_of_tag(kind)}" if kind.tag_field else ""
        if key == "id" and not path:
            expected, remedy = "the folder's name to be the id", "take it out"
        elif near:
            expected, remedy = f"a known key{of}", f"write {near}"
        elif owners := [name_of_tag(each) for each in _properties() if of and _has(each, key)]:
            expected, remedy = f"a known key{of}", f"take it out: it is an argument of {listed(owners)}"
        else:
            names = [name for name in known if path or name not in EDITION_KEYS]
            expected, remedy = f"one of the keys{of}: {', '.join(names)}", "take it out"
        self._note((*path, key), expected, quoted(key), remedy, at_key=True)

    def _union(self, kind: mi.UnionType, node: Node, path: KeyPath) -> Any:
        structs = [member for member in kind.types if isinstance(member, mi.StructType)]
        if isinstance(node.value, dict) and structs:
            return self.struct(structs[0], node, path) if len(structs) == 1 else self._tagged(structs, node, path)
        kinds = [member for member in kind.types if _takes(member, node.value)]
        has_numbers = any(isinstance(member, mi.FloatType) for member in kind.types)
        if not kinds or (has_numbers and node.is_bare_exponent()):
            return self._misfit(kind, node, path)
        return self.fit(kinds[0], node, path)

    def _tagged(self, structs: list[mi.StructType], node: Node, path: KeyPath) -> Any:
        by_name = {name_of_tag(each): each for each in structs}
        field = str(structs[0].tag_field)
        found = node.value.get(field)
        if found is not None and isinstance(found.value, str) and found.value in by_name:
            return self.struct(by_name[found.value], node, path)
        near = nearest(str(found.value), by_name) if found else ""
        remedy = f"write {field}: {near}" if near else "write matches_reference, or another of tests/README.md"
        seen = found_words(found) if found else "no such key"
        return self._broken((*path, field), expected_words(mi.AnyType(), field) or "a name", seen, remedy)

    def _tuple(self, kind: mi.TupleType, node: Node, path: KeyPath) -> Any:
        wanted, count = len(kind.item_types), len(node.value)
        if count != wanted:
            remedy = f"write {wanted - count} more" if count < wanted else f"keep {wanted}"
            self._broken(path, expected_words(kind, str(path[-1])), str(count), remedy)
        pairs = zip(kind.item_types, node.value, strict=False)
        fitted = [self._whole(item, child, (*path, at)) for at, (item, child) in enumerate(pairs)]
        return fitted if count == wanted else BROKEN

    def _dict(self, kind: mi.DictType, node: Node, path: KeyPath) -> Any:
        for key in node.value:
            if not _is_within(kind.key_type, key):
                self._note((*path, key), expected_words(kind.key_type), quoted(key), "write another name", at_key=True)
        fitted = {key: self.fit(kind.value_type, child, (*path, key)) for key, child in node.value.items()}
        return {
            key: _neutral(kind.value_type, (*path, key)) if value is BROKEN else value
            for key, value in fitted.items()
            if _is_within(kind.key_type, key)
        }

    def _whole(self, kind: mi.Type, node: Node, path: KeyPath) -> Any:
        value = self.fit(kind, node, path)
        return _neutral(kind, path) if value is BROKEN else value

    def _misfit(self, kind: mi.Type, node: Node, path: KeyPath) -> Any:
        name = next((part for part in path[-1:] if isinstance(part, str)), "")
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        expected = expected_words(kind, name, with_bounds=is_number)
        return self._broken(path, expected, found_words(node), remedy_words(kind, node, path))

    def _broken(self, path: KeyPath, expected: str, found: str, remedy: str) -> Any:
        self._note(path, expected, found, remedy)
        return BROKEN

    def _note(self, path: KeyPath, expected: str, found: str, remedy: str, *, at_key: bool = False) -> None:
        self.problems.append(Problem(path, expected, found, remedy, at_key=at_key))


@cache
def _exercise_type() -> mi.StructType:
    kind = mi.type_info(Exercise)
    assert isinstance(kind, mi.StructType)
    return kind


def _properties() -> list[mi.StructType]:
    checks = next(field.type for field in _exercise_type().fields if field.name == "checks")
    assert isinstance(checks, mi.ListType)
    assert isinstance(checks.item_type, mi.UnionType)
    return [each for each in checks.item_type.types if isinstance(each, mi.StructType)]


def _has(kind: mi.StructType, key: str) -> bool:
    return any(field.encode_name == key for field in kind.fields)


def _is_scalar_of(kind: mi.Type, value: Any) -> bool:
    if value is None:
        return isinstance(kind, mi.NoneType)
    if isinstance(value, bool):
        return isinstance(kind, mi.BoolType)
    return any(isinstance(kind, scalar) and isinstance(value, python) for scalar, python in SCALARS)


def _is_within(kind: mi.Type, value: Any) -> bool:
    """Whether a scalar keeps to its type's bounds or pattern."""
    if isinstance(kind, mi.StrType):
        return len(value) >= (kind.min_length or 0) and re.search(kind.pattern or "", value) is not None
    if isinstance(kind, mi.IntType | mi.FloatType):
        above = (kind.gt is None or value > kind.gt) and (kind.ge is None or value >= kind.ge)
        below = kind.le is None or value <= kind.le
        return above and below and (isinstance(kind, mi.FloatType) or abs(value) < MOST)
    return True


def _given(kind: mi.Type) -> mi.Type:
    """The one type that a key which may be left out takes where it is written."""
    if isinstance(kind, mi.UnionType):
        others = [member for member in kind.types if not isinstance(member, mi.NoneType)]
        return others[0] if len(others) == 1 else kind
    return kind


MOST = 2**63
"""Integers from here on are none to msgspec."""


def _takes(kind: mi.Type, value: Any) -> bool:
    """Whether a value is of the sort that this member of a union is for."""
    if isinstance(value, list):
        return isinstance(kind, mi.ListType)
    return _is_scalar_of(kind, value)


def _neutral(kind: mi.Type, path: KeyPath) -> Any:
    """Something that fits and that no other part of the description can mean."""
    match kind:
        case mi.UnionType():
            return _neutral(kind.types[0], path)
        case mi.StructType():
            required = {f.encode_name: _neutral(f.type, (*path, f.encode_name)) for f in kind.fields if f.required}
            tagged = {kind.tag_field: kind.tag, "id": _neutral(mi.StrType(), path)} if kind.tag_field else {}
            return required | tagged
        case mi.TupleType():
            return [_neutral(item, (*path, at)) for at, item in enumerate(kind.item_types)]
        case mi.ListType() | mi.VarTupleType():
            return []
        case mi.DictType():
            return {}
        case mi.EnumType() | mi.LiteralType():
            return choices(kind)[0]
        case mi.StrType():
            return re.sub(r"\W+", "_", f"at {path_text(path)}")
        case mi.BoolType():
            return False
    return None if isinstance(kind, mi.NoneType) else 1
