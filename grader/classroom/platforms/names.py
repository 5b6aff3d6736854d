"""File names that platforms recognize, short enough for any file system."""

import os

MAX_NAME_BYTES = 240
"""The longest file name without suffix, in bytes. Most file systems allow 255."""


def first_part(file: str) -> str:
    """Return the first part of a submission's path, which the platform named."""
    return file.partition("/")[0].partition(os.sep)[0]


def short_name(free: tuple[str, str], fixed: tuple[str, str]) -> str:
    """Return free[0] + fixed[0] + free[1] + fixed[1]. If that is too long, cut the free parts, the longer one first."""
    parts = [text.encode("utf-8", "backslashreplace") for text in free]
    excess = sum(map(len, parts)) + len("".join(fixed).encode("utf-8", "backslashreplace")) - MAX_NAME_BYTES
    for index in sorted((0, 1), key=lambda each: len(parts[each]), reverse=True):
        size = len(parts[index])
        parts[index] = parts[index][: max(size - max(excess, 0), 0)]
        excess -= size - len(parts[index])
    first, second = (part.decode("utf-8", "ignore") for part in parts)
    return first + fixed[0] + second + fixed[1]
