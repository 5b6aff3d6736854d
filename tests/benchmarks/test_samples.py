"""What the benchmark grades, and how it reads what it measured."""

import ast
from itertools import islice
from pathlib import Path

import pytest

from grader.classroom.gradebook import Gradebook
from grader.spec.paths import Course
from tests.benchmarks.complete import recorded_verdicts
from tests.benchmarks.submissions import harmless, made
from tests.benchmarks.table import Target, compared
from tests.support.gradebooks import VERSIONS, submission, verdict


def test_a_gradebook_is_whole_only_if_every_submission_has_its_verdict(tmp_path: Path) -> None:
    path = tmp_path / "class.sqlite"
    with Gradebook(path) as book:
        batch = book.begin_batch(5, "submissions", {})
        book.record(batch, submission("ada"), VERSIONS, verdict())
        book.record(batch, submission("emmy"), VERSIONS, verdict())
        assert [*recorded_verdicts(path, 2)][-1].endswith(": complete")
        assert [*recorded_verdicts(path, 3)][-1].endswith(": NOT COMPLETE")
        book.record_not_judged(batch, submission("lise"), VERSIONS, 5, "the examiner died")
        assert [*recorded_verdicts(path, 3)][-1].startswith("2 of 3 have their verdict")
        book.record(batch, submission("lise"), VERSIONS, verdict())
        # a new gradebook has no history after one batch
        assert [*recorded_verdicts(path, 3)][-1].endswith(": NOT COMPLETE")


def test_a_gradebook_without_a_verdicts_checks_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "class.sqlite"
    with Gradebook(path) as book:
        book.record(book.begin_batch(5, "submissions", {}), submission("ada"), VERSIONS, verdict(checks=[]))
        assert [*recorded_verdicts(path, 1)][-1] == "1 of 1 have their verdict, 1 of them without checks: NOT COMPLETE"


def test_a_target_is_met_by_the_median() -> None:
    ours, theirs = [1, 2, 9], [2, 2, 2]
    assert compared("x", ours, theirs, Target(bound=1.0)).endswith("1 (0.5 to 4.5)   target <= 1.00: met")
    assert compared("x", ours, theirs, Target(bound=0.9)).endswith("target <= 0.90: NOT MET")
    assert compared("x", ours, theirs, Target(bound=0.9, is_least=True)).endswith("target >= 0.90: met")
    assert compared("x", ours, theirs, Target(bound=1.1, is_least=True)).endswith("target >= 1.10: NOT MET")


def test_the_first_thousand_are_the_same_whatever_the_count(course: Course) -> None:
    assert list(islice(made(course, 100_000, 0.1), 1000)) == list(made(course, 1000, 0.1))


def test_the_requested_share_of_samples_has_unique_syntax_trees(course: Course) -> None:
    for distinct in (0.1, 0.5):
        samples = [each for each in made(course, 400, distinct) if "syntax" not in each.base]
        trees = {(each.exercise, _tree(each.source)) for each in samples}
        assert len(trees) == pytest.approx(400 * distinct, abs=4)


def test_nobody_hands_in_twice(course: Course) -> None:
    for samples in (list(made(course, 500, 0.1)), harmless(course, 500)):
        assert len({(each.student, each.exercise) for each in samples}) == 500


def _tree(source: str) -> str:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return source.strip("\n#")
