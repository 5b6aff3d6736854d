"""The folder of a course, found with nothing but `os`: the light client of the warm process needs it at once."""

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
