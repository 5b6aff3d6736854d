"""Render the templates of the files that authors get: YAML and Python, so nothing is escaped."""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, filters: dict[str, Callable[[Any], str]], **values: Any) -> str:
    """Return the text of a template, with filters that quote values."""
    templates = Environment(
        loader=PackageLoader("grader.author"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - no HTML
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= filters
    return templates.get_template(template).render(**values)
