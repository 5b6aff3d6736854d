"""Calling variants: ways to call a module that must not change its result. Records for both sides of the wall."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct


class Mode(StrEnum):
    """The mode in which a calling variant calls a module."""

    UNCHANGED = ""
    TRAINING = "training"


class GradientMode(StrEnum):
    """Whether a call records gradients; if not, by which context of torch."""

    RECORDED = ""
    NO_GRAD = "no_grad"
    INFERENCE_MODE = "inference_mode"


class Dtype(StrEnum):
    """The dtype of the module and its inputs."""

    FLOAT32 = ""
    FLOAT64 = "double"


class MemoryLayout(StrEnum):
    """The memory layout of inputs."""

    CONTIGUOUS = ""
    TRANSPOSED = "transposed"
    EXPANDED = "expanded"  # one sample, with a stride of 0 along the batch


class Sharing(StrEnum):
    """Whether inputs of equal shape are the same tensor."""

    SEPARATE = ""
    SHARED = "shared"


class History(StrEnum):
    """What happened to the module before the call."""

    FRESH = ""
    RELOADED = "reloaded"  # another module loaded its state dict
    MODES = "modes"  # train() and eval() were called
    COPIED = "copied"  # copy.deepcopy, whose parameters are frozen
    REBUILT = "rebuilt"  # built again with positional arguments, and then other modules of the class were called
    SETTINGS = "settings"  # a function gets its other arguments by position too
    AFTER_OTHERS = "again"  # new, called with other values in the same tensors before, and in other tensors after
    INFERENCE_FIRST = "inference_first"  # new, and called under inference_mode
    CONVERTED = "converted"  # new, called in float32, and converted to float64


class Arguments(StrEnum):
    """How inputs are passed."""

    BY_KEYWORD = ""
    BY_POSITION = "positional"


class Scale(StrEnum):
    """The scale of inputs; large inputs are `LARGE_SCALE` times the usual ones."""

    USUAL = ""
    LARGE = "loud"


LARGE_SCALE = 60.0
"""With this factor scores reach thousands, so that a mask of -1000 in place of minus infinity becomes visible."""


class CallingVariant(Struct, frozen=True, kw_only=True):
    """A way to call a module that must not change its result: one value for each kind of change."""

    arguments: Arguments = Arguments.BY_KEYWORD
    mode: Mode = Mode.UNCHANGED
    gradients: GradientMode = GradientMode.RECORDED
    dtype: Dtype = Dtype.FLOAT32
    layout: MemoryLayout = MemoryLayout.CONTIGUOUS
    sharing: Sharing = Sharing.SEPARATE
    history: History = History.FRESH
    scale: Scale = Scale.USUAL

    def changes(self) -> list[StrEnum]:
        """Return the values that differ from the plain call, in the order in which pages list them."""
        axes = (
            *(self.arguments, self.mode, self.gradients, self.dtype),
            *(self.layout, self.sharing, self.history, self.scale),
        )
        return [value for value in axes if value]


class VariantCall(Struct, frozen=True, kw_only=True):
    """One of several calls in calling variants."""

    variant: CallingVariant
    has_other_inputs: bool = False
    """Whether the call gets the second set of inputs."""
    compares_gradients: bool = False
    inputs_with_gradients: tuple[str, ...] = ()
    """The inputs that get gradients beside the parameters, if gradients are compared."""

    def records_gradients(self) -> bool:
        """Return whether the gradients of the call are recorded and can be compared.

        In float32, large inputs leave only rounding errors in them.
        """
        variant = self.variant
        is_smooth = variant.scale is Scale.USUAL or variant.dtype is Dtype.FLOAT64
        return self.compares_gradients and variant.gradients is GradientMode.RECORDED and is_smooth


def to_plain(calls: Sequence[VariantCall]) -> list[Any]:
    """Return calls as plain data, which a message can contain."""
    plain: list[Any] = msgspec.to_builtins(calls)
    return plain


def from_plain(plain: list[Any]) -> list[VariantCall]:
    """Return the calls that `to_plain` made plain data of."""
    return msgspec.convert(plain, list[VariantCall])
