"""Torch's global state: building a module and calling it must leave torch's settings and seed unchanged."""

from collections.abc import Callable
from typing import Any

import torch
from msgspec import Struct

from grader.sandbox.protocol import MAX_TEXT
from grader.sandbox.text import cut, sendable


class Switch(Struct, frozen=True, kw_only=True):
    """A global setting of torch: its name, how to read it and how to restore it."""

    name: str
    read: Callable[[], Any]
    restore: Callable[[Any], object]


def _set_inference_mode(is_on: bool) -> None:
    """Enter the mode, which also sets the grad mode. A mode that is entered lasts as long as its object."""
    mode = torch.inference_mode(is_on)
    mode.__enter__()
    _entered.append(mode)


_entered: list[torch.inference_mode] = []

SWITCHES = (
    Switch(name="torch's default dtype", read=torch.get_default_dtype, restore=torch.set_default_dtype),
    Switch(
        name="torch's default device",
        read=lambda: torch.empty(0).device,
        restore=lambda _device: torch.set_default_device(None),
    ),
    Switch(name="torch's inference mode", read=torch.is_inference_mode_enabled, restore=_set_inference_mode),
    Switch(name="torch's grad mode", read=torch.is_grad_enabled, restore=torch.set_grad_enabled),
    Switch(name="torch's anomaly mode", read=torch.is_anomaly_enabled, restore=torch.autograd.set_detect_anomaly),
    Switch(
        name="torch's deterministic mode",
        read=torch.are_deterministic_algorithms_enabled,
        restore=torch.use_deterministic_algorithms,
    ),
    Switch(
        name="torch's autocast on the CPU",
        read=lambda: torch.is_autocast_enabled("cpu"),
        restore=lambda is_on: torch.set_autocast_enabled("cpu", is_on),
    ),
)


class GlobalState:
    """A snapshot of the settings, taken on construction; `check` compares against it."""

    def __init__(self) -> None:
        self.changed_name = ""
        """The name of what changed first; empty if nothing changed."""
        self.changed = ""
        """Description of the first change found; empty if nothing changed."""
        self._values = [switch.read() for switch in SWITCHES]
        self._seed = torch.initial_seed()

    def note_seed(self) -> None:
        """Record the current seed; the next check compares against it."""
        self._seed = torch.initial_seed()

    def compare_seeding(self, before: torch.Tensor) -> None:
        """Record a change if a call has set the seed that torch already had, so that its numbers start again.

        `before` is the state of torch's generator before the call.
        """
        now = torch.get_rng_state()
        if torch.equal(now, before):
            return
        torch.default_generator.manual_seed(self._seed)
        started = torch.get_rng_state()
        torch.set_rng_state(now)
        if torch.equal(now, started):
            self._note("torch's random numbers", "expected them to go on, but they start again")

    def check(self) -> None:
        """Record any changed setting and restore it, so that it is reported once and does not affect later calls."""
        for switch, was in zip(SWITCHES, self._values, strict=True):
            now = switch.read()
            self.compare(switch.name, was, now)
            if now != was:
                switch.restore(was)
        self.compare("torch's seed", self._seed, torch.initial_seed())

    def compare(self, name: str, was: object, now: object) -> None:
        """Record a change of the named value if it differs from its earlier value."""
        if now != was:
            self._note(name, f"expected it to stay as it is, got {now}")

    def _note(self, name: str, problem: str) -> None:
        if not self.changed:
            self.changed_name, self.changed = name, cut(sendable(f"{name}: {problem}"), MAX_TEXT)
