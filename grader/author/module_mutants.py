"""Mutation operators for how a module behaves among others: modes, flags, buffers, autograd, dtypes and devices."""

from collections.abc import Callable, Iterable

import libcst as cst

from grader.author.parsed_source import Edit, ParsedSource, called_attribute, is_method, receiver, replace, tail

IN_PLACE = {cst.Multiply: "mul_", cst.Divide: "div_", cst.Add: "add_", cst.Subtract: "sub_"}


def dropout_always_on(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.dropout(w)` -> `dropout(w, p)`, whose `training` is true; and `w`, with no dropout at all."""
    name = called_attribute(node, parsed)
    if isinstance(node, cst.Call) and parsed.layers(node).get(name) == "Dropout":
        dropped = parsed.code(node.args[0].value)
        yield replace(node, f"torch.nn.functional.dropout({dropped}, self.{name}.p)")
        yield replace(node, dropped)


def bias_flag_ignored(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`Linear(a, b, bias=flag)` -> `bias=True` and `bias=False`; `Linear(a, b)` -> `Linear(a, b, bias=False)`."""
    if not isinstance(node, cst.Call):
        return
    flags = [argument for argument in node.args if _is_bias(argument, parsed)]
    for value in ("True", "False"):
        yield from (replace(argument.value, value) for argument in flags)
    if tail(node.func) == "Linear" and not flags:
        yield replace(node, f"{parsed.code(node).rstrip()[:-1]}, bias=False)")


def buffer_not_registered(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.register_buffer("mask", value)` -> `self.mask = value`: it no longer moves with the module."""
    if not (isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Expr)):
        return
    call = node.body[0].value
    if is_method(call, "register_buffer") and isinstance(call, cst.Call):
        name = parsed.code(call.args[0].value).strip("\"'")
        yield replace(node, f"self.{name} = {parsed.code(call.args[1].value)}")


def in_place(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`s = s * c` -> `s.mul_(c)`, and `s.masked_fill(...)` -> `s.masked_fill_(...)`: the caller's tensor, or a view."""
    if is_method(node, "masked_fill") and isinstance(node, cst.Call):
        yield replace(node.func, f"{parsed.code(receiver(node))}.masked_fill_")
    if isinstance(node, cst.BinaryOperation) and isinstance(node.left, cst.Name):
        method = IN_PLACE.get(type(node.operator))
        function = parsed.function_of(node)
        if method and function is not None and function.name.value != "__init__" and not _counts(node, parsed):
            yield replace(node, f"{parsed.code(node.left)}.{method}({parsed.code(node.right)})")


def pinned(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.q_proj(x)` -> `self.q_proj(x.float())` and `self.q_proj(x.cpu())`; `dtype=x.dtype` -> `torch.float32`."""
    name = called_attribute(node, parsed)
    if isinstance(node, cst.Call) and name in parsed.layers(node) and node.args:
        argument = node.args[0].value
        yield from (replace(argument, f"({parsed.code(argument)}).{pin}()") for pin in ("float", "cpu"))
    if isinstance(node, cst.Attribute) and node.attr.value == "dtype":
        yield replace(node, "torch.float32")


def detached(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.q_proj(x)` and `softmax(s)` -> the same, cut off from the graph; and `.detach()` left out."""
    is_layer = called_attribute(node, parsed) in parsed.layers(node)
    if isinstance(node, cst.Call) and (is_layer or tail(node.func) == "softmax"):
        yield replace(node, f"{parsed.code(node)}.detach()")
        if node.args and is_layer:
            yield replace(node.args[0].value, f"({parsed.code(node.args[0].value)}).detach()")
    if is_method(node, "detach"):
        yield replace(node, parsed.code(receiver(node)))


def layer_skipped_or_added(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.out_proj(x)` -> `x`, and `self.out_proj(x) + x`."""
    name = called_attribute(node, parsed)
    if isinstance(node, cst.Call) and parsed.layers(node).get(name) not in (None, "Dropout") and len(node.args) == 1:
        taken = parsed.code(node.args[0].value)
        yield replace(node, taken)
        yield replace(node, f"({parsed.code(node)} + {taken})")


def _is_bias(argument: cst.Arg, parsed: ParsedSource) -> bool:
    word = argument.keyword.value if argument.keyword else parsed.code(argument.value)
    return word.endswith("bias")


def _counts(node: cst.CSTNode, parsed: ParsedSource) -> bool:
    """Whether a calculation is one of sizes: it lies in a view's arguments, a subscript or an f-string."""
    return any(
        isinstance(parent, cst.Subscript | cst.FormattedString) or is_method(parent, "view", "reshape")
        for parent in parsed.parents(node)
    )


MODULE_OPERATORS: dict[str, Callable[[cst.CSTNode, ParsedSource], Iterable[Edit]]] = {
    "dropout always on or gone": dropout_always_on,
    "bias flag ignored": bias_flag_ignored,
    "buffer not registered": buffer_not_registered,
    "in place": in_place,
    "dtype or device pinned": pinned,
    "detached": detached,
    "layer skipped or residual added": layer_skipped_or_added,
}
