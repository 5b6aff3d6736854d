"""What an edition hands out is up to its class, and a class that derives from another one stays what it is."""

import msgspec

from grader.spec.edition import NO_HINTS, Full, Sealed, SealedDefect

DEFECT = SealedDefect(points=2, hints=("look", "closer", "there"))


class Quiz(Sealed, frozen=True, kw_only=True, tag="quiz"):
    """An edition that somebody adds."""


def test_an_edition_keeps_its_class_when_it_is_filled_and_when_the_solution_is_revealed() -> None:
    quiz = Quiz(has_hints=False).of_exercise(hidden_checks=1, defects=[DEFECT], near_misses=["a hint"])
    assert (type(quiz), quiz.shows_solution()) == (Quiz, False)
    assert (type(quiz.revealed()), quiz.revealed().shows_solution()) == (Quiz, True)
    assert msgspec.structs.replace(quiz.revealed(), is_revealed=False) == quiz


def test_an_edition_without_hints_hands_out_no_hint() -> None:
    parts = {"hidden_checks": 1, "defects": [DEFECT], "near_misses": ["a hint"]}
    whole, silent = Sealed().of_exercise(**parts), Sealed(has_hints=False).of_exercise(**parts)
    assert (whole.gives_hints(), whole.defects, whole.near_misses) == (True, [DEFECT], ["a hint"])
    assert (silent.gives_hints(), silent.near_misses) == (False, [])
    assert [each.hints for each in silent.defects] == [NO_HINTS]


def test_a_file_of_an_edition_never_says_that_the_solution_is_revealed() -> None:
    sealed = Sealed(has_hints=False, hidden_checks=2, defects=[DEFECT])
    written = msgspec.to_builtins(sealed)
    assert "is_revealed" not in written
    assert msgspec.convert(written, Sealed | Full) == sealed
