"""Mutation operators for attention, and for how a module behaves inside a model."""

from collections.abc import Iterable
from itertools import combinations

import libcst as cst

from grader.author.parsed_source import (
    Edit,
    Operator,
    ParsedSource,
    called_attribute,
    find,
    is_masking,
    is_method,
    is_root,
    receiver,
    replace,
    rooted,
    tail,
)

AXES = ("-1", "-2", "0", "1")
FINITE_FILLS = ("0.0", "-1.0", "-10.0")
SYMMETRIC = ("transpose", "swapaxes", "print")
"""Calls whose result does not depend on the order of their arguments."""


def projection_swapped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`self.k_proj(x)` -> `self.q_proj(x)`: another layer of the same class."""
    name = called_attribute(node, parsed)
    layers = parsed.layers(node)
    for other, maker in layers.items():
        if name in layers and other != name and maker == layers[name] and maker != "Dropout":
            assert isinstance(node, cst.Call)
            yield replace(node.func, f"self.{other}")


def scale_changed(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`a / sqrt(d)` -> `a`, and `a / sqrt(d) / sqrt(d)`; likewise for a factor called scale."""
    if not (isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide | cst.Multiply)):
        return
    right, scaled = parsed.code(node.right), parsed.code(node.left)
    if is_root(node.right) or "scale" in tail(node.right):
        sign = parsed.code(node.operator).strip()
        yield replace(node, f"({scaled})")
        yield replace(node, f"({scaled} {sign} {right} {sign} {right})")


def root_of_another_size(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`sqrt(head_dim)` -> `sqrt(embed_dim)`, and the other sizes in scope; other axes of the same tensor."""
    root = rooted(node)
    if root is None:
        return
    code = parsed.code(root)
    for size in parsed.sizes(node):
        if size != code:
            yield replace(root, size)
    for axis in AXES[1:]:
        for other in (code.replace("[-1]", f"[{axis}]"), code.replace("(-1)", f"({axis})")):
            if other != code:
                yield replace(root, other)


def softmax_over_another_axis(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`softmax(scores, dim=-1)` -> `dim=-2`, `dim=0`, `dim=1`."""
    if isinstance(node, cst.Call) and tail(node.func).lower() == "softmax":
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value == "dim":
                yield from (replace(argument.value, axis) for axis in AXES if axis != parsed.code(argument.value))


def mask_upside_down(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`masked_fill(mask, v)` -> `masked_fill(~(mask), v)`."""
    if is_masking(node) and isinstance(node, cst.Call):
        yield replace(node.args[0].value, f"~({parsed.code(node.args[0].value)})")


def mask_after_softmax(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """Mask the weights instead of the scores, so that their rows no longer sum to one."""
    if not (isinstance(node, cst.Call) and tail(node.func) == "softmax" and node.args):
        return
    function = parsed.function_of(node)
    for masking in find(function, cst.Call) if function else []:
        if is_masking(masking) and parsed.line(masking) < parsed.line(node):
            assert isinstance(masking.func, cst.Attribute)
            weights = f"{parsed.code(node)}.masked_fill({parsed.code(masking.args[0].value)}, 0.0)"
            is_optional = any(isinstance(parent, cst.If) for parent in parsed.parents(masking))
            weights = f"({weights} if mask is not None else {parsed.code(node)})" if is_optional else weights
            yield Edit(pairs=[(node, weights), (masking, parsed.code(masking.func.value))])


def mask_diagonal_moved(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`triu(ones, diagonal=1)` -> `diagonal=0`, `diagonal=2`."""
    if not (isinstance(node, cst.Call) and tail(node.func) in ("triu", "tril")):
        return
    given = [argument for argument in node.args if argument.keyword and argument.keyword.value == "diagonal"]
    for step in (-1, 1):
        if given:
            yield replace(given[0].value, str(int(parsed.code(given[0].value)) + step))
        else:
            code = parsed.code(node)
            yield replace(node, f"{code[:-1]}, diagonal={step})")


def fill_value_too_small(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`masked_fill(mask, -inf)` -> `0.0`, `-1.0`, `-10.0`: hidden keys keep some weight."""
    if is_masking(node) and isinstance(node, cst.Call):
        value = node.args[1].value
        if "inf" in parsed.code(value):
            yield from (replace(value, fill) for fill in FINITE_FILLS)
            yield replace(value, "float('inf')")


def transpose_removed(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`x.transpose(1, 2)` -> `x`; a view that follows merges other axes than it should."""
    if is_method(node, "transpose", "permute", "swapaxes", "contiguous", "unsqueeze"):
        yield replace(node, parsed.code(receiver(node)))


def view_for_transpose(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`x.transpose(1, 2)` -> `x.reshape(x.transpose(1, 2).shape)`: the right shape, the wrong elements."""
    if is_method(node, "transpose", "permute", "swapaxes"):
        yield replace(node, f"{parsed.code(receiver(node))}.reshape({parsed.code(node)}.shape)")


def reshape_by_view(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`x.reshape(...)` -> `x.view(...)`."""
    if is_method(node, "reshape"):
        assert isinstance(node, cst.Call)
        yield replace(node.func, f"{parsed.code(receiver(node))}.view")


def arguments_swapped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`attention(q, k, v)` -> `attention(k, q, v)`, and every other pair: inputs, factors, sizes."""
    if not isinstance(node, cst.Call) or tail(node.func) in SYMMETRIC:
        return
    plain = [each for each in node.args if not each.star and not isinstance(each.value, cst.SimpleString)]
    for one, other in combinations(plain, 2):
        if parsed.code(one.value) != parsed.code(other.value):
            yield Edit(pairs=[(one.value, parsed.code(other.value)), (other.value, parsed.code(one.value))])


def factors_swapped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`weights @ values` -> `values @ weights`."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
        yield replace(node, f"({parsed.code(node.right)}) @ ({parsed.code(node.left)})")


def einsum_letters_swapped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`einsum('ibhd,jbhd->ijbh')` -> `einsum('ibhd,jbhd->jibh')`, and every other pair within one term."""
    if not (isinstance(node, cst.Call) and tail(node.func) == "einsum" and node.args):
        return
    pattern = parsed.code(node.args[0].value)
    inside = pattern[1:-1]
    start = 0
    for term in inside.replace("->", ",,").split(","):
        for one, other in combinations(range(start, start + len(term)), 2):
            letters = list(inside)
            letters[one], letters[other] = letters[other], letters[one]
            yield replace(node.args[0].value, pattern[0] + "".join(letters) + pattern[-1])
        start += len(term) + 1


ATTENTION_OPERATORS: dict[str, Operator] = {
    "projection swapped": Operator(
        edits=projection_swapped, advice="matches_reference; every_parameter_learns names the projection"
    ),
    "scale dropped or doubled": Operator(edits=scale_changed, advice="matches_reference with several head sizes"),
    "root of another size": Operator(edits=root_of_another_size, advice="matches_reference with sizes that all differ"),
    "softmax over another axis": Operator(
        edits=softmax_over_another_axis, advice="rows_sum_to_one, or matches_reference at as many queries as keys"
    ),
    "mask upside down": Operator(
        edits=mask_upside_down, advice="mask_hides, or matches_reference with a mask as input"
    ),
    "mask after softmax": Operator(edits=mask_after_softmax, advice="rows_sum_to_one with a mask as input"),
    "mask diagonal moved": Operator(edits=mask_diagonal_moved, advice="future_does_not_leak"),
    "fill value too small": Operator(edits=fill_value_too_small, advice="future_does_not_leak or mask_hides"),
    "transpose removed": Operator(
        edits=transpose_removed, advice="matches_reference with several heads, samples and tokens"
    ),
    "view for transpose": Operator(
        edits=view_for_transpose, advice="matches_reference with several heads, samples and tokens"
    ),
    "reshape by view": Operator(
        edits=reshape_by_view, advice="matches_reference with several heads, samples and tokens"
    ),
    "arguments swapped": Operator(edits=arguments_swapped, advice="matches_reference with sizes that all differ"),
    "factors swapped": Operator(edits=factors_swapped, advice="matches_reference with sizes that all differ"),
    "einsum letters swapped": Operator(
        edits=einsum_letters_swapped, advice="matches_reference with sizes that all differ"
    ),
}


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
    """`self.q_proj(x)` -> `self.q_proj(x).detach()`, likewise `softmax(s)`; and `.detach()` removed."""
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
    """Return whether an expression computes sizes: it is inside a view's arguments, a subscript or an f-string."""
    return any(
        isinstance(parent, cst.Subscript | cst.FormattedString) or is_method(parent, "view", "reshape")
        for parent in parsed.parents(node)
    )


MODULE_OPERATORS: dict[str, Operator] = {
    "dropout always on or gone": Operator(edits=dropout_always_on, advice="dropout_only_in_training"),
    "bias flag ignored": Operator(
        edits=bias_flag_ignored,
        advice="keeps_parameters with the flag set in `constructor`, once each way: a key's bias changes no value",
    ),
    "buffer not registered": Operator(
        edits=buffer_not_registered, advice="moves_between_devices, or weights_transfer for what is in the state dict"
    ),
    "in place": Operator(
        edits=in_place,
        advice="leaves_inputs_alone, or a hidden test that overrides the method whose result is written to",
    ),
    "dtype or device pinned": Operator(edits=pinned, advice="keeps_dtype, moves_between_devices"),
    "detached": Operator(edits=detached, advice="matches_reference with gradients, every_parameter_learns"),
    "layer skipped or residual added": Operator(edits=layer_skipped_or_added, advice="matches_reference"),
}
