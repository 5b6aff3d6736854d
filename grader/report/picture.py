"""Draw a picture as maps and bars: SVG for pages, shaded cells for a terminal.

The SVG is written by hand: importing a plotting library takes longer than a verdict, and its colours do not fit a dark
page.
"""

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape
from msgspec import structs
from rich.text import Text

from grader.checks.outcome import Map, Picture, PictureKind
from grader.sandbox.text import as_arguments

SHADES = " ░▒▓█"
NO_NUMBER = "?"
MARKED = "[]"
BAR = 20
"""The length of the longest bar, in columns of a terminal."""

MAP_WIDTH, MAP_HEIGHT = 400, 400
CELL_WIDTHS = 14, 64
CELL_HEIGHTS = 14, 44
MARGIN, TOP = 28, 36
TITLE_CHARACTER = 8
NUMBERED_CELL_WIDTH = 36
"""A cell of at least this width shows its number."""

LABEL_WIDTH, BAR_WIDTH, BAR_HEIGHT, NUMBER_WIDTH = 190, 150, 11, 60
"""Sizes of a figure of bars, in units of the SVG."""

ORANGE, BLUE, GREY = (194, 101, 10), (33, 102, 172), (150, 150, 150)
"""The colours of the two ends of the scale, and of NaN and infinities. Colour-blind readers can tell them apart, and
neither reads as right or wrong. Zero is transparent, so that it does not glare on a dark page."""

DARK_FROM = 0.85
"""The share of the scale above which a cell's number is white."""

CAPTIONS = {
    PictureKind.VALUES: "{axes}{place}. From {least} (orange) to {most} (blue), on one "
    "scale. The value that is furthest off is framed.",
    PictureKind.WEIGHTS: "Weights. {axes}{place}. The stronger the colour, the nearer to "
    "{most}. The weight that is furthest off is framed.",
    PictureKind.MOVEMENT: "{axes}. How far each row moved when that column changed, from 0 "
    "to {most}. Movements that should not happen are framed.",
    PictureKind.GRADIENTS: "The largest element of each parameter's gradient, up to {most}: the upper bar is expected, "
    "the lower is yours.",
}


def draw(picture: Picture) -> Markup:
    """Return an HTML figure: a caption that explains the colours, and an SVG for each map.

    If the picture has maps at the largest sizes that pass, they follow below. Maps wrap on a narrow page.
    """
    most = _scale_end(picture)
    caption = _caption(picture, most)
    parts = [f'<figure><figcaption class="note">{escape(caption)}</figcaption>', _figures(picture, picture.maps, most)]
    if picture.passing:
        parts.append(f'<p class="note">Right with {escape(as_arguments(picture.passing_sizes))}:</p>')
        parts.append(_figures(picture, picture.passing, most))
    return Markup("".join([*parts, "</figure>"]))  # noqa: S704 - every text in it is escaped


def shaded(picture: Picture, width: int, *, has_passing: bool = False) -> list[Text]:
    """Return the picture as lines of shaded cells or bars; none if a line is longer than `width` columns.

    Maps that do not fit beside each other are put below each other.
    """
    for across in (picture.across, 1):
        lines = _shaded_lines(structs.replace(picture, across=across), has_passing=has_passing)
        if max(map(len, lines)) <= width:
            return lines
    return []


def _shaded_lines(picture: Picture, *, has_passing: bool) -> list[Text]:
    most = _scale_end(picture)
    lines = [*_text_figure(picture, picture.maps, most)]
    if picture.kind is not PictureKind.GRADIENTS:
        lines.append(Text(_legend(picture, most)))
    if has_passing and picture.passing:
        lines.append(Text(f"right with {as_arguments(picture.passing_sizes)}:"))
        lines += _text_figure(picture, picture.passing, most)
    return lines


def _scale_end(picture: Picture) -> float:
    """Return the largest finite magnitude in the picture, 1 if all values are zero; always 1 for weights."""
    if picture.kind is PictureKind.WEIGHTS:
        return 1.0
    cells = [value for each in (*picture.maps, *picture.passing) for row in each.cells for value in row]
    return max((abs(value) for value in cells if math.isfinite(value)), default=0) or 1


def _caption(picture: Picture, most: float) -> str:
    place = f", of the matrix at {picture.place}" if picture.place else ""
    scale = {"most": f"{most:.3g}", "least": f"{-most:.3g}"}
    axes = "; ".join(_axes(picture))
    caption = CAPTIONS[picture.kind].format(axes=axes[:1].upper() + axes[1:], place=place, **scale)
    cells = (value for each in picture.maps for row in each.cells for value in row)
    more = "" if all(map(math.isfinite, cells)) else " Grey cells are not numbers."
    return caption + more


def _figures(picture: Picture, maps: Sequence[Map], most: float) -> str:
    if picture.kind is PictureKind.GRADIENTS:
        return _bars(picture.names, maps, most)
    lines = (
        f'<div class="maps">{"".join(_map(picture, each, most) for each in line)}</div>'
        for line in _lines_of(picture, maps)
    )
    return "".join(lines)


def _text_figure(picture: Picture, maps: Sequence[Map], most: float) -> Iterator[Text]:
    if picture.kind is PictureKind.GRADIENTS:
        yield from _text_bars(picture.names, maps, most)
        return
    for line in _lines_of(picture, maps):
        yield from _text_maps(line, most)


def _lines_of(picture: Picture, maps: Sequence[Map]) -> Iterator[Sequence[Map]]:
    """Yield the maps of each line: as many lines as the picture has, for any number of heads."""
    across = max(len(maps) * picture.across // len(picture.maps), 1) if picture.across > 1 else 1
    return (maps[start : start + across] for start in range(0, len(maps), across))


def _map(picture: Picture, matrix: Map, most: float) -> str:
    """Draw one map: a coloured cell for each value, with its number if the cell is wide enough."""
    rows, columns = len(matrix.cells), max(map(len, matrix.cells))
    wide, high = _clamped(MAP_WIDTH // columns, CELL_WIDTHS), _clamped(MAP_HEIGHT // rows, CELL_HEIGHTS)
    is_numbered = wide >= NUMBERED_CELL_WIDTH
    parts = []
    for row, values in enumerate(matrix.cells):
        for column, value in enumerate(values):
            x, y = MARGIN + column * wide, TOP + row * high
            colour, opacity, ink = _colours(value, most)
            box = f'x="{x}" y="{y}" width="{wide}" height="{high}"'
            parts.append(f'<rect {box} fill="{colour}" fill-opacity="{opacity:.2g}" stroke="{_rgb(GREY)}"/>')
            if is_numbered:
                middle = f'x="{x + wide / 2:g}" y="{y + high / 2 + 4:g}"'
                parts.append(f'<text {middle} fill="{ink}" text-anchor="middle">{value:.2g}</text>')
    for row, column in matrix.marked:
        x, y = MARGIN + column * wide + 1, TOP + row * high + 1
        box = f'x="{x}" y="{y}" width="{wide - 2}" height="{high - 2}"'
        parts.append(f'<rect {box} fill="none" stroke="Canvas" stroke-width="6"/>')
        parts.append(f'<rect {box} fill="none" stroke="currentColor" stroke-width="3"/>')
    height, width = rows * high + TOP + 4, MARGIN + max(columns * wide + 4, TITLE_CHARACTER * len(matrix.title))
    parts += _ticks(picture.first, (rows, columns), (high, wide))
    parts.append(f'<text x="{MARGIN}" y="12" fill="currentColor" font-weight="600">{escape(matrix.title)}</text>')
    return _svg(width, height, f"{matrix.title}: a map of {rows} by {columns} values", parts)


def _ticks(first: tuple[int, int], counts: tuple[int, int], steps: tuple[int, int]) -> Iterator[str]:
    """Label the first and the last row and column with their indices."""
    for index in {0, counts[0] - 1}:
        y = TOP + index * steps[0] + steps[0] / 2 + 4
        yield f'<text x="{MARGIN - 4}" y="{y:g}" fill="currentColor" text-anchor="end">{first[0] + index}</text>'
    for index in {0, counts[1] - 1}:
        x = MARGIN + index * steps[1] + steps[1] / 2
        yield f'<text x="{x:g}" y="{TOP - 4}" fill="currentColor" text-anchor="middle">{first[1] + index}</text>'


def _bars(names: Sequence[str], maps: Sequence[Map], most: float) -> str:
    """Draw two bars for each name: expected, and observed below it."""
    parts = []
    for number, (name, expected, observed) in enumerate(zip(names, maps[0].cells[0], maps[1].cells[0], strict=True)):
        top = number * 3 * BAR_HEIGHT
        y = top + 1.5 * BAR_HEIGHT
        parts.append(
            f'<text x="{LABEL_WIDTH - 6}" y="{y:g}" fill="currentColor" text-anchor="end">{escape(name)}</text>'
        )
        for row, (value, colour) in enumerate(((expected, BLUE), (observed, ORANGE))):
            at = f'x="{LABEL_WIDTH}" y="{top + row * BAR_HEIGHT + 1}"'
            length = max(_share(value, most) * BAR_WIDTH, 1)
            parts.append(f'<rect {at} width="{length:g}" height="{BAR_HEIGHT - 2}" fill="{_rgb(colour)}"/>')
            shown = f"{value:.2g}" if value else "none"
            after = f'x="{LABEL_WIDTH + length + 5:g}" y="{top + (row + 1) * BAR_HEIGHT - 1}"'
            parts.append(f'<text {after} fill="currentColor">{shown}</text>')
    label = "expected gradients and yours of " + ", ".join(names)
    width = LABEL_WIDTH + BAR_WIDTH + NUMBER_WIDTH
    return f'<div class="maps">{_svg(width, len(names) * 3 * BAR_HEIGHT, label, parts)}</div>'


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    opening = f'<svg role="img" aria-label="{escape(label)}" {size} font-family="system-ui, sans-serif" font-size="13">'
    return f"{opening}{''.join(parts)}</svg>"


def _colours(value: float, most: float) -> tuple[str, float, str]:
    """Return the colour of a cell, its opacity, and the colour of the text on it."""
    if not math.isfinite(value):
        return _rgb(GREY), 1.0, "#000"
    share = _share(value, most)
    return _rgb(BLUE if value >= 0 else ORANGE), share, "#fff" if share > DARK_FROM else "currentColor"


def _rgb(colour: tuple[int, ...]) -> str:
    return f"#{bytes(colour).hex()}"


def _share(value: float, most: float) -> float:
    """Return the magnitude of a value as a share of the scale; 0 for NaN and infinities."""
    return min(abs(value) / most, 1.0) if math.isfinite(value) else 0.0


def _clamped(value: int, bounds: tuple[int, int]) -> int:
    return max(bounds[0], min(value, bounds[1]))


def _text_maps(maps: Sequence[Map], most: float) -> Iterator[Text]:
    """Yield the lines of maps side by side, under their titles."""
    widths = [max(2 * max(map(len, each.cells)), len(each.title)) for each in maps]
    yield Text("   ".join(f"{each.title:<{wide}}" for each, wide in zip(maps, widths, strict=True)).rstrip())
    for row in range(max(len(each.cells) for each in maps)):
        line = Text()
        for each, wide in zip(maps, widths, strict=True):
            cells = each.cells[row] if row < len(each.cells) else []
            for column, value in enumerate(cells):
                line.append(*_text_cell(value, most, is_marked=(row, column) in each.marked))
            line.append(" " * (wide - 2 * len(cells) + 3))
        line.rstrip()
        yield line


def _text_cell(value: float, most: float, *, is_marked: bool) -> tuple[str, str]:
    """Return the two characters of a cell and their style: a negative value has a sign, and another colour."""
    if is_marked:
        return MARKED, "bold"
    shade = _shade(value, most)
    if shade == SHADES[0] or not math.isfinite(value):
        return 2 * shade, ""
    return (f"-{shade}", "yellow") if value < 0 else (2 * shade, "cyan")


def _text_bars(names: Sequence[str], maps: Sequence[Map], most: float) -> Iterator[Text]:
    """Yield a line for each name with its expected and its observed bar."""
    longest = max(map(len, ("gradient of", *names)))
    yield Text(f"{'gradient of':<{longest}}  {'expected':<{BAR}}  yours")
    for name, *values in zip(names, *(each.cells[0] for each in maps), strict=True):
        expected, observed = ("█" * max(round(_share(value, most) * BAR), value > 0) or "none" for value in values)
        yield Text(f"{name:<{longest}}  {expected:<{BAR}}  {observed}")


def _legend(picture: Picture, most: float) -> str:
    if picture.kind is PictureKind.MOVEMENT:
        return " · ".join([*_axes(picture), f"{MARKED} should not move"])
    scale = f"{2 * SHADES[-1]} {most:.3g}" + (f", -{SHADES[-1]} -{most:.3g}" if _has_negative(picture) else "")
    return " · ".join([*_axes(picture), scale, f"{MARKED} furthest off"])


def _axes(picture: Picture) -> list[str]:
    """Return the names of the axes, as in "rows: tokens"."""
    named = (("rows", picture.rows), ("columns", picture.columns))
    return [f"{name}: {axis}" for name, axis in named if axis]


def _has_negative(picture: Picture) -> bool:
    return any(value < 0 for each in picture.maps for row in each.cells for value in row)


def _shade(value: float, most: float) -> str:
    if not math.isfinite(value):
        return NO_NUMBER
    return SHADES[min(int(_share(value, most) * len(SHADES)), len(SHADES) - 1)]
