"""The content of a notebook file."""

from collections.abc import Sequence
from typing import Any


def notebook_content(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a notebook of format 4.5 with these cells, as plain data."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": list(cells), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
