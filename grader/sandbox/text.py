"""Text on its way to readers: cut where it is long, values as findings write them, and what UTF-8 has no bytes for."""

from collections.abc import Iterable, Mapping

MOST_OF_AN_EXCERPT = 200


def cut(text: str, limit: int, unread: int = 0) -> str:
    """The beginning and how much follows, `unread` of it not at hand; all of it where that takes no more room."""
    notice = f" ... ({len(text) - limit + unread:,} more characters)"
    return text if len(text) + unread <= limit + len(notice) else text[:limit] + notice


def excerpt(text: str) -> str:
    """What a finding shows of a text that a submission wrote: one line, cut where it is long."""
    return cut(" ".join(text.split()), MOST_OF_AN_EXCERPT)


def as_arguments(values: Mapping[str, object]) -> str:
    """Names and values as a call is written: `tokens=3, head_dim=2`, large numbers as `1e9`."""
    return ", ".join(f"{name}={_written(value)}" for name, value in values.items())


def _written(value: object) -> str:
    """A value as Python shows it, a float with more zeros than fit in a number's place by its power of ten."""
    text = str(value)
    if not (isinstance(value, float) and text.endswith("00000.0")):
        return text
    short = f"{value:g}".replace("e+0", "e")
    return short if float(short) == value else text


def as_index(position: Iterable[int]) -> str:
    """An index into a tensor as findings show it: `[0, 2]`."""
    return f"[{', '.join(map(str, position))}]"


def sendable(text: str) -> str:
    """The text, with what UTF-8 has no bytes for spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
