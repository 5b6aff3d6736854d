"""The pages for users name every command, kind of subject, export format and platform."""

import re

import pytest

from grader.checks.outcome import FailureKind, SizeComparison
from grader.classroom.exports.writing import EXPORTS
from grader.classroom.platforms import AUTOGRADERS
from grader.cli import SECTIONS
from grader.report.findings import comparison_words
from grader.report.view import CAUSE_WORDS, NOT_SHOWN
from grader.spec.kinds import KindName
from tests.support.findings import sentence_pattern
from tests.support.paths import ROOT

FOR_INSTRUCTORS = (ROOT / "solutions" / "README.md").read_text(encoding="utf-8")
PAGES = "\n".join(
    (ROOT / path).read_text(encoding="utf-8")
    for path in ("README.md", "exercises/README.md", "solutions/README.md", "solutions/EVALUATION.md")
)
IMPLIED = {"grade"}
"""Commands that nobody needs to type: `python -m grader exercise_03` grades."""

COMMANDS = sorted({str(each.name) for commands in SECTIONS.values() for each in commands if not each.hidden} - IMPLIED)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_shows_every_command(name: str) -> None:
    assert re.search(rf"python -m grader {name}\b", PAGES), f"show python -m grader {name} in one of the README files"


def test_the_page_for_instructors_has_a_row_for_every_kind() -> None:
    assert {kind for kind in KindName if not re.search(rf"^\| .*`{kind}`.* \|", FOR_INSTRUCTORS, re.MULTILINE)} == set()


def test_the_page_for_instructors_names_every_export_format() -> None:
    named = {name for names in re.findall(r"`export --to\s+([\w|]+)", FOR_INSTRUCTORS) for name in names.split("|")}
    assert named == EXPORTS.keys()


def test_the_page_for_instructors_has_a_row_for_every_autograder() -> None:
    assert {name for name in AUTOGRADERS if f"\n| `{name}` |" not in FOR_INSTRUCTORS} == set()


@pytest.mark.parametrize(
    ("page", "kind"), [("README.md", FailureKind.MIXING), ("exercises/README.md", FailureKind.LEAK)]
)
def test_a_page_words_its_example_of_a_finding_as_the_grader_does(page: str, kind: FailureKind) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    parts = {"action": r"changing \w+ \d", "place": r"\w+ \d", "observed": r"[\d.]+", "expected": "no change"}
    pattern = sentence_pattern(kind, item="output", **parts)
    assert re.search(pattern, text), f"the example of a finding in {page} does not match {pattern}"


GLOSSARY = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8").partition("## Words on the page")[2]
SMALLEST = SizeComparison(failed={"tokens": 1}, is_smallest=True)
PHRASES = [
    "wrong",
    *CAUSE_WORDS.values(),
    *("Nothing wrong found here", "Fixed", "Not yet", "Not gradable", "Not judged"),
    comparison_words(SMALLEST).partition(" tokens")[0],
    "right with",
    "both with",
    "in training mode",
    "right in a plain call",
    "only under no_grad",
    "left at the default",
    "built with",
    NOT_SHOWN,
    "not one of the original bugs",
    "perhaps defect",
    "can't tell yet whether it is an original bug",
    "can't tell yet",
    "nothing else broke",
    "found by",
    "advice",
    "hint",
    "extra",
    "Open to submissions on this machine",
]


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_glossary_has_every_phrase_of_a_page(phrase: str) -> None:
    rows = [line.split("|")[1] for line in GLOSSARY.splitlines() if line.startswith("| ")]
    assert any(phrase in row for row in rows), f'add "{phrase}" to "Words on the page" in exercises/README.md'
