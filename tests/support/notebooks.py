"""Build notebooks as Jupyter writes them, cell by cell."""

import json
from typing import Any


def notebook(*cells: dict[str, Any]) -> str:
    """Return a notebook of format 4.5 as text; cells without an id get one."""
    for number, cell in enumerate(cells):
        if cell.get("id", "") == "":
            cell["id"] = f"cell-{number}"
        elif cell["id"] is None:
            del cell["id"]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)})


def code(source: str, *, tags=None, count=None, outputs=(), id="") -> dict[str, Any]:  # noqa: A002 - its name in the format
    """Return a code cell; `count` is its execution count."""
    metadata = {"tags": tags} if tags else {}
    return {
        "cell_type": "code",
        "id": id,
        "metadata": metadata,
        "source": source,
        "outputs": list(outputs),
        "execution_count": count,
    }


def markdown(source: str) -> dict[str, Any]:
    """Return a Markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}
