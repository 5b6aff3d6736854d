"""Find the folder of a course. This imports only `os`, because the client of a warm process must start fast."""

import os

PACKAGE_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder from which this package was installed."""


def course_folder(start: str) -> str | None:
    """Return the folder of the course that contains `start`, or else the one with this package; None if neither is one.

    `start` is an absolute path.
    """
    folder = start
    while True:
        if os.path.isdir(os.path.join(folder, "exercises")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return PACKAGE_HOME if os.path.isdir(os.path.join(PACKAGE_HOME, "exercises")) else None
