"""Expected, seen and their difference -> heat maps on one scale, as SVG for pages or as shaded cells for a terminal."""

import io
import math
import re

from grader.examiner.outcome import Picture

SHADES = " ░▒▓█"
NOT_DRAWN = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
"""What an SVG says about itself, with addresses, and a style for whatever page it lies in."""

INCHES = 2.1
"""The width of one map."""


def draw(picture: Picture) -> str:
    """One SVG figure; its text says what the colours do."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    maps = _maps(picture)
    most = _most(maps)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "grader", "font.size": 7}):
        figure = Figure(figsize=(INCHES * len(maps), INCHES), facecolor="white", layout="constrained")
        for position, (title, rows) in enumerate(maps, 1):
            axes = figure.add_subplot(1, len(maps), position)
            axes.imshow(rows, vmin=-most, vmax=most, cmap="RdBu", aspect="auto", interpolation="nearest")
            axes.set_title(title)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel(picture.columns)
            axes.set_ylabel(picture.rows)
            row, column = picture.worst
            axes.plot([column], [row], marker="s", markersize=6, markerfacecolor="none", markeredgecolor="black")
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = NOT_DRAWN.sub("", file.getvalue().decode())
    described = f'<figure><figcaption class="note">{_caption(picture, most)}</figcaption>'
    return described + '<svg role="img" aria-label="heat maps" ' + svg[svg.index("<svg") + 5 :] + "</figure>"


def shaded(picture: Picture, width: int) -> list[str]:
    """The same as rows of shaded cells; nothing where so many columns cannot hold the maps side by side."""
    maps = _maps(picture)
    columns = max(len(row) for _, rows in maps for row in rows)
    if not columns or len(maps) * (2 * columns + 3) > width:
        return []
    most = _most(maps)
    lines = ["   ".join(f"{title[: 2 * columns]:<{2 * columns}}" for title, _ in maps).rstrip()]
    for row in range(max(len(rows) for _, rows in maps)):
        cells = ["".join(2 * _shade(value, most) for value in rows[row]) if row < len(rows) else "" for _, rows in maps]
        lines.append("   ".join(f"{cell:<{2 * columns}}" for cell in cells).rstrip())
    return lines


def _maps(picture: Picture) -> list[tuple[str, list[list[float]]]]:
    pairs = zip(picture.expected, picture.seen, strict=True)
    difference = [[ours - theirs for theirs, ours in zip(*rows, strict=True)] for rows in pairs]
    return [("expected", picture.expected), ("seen", picture.seen), ("difference", difference)]


def _most(maps: list[tuple[str, list[list[float]]]]) -> float:
    """The end of the scale: the largest finite size of any value, or one where all are zero."""
    return (
        max((abs(value) for _, rows in maps for row in rows for value in row if math.isfinite(value)), default=0) or 1
    )


def _shade(value: float, most: float) -> str:
    if not math.isfinite(value):
        return "?"
    return SHADES[min(int(abs(value) / most * len(SHADES)), len(SHADES) - 1)]


def _caption(picture: Picture, most: float) -> str:
    place = f" at {picture.place}" if picture.place else ""
    return (
        f"{picture.rows} down, {picture.columns} across{place}; one scale for all, from {-most:.3g} (red) to "
        f"{most:.3g} (blue); the square marks the value that is furthest off"
    )
