"""Text on its way to readers: cut where it is long, and in characters that UTF-8 has bytes for."""

from collections.abc import Mapping

MOST_OF_AN_EXCERPT = 200


def cut(text: str, limit: int, unread: int = 0) -> str:
    """The beginning and how much follows, `unread` of it not at hand; all of it where that takes no more room."""
    notice = f" ... ({len(text) - limit + unread:,} more characters)"
    return text if len(text) + unread <= limit + len(notice) else text[:limit] + notice


def excerpt(text: str) -> str:
    """What a finding shows of a text that a submission wrote: one line, cut where it is long."""
    return cut(" ".join(text.split()), MOST_OF_AN_EXCERPT)


def as_arguments(values: Mapping[str, object]) -> str:
    """Names and values as a call is written: `tokens=3, head_dim=2`."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


def sendable(text: str) -> str:
    """The text, with what UTF-8 has no bytes for spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
