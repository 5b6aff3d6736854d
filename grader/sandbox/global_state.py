"""Torch's global state: a call to a submission must leave torch's settings and seed unchanged."""

from collections.abc import Callable
from typing import Any

import torch
from msgspec import Struct


class Switch(Struct, frozen=True):
    """A global setting of torch: its name, how to read it and, where possible, how to restore it."""

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
    """A snapshot of the settings, taken on construction; each later look compares against it."""

    def __init__(self) -> None:
        self.changed = ""
        """Description of the first change found; empty if nothing changed."""
        self._values = [switch.read() for switch in SWITCHES]
        self._seed = torch.initial_seed()

    def note_seed(self) -> None:
        """Record the current seed; the next look compares against it."""
        self._seed = torch.initial_seed()

    def look(self) -> None:
        """Record any changed setting and restore it, so that it is reported once and does not affect later calls."""
        for switch, was in zip(SWITCHES, self._values, strict=True):
            now = switch.read()
            self.compare(switch.name, was, now)
            if now != was:
                switch.put_back(was)
        self.compare("torch's seed", self._seed, torch.initial_seed())

    def compare(self, name: str, was: object, now: object) -> None:
        """Record a change of the named value if it differs from its earlier value."""
        if now != was:
            self.changed = self.changed or f"{name}: expected it left alone, saw {now}"
