"""An interface -> the sizes, shapes and sizes proposed for it. Names decide; the instructor has the last word."""

import re

from msgspec import Struct

from grader.author.interface import FoundInterface
from grader.author.parameters import Constant, Parameter
from grader.author.sizes import VOCABULARY, FixedSizes, Role, fixed_sizes_of, heads_of, other_fixed_sizes, refused_sizes
from grader.spec.kinds import Shape, suggested

InputFields = Shape | dict[str, object] | int | float


SOME_VOCABULARY = 50
"""What token ids are below: a size of the constructor's, or a number."""

SOME_WIDTH = 16
"""For a class that is built without sizes."""


class Proposal(Struct, frozen=True, kw_only=True):
    """What a new description says."""

    constructor: dict[str, Constant]
    blanks: list[str]
    """Arguments of the constructor whose values only the author knows."""
    inputs: dict[str, InputFields]
    left_out: list[str]
    """Keywords of forward that get nothing."""
    mask: Shape = []
    """The shape of a mask, should one of those left out be one."""
    outputs: list[Shape]
    fixed_sizes: FixedSizes
    refused: FixedSizes = []
    """Sizes that the constructor seems to refuse."""
    dropout: str = ""
    """The constructor's argument that is the probability of dropout."""


def propose(interface: FoundInterface) -> Proposal:
    """Sizes, shapes and size cases for the interface."""
    if not interface.kind.is_module:
        return _propose_other(interface)
    roles = {parameter.name: _role(parameter) for parameter in interface.constructor}
    roles |= {name: Role.SIZE for key, name in interface.widths.items() if key != "return" and name in roles}
    constructor, blanks = _constructor(interface.constructor, roles)
    sizes = {name: roles[name] for name, value in constructor.items() if value == name}
    numbers = {each.name: value for each in interface.forward if (value := _plain_value(each)) is not None}
    required = [parameter.name for parameter in interface.forward if parameter.is_required]
    tensors = [name for name in required if name not in numbers]
    vocabulary = next((name for name in sizes if VOCABULARY.search(name.lower())), SOME_VOCABULARY)
    widths = {name: role for name, role in sizes.items() if name != vocabulary}
    gaussian = [name for name in tensors if "mask" not in name.lower() and not _whole_numbers(name, [], 0)]
    inputs = _inputs(gaussian, interface, widths)
    weights = _weights(list(inputs), sizes)
    places: Shape = ["batch", "queries" if "keys" in weights else "tokens"]
    made = {name: _whole_numbers(name, places, vocabulary) for name in tensors}
    given = next(iter(inputs.values()), [*places, _width(widths)])
    fixed_sizes = fixed_sizes_of(sizes, is_cross="keys" in weights)
    mask: Shape = [1 if size in sizes else size for size in weights]
    outputs = [_output(given, widths, interface.widths.get("return", "")), *([weights] * (interface.outputs - 1))]
    return Proposal(
        constructor=constructor,
        blanks=blanks,
        inputs={
            name: made.get(name) or inputs.get(name) or {"mask": "random", "shape": mask_shape(name, interface, mask)}
            if name not in numbers
            else numbers[name]
            for name in required
        },
        left_out=[parameter.name for parameter in interface.forward if not parameter.is_required],
        mask=mask,
        outputs=outputs,
        fixed_sizes=fixed_sizes,
        refused=refused_sizes(fixed_sizes[0], sizes) if interface.refuses_remainders else [],
        dropout=next((name for name, role in roles.items() if role is Role.DROPOUT), ""),
    )


PLACE = re.compile(r"offset|^start|^(use|is|return|need|with)_|(^|_)(pos|step|index|causal)$")
SOME_PLACE, SOME_SHARE = 3, 0.5
"""What numbers of forward are."""


def _plain_value(parameter: Parameter) -> int | bool | float | None:
    """What a required argument of forward gets that is no tensor; None where it is one."""
    if not parameter.is_required or parameter.annotation not in ("", "int", "bool", "float"):
        return None
    if parameter.annotation == "float":
        return SOME_SHARE
    if parameter.annotation == "bool" or re.search(r"^(use|is|return|need|with)_|causal", parameter.name):
        return True
    return SOME_PLACE if parameter.annotation == "int" or PLACE.search(parameter.name) else None


def _role(parameter: Parameter) -> Role:
    if isinstance(parameter.default, bool) or parameter.annotation == "bool":
        return Role.FLAG
    if isinstance(parameter.default, str) or parameter.annotation not in ("", "int", "float"):
        return Role.OTHER
    return next(role for role in Role if re.search(role.value, parameter.name.lower()))


def _constructor(parameters: list[Parameter], roles: dict[str, Role]) -> tuple[dict[str, Constant], list[str]]:
    """Return keywords with proposed values. Keywords without a proposal become blanks; suitable defaults are left
    out.
    """
    values: dict[str, Constant] = {}
    blanks = []
    for parameter in parameters:
        name, role = parameter.name, roles[parameter.name]
        is_size = role not in (Role.DROPOUT, Role.FLAG, Role.OTHER)
        if is_size and (parameter.is_required or isinstance(parameter.default, int)):
            values[name] = name
        elif parameter.is_required and role is Role.DROPOUT:
            values[name] = 0.0
        elif parameter.is_required and role is Role.FLAG:
            values[name] = True
        elif parameter.is_required:
            values[name] = None
            blanks.append(name)
    return values, blanks


def mask_shape(name: str, interface: FoundInterface, weights: Shape) -> Shape:
    """A mask's shape: that of the weights, or of padding where the source sees two axes of it."""
    is_padding = weights and len(interface.axes.get(name, weights)) == len(("batch", "keys"))
    return ["batch", weights[-1]] if is_padding else weights


def _inputs(names: list[str], interface: FoundInterface, sizes: dict[str, Role]) -> dict[str, Shape]:
    like_others = next((axes for name, axes in interface.axes.items() if name in names), [])
    return {
        name: _shape(
            interface.axes.get(name, like_others),
            _length(name, names),
            interface.widths.get(name) or _width(sizes, name),
            heads_of(sizes),
        )
        for name in names
    }


def _width(sizes: dict[str, Role], of: str = "") -> str | int:
    """Return the name of an input's feature size, or the number of features: `context_dim` for `context`."""
    widths = [name for name, role in sizes.items() if role is Role.SIZE]
    own = next((name for name in widths if of and name.startswith(f"{of}_")), "")
    return own or next((name for name in widths if "out" not in name), widths[0] if widths else SOME_WIDTH)


def _length(name: str, inputs: list[str]) -> str:
    """Return the name of an input's token size: `keys` for an input that may have another length than the queries."""
    if len(inputs) == 1:
        return "tokens"
    return "queries" if name == inputs[0] else "keys"


def _shape(axes: list[str], length: str, width: str | int, heads: str) -> Shape:
    """Axes by the names that forward gives them, else batch, tokens, width."""
    if not axes:
        return ["batch", length, width]
    shape: Shape = [_axis(name, length, heads) for name in axes]
    if len(axes) > 1 or shape[0] == length:
        shape[-1] = width
    if "batch" in shape:  # what is called so again, as N in `B, N, C`, is not
        first = shape.index("batch")
        shape = [length if axis == "batch" and index > first else axis for index, axis in enumerate(shape)]
    if shape.count(length) > 1:  # two axes that no name tells apart: the first is the batch
        shape[shape.index(length)] = "batch"
    return shape


def _axis(name: str, length: str, heads: str) -> str:
    lower = name.lower()
    if lower.startswith("b") or "batch" in lower or lower in ("n", "samples"):
        return "batch"
    return heads if heads and re.search(Role.HEADS.value, lower) else length


def _output(shape: Shape, sizes: dict[str, Role], width: str) -> Shape:
    """The first input's shape, with the width of the layer that makes the output, or that which is called so."""
    if width in sizes:
        return [*shape[:-1], width]
    widths = (name for name, role in sizes.items() if role is Role.SIZE and "out" in name)
    return [*shape[:-1], next(widths, shape[-1])]


def _weights(inputs: list[str], sizes: dict[str, Role]) -> Shape:
    """The shape of attention weights, queries by keys."""
    lengths = [_length(name, inputs) for name in (inputs[0], inputs[-1])] if inputs else ["tokens", "tokens"]
    return ["batch", *filter(None, [heads_of(sizes)]), *lengths]


IDS = re.compile(r"(^|_)(ids?|tokens?|labels?|targets?|answers?|y|idx|index|indices|classes|actions?)$")
RELATIVE = re.compile(r"(^|_)(relative_positions?|rel_pos|distances?)$")
FURTHEST = 200
"""How far apart two places are at most."""
LENGTHS = re.compile(r"(^|_)(lengths?|lens)$")


def _propose_other(interface: FoundInterface) -> Proposal:
    """Return shapes, sizes and size cases for subjects that are not modules."""
    kind = interface.kind
    inputs: dict[str, InputFields] = {**kind.own_inputs} or {
        each.name: dict(kind.whole_inputs) if kind.whole_inputs else _other_input(each.name, interface)
        for each in interface.forward
    }
    first = next((shape for shape in inputs.values() if isinstance(shape, list)), [*kind.step_axes, *kind.input_axes])
    required = [each.name for each in interface.constructor if each.is_required]
    optional = [each.name for each in interface.constructor if not each.is_required]
    lengths = [name for name in required if kind.sizes_by_name and kind.sizes_by_name.search(name)]
    constructor: dict[str, Constant] = {
        **dict.fromkeys(required),
        **{name: name for name in lengths},
        **{name: each.value for name, each in suggested(kind, required, is_required=True)},
        **kind.own_arguments(str(inputs)),
        **{name: each.value for name, each in suggested(kind, optional, is_required=False)},
    }
    return Proposal(
        constructor=constructor,
        blanks=[name for name in required if constructor[name] is None],
        inputs=inputs,
        left_out=optional,
        outputs=[first] * interface.outputs if kind.outputs is None else kind.outputs,
        fixed_sizes=other_fixed_sizes(list(inputs.values()), kind, lengths, in_pairs=interface.halves_features),
    )


def _other_input(name: str, interface: FoundInterface) -> Shape | dict[str, object]:
    """What a name stands for: token ids, lengths, a mask, or numbers with as many axes as the source or its docstring
    names, after the axes of steps.
    """
    axes, front, places = interface.axes.get(name), interface.kind.step_axes, interface.kind.input_axes
    if "mask" in name.lower():
        every = [*front, *places]
        return {"mask": "random", "shape": every if len(every) > 1 else [*every, "tokens"]}
    vocabulary = interface.kind.integers_below
    made = _whole_numbers(name, [*front, *(places if axes is None else places[: len(axes)])], vocabulary)
    if made:
        ignored = [each.default for each in interface.constructor if each.name == "ignore_index"]
        return {**made, **({"ignored": ignored[0]} if ignored and made["integers"] == vocabulary else {})}
    if axes is None:
        return [*front, *places, "width"]
    counted = {each.name: each.name if each.is_required else each.default for each in interface.constructor}
    if not front and len(axes) > 1 and any(isinstance(counted.get(axis), str | int) for axis in axes):
        sizes = [counted[axis] if isinstance(counted.get(axis), str | int) else "" for axis in axes]
        free = iter([*places[: sizes.count("") - 1], "width"])
        return [size if isinstance(size, int) and size else str(size or next(free)) for size in sizes]
    return [*front, *places[: len(axes) - 1], "width"] if len(axes) > 1 else [*front, *places[:1]]


def _whole_numbers(name: str, places: Shape, vocabulary: str | int) -> dict[str, object]:
    """Token ids or lengths, where a name stands for such; nothing where it does not."""
    if LENGTHS.search(name.lower()):
        longest = "tokens" if places[-1:] in ([], ["batch"]) else places[-1]
        texts = [place for place in places if place != longest]
        return {"integers": longest, "start": 1, "inclusive": True, "shape": texts}
    if RELATIVE.search(name.lower()):
        return {"integers": FURTHEST, "start": -FURTHEST, "shape": places}
    return {"integers": vocabulary, "shape": places} if IDS.search(name.lower()) else {}
