"""Declared equivalents and the mutants they speak of."""

from msgspec import Struct

from grader.author.mutants import Mutant, plain_lines
from grader.exercise.records import Equivalent


class Matching(Struct, frozen=True):
    """The mutants that are declared equivalent, the others, and the declarations that match none."""

    declared: list[Mutant]
    others: list[Mutant]
    idle: list[Equivalent]


def match_equivalents(mutants: list[Mutant], equivalents: list[Equivalent]) -> Matching:
    """Sort mutants by whether a declaration has their lines before and after the change."""
    changes = {(plain_lines(each.was), plain_lines(each.becomes)) for each in equivalents}
    declared = [mutant for mutant in mutants if mutant.change() in changes]
    others = [mutant for mutant in mutants if mutant.change() not in changes]
    made = {mutant.change() for mutant in declared}
    idle = [each for each in equivalents if (plain_lines(each.was), plain_lines(each.becomes)) not in made]
    return Matching(declared, others, idle)
