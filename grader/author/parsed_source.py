"""A module's source for mutation operators: the syntax tree, parents, and the meaning of names."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from msgspec import Struct


class Edit(Struct, frozen=True, kw_only=True):
    """Pairs of a node and its new source; a change of several nodes has several pairs, none inside another."""

    pairs: list[tuple[cst.CSTNode, str]]


def replace(node: cst.CSTNode, code: str) -> Edit:
    """Replace one node's source."""
    return Edit(pairs=[(node, code)])


Node = TypeVar("Node", bound=cst.CSTNode)


class ParsedSource:
    """A parsed source; its methods take nodes of `self.module` only."""

    def __init__(self, source: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(source))
        self.module = wrapper.module
        self._source = source
        self._attributes_by_class: dict[cst.ClassDef, list[tuple[str, cst.BaseExpression]]] = {}
        self._line_starts = [0, *(index + 1 for index, letter in enumerate(source) if letter == "\n")]
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._places = wrapper.resolve(PositionProvider)

    def code(self, node: cst.CSTNode) -> str:
        """Return the node's source."""
        return self.module.code_for_node(node)

    def line(self, node: cst.CSTNode) -> int:
        """Return the line on which the node starts."""
        return int(self._places[node].start.line)

    def apply(self, edit: Edit) -> str:
        """Return the whole source with an edit applied."""
        text = self._source
        for node, code in sorted(edit.pairs, key=lambda pair: self._span(pair[0]), reverse=True):
            start, end = self._span(node)
            text = text[:start] + code + text[end:]
        return text

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._places[node]
        start, end = (self._line_starts[at.line - 1] + at.column for at in (place.start, place.end))
        return start, end

    def nodes(self) -> Iterator[cst.CSTNode]:
        """Return every node that behaviour may depend on: no imports, annotations, docstrings or printed text."""
        yield from self._walk(self.module)

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Return the node's ancestors, innermost first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        return next((parent for parent in self.parents(node) if isinstance(parent, cst.ClassDef)), None)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        return next((parent for parent in self.parents(node) if isinstance(parent, cst.FunctionDef)), None)

    def layers(self, node: cst.CSTNode) -> dict[str, str]:
        """Return the layers `self.name = Class(...)` of the node's class: class names by attribute."""
        found: dict[str, str] = {}
        for name, value in self._attributes(node):
            if isinstance(value, cst.Call):
                found[name] = tail(value.func)
        return found

    def sizes(self, node: cst.CSTNode) -> list[str]:
        """Return expressions for sizes in scope at the node: attributes, names unpacked from a shape, arguments."""
        function = self.function_of(node)
        plain = [(name, value) for name, value in self._attributes(node) if not isinstance(value, cst.Call)]
        found = [f"self.{name}" for name, _ in plain]
        if function is not None and function.name.value == "__init__":
            found += [name.value for _, value in plain for name in find(value, cst.Name)]
        elif function is not None:
            found += self._unpacked(function)
        return list(dict.fromkeys(found))

    def _attributes(self, node: cst.CSTNode) -> list[tuple[str, cst.BaseExpression]]:
        """Return the assignments to `self` in the constructor of the node's class: pairs of attribute and value."""
        owner = self.class_of(node)
        if owner is not None and owner not in self._attributes_by_class:
            self._attributes_by_class[owner] = list(self._find_attributes(owner))
        return self._attributes_by_class[owner] if owner is not None else []

    def _find_attributes(self, owner: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression]]:
        for assign in find(owner, cst.Assign):
            function = self.function_of(assign)
            if function is None or function.name.value != "__init__":
                continue
            for target in assign.targets:
                attribute = target.target
                if isinstance(attribute, cst.Attribute) and self.code(attribute.value) == "self":
                    yield attribute.attr.value, assign.value

    def _unpacked(self, function: cst.FunctionDef) -> Iterator[str]:
        """Return the names that the function unpacks from `.shape` or `.size()`."""
        for assign in find(function, cst.Assign):
            target = assign.targets[0].target
            value = assign.value.func if isinstance(assign.value, cst.Call) else assign.value
            if isinstance(target, cst.Tuple) and tail(value) in ("shape", "size"):
                names = [element.value for element in target.elements if isinstance(element, cst.Element)]
                yield from (name.value for name in names if isinstance(name, cst.Name) and name.value != "_")

    def _walk(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if isinstance(node, cst.Import | cst.ImportFrom | cst.Annotation) or is_output_only(node):
            if isinstance(node, cst.If):
                yield node
                yield from self._walk(node.test)
            return
        yield node
        for child in node.children:
            yield from self._walk(child)


class Operator(Struct, frozen=True, kw_only=True):
    """A mutation operator: the edits that it proposes at a node, and `advice`, the property that catches them."""

    edits: Callable[[cst.CSTNode, ParsedSource], Iterable[Edit]]
    advice: str


def is_output_only(node: cst.CSTNode) -> bool:
    """Return whether a statement only prints or logs text, which no interface promises."""
    if isinstance(node, cst.If):
        return node.orelse is None and all(is_output_only(statement) for statement in node.body.body)
    if isinstance(node, cst.SimpleStatementLine):
        return all(isinstance(part, cst.Expr) and _is_print_or_docstring(part.value) for part in node.body)
    return False


def tail(node: cst.CSTNode) -> str:
    """Return the last part of a dotted name: `softmax` of `torch.nn.functional.softmax`."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _is_print_or_docstring(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Call):
        return isinstance(value.func, cst.Name) and value.func.value == "print"
    return isinstance(value, cst.SimpleString | cst.ConcatenatedString)


def find(root: cst.CSTNode, kind: type[Node]) -> Iterator[Node]:
    """Return the nodes of one kind in a tree."""
    if isinstance(root, kind):
        yield root
    for child in root.children:
        yield from find(child, kind)


def called_attribute(node: cst.CSTNode, parsed: ParsedSource) -> str:
    """Return `name` of `self.name(...)`, or nothing."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and parsed.code(node.func.value) == "self":
        return node.func.attr.value
    return ""


def is_method(node: cst.CSTNode, *names: str) -> bool:
    """Return whether the node calls a method of one of these names."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in names


def receiver(node: cst.CSTNode) -> cst.BaseExpression:
    """Return the object that a method is called on."""
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.func.value


def is_masking(node: cst.CSTNode) -> bool:
    """Return whether the node is `scores.masked_fill(mask, value)`."""
    return is_method(node, "masked_fill", "masked_fill_") and isinstance(node, cst.Call) and len(node.args) > 1


def is_root(node: cst.CSTNode) -> bool:
    return rooted(node) is not None


def rooted(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return `d` of `sqrt(d)` or `d ** 0.5`."""
    if isinstance(node, cst.Call) and tail(node.func) == "sqrt" and node.args:
        inner = node.args[0].value
        is_wrapped = isinstance(inner, cst.Call) and tail(inner.func) == "tensor" and inner.args
        return inner.args[0].value if is_wrapped and isinstance(inner, cst.Call) else inner
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power):
        return node.left if isinstance(node.right, cst.Float) else None
    return None
