"""Parse YAML into plain values, and remember the place of each. Every YAML error becomes a `Problem`."""

import math
import re
from typing import Any

import yaml

from grader.spec.problem import KeyPath, Problem, missing_from_blank, quoted

A_MAPPING = "a mapping of keys such as format_version and title"
MAX_DESCRIPTION_BYTES = 1_000_000
MAX_VALUES = 5_000
MAX_DEPTH = 20
"""The most levels of lists and mappings. Much deeper files would overflow PyYAML's stack."""

CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff"
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Characters that no text needs, among them those that change the direction of the text around them."""

BARE_EXPONENT = re.compile(r"[-+]?\d[\d_]*(\.\d*)?[eE][-+]?\d+")
"""A number with an exponent. YAML 1.1 reads it as text unless it has both a dot and a sign in the exponent."""

TAG = "tag:yaml.org,2002:"
PLAIN = ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
"""The tags that YAML gives to values that are written without a tag."""

CONSTRUCTOR = yaml.constructor.SafeConstructor()


class RefusedError(Exception):
    """The file, or the rest of it, cannot be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.found)
        self.problem = problem


class Document:
    """The values of a file, with the place and the written text of each value."""

    def __init__(self, root: yaml.Node) -> None:
        self.problems: list[Problem] = []
        self.raw: dict[KeyPath, str] = {}
        self._places: dict[KeyPath, tuple[int, int]] = {}
        self._keys: dict[KeyPath, tuple[int, int]] = {}
        self.data = self._value(root, ())

    def place(self, path: KeyPath, *, at_key: bool = False) -> tuple[int, int]:
        """Return line and column of the value at a path, or of its key. For a missing value, use the one around it."""
        if at_key and path in self._keys:
            return self._keys[path]
        while path not in self._places:
            path = path[:-1]
        return self._places[path]

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._places[path] = _place(node)
        if len(self._places) > MAX_VALUES:
            found = "more values, with aliases written out"
            raise _refused(node, f"at most {MAX_VALUES:,} values", found, "describe one exercise in each file")
        if len(path) >= MAX_DEPTH:
            raise _refused(node, f"at most {MAX_DEPTH} levels", "one more", "no exercise needs so many levels")
        if node.tag.removeprefix(TAG) not in PLAIN:
            remedy = "remove the tag; the plain value is enough"
            self._note(node, path, "a value without a tag", node.tag.replace(TAG, "!!"), remedy)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == f"{TAG}merge":
                is_merge = isinstance(key_node, yaml.ScalarNode)
                found = "the merge key <<" if is_merge else f"a {key_node.id.replace('sequence', 'list')}"
                quote = "write a word before the colon, and put a text with brackets in quotes"
                remedy = "write the keys out" if is_merge else quote
                self._note(key_node, path, "a plain word as a key", found, remedy)
                continue
            key = str(key_node.value)
            at = (*path, key)
            if key in values:
                found = f"a second one, after {':'.join(map(str, self._keys[at]))}"
                self._note(key_node, at, "each key once", found, "remove one of them")
                continue
            self._keys[at] = _place(key_node)
            values[key] = self._value(value_node, at)
        return values

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        """Return the value of a scalar; dates and clock times stay text."""
        raw = self.raw[path] = str(node.value)
        kind, is_plain = node.tag.removeprefix(TAG), not node.style
        key = f"{path[-1]}: " if path and isinstance(path[-1], str) else ""
        description = missing_from_blank(raw)
        if control := CONTROL.search(raw):  # written as an escape
            self._note(node, path, "printable text", f"the control character {_named(control)}", "remove it")
        if description is not None:
            self._note(node, path, description, "a blank", "fill it in")
        elif is_plain and kind == "str" and BARE_EXPONENT.fullmatch(raw):
            found = f"{raw}, which is text in YAML (a number has a dot and a signed exponent)"
            self._note(node, path, "a number", found, f"write {key}{_with_dot(raw)}, or put a text in quotes")
        if kind == "null":
            return None
        if kind == "bool":
            return CONSTRUCTOR.construct_yaml_bool(node)
        try:
            if kind == "int" and ":" not in raw:
                return CONSTRUCTOR.construct_yaml_int(node)
            if kind == "float" and ":" not in raw:
                number = CONSTRUCTOR.construct_yaml_float(node)
                if math.isnan(number):
                    self._note(node, path, "a number", raw, f"write {key}2")
                return number
        except ValueError:  # more digits than Python accepts, or an octal number with a nine
            return raw
        return raw

    def _note(self, node: yaml.Node, path: KeyPath, expected: str, found: str, remedy: str) -> None:
        line, column = _place(node)
        self.problems.append(
            Problem(path=path, expected=expected, found=found, remedy=remedy, line=line, column=column)
        )


def read_document(content: bytes) -> Document:
    """Return the values of a file, and its problems with YAML.

    Raise `RefusedError` if the text is not YAML, or longer or deeper than an exercise.yaml can be.
    """
    text = _decode(content)
    try:
        _require_shallow(text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise RefusedError(explain_syntax_error(error, text)) from error
    except yaml.YAMLError as error:
        raise RefusedError(_at(1, 1, "YAML", quoted(str(error)), "write the file again")) from error
    if root is None:
        raise RefusedError(_at(1, 1, A_MAPPING, "an empty file", "begin it with format_version: 1"))
    if not isinstance(root, yaml.MappingNode):
        found = "a list" if isinstance(root, yaml.SequenceNode) else quoted(str(root.value))
        raise _refused(root, A_MAPPING, found, "begin it with format_version: 1")
    return Document(root)


def _require_shallow(text: str) -> None:
    """Raise `RefusedError` if lists and mappings are nested so deeply that PyYAML would overflow its stack."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _refused(event, f"at most {MAX_DEPTH} levels", "one more", "no exercise needs so many levels")


def _place(at: yaml.Node | yaml.Event) -> tuple[int, int]:
    mark: Any = at.start_mark
    return mark.line + 1, mark.column + 1


def _refused(at: yaml.Node | yaml.Event, expected: str, found: str, remedy: str) -> RefusedError:
    return RefusedError(_at(*_place(at), expected, found, remedy))


def _at(line: int, column: int, expected: str, found: str, remedy: str) -> Problem:
    return Problem(path=(), expected=expected, found=found, remedy=remedy, line=line, column=column)


def _decode(content: bytes) -> str:
    if len(content) > MAX_DESCRIPTION_BYTES:
        found = f"more than {MAX_DESCRIPTION_BYTES:,}"
        raise RefusedError(
            _at(1, 1, f"a file of at most {MAX_DESCRIPTION_BYTES:,} bytes", found, "describe one exercise in each file")
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        found = f"the byte 0x{content[error.start]:02x}"
        raise RefusedError(_at(*_place_after(before), "text in UTF-8", found, "save the file as UTF-8")) from error
    control = CONTROL.search(text)
    if control:
        found = f"the control character {_named(control)}"
        place = _place_after(text[: control.start()])
        raise RefusedError(_at(*place, "printable text", found, "remove it"))
    return text


def _named(character: re.Match[str]) -> str:
    return f"U+{ord(character.group()):04X}"


def _place_after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _with_dot(raw: str) -> str:
    """Return a number with an exponent in the form that YAML 1.1 reads as a number: 1e-5 as 1.0e-5."""
    mantissa, exponent = raw.lower().split("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"


COMPLAINTS = (
    ("exceeded maximum nesting depth", f"at most {MAX_DEPTH} levels", "one more", "no exercise needs so many levels"),
    (
        "mapping values are not allowed",
        "one key in a line",
        "another colon",
        "put a text that contains a colon in quotes, or indent the key like the keys above",
    ),
    ("did not find expected ',' or ']'", "a comma or ]", "something else", "close the list that begins at CONTEXT"),
    (
        "did not find expected ',' or '}'",
        "a comma or }",
        "something else",
        "close the mapping that begins at CONTEXT",
    ),
    ("unexpected end of stream", "a closing quote", "the end of the file", "close the quote that begins at CONTEXT"),
    ("could not find expected ':'", "a colon after the key", "none", "write key: value, or indent a text's next line"),
    (
        "did not find expected key",
        "a key of the mapping that begins at CONTEXT",
        "something else",
        "indent all keys equally, and put a text that begins with a quote in quotes as a whole",
    ),
    ("did not find expected '-' indicator", "a - below the other ones", "something else", "indent all items equally"),
    (
        "block sequence entries are not allowed",
        "a value",
        "a - in the middle of a line",
        "begin the list on a new line",
    ),
    ("cannot start any token", "a value", "CHARACTER", "put the text in quotes"),
    ("unknown escape character", "a valid escape", "CHARACTER", "use single quotes, in which \\ is an ordinary \\"),
    ("alphabetic or numeric character", "a name after & or *", "CHARACTER", "put a text that begins with it in quotes"),
    ("undefined tag handle", "a value without a tag", "CHARACTER", "put a text that begins with ! in quotes"),
    ("but found another document", "one document", "a second one", "remove the line ---, or split the file"),
    ("found undefined alias", "the name of an anchor above", "an alias without an anchor", "write the value out"),
    (
        "did not find expected <document start>",
        "one mapping",
        "something after its end",
        "indent all keys equally",
    ),
)
"""Part of PyYAML's message, what was expected, what was found, and the remedy.

`CONTEXT` stands for the place where the construct begins, `CHARACTER` for the character at which the parser stopped.
"""


def explain_syntax_error(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """Return the parser's error as a problem with its place."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.split("\n")
    written = lines[line - 1] if line <= len(lines) else ""
    context = f"{error.context_mark.line + 1}:{error.context_mark.column + 1}" if error.context_mark else "its start"
    character = quoted(written[column - 1 : column]) if written[column - 1 :].strip() else "the end of the line"
    complaint = str(error.problem or error.context)
    if "\t" in written[: len(written) - len(written.lstrip())] or written[column - 1 : column] == "\t":
        column = written.index("\t") + 1
        return Problem(
            path=(),
            expected="spaces",
            found="a tab",
            remedy="indent with spaces; YAML allows no tabs there",
            line=line,
            column=column,
        )
    for part, expected, found, remedy in COMPLAINTS:
        if part in complaint:
            filled = [_filled(each, context, character) for each in (expected, found, remedy)]
            return Problem(path=(), expected=filled[0], found=filled[1], remedy=filled[2], line=line, column=column)
    found = f"an error that the parser calls {quoted(complaint)}"
    return Problem(
        path=(), expected="YAML", found=found, remedy="look at this line and the one above it", line=line, column=column
    )


def _filled(sentence: str, context: str, character: str) -> str:
    return sentence.replace("CONTEXT", context).replace("CHARACTER", character)


class Dumper(yaml.SafeDumper):
    """A YAML writer without aliases: a value that occurs twice is written out twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True
