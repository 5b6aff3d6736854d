"""The table of `doctor`: the requirements on this machine."""

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from grader.report.page import render_page


class HostState(Struct, frozen=True, kw_only=True):
    """One requirement on this machine: whether it is met, what was observed, and the remedy."""

    name: str
    is_met: bool
    observed: str
    remedy: str = ""
    is_warning: bool = False
    """Whether the remedy is useful although the requirement is met."""

    def mark(self) -> tuple[str, str]:
        """Return the mark in front of the line, and its colour."""
        if self.is_warning:
            return "!", "yellow"
        return ("✓", "green") if self.is_met else ("✗", "red")


def render_host_states(states: Sequence[HostState], *, width: int = 100, color: bool = False) -> str:
    """Render a line for each requirement on the machine, with the remedy below if one is needed."""
    lines = []
    for state in states:
        mark, style = state.mark()
        lines.append(Text.assemble((f"{mark} ", style), f"{state.name:<13}{state.observed}"))
        if state.remedy and (state.is_warning or not state.is_met):
            lines.append(Text(f"{'':<15}{state.remedy}", "dim"))
    problems = sum(not state.is_met for state in states)
    lines += [
        Text(),
        Text("Everything works." if not problems else f"{problems} of {len(states)} requirements are not met."),
    ]
    return render_page(lines, width, color=color)
