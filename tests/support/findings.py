"""Patterns of the sentences of findings: if the words of a sentence change, the tests need no change."""

import re
from string import Formatter

from grader.checks.outcome import FailureKind
from grader.report.findings import SENTENCES


def sentence_pattern(kind: FailureKind, **parts: str) -> str:
    """Return a regular expression for the sentence of a kind of failure. `parts` are the patterns of its parts."""
    fragments = Formatter().parse(SENTENCES[kind])
    return "".join(re.escape(words) + (parts.get(name, ".*?") if name else "") for words, name, _, _ in fragments)
