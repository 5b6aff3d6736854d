"""Entry point of a spawned worker: `python -m grader.sandbox PORT OUTPUT_BYTES MEMORY_BYTES SECRET_FOLDER ...`.

The token is read from stdin.
"""

import socket
import sys

from grader.sandbox.layers import Layers
from grader.sandbox.protocol import send
from grader.sandbox.sandbox import Sandbox, confine, overwrite_freed_memory
from grader.sandbox.self_test import look_outside
from grader.sandbox.server import serve


def main() -> None:
    """Connect back to the examiner on loopback, send the token, and serve requests."""
    overwrite_freed_memory()
    port, output_bytes, memory_bytes = map(int, sys.argv[1:4])
    token = sys.stdin.buffer.read()
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(token)
    outside = look_outside(tuple(sys.argv[4:]))
    layers = Layers(outside.secret_folders)
    sandbox = Sandbox(layers=layers, outside=outside, output_bytes=output_bytes, memory_bytes=memory_bytes)
    send(connection, confine(sandbox))
    serve(connection)


if __name__ == "__main__":
    main()
