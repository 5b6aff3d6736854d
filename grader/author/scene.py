"""A module's source as mutation operators see it: syntax tree, parents, and what its names stand for."""

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

LINEAR, DROPOUT = "Linear", "Dropout"


class Scene:
    """A parsed source. What it tells of a node holds for the nodes of `self.module` only."""

    def __init__(self, source: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(source))
        self.module = wrapper.module
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._places = wrapper.resolve(PositionProvider)

    def code(self, node: cst.CSTNode) -> str:
        """The node's source."""
        return self.module.code_for_node(node)

    def line(self, node: cst.CSTNode) -> int:
        """The line on which the node starts."""
        return int(self._places[node].start.line)

    def nodes(self) -> Iterator[cst.CSTNode]:
        """Every node that behaviour may depend on: no imports, annotations and docstrings, and nothing that is printed."""
        yield from self._walk(self.module)

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What the node lies in, from the inside out."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        return next((parent for parent in self.parents(node) if isinstance(parent, cst.ClassDef)), None)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        return next((parent for parent in self.parents(node) if isinstance(parent, cst.FunctionDef)), None)

    def layers(self, node: cst.CSTNode) -> dict[str, str]:
        """What the node's class keeps under `self.name = Maker(...)`: the makers' names by attribute."""
        found: dict[str, str] = {}
        for name, value in self._kept(node):
            if isinstance(value, cst.Call):
                found[name] = tail(value.func)
        return found

    def sizes(self, node: cst.CSTNode) -> list[str]:
        """Expressions for whole numbers within the node's reach: attributes, and names unpacked from a shape."""
        function = self.function_of(node)
        in_constructor = function is not None and function.name.value == "__init__"
        found = [f"self.{name}" for name, value in self._kept(node) if not isinstance(value, cst.Call | cst.Name)]
        found += [f"self.{name}" for name, value in self._kept(node) if self._is_size_argument(name, value)]
        if function is not None and in_constructor:
            return [self.code(value) for _, value in self._kept(node) if isinstance(value, cst.Name)]
        return [*found, *(self._unpacked(function) if function else [])]

    def _is_size_argument(self, name: str, value: cst.BaseExpression) -> bool:
        return isinstance(value, cst.Name) and value.value == name

    def _kept(self, node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
        """Pairs of attribute and value of the assignments to `self` in the constructor of the node's class."""
        owner = self.class_of(node)
        for assign in _find(owner, cst.Assign) if owner else []:
            function = self.function_of(assign)
            if function is None or function.name.value != "__init__":
                continue
            for target in assign.targets:
                attribute = target.target
                if isinstance(attribute, cst.Attribute) and self.code(attribute.value) == "self":
                    yield attribute.attr.value, assign.value

    def _unpacked(self, function: cst.FunctionDef) -> Iterator[str]:
        """Names unpacked from `.shape` or `.size()` in the function."""
        for assign in _find(function, cst.Assign):
            target = assign.targets[0].target
            value = assign.value.func if isinstance(assign.value, cst.Call) else assign.value
            if isinstance(target, cst.Tuple) and tail(value) in ("shape", "size"):
                names = [element.value for element in target.elements if isinstance(element, cst.Element)]
                yield from (name.value for name in names if isinstance(name, cst.Name) and name.value != "_")

    def _walk(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if isinstance(node, cst.Import | cst.ImportFrom | cst.Annotation) or is_wordy(node):
            return
        yield node
        for child in node.children:
            yield from self._walk(child)


def is_wordy(node: cst.CSTNode) -> bool:
    """Whether a statement only prints or says something: words are not behaviour, and no interface promises them."""
    if isinstance(node, cst.If):
        return node.orelse is None and all(is_wordy(statement) for statement in node.body.body)
    if isinstance(node, cst.SimpleStatementLine):
        return all(isinstance(part, cst.Expr) and _is_words(part.value) for part in node.body)
    return False


def tail(node: cst.CSTNode) -> str:
    """The last word of a dotted name: `softmax` of `torch.nn.functional.softmax`."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _is_words(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Call):
        return isinstance(value.func, cst.Name) and value.func.value == "print"
    return isinstance(value, cst.SimpleString | cst.ConcatenatedString)


def _find[Node: cst.CSTNode](root: cst.CSTNode, kind: type[Node]) -> Iterator[Node]:
    if isinstance(root, kind):
        yield root
    for child in root.children:
        yield from _find(child, kind)
