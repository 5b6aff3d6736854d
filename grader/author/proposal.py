"""Propose arguments, shapes and sizes for an interface, by the names of its parameters. The author corrects them."""

import re
from typing import Any

from msgspec import Struct, structs

from grader.author.interface import IMAGE_AXES, FoundInterface
from grader.author.parameters import Constant, Parameter
from grader.author.sizes import NAMED, FixedSizes, Role, first_of, propose_sizes, refused_sizes, role_of
from grader.spec.kinds import Shape, suggested

InputFields = Shape | dict[str, Any] | int | float

IDS = re.compile(r"(^|_)(ids?|tokens?|labels?|targets?|answers?|y|idx|index|indices|classes|actions?)$")
RELATIVE = re.compile(r"(^|_)(relative_positions?|rel_pos|distances?)$")
LENGTHS = re.compile(r"(^|_)(lengths?|lens)$")
FLAG = re.compile(r"^(use|is|return|need|with)_|causal")
CHANNELS = re.compile(r"^(c|ch|c_?in|((in|num|n)_)?(channels?|features|filters))$")
"""Names of an axis of features that comes right after the samples, as in `batch, channels, height, width`."""
PLACE = re.compile(r"offset|^start|(^|_)(pos|step|index)$")

FURTHEST = 200
"""The largest distance between two places."""
SOME_VOCABULARY = 50
SOME_WIDTH = 16
"""The width of inputs for a module that is built without sizes."""
SIZE_ROLES = (Role.SIZE, Role.HEAD_SIZE, Role.HEADS, Role.LENGTH, Role.VOCABULARY, Role.KERNEL)


class Proposal(Struct, frozen=True, kw_only=True):
    """The arguments, shapes and sizes of a new description."""

    constructor: dict[str, Constant]
    blanks: list[str]
    """Arguments of the constructor whose values only the author knows."""
    inputs: dict[str, InputFields]
    left_out: list[str]
    """Arguments of forward that get no value."""
    mask: Shape = []
    """The shape of a mask, if one of the arguments in `left_out` is a mask."""
    outputs: list[Shape]
    fixed_sizes: FixedSizes
    random_sizes: list[dict[str, Any]]
    refused: FixedSizes = []
    """Sizes that the constructor seems to refuse."""
    dropout: str = ""
    """The constructor's argument that is the probability of dropout."""

    def first_shape(self) -> Shape:
        """Return the shape of the first Gaussian input."""
        return next((shape for shape in self.inputs.values() if isinstance(shape, list)), [])


def propose(interface: FoundInterface) -> Proposal:
    """Return a proposal for the interface."""
    return _propose_module(interface) if interface.kind.is_module else _propose_other(interface)


def _propose_module(interface: FoundInterface) -> Proposal:
    roles = {parameter.name: _role(parameter) for parameter in interface.constructor}
    roles |= dict.fromkeys((name for name in interface.widths.values() if name in roles), Role.SIZE)
    constructor = _module_arguments(interface.constructor, roles)
    sizes = {name: roles[name] for name, value in constructor.items() if value == name}
    heads = first_of(Role.HEADS, sizes)
    vocabulary = first_of(Role.VOCABULARY, sizes) or SOME_VOCABULARY
    required = [each for each in interface.forward if each.is_required]
    numbers = {each.name: value for each in required if (value := _plain_value(each)) is not None}
    tensors = [each.name for each in required if each.name not in numbers]
    gaussian = [name for name in tensors if "mask" not in name.lower() and not _whole_numbers(name, [], 0)]
    lengths = ["queries", "keys"] if len(gaussian) > 1 else ["tokens", "tokens"]
    places: Shape = ["batch", lengths[0]]
    weights: Shape = ["batch", *filter(None, [heads]), *lengths]
    mask: Shape = [1 if size in sizes else size for size in weights]
    usual = ["batch", "features"] if interface.class_name.endswith("Cell") else []  # as in torch.nn.GRUCell
    like_others = next((axes for name, axes in interface.axes.items() if name in gaussian), usual)
    shapes = {
        name: _shape(
            interface.axes.get(name, like_others),
            lengths[name != gaussian[0]],
            interface.widths.get(name) or _width(sizes, name),
            heads,
        )
        for name in gaussian
    }
    statistics = None if interface.axes or not shapes else interface.batch_statistics
    if statistics is not None:
        shapes[gaussian[0]] = ["batch", shapes[gaussian[0]][-1], *statistics]
    first = next(iter(shapes.values()), [*places, _width(sizes)])
    own = next((interface.widths.get(name) or _width(sizes, name) for name in gaussian), first[-1])
    features = first.index(own) if own in first else len(first) - 1
    wide = [name for name, role in sizes.items() if role is Role.SIZE and "out" in name]
    width = next((name for name in (interface.widths.get("return"), *wide) if name in sizes), first[features])
    inputs: dict[str, InputFields] = {
        each.name: numbers.get(each.name)
        or shapes.get(each.name)
        or _whole_numbers(each.name, places, vocabulary)
        or {"mask": "random", "shape": mask_shape(each.name, interface, mask)}
        for each in required
    }
    left_out = [parameter.name for parameter in interface.forward if not parameter.is_required]
    outputs = [[*first[:features], width, *first[features + 1 :]], *([weights] * (interface.outputs - 1))]
    used = {axis for shape in (*map(_sizes_of_input, inputs.values()), *outputs) for axis in shape}
    used |= {*mask} if any("mask" in name.lower() for name in left_out) else set()
    names = ["batch", *(axis for axis in NAMED if axis in used - {"batch"}), *sizes]
    fixed_sizes, random_sizes = propose_sizes(
        interface.kind, names, widths=interface.widths.values(), in_pairs=interface.halves_features
    )
    if statistics is not None or interface.trains_buffers:  # statistics need two samples
        fixed_sizes = [{**each, "batch": each["batch"] + 1} for each in fixed_sizes]
    return Proposal(
        constructor=constructor,
        blanks=[name for name, value in constructor.items() if value is None],
        inputs=inputs,
        left_out=left_out,
        mask=mask,
        outputs=outputs,
        fixed_sizes=fixed_sizes,
        random_sizes=random_sizes,
        refused=refused_sizes(fixed_sizes[0], sizes) if interface.refuses_remainders else [],
        dropout=first_of(Role.DROPOUT, roles),
    )


def _role(parameter: Parameter) -> Role:
    if isinstance(parameter.default, bool) or parameter.annotation == "bool":
        return Role.FLAG
    if isinstance(parameter.default, str) or parameter.annotation not in ("", "int", "float"):
        return Role.OTHER
    return role_of(parameter.name)


def _module_arguments(parameters: list[Parameter], roles: dict[str, Role]) -> dict[str, Constant]:
    """Return proposed arguments; None stands for a blank. Suitable defaults are left out."""
    usual: dict[Role, Constant] = {Role.DROPOUT: 0.0, Role.FLAG: True}
    return {
        each.name: each.name if roles[each.name] in SIZE_ROLES else usual.get(roles[each.name])
        for each in parameters
        if each.is_required or (roles[each.name] in SIZE_ROLES and isinstance(each.default, int))
    }


def _plain_value(parameter: Parameter) -> int | bool | float | None:
    """Return a value for a required argument of forward that is not a tensor; None for a tensor."""
    if parameter.annotation not in ("", "int", "bool", "float"):
        return None
    if parameter.annotation == "float":
        return 0.5
    if parameter.annotation == "bool" or FLAG.search(parameter.name):
        return True
    return 3 if parameter.annotation == "int" or PLACE.search(parameter.name) else None


def mask_shape(name: str, interface: FoundInterface, weights: Shape) -> Shape:
    """Return a mask's shape: (batch, keys) if the source shows two axes, or else the shape of the weights."""
    is_padding = weights and len(interface.axes.get(name, weights)) == len(("batch", "keys"))
    return ["batch", weights[-1]] if is_padding else weights


def _width(sizes: dict[str, Role], of: str = "") -> str | int:
    """Return the name or number of an input's features: `context_dim` for `context`."""
    widths = [name for name, role in sizes.items() if role is Role.SIZE]
    own = [name for name in widths if of and name.startswith(f"{of}_")]
    return next(iter([*own, *(name for name in widths if "out" not in name), *widths]), SOME_WIDTH)


def _shape(axes: list[str], length: str, width: str | int, heads: str) -> Shape:
    """Return the shape with the axes that forward names, or else batch, tokens, width."""
    if not axes:
        return ["batch", length, width]
    if len(axes) > len(("batch", "channels")) and CHANNELS.search(axes[1].lower()):
        places = IMAGE_AXES if len(axes) == len(("batch", "channels", *IMAGE_AXES)) else [length] * (len(axes) - 2)
        return ["batch", width, *places]
    shape: Shape = [_axis(name, length, heads) for name in axes]
    if len(axes) > 1 or shape[0] == length:
        shape[-1] = width
    if "batch" in shape:  # a second one counts tokens, such as N in `B, N, C`
        first = shape.index("batch") + 1
        shape[first:] = [length if axis == "batch" else axis for axis in shape[first:]]
    if shape.count(length) > 1:  # the names do not distinguish the two axes: the first is the batch
        shape[shape.index(length)] = "batch"
    return shape


def _axis(name: str, length: str, heads: str) -> str:
    lower = name.lower()
    if lower.startswith("b") or "batch" in lower or lower in ("n", "samples"):
        return "batch"
    return heads if heads and re.search(Role.HEADS.value, lower) else length


def _propose_other(interface: FoundInterface) -> Proposal:
    """Return a proposal for a subject that is not a module."""
    kind = interface.kind
    inputs: dict[str, InputFields] = {**kind.own_inputs} or {
        each.name: dict(kind.whole_inputs) if kind.whole_inputs else _other_input(each.name, interface)
        for each in interface.forward
    }
    named = {size for fields in inputs.values() for size in _sizes_of_input(fields) if isinstance(size, str)}
    required = [each.name for each in interface.constructor if each.is_required]
    optional = [each.name for each in interface.constructor if not each.is_required]
    lengths = [name for name in required if kind.sizes_by_name and kind.sizes_by_name.search(name)]
    constructor: dict[str, Constant] = {
        **dict.fromkeys(required),
        **{name: name for name in lengths},
        **{name: each.value for name, each in suggested(kind, required, is_required=True)},
        **kind.own_arguments(named),
        **{name: each.value for name, each in suggested(kind, optional, is_required=False)},
    }
    used = [name for name in NAMED if name in named]
    own = [axis for shape in kind.own_inputs.values() for axis in shape if isinstance(axis, str)]
    used += [axis for axis in dict.fromkeys(own) if axis not in used]
    fixed_sizes, random_sizes = propose_sizes(kind, [*used, *lengths], in_pairs=interface.halves_features)
    proposal = Proposal(
        constructor=constructor,
        blanks=[name for name in required if constructor[name] is None],
        inputs=inputs,
        left_out=optional,
        outputs=kind.outputs or [],
        fixed_sizes=fixed_sizes,
        random_sizes=random_sizes,
    )
    first = proposal.first_shape() or [*kind.step_axes, *kind.input_axes]
    return structs.replace(proposal, outputs=[first] * interface.outputs) if kind.outputs is None else proposal


def _sizes_of_input(fields: InputFields) -> list[Any]:
    """Return the shape of an input and, for integers, their bound."""
    if isinstance(fields, dict):
        return [*fields.get("shape", []), fields.get("integers")]
    return fields if isinstance(fields, list) else []


def _other_input(name: str, interface: FoundInterface) -> Shape | dict[str, Any]:
    """Return token ids, lengths, a mask, or numbers with the axes that the source shows, after the axes of steps."""
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
    if len(axes) == 1:
        return [*front, *places[:1]]
    known = {each.name: each.name if each.is_required else each.default for each in interface.constructor}
    sizes = [size if isinstance(size := known.get(axis), str | int) else "" for axis in axes]
    if front or not any(sizes):
        return [*front, *places[: len(axes) - 1], "width"]
    free = iter([*places[: sizes.count("") - 1], "width"])
    return [size or next(free) for size in sizes]


def _whole_numbers(name: str, places: Shape, vocabulary: str | int) -> dict[str, Any]:
    """Return token ids, lengths or distances if the name stands for such numbers, or else nothing."""
    if LENGTHS.search(name.lower()):
        longest = "tokens" if places[-1:] in ([], ["batch"]) else places[-1]
        texts = [place for place in places if place != longest]
        return {"integers": longest, "start": 1, "inclusive": True, "shape": texts}
    if RELATIVE.search(name.lower()):
        return {"integers": FURTHEST, "start": -FURTHEST, "shape": places}
    return {"integers": vocabulary, "shape": places} if IDS.search(name.lower()) else {}
