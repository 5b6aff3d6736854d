"""Frames over a socket."""

import socket
import time

import pytest

from grader.sandbox.wire import frame, receive


@pytest.mark.parametrize("cut", [1, 4, 7])
def test_a_frame_that_is_late_is_received_by_the_next_call(cut: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        content, kept = frame(b"a body") + frame(b"the next"), bytearray()
        theirs.sendall(content[:cut])
        with pytest.raises(TimeoutError):
            receive(ours, time.monotonic() + 0.01, kept)
        theirs.sendall(content[cut:])
        assert receive(ours, time.monotonic() + 5, kept) == b"a body"
        assert receive(ours, time.monotonic() + 5, kept) == b"the next"
        assert not kept
