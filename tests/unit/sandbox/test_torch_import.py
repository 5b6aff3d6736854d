"""The parts of torch that its import omits, and that the course's checks do not need them."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT
from tests.support.sampling import others_slow

WITHOUT_OVERRIDES = """
import grader.sandbox.torch_import as torch_import

def complete_on_use():
    import torch
    library = torch.library.Library("aten", "IMPL", "Meta")
    torch_import._undo.append(library._destroy)
    library.impl("empty_strided", print, allow_unknown_option=True)

torch_import._complete_on_use = complete_on_use
torch_import.import_torch()
import torch
with torch_import.left_incomplete():
    torch.Generator()
print(torch_import.is_complete(), torch.empty_strided((2, 3), (3, 1), device="meta").triu().shape)
"""
"""As a version of torch whose `Library.impl` does not have an option that the kit passes."""


@pytest.mark.slow
def test_a_torch_without_the_functions_to_complete_it_on_use_is_imported_whole() -> None:
    command = [sys.executable, "-c", WITHOUT_OVERRIDES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True torch.Size([2, 3])\n", "")


SEEDED = """
from grader.sandbox.torch_import import import_torch, is_complete
import_torch()
import torch
from grader.sandbox.global_state import GlobalState

torch.manual_seed(3)
for call in (lambda: torch.rand(2), lambda: torch.manual_seed(3)):
    state, before = GlobalState(), torch.get_rng_state()
    call()
    after = torch.get_rng_state()
    state.compare_seeding(before)
    print(bool(state.changed), torch.equal(torch.get_rng_state(), after), is_complete())
"""
"""A call that draws numbers, and one that sets the seed that torch already has."""


def test_a_seed_that_is_set_again_is_seen_without_the_rest_of_torch() -> None:
    command = [sys.executable, "-c", SEEDED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False True False\nTrue True False\n", "")


@pytest.mark.parametrize(
    "statement",
    others_slow(
        ["from torch.nn.attention.bias import causal_lower_right", "import torch._inductor.compile_fx", "torch.onnx"]
    ),
)
def test_a_part_of_torch_that_imports_the_compiler_can_be_imported(statement: str) -> None:
    script = f"from grader.sandbox.torch_import import import_torch\nimport_torch()\nimport torch\n{statement}"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "file", sorted((ROOT / "tests" / "hidden").glob("*/test_*.py")), ids=lambda file: file.parent.name
)
def test_no_hidden_test_makes_a_generator_which_takes_half_a_second_to_import(file) -> None:
    assert "Generator" not in file.read_text(encoding="utf-8")
