"""Proofs -> text: a table with ticks, then what to do."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from grader.author.proof import Fate, Proof, Step
from grader.report.page import render_page

STEPS = ("sources", "scores", "attribution", "alternatives", "equivalents")
