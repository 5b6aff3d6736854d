"""The table of `doctor`: the requirements on this machine."""

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from grader.report.page import render_page


class HostState(Struct, frozen=True, kw_only=True):
    """One requirement on this machine: whether it is met, what was observed, and the remedy if it is not met."""

    name: str
    is_met: bool
    observed: str
    remedy: str = ""


def render_host_states(states: Sequence[HostState], *, width: int = 100, color: bool = False) -> str:
    """Render a line for each requirement on the machine, with a remedy below each one that is not met."""
    lines = []
    for state in states:
        mark, style = ("✓", "green") if state.is_met else ("✗", "red")
        lines.append(Text.assemble((f"{mark} ", style), f"{state.name:<13}{state.observed}"))
        if not state.is_met and state.remedy:
            lines.append(Text(f"{'':<15}{state.remedy}", "dim"))
    problems = sum(not state.is_met for state in states)
    lines += [Text(), Text("Everything works." if not problems else f"{problems} of {len(states)} do not work.")]
    return render_page(lines, width, color=color)
