"""Servers that no submission should reach: TCP, UDP, a Unix socket in the file system and an abstract one."""

import os
import socket
from pathlib import Path
from typing import Self


class Listeners:
    """Listen while the context is open; `heard` names the servers that received something."""

    def __init__(self, folder: Path) -> None:
        self.abstract = f"attack-{os.getpid()}"
        self.heard: list[str] = []
        stream = socket.create_server(("127.0.0.1", 0))
        self.port: int = stream.getsockname()[1]
        self._sockets = {
            "tcp": stream,
            "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "local": socket.socket(socket.AF_UNIX),
            "abstract": socket.socket(socket.AF_UNIX),
        }
        self._sockets["udp"].bind(("127.0.0.1", self.port))
        self._sockets["local"].bind(str(folder / "course" / "socket"))
        self._sockets["abstract"].bind(f"\0{self.abstract}")
        for name, each in self._sockets.items():
            each.setblocking(False)
            if name != "udp":
                each.listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name, each in self._sockets.items():
            try:
                each.recv(1) if name == "udp" else each.accept()[0].close()
            except BlockingIOError:
                continue
            finally:
                each.close()
            self.heard.append(name)
