"""The picture of a finding: the fault at the smallest sizes that fail, beside the largest that pass."""

import re

import pytest
import torch

from grader.checks import pictures
from grader.checks.compare import compare, compare_gradients, require_close
from grader.checks.failure import Compared, Failure
from grader.checks.outcome import FailureKind, Picture, PictureKind
from grader.checks.tolerances import FLOAT32
from grader.report.findings import sentence
from grader.report.picture import draw, shaded
from tests.support.findings import sentence_pattern
from tests.support.judging import Judge

H, Q, K = 3, 4, 5


def drawn(seen: torch.Tensor, expected: torch.Tensor) -> Picture:
    with pytest.raises(Failure) as caught:
        compare(seen, expected, "output")
    assert caught.value.finding.picture is not None
    return caught.value.finding.picture


def picture_of(judge_text: Judge, exercise_id: str, source: str, check: str) -> Picture:
    (finding,) = (each.finding for each in judge_text(exercise_id, source).checks if each.check == check)
    assert finding.picture is not None
    return finding.picture


def test_values_are_drawn_around_the_one_that_is_furthest_off() -> None:
    expected = torch.randn(2, 30, 40)
    seen = expected.clone()
    seen[1, 20, 35] += 2
    picture = drawn(seen, expected)
    assert (picture.kind, picture.place, picture.first) == (PictureKind.VALUES, "[1]", (8, 23))
    assert [each.title for each in picture.maps] == ["expected", "yours", "difference"]
    ((row, column),) = picture.maps[2].marked
    assert picture.maps[2].cells[row][column] == pytest.approx(2, abs=1e-5)
    assert sum(value != 0 for cells in picture.maps[2].cells for value in cells) == 1


def test_a_wrong_rank_is_a_sentence_and_no_picture() -> None:
    with pytest.raises(Failure, match=r"expected shape \(2, 3\), observed \(2, 3, 1\)") as caught:
        compare(torch.zeros(2, 3, 1), torch.zeros(2, 3), "output")
    assert caught.value.finding.picture is None
    assert pictures.values(torch.zeros(2, 3, 1), torch.zeros(2, 3)) is None


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3, 1, 1)])
def test_a_single_cell_says_no_more_than_the_finding_and_is_not_drawn(shape: tuple[int, ...]) -> None:
    with pytest.raises(Failure, match="expected 1, observed 0") as caught:
        compare(torch.zeros(shape), torch.ones(shape), "output")
    assert caught.value.finding.picture is None
    assert drawn(torch.zeros(2), torch.ones(2)).maps[0].cells == [[1.0, 1.0]]


@pytest.mark.parametrize(("axes", "columns"), [((), "elements"), (("N",), "N")])
def test_a_vector_is_drawn_as_one_row_and_only_its_columns_are_named(axes: tuple[str, ...], columns: str) -> None:
    picture = pictures.values(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), [1], axes)
    assert picture
    assert (picture.rows, picture.columns) == ("", columns)
    assert shaded(picture, 80)[-1].plain == f"columns: {columns} · ██ 3, -█ -3 · [] furthest off"
    assert f">Columns: {columns}. From" in draw(picture)


@pytest.mark.parametrize("keys", [-1, 1])
def test_weights_are_drawn_for_each_head_wherever_the_axis_of_the_keys_is(keys: int) -> None:
    """As (batch, heads, queries, keys), and as (queries, keys, batch, heads)."""
    right = torch.randn(2, H, Q, K).softmax(-1)
    wrong = right.clone()
    wrong[1, 2, 0] = 1 / K
    if keys == 1:
        right, wrong = (each.permute(2, 3, 0, 1) for each in (right, wrong))
    picture = drawn(wrong, right)
    assert (picture.kind, picture.across, picture.place) == (PictureKind.WEIGHTS, H, "[1]")
    heads = range(H)
    assert [each.title for each in picture.maps] == [
        f"{side}, head {n}" for side in ("expected", "yours") for n in heads
    ]
    assert picture.maps[-1].cells[0] == pytest.approx([1 / K] * K)
    assert [bool(each.marked) for each in picture.maps] == [False, False, True] * 2
    assert picture.maps[0].cells == picture.maps[H].cells


def test_what_does_not_add_up_to_one_is_no_weights() -> None:
    expected = torch.rand(2, H, Q, K)
    assert drawn(expected + 1, expected).kind is PictureKind.VALUES


def test_missing_gradients_are_bars_over_the_parameters_and_those_of_rounding_are_not_missed() -> None:
    expected = {"q": torch.tensor([3.0, -4.0]), "k": torch.ones(2), "k.bias": torch.full((2,), 1e-8), "buffer": None}
    with pytest.raises(Failure, match="k: expected the loss to reach it") as caught:
        compare_gradients({"q": expected["q"], "k": None, "k.bias": None}, expected)
    picture = caught.value.finding.picture
    assert picture is not None
    assert picture.names == ["q", "k", "k.bias"]
    assert [each.cells for each in picture.maps] == [[[4.0, 1.0, 0.0]], [[4.0, 0.0, 0.0]]]
    assert picture.maps[1].marked == [(0, 1)]


def test_maps_of_passing_sizes_are_beside_those_that_fail() -> None:
    with pictures.recorded() as passed:
        compare(torch.ones(2, 2), torch.ones(2, 2), "output")
        require_close(torch.ones(2), torch.ones(2) + 1e-6, "attribute", FLOAT32)
    assert set(passed) == {Compared(item="output"), Compared(item="attribute")}
    picture = pictures.beside(drawn(torch.zeros(3, 3), torch.ones(3, 3)), *passed[Compared(item="output")], {"n": 2})
    assert [each.cells for each in picture.passing] == [[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[0, 0], [0, 0]]]
    assert picture.passing_sizes == {"n": 2}


def test_no_equal_values_are_recorded_without_a_recorder() -> None:
    with pictures.recorded() as passed:
        pass
    compare(torch.ones(2), torch.ones(2), "output")
    assert passed == {}


def test_a_leak_is_drawn_as_what_moves_what_and_the_cells_that_should_not_are_marked(judge_text: Judge) -> None:
    source = judge_text.variant("exercise_03", frozenset({"mask-discarded"}))
    checks = judge_text("exercise_03", source).checks
    (finding,) = (each.finding for each in checks if each.check == "future_does_not_leak")
    picture = finding.picture
    assert (picture.kind, picture.rows, picture.columns) == (PictureKind.MOVEMENT, "output at token", "changed token")
    assert picture.maps[0].marked == [(0, 1), (0, 2), (1, 2)]
    assert all(moved > 0 for row in picture.maps[0].cells for moved in row)
    parts = {"action": r"changing token (\d)", "place": r"token (\d)", "observed": r"([\d.]+)", "expected": "no change"}
    pattern = sentence_pattern(FailureKind.LEAK, item="output", **parts)
    changed, seen, told = re.fullmatch(pattern, sentence(finding)).groups()
    assert picture.maps[0].cells[int(seen)][int(changed)] == pytest.approx(float(told), abs=5e-4), "the number is told"


def test_values_that_fail_from_two_heads_on_stand_beside_those_of_one_head(judge_text: Judge) -> None:
    source = judge_text.variant("exercise_10", frozenset({"scale-of-the-embedding"}))
    picture = picture_of(judge_text, "exercise_10", source, "values")
    assert picture.passing_sizes == {"heads": 1}
    assert not any(value for row in picture.passing[2].cells for value in row if abs(value) > 1e-5)


def test_a_submission_that_dies_while_it_is_drawn_keeps_its_finding_and_has_no_picture(judge_text: Judge) -> None:
    """The fourth call of a module is the first that is made for the picture."""
    counting = (
        'self.calls = getattr(self, "calls", 0) + 1\n        if self.calls > 3: raise ValueError\n        keys = '
    )
    source = judge_text.variant("exercise_03", frozenset({"mask-discarded"})).replace("keys = ", counting, 1)
    checks = judge_text("exercise_03", source).checks
    (finding,) = (each.finding for each in checks if each.check == "future_does_not_leak")
    assert finding.kind == "leak"
    assert finding.picture is None
