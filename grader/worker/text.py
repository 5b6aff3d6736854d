"""Text on its way to readers: cut where it is long, and in characters that UTF-8 has bytes for."""


def cut(text: str, limit: int, unread: int = 0) -> str:
    """The beginning and how much follows, `unread` of it not at hand; all of it where that takes no more room."""
    notice = f" ... ({len(text) - limit + unread:,} more characters)"
    return text if len(text) + unread <= limit + len(notice) else text[:limit] + notice


def sendable(text: str) -> str:
    """The text, with what UTF-8 has no bytes for spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
