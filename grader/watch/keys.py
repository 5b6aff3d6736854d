"""Single keys from a terminal, whose settings are put back however the program ends."""

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

if sys.platform != "win32":
    import termios
    import tty

END_OF_INPUT = "\x04"
"""What a terminal sends for Ctrl-D, and what is told when it has gone."""

ESCAPE = "\x1b"
MOST_AT_ONCE = 64


class Keys:
    """Calls `tell` with each key pressed, from a thread of its own; with none where stdin is no terminal of ours."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._terminal = sys.stdin.fileno() if _is_our_terminal() else -1
        self._before: list[Any] = termios.tcgetattr(self._terminal) if self.are_read else []
        self._resumed: Any = None
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._read, name="keys", daemon=True)

    @property
    def are_read(self) -> bool:
        """Whether there is anybody to press one."""
        return self._terminal >= 0

    def open(self) -> None:
        """Read from now on. An interrupt may come at any moment: `close` puts right whatever was done till then."""
        if self.are_read:
            self._resumed = signal.signal(signal.SIGCONT, self._resume)
            tty.setcbreak(self._terminal, termios.TCSANOW)
            self._thread.start()

    def close(self) -> None:
        """Put the terminal's settings back, and read no more."""
        if self.are_read:
            signal.signal(signal.SIGCONT, self._resumed or signal.SIG_DFL)
            with contextlib.suppress(termios.error):  # the terminal may have gone
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
            os.write(self._wake, b"\0")
            if self._thread.is_alive():
                self._thread.join()
        os.close(self._wake)
        os.close(self._woken)

    def _resume(self, _number: int, _frame: object) -> None:
        """Read single keys again after the program was stopped (Ctrl-Z) and goes on in the foreground."""
        if _is_our_terminal():
            tty.setcbreak(self._terminal, termios.TCSANOW)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._terminal, self._woken], [], [])
            if self._woken in ready:
                return
            try:
                pressed = os.read(self._terminal, MOST_AT_ONCE).decode("utf-8", "replace")
            except OSError:
                pressed = ""
            if not pressed:
                self._tell(END_OF_INPUT)
                return
            if not pressed.startswith(ESCAPE):  # arrows and their like are no letters
                for key in pressed:
                    self._tell(key)


def _is_our_terminal() -> bool:
    """Whether stdin is a terminal in whose foreground this program runs."""
    try:
        return sys.platform != "win32" and sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False
