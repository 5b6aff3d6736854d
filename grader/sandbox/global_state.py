"""Torch's global state: its switches and seed are not a module's own, so a call has to leave them as they were."""

from collections.abc import Callable
from typing import Any

import torch
from msgspec import Struct


class Switch(Struct, frozen=True):
    """A setting of torch's: what it is called, how it is read, and how it is put back where that can be done."""

    name: str
    read: Callable[[], Any]
    put_back: Callable[[Any], object] = lambda _value: None


SWITCHES = (
    Switch("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    Switch("torch's default device", lambda: torch.empty(0).device, lambda _device: torch.set_default_device(None)),
    Switch("torch's grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
    Switch("torch's inference mode", torch.is_inference_mode_enabled),
    Switch("torch's anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    Switch(
        "torch's deterministic mode",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    Switch(
        "torch's autocast on the CPU",
        lambda: torch.is_autocast_enabled("cpu"),
        lambda is_on: torch.set_autocast_enabled("cpu", is_on),
    ),
)


class GlobalState:
    """The switches as they were when this was made, against which every later look compares."""

    def __init__(self) -> None:
        self.changed = ""
        """What was first found otherwise, in words; empty where nothing was."""
        self._values = [switch.read() for switch in SWITCHES]
        self._seed = torch.initial_seed()

    def note_seed(self) -> None:
        """Take the seed as it is: the next look compares with it."""
        self._seed = torch.initial_seed()

    def look(self) -> None:
        """Note what is otherwise, and put it back: one fault is seen once, and later calls as they would be alone."""
        for switch, was in zip(SWITCHES, self._values, strict=True):
            now = switch.read()
            self.compare(switch.name, was, now)
            if now != was:
                switch.put_back(was)
        self.compare("torch's seed", self._seed, torch.initial_seed())

    def compare(self, name: str, was: object, now: object) -> None:
        """Note that something else is otherwise than it was, if it is."""
        if now != was:
            self.changed = self.changed or f"{name}: expected it left alone, saw {now}"
