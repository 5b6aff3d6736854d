"""variations.py: a worker gets one class, with the definitions and imports that it uses."""

import pytest

from grader.spec.variations import source_with, variation_sources

HELPERS = """\
TIMES, UNUSED = 2, 3


def twice(tensor):
    return TIMES * tensor


"""
BASE = """\
class Base(torch.nn.Module):
    pass


"""
TWICE = '''\
@torch.no_grad()
class Twice(Base):
    """A docstring."""

    def forward(self, x):
        return twice(copy.deepcopy(x))
'''
SOURCE = f'''"""Variations."""

import copy
import re

import submission
import torch

{HELPERS}# Not a part of the class.
{BASE}{TWICE}

class Alone(submission.Attention):
    def twice(self, x):
        return self.Base(x)
'''


def test_a_class_comes_with_what_it_uses_and_nothing_else():
    assert variation_sources(SOURCE)["Twice"] == f"import copy\n\n\n{HELPERS}{BASE}{TWICE}"


def test_names_of_methods_and_attributes_are_not_those_of_definitions():
    assert variation_sources(SOURCE)["Alone"] == SOURCE[SOURCE.index("class Alone") :]


def test_several_classes_are_in_the_order_of_the_file_and_each_definition_occurs_once():
    text = source_with(SOURCE, ["Alone", "Twice", "Base"])
    assert [line for line in text.splitlines() if line.startswith(("class", "def", "import", "TIMES"))] == [
        "import copy",
        "TIMES, UNUSED = 2, 3",
        "def twice(tensor):",
        "class Base(torch.nn.Module):",
        "class Twice(Base):",
        "class Alone(submission.Attention):",
    ]
    compile(text, "variations.py", "exec")


@pytest.mark.parametrize(
    "definition",
    ["TIMES: int = 2", "if True:\n    import math as TIMES", "try:\n    TIMES = 2\nexcept ValueError:\n    pass"],
)
def test_a_definition_is_found_in_every_form_of_statement(definition):
    used = "class Twice(submission.Attention):\n    times = TIMES\n"
    assert variation_sources(f"unused: int = 3\n{definition}\n{used}")["Twice"] == f"{definition}\n\n\n{used}"


def test_what_is_not_python_raises():
    with pytest.raises(SyntaxError):
        variation_sources("class (")
