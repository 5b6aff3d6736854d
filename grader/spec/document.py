"""YAML text -> plain values, each with its line and column; what is not to be read is refused in a sentence.

It builds from the parser's events, so that depth and number of values are bounded while it reads: composing nodes
first would let a megabyte of brackets overflow the stack, and a dozen aliases fill the memory.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct

from grader.spec.problem import KeyPath, Problem, explain_syntax_error, listed, nearest, quoted

A_MAPPING = "a mapping of keys such as format_version and title"
MAX_BYTES = 1_000_000
MAX_VALUES = 5_000
MAX_DEPTH = 20

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
BARE_EXPONENT = re.compile(r"[-+]?\d[\d_]*(\.\d*)?[eE][-+]?\d+")
"""Looks like a number; YAML 1.1, and so PyYAML, reads it as text unless it has both a dot and a signed exponent."""

KEYS = {yaml.SequenceStartEvent: "a list", yaml.MappingStartEvent: "a mapping"}
"""What may stand where a key belongs."""

RESOLVER = yaml.resolver.Resolver()
SCALARS = yaml.constructor.SafeConstructor()
TAG = "tag:yaml.org,2002:"


class Node(Struct):
    """A value and where it begins; a list holds nodes, a mapping holds nodes by their keys."""

    value: Any
    line: int
    column: int
    raw: str = ""
    is_plain: bool = False
    keys: dict[str, tuple[int, int]] = {}
    values: int = 1
    depth: int = 1

    def data(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, list):
            return [item.data() for item in self.value]
        if isinstance(self.value, dict):
            return {key: item.data() for key, item in self.value.items()}
        return self.value

    def is_bare_exponent(self) -> bool:
        return self.is_plain and isinstance(self.value, str) and BARE_EXPONENT.fullmatch(self.value) is not None

    def place(self, path: KeyPath, *, at_key: bool = False) -> tuple[int, int]:
        """Line and column of what lies at the path, or of the nearest thing around it."""
        node = self
        for part in path:
            children = node.value
            is_there = part < len(children) if isinstance(children, list) and isinstance(part, int) else False
            if isinstance(children, dict) and part in children:
                if at_key and part == path[-1]:
                    return node.keys[str(part)]
                is_there = True
            if not is_there:
                break
            node = children[part]
        return node.line, node.column


class RefusedError(Exception):
    """The text cannot be read at all, or not any further."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.found)
        self.problem = problem


def read_document(content: bytes) -> tuple[Node, list[Problem]]:
    """The values in the file and what is wrong with how they are written; `RefusedError` for what is no such text."""
    text = _decode(content)
    builder = _Builder(text)
    try:
        return builder.document(), builder.problems
    except yaml.MarkedYAMLError as error:
        raise RefusedError(explain_syntax_error(error, text)) from error
    except yaml.YAMLError as error:
        raise RefusedError(_at(1, 1, "YAML", quoted(str(error)), "write the file anew")) from error


def _at(line: int, column: int, expected: str, found: str, remedy: str) -> Problem:
    return Problem((), expected, found, remedy, line=line, column=column)


def _decode(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        found = f"more than {MAX_BYTES:,}"
        raise RefusedError(
            _at(1, 1, f"a file of at most {MAX_BYTES:,} bytes", found, "describe one exercise in a file")
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        found = f"the byte 0x{content[error.start]:02x}"
        raise RefusedError(_at(*_place_after(before), "text in UTF-8", found, "save the file as UTF-8")) from error
    control = CONTROL.search(text)
    if control:
        found = f"the control character U+{ord(control.group()):04X}"
        place = _place_after(text[: control.start()])
        raise RefusedError(_at(*place, "printable text", found, "take it out"))
    return text


def _place_after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


class _Builder:
    """Builds nodes from events, with a bound on everything that could grow."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.CSafeLoader))
        self._anchors: dict[str, Node | None] = {}
        self._values = 0

    def document(self) -> Node:
        next(self._events)
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            raise RefusedError(_at(1, 1, A_MAPPING, "an empty file", "begin it with format_version: 1"))
        event = next(self._events)
        root = self._node(event, (), 1)
        if not isinstance(root.value, dict):
            found = "a list" if isinstance(root.value, list) else quoted(root.raw)
            self._refuse(event, A_MAPPING, found, "begin it with format_version: 1")
        next(self._events)
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse(event, "one document", "a second one", "take the line --- out, or split the file")
        return root

    def _node(self, event: Any, path: KeyPath, depth: int) -> Node:
        self._values += 1
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event)
        if event.anchor:
            self._anchors[event.anchor] = None
        if event.tag is not None:
            remedy = "take the tag out; the plain value is enough"
            self._note(event, path, "a value without a tag", event.tag.replace(TAG, "!!"), remedy)
        node = Node(None, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            node.raw, node.is_plain = event.value, event.implicit[0]
            node.value = _scalar(event.value) if node.is_plain and event.tag is None else event.value
        elif depth > MAX_DEPTH:
            self._refuse_depth(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._fill_list(node, path, depth)
        else:
            self._fill_mapping(node, path, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _fill_list(self, node: Node, path: KeyPath, depth: int) -> None:
        node.value = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            node.value.append(self._child(node, event, (*path, len(node.value)), depth))

    def _fill_mapping(self, node: Node, path: KeyPath, depth: int) -> None:
        node.value, node.keys = {}, {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, path, depth)
            child = self._child(node, next(self._events), (*path, key or "?"), depth)
            if key is None:
                continue
            if key in node.value:
                first = ":".join(map(str, node.keys[key]))
                self._note(event, (*path, key), "each key once", f"this one again, after {first}", "keep one of them")
            else:
                node.value[key] = child
                node.keys[key] = (event.start_mark.line + 1, event.start_mark.column + 1)

    def _key(self, event: Any, path: KeyPath, depth: int) -> str | None:
        """The key's own letters, whatever YAML makes of them elsewhere; None where it is no word."""
        if isinstance(event, yaml.ScalarEvent) and not (event.implicit[0] and event.value == "<<"):
            return str(self._node(event, path, depth).raw)
        is_merge = isinstance(event, yaml.ScalarEvent)
        found = "the merge key <<" if is_merge else KEYS.get(type(event), "an alias")
        remedy = "write the keys out" if is_merge else "put a word before the colon, and quote a text that has brackets"
        self._note(event, path, "a plain word as a key", found, remedy)
        self._node(event, path, depth + 1)
        return None

    def _child(self, parent: Node, event: Any, path: KeyPath, depth: int) -> Node:
        child = self._node(event, path, depth + 1)
        parent.values += child.values
        parent.depth = max(parent.depth, child.depth + 1)
        if max(parent.values, self._values) > MAX_VALUES:
            found = "more, once its aliases are written out" if parent.values > self._values else "more"
            self._refuse(event, f"at most {MAX_VALUES:,} values", found, "describe one exercise in a file")
        if parent.depth + depth > MAX_DEPTH + 1:
            self._refuse_depth(event)
        return child

    def _aliased(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        if node is not None:
            return node
        if event.anchor in self._anchors:
            self._refuse(event, "a value that ends", f"*{event.anchor} inside &{event.anchor}", "write the value out")
        near = nearest(event.anchor, self._anchors)
        known = f"write *{near}" if near else f"the anchors so far are {listed(self._anchors)}"
        self._refuse(event, "the name of an anchor above", f"*{event.anchor}", known)
        raise AssertionError

    def _refuse_depth(self, event: Any) -> None:
        self._refuse(event, f"at most {MAX_DEPTH} levels", "one more", "no part of an exercise lies that deep")

    def _note(self, event: Any, path: KeyPath, expected: str, found: str, remedy: str) -> None:
        mark = event.start_mark
        self.problems.append(Problem(path, expected, found, remedy, line=mark.line + 1, column=mark.column + 1))

    def _refuse(self, event: Any, expected: str, found: str, remedy: str) -> None:
        mark = event.start_mark
        raise RefusedError(_at(mark.line + 1, mark.column + 1, expected, found, remedy))


def _scalar(raw: str) -> Any:
    """What a plain scalar stands for; dates and sexagesimals (12:30) stay the text they were meant as."""
    kind = str(RESOLVER.resolve(yaml.ScalarNode, raw, (True, False))).removeprefix(TAG)  # type: ignore[no-untyped-call]  # its stubs leave it out
    node = yaml.ScalarNode(kind, raw)
    if kind == "null":
        return None
    if kind == "bool":
        return SCALARS.construct_yaml_bool(node)
    try:
        if kind == "int" and ":" not in raw:
            return SCALARS.construct_yaml_int(node)
        if kind == "float" and ":" not in raw:
            return SCALARS.construct_yaml_float(node)
    except ValueError:  # longer than Python reads, or an octal with a nine
        return raw
    return raw


class Dumper(yaml.SafeDumper):
    """Writes YAML in which what stands twice is written out again: a description has no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True
