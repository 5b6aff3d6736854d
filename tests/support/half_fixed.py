"""Half-fixed defects, made by machine: the reference with a defect put back under a condition, or in one of its places.

The statements in which the reference and a variant differ become `if <condition>: <faulty> else: <right>`.
"""

import ast
import copy
from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from grader.spec.exercise import Defect, Exercise
from grader.spec.fragments import put_back, replace_fragment

HELPERS = """
import torch as _torch


def _tensors(values):
    for value in values:
        if isinstance(value, _torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _any(values, test):
    return any(test(each) for each in _tensors(values))
"""
"""What stands above a half-fixed submission."""

IN_ANY_CALL = {
    "without gradients": "not _torch.is_grad_enabled()",
    "with gradients": "_torch.is_grad_enabled()",
    "in inference mode": "_torch.is_inference_mode_enabled()",
}
IN_MODULES = {"in training": "self.training", "in evaluation": "not self.training"}
OF_TENSORS = {
    "in float64": "each.dtype is _torch.float64",
    "in large tensors": "max(each.shape, default=0) > 20",
    "in small tensors": "max(each.shape, default=0) <= 8",
    "with one sample": "each.dim() > 1 and each.shape[0] == 1",
    "with large values": "each.is_floating_point() and each.numel() and float(each.detach().abs().max()) > 20",
    "where memory is not contiguous": "not each.is_contiguous()",
    "where inputs need gradients": "each.requires_grad",
}
OF_NUMBERS = {"above 6": "{} > 6", "up to 2": "{} <= 2", "for odd ones": "{} % 2"}


class HalfFixed(Struct, frozen=True, kw_only=True):
    """A submission in which `defect` is fixed in part; `others` are defects that are wholly present."""

    exercise: str
    defect: str
    others: frozenset[str]
    condition: str
    text: str


def half_fixed(exercise: Exercise, reference: str, *, with_others: bool = False) -> Iterator[HalfFixed]:
    """Yield every half-fixed submission of an exercise; `with_others` beside another defect that is present."""
    for defect in exercise.defects:
        others = [each for each in exercise.defects if each is not defect]
        for present in [[each] for each in others] if with_others else [[]]:
            right = put_back(reference, present)
            names = frozenset(each.id for each in present)
            trees = {_tree(right), _tree(put_back(right, [defect]))}
            for condition, text in [*_in_some_places(right, defect), *_under_conditions(exercise, right, defect)]:
                if (tree := _tree(text)) not in trees:
                    trees.add(tree)
                    yield HalfFixed(
                        exercise=exercise.id, defect=defect.id, others=names, condition=condition, text=text
                    )


def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def _in_some_places(right: str, defect: Defect) -> Iterator[tuple[str, str]]:
    """Put back some of a defect's fragments, not all."""
    edits = [*enumerate(defect.edits())]
    for count in range(1, len(edits)):
        for chosen in combinations(edits, count):
            text = right
            for _, (was, fix) in chosen:
                text = replace_fragment(text, fix, was, defect.id)
            yield f"in place {', '.join(str(index) for index, _ in chosen)} of {len(edits)}", text


def _under_conditions(exercise: Exercise, right: str, defect: Defect) -> Iterator[tuple[str, str]]:
    faulty = put_back(right, [defect])
    for name, condition in {**IN_ANY_CALL, **IN_MODULES}.items():
        if name in IN_MODULES and not exercise.interface.kind.is_module:
            continue
        yield from _merged(name, right, faulty, lambda _, condition=condition: [("", condition)])
    for name, test in OF_TENSORS.items():
        condition = f"_any(({{}},), lambda each: {test})"
        yield from _merged(name, right, faulty, lambda arguments, condition=condition: _of_all(arguments, condition))
    for name, test in OF_NUMBERS.items():
        number = f"isinstance({{0}}, int) and not isinstance({{0}}, bool) and {test.replace('{}', '{0}')}"
        yield from _merged(name, right, faulty, lambda arguments, number=number: _of_each(arguments, number))
    yield from _merged(
        "given", right, faulty, lambda arguments: _of_each(arguments, "{0} is not None and {0} is not False")
    )
    yield from _merged("not given", right, faulty, lambda arguments: _of_each(arguments, "{0} is None or {0} is False"))


def _of_all(arguments: list[str], condition: str) -> list[tuple[str, str]]:
    own = [each for each in arguments if each != "self"]
    return [("", condition.format(", ".join(own)))] if own else []


def _of_each(arguments: list[str], condition: str) -> list[tuple[str, str]]:
    return [(f"{each} ", condition.format(each)) for each in arguments if each != "self"]


def _merged(name: str, right: str, faulty: str, conditions) -> Iterator[tuple[str, str]]:
    """Yield both sources merged, once for each condition on the arguments of the functions that differ."""
    ours, theirs = ast.parse(right), ast.parse(faulty)
    functions = _differing_functions(ours, theirs)
    arguments = {each for function in functions for each in _arguments(function)}
    common = [each for each in sorted(arguments) if all(each in _arguments(function) for function in functions)]
    for prefix, condition in conditions(common) if functions else []:
        if "self." in condition and (
            "self" not in common or any(function.name == "__init__" for function in functions)
        ):
            continue
        tree = copy.deepcopy(ours)
        for function, other in zip(_functions(tree), _functions(theirs), strict=True):
            if ast.dump(function) != ast.dump(other):
                function.body = _merge(function.body, copy.deepcopy(other.body), condition)
        yield prefix + name, f"{HELPERS}\n\n{ast.unparse(ast.fix_missing_locations(tree))}\n"


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the outermost functions and methods, in order."""
    bodies = [part for node in tree.body for part in (node.body if isinstance(node, ast.ClassDef) else [node])]
    return [part for part in bodies if isinstance(part, ast.FunctionDef)]


def _differing_functions(ours: ast.Module, theirs: ast.Module) -> list[ast.FunctionDef]:
    """Return the functions that differ; none if anything else differs, such as a signature."""
    pairs = [*zip(_functions(ours), _functions(theirs), strict=False)]
    copies = [copy.deepcopy(tree) for tree in (ours, theirs)]
    for tree in copies:
        for function in _functions(tree):
            function.body = [ast.Pass()]
    if ast.dump(copies[0]) != ast.dump(copies[1]):
        return []
    return [mine for mine, other in pairs if ast.dump(mine) != ast.dump(other)]


def _arguments(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _merge(right: list[ast.stmt], faulty: list[ast.stmt], condition: str) -> list[ast.stmt]:
    """Return a block with the statements that differ under a condition; a loop is entered."""
    ours, theirs = [*map(ast.dump, right)], [*map(ast.dump, faulty)]
    start = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    mine, other = right[start : len(right) - end], faulty[start : len(faulty) - end]
    if len(mine) == len(other) == 1 and _same_header(mine[0], other[0]):
        merged = copy.deepcopy(mine[0])
        merged.body = _merge(mine[0].body, other[0].body, condition)  # type: ignore[attr-defined]  # a compound one
        middle: list[ast.stmt] = [merged]
    else:
        test = ast.parse(condition, mode="eval").body
        middle = [ast.If(test=test, body=other or [ast.Pass()], orelse=mine)]
    return [*right[:start], *middle, *right[len(right) - end :]]


def _same_header(mine: ast.stmt, other: ast.stmt) -> bool:
    """Return whether two compound statements differ in their bodies alone."""
    if not isinstance(mine, ast.For | ast.While | ast.With | ast.If | ast.FunctionDef) or type(mine) is not type(other):
        return False
    copies = [copy.deepcopy(each) for each in (mine, other)]
    for each in copies:
        each.body = []  # type: ignore[attr-defined]  # likewise
    return ast.dump(copies[0]) == ast.dump(copies[1])
