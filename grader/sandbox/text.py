"""Format text for findings and messages: cut long texts, format values, and make any text encodable."""

from collections.abc import Iterable, Mapping

MOST_OF_AN_EXCERPT = 200


def cut(text: str, limit: int, unread: int = 0) -> str:
    """Cut a text at `limit` and append the number of further characters. If that is longer than the text, return the
    text.

    `unread` is the number of further characters that are not part of `text`.
    """
    notice = f" ... ({len(text) - limit + unread:,} more characters)"
    return text if len(text) + unread <= limit + len(notice) else text[:limit] + notice


def excerpt(text: str) -> str:
    """Return a submission's text on one line, cut if it is long."""
    return cut(" ".join(text.split()), MOST_OF_AN_EXCERPT)


def as_arguments(values: Mapping[str, object]) -> str:
    """Format names and values like arguments: `tokens=3, head_dim=2`; large numbers as `1e9`."""
    return ", ".join(f"{name}={_formatted(value)}" for name, value in values.items())


def _formatted(value: object) -> str:
    """Format a value like Python, but a large round float with an exponent."""
    text = str(value)
    if not (isinstance(value, float) and text.endswith("00000.0")):
        return text
    short = f"{value:g}".replace("e+0", "e")
    return short if float(short) == value else text


def as_index(position: Iterable[int]) -> str:
    """Format an index into a tensor: `[0, 2]`."""
    return f"[{', '.join(map(str, position))}]"


def sendable(text: str) -> str:
    """Return the text with escapes in place of characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
