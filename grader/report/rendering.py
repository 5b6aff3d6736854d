"""Jinja templates of pages, and of text files such as YAML and Python."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def page_templates(package: str, *, trim_blocks: bool = False) -> Environment:
    """Return the HTML templates in `templates/` of a package, which escape their values."""
    loader = PackageLoader(package)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=trim_blocks)


@cache
def text_templates(package: str, *, trim_blocks: bool = False) -> Environment:
    """Return the templates of text files in `templates/` of a package, which escape nothing."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=False,  # noqa: S701 - no HTML
        undefined=StrictUndefined,
        trim_blocks=trim_blocks,
        keep_trailing_newline=True,
    )
