"""Format text for findings and messages: cut long texts, format values, and make any text encodable."""

import re
from collections.abc import Iterable, Mapping, Sequence

MAX_EXCERPT = 200

OUT_OF_MEMORY = re.compile(r"MemoryError|DefaultCPUAllocator: |bad_alloc|\[Errno 12\]|[Cc]an(?:no|')t allocate memory")
"""How Python, torch and NumPy report that memory could not be allocated, in the type or the text of an exception."""


def cut(text: str, limit: int, unread: int = 0) -> str:
    """Cut a text at `limit` and append the number of further characters. If that is longer than the text, return the
    text.

    `unread` is the number of further characters that are not part of `text`.
    """
    notice = f" ... ({len(text) - limit + unread:,} more characters)"
    return text if len(text) + unread <= limit + len(notice) else text[:limit] + notice


CUT = re.compile(r" \.\.\. \(([0-9][0-9,]{0,11}) more characters\) \.\.\. ")
"""The notice in a text that was cut in the middle. A submission may write such a notice too."""


def cut_middle(text: str, limit: int) -> str:
    """Cut a long text in the middle, since its end may be important: 2/3 of `limit` before the cut, 1/3 after it.

    Cut at a space if there is one nearby. Return the text if the notice is longer than the characters it replaces. If
    the text was cut before, it keeps one notice, which counts all missing characters.
    """
    earlier = CUT.search(text)
    start, rest = (text[: earlier.start()], text[earlier.end() :]) if earlier else (text, text)
    length = len(start) + len(rest) + int(earlier[1].replace(",", "")) if earlier else len(text)
    end = limit // 3
    before, after = start[: limit - end], rest[-end:]
    last_space, first_space = start[: limit - end + 1].rfind(" "), rest[-end - 1 :].find(" ")
    if 2 * last_space > len(before):
        before = start[:last_space]
    if 0 <= 2 * first_space < len(after):
        after = after[first_space:].lstrip()
    notice = f" ... ({length - len(before) - len(after):,} more characters) ... "
    return text if len(text) <= limit + len(notice) else f"{before}{notice}{after}"


def excerpt(text: str) -> str:
    """Return a submission's text on one line, cut in the middle if it is long."""
    return cut_middle(" ".join(text.split()), MAX_EXCERPT)


MAX_LISTED = 4


def listed_first(items: Sequence[str], joint: str = ", ") -> str:
    """Join the first items of a list, and count the others."""
    others = len(items) - MAX_LISTED
    return joint.join(items[:MAX_LISTED]) + (f"{joint}and {others} more" if others > 0 else "")


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
