"""Tables that fit into a narrow terminal."""

import pytest
from rich.text import Text

from grader.report.page import Column, fitted_table, render_page, verbatim


def column(heading: str, *cells: str, is_number: bool = False) -> Column:
    return Column(heading=heading, cells=[Text(cell) for cell in cells], is_number=is_number)


COLUMNS = [
    column("", "exercise_01", "exercise_02"),
    column("right fixes", "✓ 8", "✗"),
    column("near misses", "✓", "✓ 0"),
    column("by value", "85", "103", is_number=True),
    column("survived", "0", "0", is_number=True),
]


def page(width: int) -> str:
    return render_page(fitted_table(COLUMNS, width), width, color=False)


def test_a_wide_table_has_every_column_in_one_line():
    assert page(80) == (
        "             right fixes  near misses  by value  survived\n"
        "exercise_01  ✓ 8          ✓                  85         0\n"
        "exercise_02  ✗            ✓ 0               103         0\n"
    )


def test_headings_break_at_their_spaces_first():
    assert page(44) == (
        "             right  near       by\n"
        "             fixes  misses  value  survived\n"
        "exercise_01  ✓ 8    ✓          85         0\n"
        "exercise_02  ✗      ✓ 0       103         0\n"
    )


def test_columns_without_content_are_named_below_and_the_others_are_folded():
    assert page(30) == (
        "             right     by\n"
        "             fixes  value\n"
        "exercise_01  ✓ 8       85\n"
        "exercise_02  ✗        103\n"
        "\n"
        "Nothing to show in: near\n"
        "misses, survived\n"
    )
    assert page(20).count("exercise_01") == 2


@pytest.mark.parametrize("width", [18, 20, 30, 44, 80])
def test_no_cell_is_cut_or_wrapped(width):
    words = page(width).split()
    assert [words.count(each) for each in ("85", "103", "✗")] == [1, 1, 1]
    assert max(map(len, page(width).splitlines())) <= width


def test_code_is_neither_wrapped_nor_cut():
    line = "    becomes: " + "x " * 60 + "end"
    assert render_page([verbatim(line, indent=8)], 40, color=False) == f"{' ' * 8}{line}\n"
