"""A faulty file becomes an exercise with a successful proof, by `new` and the lines that a proof proposes."""

import re
from pathlib import Path

import pytest
import yaml

from grader.author.corrected_copy import correct
from grader.author.new import create_exercise
from grader.author.proof import Proof
from grader.author.prove import prove
from grader.spec.paths import Course

EXERCISE = "exercise_61"
FILES = Path("tests/corpus/faulty_files")

FIXES = {
    "cross": ("scores.softmax(dim=-2)", "scores.softmax(dim=-1)"),
    "kvcache": (".tril()", ".tril(past)"),
    "rotary": ("torch.cat((b, a), dim=-1)", "torch.cat((-b, a), dim=-1)"),
    "pooling": (["mask.shape[1]", "max(counts, eps)"], ["mask.sum(dim=1)", "counts.clamp(min=eps)"]),
    "topk": (".values[..., 0, None]", ".values[..., -1, None]"),
    "relbias": ("large.clamp(max=half)", "large.clamp(max=half - 1)"),
    "focal": ("(1 + pt)", "(1 - pt)"),
    "lion": ("mul_(beta2).add_(p.grad, alpha=1 - beta1)", "mul_(beta1).add_(p.grad, alpha=1 - beta1)"),
    "accumulate": ("        loss.backward()", "        (loss / accumulation).backward()"),
    "windows": ("self.block_size) // self.stride", "self.block_size - 1) // self.stride + 1"),
    "batchnorm": ("self.last(hidden)", "self.last(hidden.relu())"),
    "imagenorm": ("if not self.training:", "if self.training:"),
    "featurenorm": ("x.var(0)", "x.var(0, unbiased=False)"),
    "channelnorm": (
        "add_(var, alpha=self.momentum)",
        "add_(var * (n * h * w) / (n * h * w - 1), alpha=self.momentum)",
    ),
    "causalconv": ("(pad // 2, pad - pad // 2)", "(pad, 0)"),
    "grucell": ("z * n + (1 - z) * h", "(1 - z) * n + z * h"),
}
"""The fault of each file, and its fix."""

PROOFS = {"cross": 1, "topk": 1, "focal": 1, "lion": 1, "accumulate": 1, "windows": 1, "batchnorm": 1, "imagenorm": 1}
"""The number of proofs after which a file's exercise is proven, if it is not 2."""


def fill_in(path: Path, was: object, fix: object) -> None:
    """Fill in the description's blanks, which only the author knows."""
    description = yaml.safe_load(re.sub(r"FILL IN \((.*)\)", r"\1", path.read_text(encoding="utf-8")))
    [defect] = description["defects"]
    defect |= {"id": "a-defect", "was": was, "fix": fix}
    path.write_text(yaml.safe_dump(description, sort_keys=False), encoding="utf-8")


def paste(path: Path, proof: Proof) -> None:
    """Write the lines that the proof proposes: outputs and sizes, checks, and equivalents."""
    text = path.read_text(encoding="utf-8")
    for step in proof.steps:
        text = correct(text, step.correction) if step.correction else text
    description = yaml.safe_load(text)
    checks = dict.fromkeys(survivor.checks for survivor in proof.survivors if survivor.checks)
    description["checks"] += [check for text in checks for check in yaml.safe_load(text)]
    changes = dict.fromkeys(survivor.mutant.change() for survivor in proof.survivors if not survivor.checks)
    told = [{"was": was, "becomes": becomes, "reason": "it computes the same"} for was, becomes in changes]
    path.write_text(yaml.safe_dump({**description, "equivalents": told}, sort_keys=False), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FIXES])
def test_an_own_file_is_an_exercise_that_holds_at_the_second_proof(tmp_path: Path, name: str) -> None:
    course = Course(root=tmp_path)
    create_exercise(course, EXERCISE, FILES / f"{name}.py")
    fill_in(course.description(EXERCISE), *FIXES[name])
    proofs = 0
    while True:
        [proof] = prove(course, [EXERCISE], lambda done, of: None)
        proofs += 1
        if proof.holds() or proofs == 2:
            break
        paste(course.description(EXERCISE), proof)
    assert proof.holds(), ([step for step in proof.steps if not step.holds()], proof.survivors)
    assert proofs <= PROOFS.get(name, 2)


def test_every_faulty_file_is_made_an_exercise():
    assert {path.stem for path in FILES.glob("*.py")} == FIXES.keys()
