"""Rewrites of a source that should keep its meaning. They resemble right solutions by other authors.

A rewrite is used only after it has computed the same values as the source (`differential.py`).
"""

import ast
import difflib
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from grader.author.statement_rewrites import STATEMENT_RULES, call, chain, method_of, name_of

Rule = Callable[[ast.AST], Any]
"""A node's replacement: a node or statements; None if the rule does not apply to the node."""


class Rewritten(Struct, frozen=True, kw_only=True):
    """A rewritten source: the rules applied, the text, and the original in the same layout."""

    rules: tuple[str, ...]
    text: str
    before: str

    def diff(self) -> str:
        """Return the change as a unified diff."""
        lines = difflib.unified_diff(self.before.splitlines(), self.text.splitlines(), n=0, lineterm="")
        return "\n".join(list(lines)[2:])


def rewrites_of(source: str) -> list[Rewritten]:
    """Rewrite the source by each rule wherever it applies, and by all rules together; return distinct results."""
    tree = ast.parse(source)
    trees = {ast.dump(tree)}
    before = ast.unparse(tree)
    found = []
    for names in [*((name,) for name in RULES), tuple(RULES)]:
        text = rewrite(source, names)
        dumped = ast.dump(ast.parse(text))
        if dumped not in trees:
            trees.add(dumped)
            found.append(Rewritten(rules=names, text=text, before=before))
    return found


def rewrite(source: str, rules: tuple[str, ...], chooses: Callable[[], bool] = lambda: True) -> str:
    """Rewrite the source by some rules, one after the other, at the chosen places."""
    for name in rules:
        tree = ast.parse(source)
        changed = ast.fix_missing_locations(_Rewriter(RULES[name], chooses).visit(tree))
        source = ast.unparse(_with_imports(changed)) + "\n"
    return source


class _Rewriter(ast.NodeTransformer):
    """Replaces nodes by the return value of a rule, innermost first."""

    def __init__(self, rule: Rule, chooses: Callable[[], bool]) -> None:
        self._rule = rule
        self._chooses = chooses

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            return node
        visited = self.generic_visit(node)
        changed = self._rule(visited)
        return visited if changed is None or not self._chooses() else changed


NEEDED = ("torch", "torch.nn.functional", "math")


def _with_imports(tree: ast.Module) -> ast.Module:
    """Return the module with the imports that the rewritten places need."""
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
    imported = {
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names if not alias.asname
    }
    missing = [ast.Import([ast.alias(name)]) for name in NEEDED if name in used and name not in imported]
    first = sum(1 for node in tree.body[:2] if _comes_first(node))
    tree.body[first:first] = missing
    return ast.fix_missing_locations(tree)


def _comes_first(node: ast.stmt) -> bool:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


# Rules for expressions: many functions of torch have an equivalent.


def _einsum_for_matmul(node: ast.AST) -> ast.expr | None:
    """`a @ b` -> `torch.einsum("...ij,...jk->...ik", a, b)`."""
    pair = _factors(node)
    return call("torch.einsum", ast.Constant("...ij,...jk->...ik"), *pair) if pair else None


def _matmul_for_operator(node: ast.AST) -> ast.expr | None:
    """`a @ b` -> `torch.matmul(a, b)`, and back."""
    pair = _factors(node)
    if pair is None:
        return None
    return call("torch.matmul", *pair) if isinstance(node, ast.BinOp) else ast.BinOp(pair[0], ast.MatMult(), pair[1])


def _factors(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and name_of(node) == "matmul" and len(chain(node)) == 2:  # noqa: PLR2004 - two factors
        left, right = chain(node)
        return left, right
    return None


def _reshape_for_view(node: ast.AST) -> ast.expr | None:
    """`x.view(...)` -> `x.reshape(...)`."""
    found = method_of(node, "view")
    return ast.Call(ast.Attribute(found.receiver, "reshape", ast.Load()), found.args, []) if found else None


def _without_contiguous(node: ast.AST) -> ast.expr | None:
    """`x.contiguous().view(...)` -> `x.reshape(...)`."""
    found = method_of(node, "view", "reshape")
    inner = method_of(found.receiver, "contiguous") if found else None
    return ast.Call(ast.Attribute(inner.receiver, "reshape", ast.Load()), found.args, []) if found and inner else None


def _permuted(node: ast.AST) -> ast.expr | None:
    """`x.transpose(a, b)` -> `torch.swapaxes(x, a, b)`."""
    found = method_of(node, "transpose")
    return call("torch.swapaxes", found.receiver, *found.args) if found and not found.keywords else None


def _softmax_by_hand(node: ast.AST) -> ast.expr | None:
    """`softmax(s, dim=d)` -> `torch.exp(torch.nn.functional.log_softmax(s, dim=d))`."""
    if not (isinstance(node, ast.Call) and name_of(node) == "softmax" and isinstance(node.func, ast.Attribute)):
        return None
    logs = ast.Call(ast.parse("torch.nn.functional.log_softmax", mode="eval").body, chain(node), node.keywords)
    return call("torch.exp", logs)


def _softmax_as_method(node: ast.AST) -> ast.expr | None:
    """`torch.softmax(s, dim=d)` -> `s.softmax(dim=d)`."""
    if not (isinstance(node, ast.Call) and name_of(node) == "softmax" and chain(node)):
        return None
    scores, *others = chain(node)
    return ast.Call(ast.Attribute(scores, "softmax", ast.Load()), others, node.keywords)


def _fused_attention(node: ast.AST) -> ast.expr | None:
    """`softmax(s, dim=-1) @ v` -> `scaled_dot_product_attention` of zeros, with the scores as its mask."""
    weights, values = _factors(node) or (None, None)
    if values is None or not (isinstance(weights, ast.Call) and name_of(weights) == "softmax"):
        return None
    axis = [keyword.value for keyword in weights.keywords if keyword.arg == "dim"]
    if len(chain(weights)) != 1 or len(axis) != 1 or ast.unparse(axis[0]) != "-1":
        return None
    (scores,) = chain(weights)
    text = (
        "(lambda s, v: torch.nn.functional.scaled_dot_product_attention("
        "s.new_zeros(*s.shape[:-1], 1), v.new_zeros(*v.shape[:-1], 1), v, attn_mask=s, scale=1.0))(SCORES, VALUES)"
    )
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.Call)
    tree.args = [scores, values]
    return tree


def _where_for_masked_fill(node: ast.AST) -> ast.expr | None:
    """`s.masked_fill(m, v)` -> `torch.where(m, v, s)`."""
    found = method_of(node, "masked_fill")
    if found is None or len(found.args) != 2:  # noqa: PLR2004 - mask and value
        return None
    filled = ast.Call(ast.Attribute(found.receiver, "new_tensor", ast.Load()), [found.args[1]], [])
    return call("torch.where", found.args[0], filled, found.receiver)


def _power_for_root(node: ast.AST) -> ast.expr | None:
    """`math.sqrt(d)` -> `d ** 0.5`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("math.sqrt", "np.sqrt") and len(node.args) == 1:
        return ast.BinOp(node.args[0], ast.Pow(), ast.Constant(0.5))
    return None


def _product_for_quotient(node: ast.AST) -> ast.expr | None:
    """`s / math.sqrt(d)` -> `s * (1.0 / math.sqrt(d))`."""
    is_quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    if not (is_quotient and isinstance(node, ast.BinOp) and "sqrt" in ast.unparse(node.right)):
        return None
    if isinstance(node.left, ast.Constant):
        return None
    return ast.BinOp(node.left, ast.Mult(), ast.BinOp(ast.Constant(1.0), ast.Div(), node.right))


def _size_for_shape(node: ast.AST) -> ast.expr | None:
    """`x.shape[0]` -> `x.size(0)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        index = node.slice
        is_index = not isinstance(index, ast.Slice | ast.Tuple) and isinstance(node.ctx, ast.Load)
        return ast.Call(ast.Attribute(node.value.value, "size", ast.Load()), [index], []) if is_index else None
    return None


def _keywords_for_layers(node: ast.AST) -> ast.expr | None:
    """`nn.Linear(a, b)` -> `nn.Linear(in_features=a, out_features=b)`; likewise dropouts and softmaxes."""
    names = KEYWORDS.get(name_of(node)) if isinstance(node, ast.Call) else None
    if names is None or not isinstance(node, ast.Call) or not node.args or len(node.args) > len(names):
        return None
    if any(isinstance(each, ast.Starred) for each in node.args) or method_of(node, "softmax") is not None:
        return None
    named = [ast.keyword(name, value) for name, value in zip(names, node.args, strict=False)]
    return ast.Call(node.func, [], [*named, *node.keywords])


KEYWORDS = {
    "Linear": ("in_features", "out_features", "bias"),
    "Dropout": ("p",),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape", "eps"),
    "softmax": ("input", "dim"),
}
"""Names of the positional arguments of well-known calls."""


def _functional_linear(node: ast.AST) -> ast.expr | None:
    """`self.out_proj(x)` -> `torch.nn.functional.linear(x, self.out_proj.weight, self.out_proj.bias)`."""
    layer = node.func if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else None
    if not (isinstance(layer, ast.Attribute) and isinstance(layer.value, ast.Name) and layer.value.id == "self"):
        return None
    assert isinstance(node, ast.Call)
    weight, bias = (ast.Attribute(layer, name, ast.Load()) for name in ("weight", "bias"))
    linear = call("torch.nn.functional.linear", node.args[0], weight, bias)
    is_linear = ast.parse(f"isinstance({ast.unparse(layer)}, torch.nn.Linear)", mode="eval").body
    return ast.IfExp(is_linear, linear, node)


RULES: dict[str, Rule] = {
    "einsum for matmul": _einsum_for_matmul,
    "matmul for @": _matmul_for_operator,
    "reshape for view": _reshape_for_view,
    "no contiguous": _without_contiguous,
    "swapaxes for transpose": _permuted,
    "softmax of logarithms": _softmax_by_hand,
    "softmax as a method": _softmax_as_method,
    "fused attention": _fused_attention,
    "where for masked_fill": _where_for_masked_fill,
    "power for root": _power_for_root,
    "product for quotient": _product_for_quotient,
    "size for shape": _size_for_shape,
    "keywords": _keywords_for_layers,
    "functional linear": _functional_linear,
    **STATEMENT_RULES,
}
"""All rules, by name."""
