"""Strategies for fuzzing: real frames, descriptions and notebooks with a few things changed, and plain bytes."""

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("GRADER_FUZZING", "0"))
"""How many random examples each fuzzing test tries. If it is 0, every run tries the same few examples."""

FEW = 80
SECONDS = 10.0
"""The time limit of one example, on a busy machine."""

MEMORY_BYTES = 512 << 20
"""How much one example may add to the address space of its process."""

MAX_VALUES = 5_000
"""The most values of an example after a part was repeated."""

fuzzing = settings(
    max_examples=EXAMPLES or FEW,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

DEEP = b"@@DEEP@@"
"""A placeholder, replaced after encoding by a deeply nested value."""

NASTY_TEXTS = (
    "\x1b[31mred\x1b[0m",
    "\u202egrading",
    "[bold]x[/bold]",
    "a\nb\rc\td\0e",
    "\u2028\x85\ufeff",
    "=1+1",
    "]]>&<",
    "x" * 100_000,
    "😀" * 50,
    "1e999",
    "0x" + "f" * 5000,
    "",
)

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([-1, 0, 1, 2**31, 2**62, 2**63 - 1, 2**64 - 1]),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(NASTY_TEXTS),
    st.just([]),
    st.builds(dict),
)


@st.composite
def mutated(draw: st.DrawFn, data: Any, extra: st.SearchStrategy[Any] = leaves) -> Any:
    """Draw nested plain data with changes at one to four places."""
    data = _copy(data)
    for _ in range(draw(st.integers(1, 4))):
        data = _changed(draw, data, extra)
    return data


def _changed(draw: st.DrawFn, data: Any, extra: st.SearchStrategy[Any]) -> Any:
    if not isinstance(data, dict | list) or not data or draw(st.integers(0, 4)) == 0:
        return _replaced(draw, data, extra)
    keys = list(data) if isinstance(data, dict) else range(len(data))
    key = draw(st.sampled_from(keys))
    match draw(st.sampled_from(["inside", "inside", "inside", "remove", "rename", "repeat", "graft"])):
        case "inside":
            data[key] = _changed(draw, data[key], extra)
        case "remove":
            del data[key]
        case "rename" if isinstance(data, dict):
            data[draw(st.sampled_from([key + "s", key[:-1], key.upper(), *NASTY_TEXTS]))] = data.pop(key)
        case "repeat" if isinstance(data, list):
            data += _times(draw, data[key])
        case _:
            data[key] = _copy(data[draw(st.sampled_from(keys))])
    return data


def _replaced(draw: st.DrawFn, data: Any, extra: st.SearchStrategy[Any]) -> Any:
    match draw(st.sampled_from(["other", "other", "wrapped", "many"])):
        case "wrapped":
            return [data]
        case "many":
            return _times(draw, data)
    return draw(extra)


def _times(draw: st.DrawFn, data: Any) -> list[Any]:
    """Repeat a value, as often as the limit on values allows."""
    return [data] * min(draw(st.sampled_from([1, 2, 70, 1500])), MAX_VALUES // _count(data))


def _count(data: Any) -> int:
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return 1 + sum(map(_count, inner))


def _copy(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _copy(item) for key, item in data.items()}
    return [_copy(item) for item in data] if isinstance(data, list) else data


@st.composite
def spoilt(draw: st.DrawFn, content: bytes, fragments: tuple[bytes, ...] = ()) -> bytes:
    """Draw the content with bytes cut, flipped, repeated or inserted."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        until = min(len(content), at + draw(st.sampled_from([0, 1, 4, 64, 4096])))
        match draw(st.sampled_from(["cut", "flip", "drop", "repeat", "insert", "fragment", "fragment"])):
            case "cut":
                content = content[:at]
            case "flip":
                content = content[:at] + bytes(each ^ draw(st.integers(1, 255)) for each in content[at : at + 2])
            case "drop":
                content = content[:at] + content[until:]
            case "repeat":
                content = content[:at] + content[at:until] * draw(st.sampled_from([2, 3, 100])) + content[until:]
            case "fragment" if fragments:
                content = content[:at] + draw(st.sampled_from(fragments)) + content[at:]
            case _:
                content = content[:at] + draw(st.binary(max_size=12)) + content[at:]
    return content


@contextlib.contextmanager
def within_bounds() -> Iterator[None]:
    """Fail if the block takes too much time or memory."""
    started = time.process_time()
    with _bounded_memory():
        yield
    seconds = time.process_time() - started
    assert seconds < SECONDS, f"it took {seconds:.1f} s"


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """Limit the growth of this process. Beyond the limit an allocation raises `MemoryError`, which fails the test."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
