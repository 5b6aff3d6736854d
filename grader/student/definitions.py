"""Find the statements in a notebook's cells that define a class or a function, as the kernel has it."""

import ast
import symtable
from collections.abc import Iterator, Sequence

from msgspec import Struct

from grader.submission import Chunk, Submission
from grader.submission.submission import without_magics

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Import = ast.Import | ast.ImportFrom
Simple = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | Definition | Import
"""Statements that bind their names whenever they run. Others, such as `if`, may leave a name its old value."""

ALL_NAMES = "*"
"""The name that `from module import *` binds, beside names that are not known."""

CHANGING = ("setattr", "delattr")
"""Functions that change their first argument."""


class _Statement(Struct, frozen=True, kw_only=True):
    """A top-level statement of a cell: its lines and its names."""

    cell: int
    first_line: int
    last_line: int
    is_import: bool
    binds: frozenset[str]
    uses: frozenset[str]
    rebinds: frozenset[str]
    """The names that may depend on their old value, as in `Head = compiled(Head)`, or under an `if`."""
    changes: frozenset[str]
    """The names of objects that it changes, as in `Head.forward = forward` or `options["heads"] = 2`."""
    calls_methods_of: frozenset[str]
    """The names of objects with a method whose value is not used, as in `heads.append(2)`."""


def submission_from_cells(cells: Sequence[Chunk], entry: str) -> Submission | None:
    """Return the statements that define `entry`, given the cells in the order in which they ran.

    The class or function is then equal to the kernel's. Each chunk has the label of its cell and keeps its line
    numbers. Return None if no cell defines `entry`.
    """
    texts = [without_magics(cell.text) for cell in cells]
    statements = [statement for number, text in enumerate(texts) for statement in _statements(number, text)]
    chosen = _definition_of(entry, statements)
    if not chosen:
        return None
    chunks = []
    for number, text in enumerate(texts):
        spans = [(each.first_line, each.last_line) for each in chosen if each.cell == number]
        if spans:
            chunks.append(Chunk(label=cells[number].label, text=_keep_lines(text, spans)))
    return Submission(name="notebook", chunks=tuple(chunks))


def _definition_of(entry: str, statements: list[_Statement]) -> list[_Statement]:
    """Return the statements that define the entry and, recursively, every name that they use.

    Statements that later change an object with such a name are included.
    """
    if not any(entry in each.binds for each in statements):
        return []
    needed = [each for each in statements if ALL_NAMES in each.binds]
    names, resolved = {entry}, set[str]()
    while names - resolved:
        name = min(names - resolved)
        resolved.add(name)
        bindings = _current_binding(name, [each for each in statements if name in each.binds])
        later = statements[statements.index(bindings[0]) if bindings else len(statements) :]
        is_module = bool(bindings) and bindings[0].is_import  # most calls of a module's functions do not change it
        parts = bindings + [
            each for each in later if name in each.changes or (name in each.calls_methods_of and not is_module)
        ]
        needed += [each for each in parts if each not in needed]
        names |= {used for each in parts for used in each.uses}
    return needed


def _current_binding(name: str, bindings: list[_Statement]) -> list[_Statement]:
    """Return the last statement that binds the name to a new value, and the later ones that may rebind it.

    If it is an import, the imports before it come first, because a module is the same object after each of them.
    """
    fresh = [number for number, each in enumerate(bindings) if name not in each.rebinds]
    start = fresh[-1] if fresh else 0
    while start and bindings[start].is_import and bindings[start - 1].is_import:
        start -= 1
    return bindings[start:]


def _statements(cell: int, text: str) -> Iterator[_Statement]:
    """Yield the top-level statements of a cell. A cell that Python does not compile never ran."""
    try:
        found = [_statement(cell, node) for node in ast.parse(text).body]
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from found


def _statement(cell: int, node: ast.stmt) -> _Statement:
    table = symtable.symtable(ast.unparse(node), "cell", "exec")
    binds = frozenset() if isinstance(node, ast.Delete) else frozenset(_bound_names(table))
    if isinstance(node, ast.ImportFrom) and node.names[0].name == ALL_NAMES:
        binds = frozenset({ALL_NAMES})
    at_once = list(_run_at_once(node))
    return _Statement(
        cell=cell,
        first_line=min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]),
        last_line=node.end_lineno or node.lineno,
        is_import=isinstance(node, Import),
        binds=binds,
        uses=frozenset(_used_names(table)),
        rebinds=binds & {*_read_names(at_once)} if isinstance(node, Simple) else binds,
        changes=frozenset(_changed_names(node, at_once)),
        calls_methods_of=frozenset(_names_with_called_methods(at_once)),
    )


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _used_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a statement may read, also in later calls of its functions."""
    for each in _tables(table):
        is_function = each.get_type() == "function"  # elsewhere, a name that is bound later may be read before
        for symbol in each.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or not is_function):
                yield symbol.get_name()


def _bound_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a statement binds, also by functions that declare them as global."""
    for each in _tables(table):
        for symbol in each.get_symbols():
            is_bound = symbol.is_assigned() or symbol.is_imported()
            if is_bound and (each is table or symbol.is_declared_global()):
                yield symbol.get_name()


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with a statement, without the bodies of functions."""
    yield node
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for field, value in ast.iter_fields(node):
        if not (is_function and field == "body"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _run_at_once(child)


def _read_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _changed_names(statement: ast.stmt, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names of objects with a part that the statement sets: by an assignment, `setattr` or a decorator."""
    for node in nodes:
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield from _root(node)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in CHANGING:
                yield from _root(first)
    for decorator in getattr(statement, "decorator_list", []):
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call):
                for argument in node.args:
                    yield from _root(argument)


def _names_with_called_methods(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                yield from _root(method)


def _root(node: ast.AST) -> Iterator[str]:
    """Yield the name from which a chain of attributes and subscripts starts, if it starts from one."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _keep_lines(text: str, spans: list[tuple[int, int]]) -> str:
    """Empty every line outside the spans, so that the others keep their numbers."""
    lines = text.split("\n")
    last = max(end for _, end in spans)
    kept = {number for start, end in spans for number in range(start, end + 1)}
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines[:last], 1)) + "\n"
