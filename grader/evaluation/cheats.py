"""Cheats: answers that try to earn points without a fix. None may earn more than the untouched starter.

The untouched starter scores 0, except in the hunts whose starter is right. If an environment pays for a cheat, a policy
under training will find it. The cheats are short forms of the families in `tests/corpus/attacks`, and fit every hunt.
"""

from grader.evaluation.catalogue import Hunt
from grader.report.rendering import text_templates

SUFFIX = ".py.j2"


def cheats(hunt: Hunt) -> dict[str, str]:
    """Return submissions to a hunt, by name, that fix nothing and try to earn points.

    Each must score 0, or what the starter scores if the starter is right.
    """
    names = ["nothing", "starter", *_names("cheats")]
    own = {"nothing": "", "starter": hunt.starter}
    return {name: own[name] if name in own else _text("cheats", name, hunt=hunt) for name in names}


def trap_cheats() -> dict[str, str]:
    """Return traps, by name, that catch nothing and try to earn points. Each must score 0 on every hunt."""
    return {name: _text("trap_cheats", name) for name in _names("trap_cheats")}


def _names(folder: str) -> list[str]:
    names = text_templates("grader.evaluation").list_templates(filter_func=lambda name: name.startswith(f"{folder}/"))
    return [name.removeprefix(f"{folder}/").removesuffix(SUFFIX) for name in names]


def _text(folder: str, name: str, **values: Hunt) -> str:
    return text_templates("grader.evaluation").get_template(f"{folder}/{name}{SUFFIX}").render(**values)
