"""Let a variation override `forward`, although the submission may assign `self.forward` or call itself."""

from typing import Any

import torch

ASSIGNED = "_assigned_forward"


def let_override_forward(variation: type, own_classes: set[type]) -> None:
    """Let a variation's `forward` replace that of the submission's class for its callers alone.

    `own_classes` are the classes of the variation's source. The submission's class, from which they derive, is replaced
    by a class between. While `super().forward` runs, the submission's `self(...)` and `self.forward(...)` are its own.
    """
    classes = variation.__mro__
    base = next(each for each in classes if each not in own_classes)
    derived = classes[: classes.index(base)]
    if issubclass(base, torch.nn.Module) and any("forward" in vars(each) for each in derived):
        between = _running_its_own_forward(base)
        for each in derived:
            each.__bases__ = tuple(between if parent is base else parent for parent in each.__bases__)


def _running_its_own_forward(base: Any) -> type:
    """Return a class derived from `base` that runs the `forward` of `base`, or that which its constructor assigned."""

    def construct(self: Any, *arguments: Any, **keywords: Any) -> None:
        base.__init__(self, *arguments, **keywords)
        if "forward" in vars(self):
            vars(self)[ASSIGNED] = vars(self).pop("forward")

    def forward(self: Any, *arguments: Any, **keywords: Any) -> Any:
        own = vars(self).get(ASSIGNED) or base.forward.__get__(self)
        vars(self)["forward"] = own
        try:
            return own(*arguments, **keywords)
        finally:
            vars(self).pop("forward", None)

    return type(base.__name__, (base,), {"__init__": construct, "forward": forward})
