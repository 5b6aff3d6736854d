"""Comparisons of tensors, and the findings about differences."""

import pytest
import torch

from grader.checks.compare import compare, numbers, require_form
from grader.checks.failure import Compared, Failure, naming_output_axes
from grader.checks.properties.refusals import _not_mentioned
from grader.checks.properties.side_effects import is_visible
from grader.checks.properties.states import turns_in_words
from grader.checks.tolerances import FLOAT32, LARGE_INPUTS
from grader.sandbox.text import as_arguments, cut_middle, excerpt, listed_first
from grader.spec.properties import CallsInTurn


def test_numbers_show_digits_until_they_differ() -> None:
    assert numbers(-0.131, -0.2) == ("-0.131", "-0.2")
    assert numbers(-0.1312345, -0.1312346) == ("-0.1312345", "-0.1312346")
    assert numbers(1.0, 1.0 + 2**-52) == ("1", "1.0000000000000002")
    with pytest.raises(Failure, match=r"expected 1, observed 1\.0002$"):
        compare(torch.tensor([1.0002]), torch.tensor([1.0]), "output")


def test_what_a_submission_wrote_is_cut() -> None:
    assert excerpt("a\n b") == "a b"
    assert excerpt("x" * 1000) == f"{'x' * 134} ... (800 more characters) ... {'x' * 66}"


def test_a_text_that_is_cut_keeps_its_beginning_and_its_end() -> None:
    text = "expected " + "a" * 500 + ", got b"
    assert cut_middle(text, 30) == f"expected {'a' * 11} ... (486 more characters) ... aaa, got b"
    words = "one two three four " + "word " * 50 + "and the last words"
    assert cut_middle(words, 30) == "one two three four ... (259 more characters) ... last words"
    assert cut_middle(cut_middle(words, 150), 30) == cut_middle(words, 30)
    for forged in (",", "9" * 5000, "\N{ARABIC-INDIC DIGIT THREE}", "9,,,"):
        assert "more characters" in cut_middle(f"a ... ({forged} more characters) ... {words}", 30)
    assert cut_middle("a" * 60, 30) == "a" * 60  # the notice would be longer


def test_a_long_list_is_counted_and_not_cut_within_a_name() -> None:
    assert listed_first(["a", "b", "c", "d"]) == "a, b, c, d"
    assert listed_first(["a", "b", "c", "d", "e", "f"], "; ") == "a; b; c; d; and 2 more"


def test_places_are_named_by_the_interface_or_in_words() -> None:
    what = Compared(item="the last call's output")
    assert what.place([0, 2, 5]) == "index [0, 2, 5]"
    with naming_output_axes((("batch", "tokens", "width"),)):
        assert what.place([0, 2, 5]) == "batch 0, token 2, width 5"
        assert what.place([3]) == "element 3"  # a loss
        assert Compared(item="the gradient of scale").place([1, 0]) == "row 1, column 0"
        assert Compared(axes=()).place([0, 2, 5]) == "index [0, 2, 5]"


def test_large_numbers_are_written_short_where_they_are_the_same() -> None:
    given = {
        "longest": 1e9,
        "share": 0.5,
        "warmth": 1.0,
        "odd": 1234567800000.0,
        "tokens": 1000000,
        "end": float("inf"),
    }
    told = "longest=1e9, share=0.5, warmth=1.0, odd=1234567800000.0, tokens=1000000, end=inf"
    assert as_arguments(given) == told


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("got 10 tokens of 8", ["1"]),
        ("1 and 10", []),
        ("1.5 is not 10.", ["1"]),
        ("(10,1)", []),
        (" ".join(map(str, range(100))), ["1", "10"]),
        ("", ["1", "10"]),
    ],
)
def test_a_message_says_a_number_only_as_a_whole(text: str, missing: list[str]) -> None:
    assert _not_mentioned([1, 10], text) == missing


@pytest.mark.parametrize("text", ["1,025 tokens", "1_025 tokens", "1025 tokens", "2 samples,1025 tokens", "512,1025"])
def test_a_number_may_have_a_separator_of_thousands(text: str) -> None:
    assert _not_mentioned([1025], text) == []


def test_a_comma_may_also_separate_two_numbers() -> None:
    assert _not_mentioned([2, 512], "shape (2,512)") == []


@pytest.mark.parametrize("text", ["", " \n\t", "\0\0\0", "\x1b\x08", "\u200b"])
def test_an_unreadable_message_mentions_no_number(text: str) -> None:
    assert not is_visible(text)


def test_a_wrong_form_is_described() -> None:
    both = (torch.zeros(2, 3), torch.zeros(2))
    with pytest.raises(Failure, match="expected 2 values, observed a tensor of shape"):
        require_form(both[0], both, "output")
    with pytest.raises(Failure, match=r"output 0: expected shape \(2, 3\), observed \(2,\)"):
        require_form(both[::-1], both, "output")
    with pytest.raises(Failure, match="expected dtype float32, observed float64"):
        require_form((both[0].double(), both[1]), both, "output")


def test_a_single_number_has_no_place_and_is_not_counted() -> None:
    with pytest.raises(Failure, match=r"^the loss: expected 3\.52, observed 0$"):
        compare(torch.tensor(0.0), torch.tensor(3.52), "the loss")


def test_numbers_that_overflow_in_both_are_alike_and_the_others_are_compared() -> None:
    """The tolerance of large inputs is a share of the largest value that is a number."""
    expected = torch.tensor([float("nan"), float("inf"), 0.5])
    for tolerance in (FLOAT32, LARGE_INPUTS):
        compare(expected.clone(), expected, "output", tolerance)
        compare(torch.full((2,), float("nan")), torch.full((2,), float("nan")), "output", tolerance)
        with pytest.raises(Failure, match=r"output element 2: expected 0\.5, observed 0\.7$"):
            compare(torch.tensor([float("nan"), float("inf"), 0.7]), expected, "output", tolerance)
        with pytest.raises(Failure, match=r"expected inf, observed nan") as caught:
            compare(torch.tensor([float("nan"), float("nan"), 0.5]), expected, "output", tolerance)
        assert (caught.value.finding.elements_off, caught.value.finding.elements) == (1, 3)


def test_dicts_are_compared_key_by_key() -> None:
    ones, twos = torch.ones(2), torch.full((2,), 2.0)
    compare({"w": ones, "n": 3}, {"w": ones.clone(), "n": 3}, "the state")
    with pytest.raises(Failure, match=r"the state w element 0: expected 1, observed 2"):
        compare({"w": twos}, {"w": ones}, "the state")
    with pytest.raises(Failure, match="the state: expected the keys w, observed a dict of 1"):
        compare({"v": ones}, {"w": ones}, "the state")
    with pytest.raises(Failure, match="the state: expected the keys w, observed a tensor"):
        compare(ones, {"w": ones}, "the state")


def test_a_tensor_in_place_of_a_plain_value_is_a_failure_not_an_error() -> None:
    with pytest.raises(Failure, match=r"the count: expected 3, observed a tensor of shape \(2,\)"):
        compare(torch.full((2,), 3), 3, "the count")


def test_the_element_that_is_furthest_off_is_located() -> None:
    right, expected = torch.zeros(2, 3), torch.ones(2, 3)
    seen = expected.clone()
    seen[1, 2] = 0.25
    with pytest.raises(Failure) as caught:
        compare((right, seen), (right, expected), "any name at all")
    wrong = caught.value.wrong
    assert wrong is not None
    assert (wrong.tensor is seen, wrong.index) == (True, [1, 2])
    finding = caught.value.finding
    assert (finding.item, finding.place, finding.expected, finding.observed) == (
        "any name at all 1",
        "row 1, column 2",
        "1",
        "0.25",
    )
    assert (finding.elements_off, finding.elements) == (1, 6)


def test_integers_are_compared_exactly() -> None:
    compare(torch.tensor([12_345, 2**40]), torch.tensor([12_345, 2**40]), "output")
    with pytest.raises(Failure, match=r"expected 12345, observed 12346$"):
        compare(torch.tensor([7, 12_346]), torch.tensor([7, 12_345]), "output")


def test_booleans_that_differ_are_wrong_values() -> None:
    compare(torch.tensor([True, False]), torch.tensor([True, False]), "output")
    with pytest.raises(Failure, match=r"^output element 1: expected 0, observed 1$"):
        compare(torch.tensor([True, True, False]), torch.tensor([True, False, False]), "output")


def test_plain_numbers_may_be_rounded_otherwise() -> None:
    compare(1 / 7**0.5, 7**-0.5 * (1 + 1e-15), "the attribute scale")
    compare(float("nan"), float("nan"), "output")
    with pytest.raises(Failure, match=r"expected 0\.378, observed 0\.143"):
        compare(1 / 7, 7**-0.5, "the attribute scale")
    with pytest.raises(Failure, match=r"expected 0\.5, observed 'a half'"):
        compare("a half", 0.5, "the attribute scale")


def test_calls_in_turn_are_described_with_their_arguments_and_modes() -> None:
    check = CallsInTurn(calls=[{"words": 4}, {"words": 3}], then={"more": True}, training=True, evaluates_last=True)
    assert turns_in_words(check, 1) == "one module in training mode, called with words=4"
    assert turns_in_words(check, 2) == (
        "one module in training mode, called with words=4 then with words=3, more=True in evaluation mode"
    )
    plain = CallsInTurn(calls=[{"tokens": 2}, {"batch": 3}], inputs={"x": ["batch", "tokens"]}, after_each="reset")
    assert turns_in_words(plain, 2) == "one module, called with tokens=2, then reset(), then with batch=3"
