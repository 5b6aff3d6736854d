"""The notebooks' demonstrations run on the starter and on the reference, and show the described effects."""

import contextlib
import io
import re

import nbformat
import pytest

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]


@pytest.fixture(scope="module")
def shown(course):
    """What the demonstrations of a notebook print, one text for each, above the starter or the reference."""
    memory: dict[tuple[str, bool], list[str]] = {}

    def shown(exercise_id: str, *, fixed: bool = False) -> list[str]:
        if (exercise_id, fixed) not in memory:
            memory[exercise_id, fixed] = run(exercise_id, fixed=fixed)
        return memory[exercise_id, fixed]

    def run(exercise_id: str, *, fixed: bool) -> list[str]:
        notebook = nbformat.read(course.editable_files(exercise_id)[1], as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        demonstrations = [
            cell.source
            for cell in code
            if "demonstration" in cell.metadata.get("tags", []) and cell.id != "grade"  # asks for a verdict
        ]
        source = [cell.source for cell in code if "demonstration" not in cell.metadata.get("tags", [])]
        if fixed:
            source = [course.reference_text(exercise_id)]
        names = {"__name__": "__main__"}
        return [printed(text, names) for text in source + demonstrations][len(source) :]

    def printed(source: str, names: dict) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(source, "cell", "exec"), names)
        return output.getvalue()

    return shown


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_demonstration_runs_and_shows_something(shown, exercise_id):
    for fixed in (False, True):
        texts = shown(exercise_id, fixed=fixed)
        assert texts
        assert all(text.strip() for text in texts)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_at_least_one_demonstration_looks_different_once_the_defects_are_fixed(shown, exercise_id):
    assert shown(exercise_id) != shown(exercise_id, fixed=True)


def test_the_training_run_prints_the_ten_losses_that_prove_nothing(shown):
    losses = re.findall(r"Loss: (\S+)", "".join(shown("exercise_06")))
    assert " ".join(losses) == "0.9528 0.8633 0.7874 0.6941 0.5665 0.4330 0.3291 0.2463 0.1821 0.1270"


def test_the_attention_demonstrations_print_their_weights(shown):
    rows = re.findall(r"Attention weights are: tensor\((.*?)\)", "".join(shown("exercise_04")))
    weights = [re.findall(r"\d\.\d{4}e[-+]\d\d", row) for row in rows]
    assert weights == [
        ["3.7266e-06", "9.9999e-01", "3.7266e-06", "3.7266e-06"],
        ["1.8633e-06", "1.8633e-06", "5.0000e-01", "5.0000e-01"],
    ]


def test_the_masking_demonstration_shows_nothing_above_the_diagonal(shown):
    text = shown("exercise_03")[0]
    masked = text[text.rindex("masked_fill") :]
    rows = [re.findall(r"-inf|\d\.\d+", row) for row in re.findall(r"\[([^\[\]]+)\]", masked[masked.index("tensor") :])]
    hidden = [[value == "-inf" for value in row] for row in rows]
    assert hidden == [[key > query for key in range(4)] for query in range(4)]


def test_a_corrected_last_word_moves_the_earlier_outputs_only_in_the_starter(shown):
    def moved(text):
        return [float(distance) for distance in re.findall(r"moved by (\S+)", text)]

    assert all(distance > 0 for distance in moved(shown("exercise_03")[1]))
    *earlier, last = moved(shown("exercise_03", fixed=True)[1])
    assert earlier == [0, 0, 0, 0]
    assert last > 0
