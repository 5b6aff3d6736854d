"""What the doctor found -> lines for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from grader.report.page import render_page

if TYPE_CHECKING:
    from grader.service.doctor import Examined


def render_state(found: "Sequence[Examined]", *, width: int = 100, color: bool = False) -> str:
    """One line for each thing looked at, and what to do about what is amiss."""
    lines = []
    for each in found:
        mark, style = ("✓", "green") if each.is_well else ("✗", "red")
        lines.append(Text.assemble((f"{mark} ", style), f"{each.name:<13}{each.seen}"))
        if not each.is_well and each.remedy:
            lines.append(Text(f"{'':<15}{each.remedy}", "dim"))
    amiss = sum(not each.is_well for each in found)
    lines += [Text(), Text("All is well." if not amiss else f"{amiss} of {len(found)} are amiss.")]
    return render_page(lines, width, color=color)
