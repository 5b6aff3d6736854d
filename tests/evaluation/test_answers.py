"""Extract a module from answers of many shapes: what comes out is compared as whole text."""

import difflib
import json
import time
from itertools import product

import pytest

from grader.errors import UsageError
from grader.evaluation.answers import extract_code, extract_tests
from grader.spec.paths import Course
from tests.support.paths import ROOT

REFERENCE = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
STARTER = (ROOT / "exercises/exercise_03/.starter/attention.py").read_text(encoding="utf-8")
DEFECT = "attn_scores.masked_fill("
assert STARTER.count(DEFECT) == 1
FIXED = STARTER.replace(DEFECT, "attn_scores = attn_scores.masked_fill(")
NAME = "CausalSelfAttention"
USAGE = f"```python\nhead = {NAME}(4, 6, 8, 0.0)\nprint(head(torch.randn(1, 3, 4)).shape)\n```\n"


def indented(text: str, margin: str) -> str:
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))


FENCES = {
    "backticks": lambda code: f"```python\n{code}```\n",
    "no language": lambda code: f"```\n{code}```\n",
    "py": lambda code: f"```py title=attention.py\n{code}```\n",
    "Python3": lambda code: f"```Python3\n{code}```\n",
    "four": lambda code: f"````python\n{code}````\n",
    "tildes": lambda code: f"~~~python\n{code}~~~\n",
    "in a list": lambda code: "1. The file:\n\n" + indented(f"```python\n{code}```\n", "   "),
    "quoted": lambda code: "".join(f"> {line}" for line in f"```python\n{code}```\n".splitlines(keepends=True)),
    "never closed": lambda code: f"```python\n{code}",
    "tags inside": lambda code: f"```python\n<code>\n{code}</code>\n```\n",
    "Windows": lambda code: f"```python\n{code}```\n".replace("\n", "\r\n"),
}
"""Ways to fence code."""

SURROUNDINGS = {
    "alone": lambda block: block,
    "prose": lambda block: f"The mask was discarded. Here is the file:\n\n{block}",
    "prose after": lambda block: f"{block}\nThis class keeps its interface. Import it from attention.py.\n",
    "heading": lambda block: f"# Fix\n\n## attention.py\n\n{block}",
    "starter first": lambda block: f"The original:\n\n```python\n{STARTER}```\n\nand fixed:\n\n{block}",
    "usage after": lambda block: f"{block}\nTry it:\n\n{USAGE}",
    "thoughts": lambda block: f"<think>\nMaybe ```python\nclass {NAME}: pass\n```\n</think>\n{block}",
    "shell": lambda block: f"```bash\npip install torch\n```\n\n{block}",
    "answer tags": lambda block: f"<answer>\n{block}\n</answer>\n",
}
"""What surrounds the code. Only a block that is never closed cannot have text after it."""

AFTER = {"prose after", "usage after", "answer tags"}


@pytest.mark.parametrize(
    ("fence", "around"),
    [pair for pair in product(FENCES, SURROUNDINGS) if not (pair[0] == "never closed" and pair[1] in AFTER)],
)
def test_a_whole_file_in_a_fence_comes_out_as_it_is(fence, around):
    assert extract_code(SURROUNDINGS[around](FENCES[fence](FIXED)), "exercise_03") == FIXED


def diff(*, context: int = 3, start: int | None = None) -> str:
    lines = difflib.unified_diff(
        STARTER.splitlines(True), FIXED.splitlines(True), "a/attention.py", "b/attention.py", n=context
    )
    text = "".join(lines)
    if start is None:
        return text
    return "\n".join(f"@@ -{start},9 +{start},9 @@" if line.startswith("@@") else line for line in text.split("\n"))


LINE = next(line for line in STARTER.splitlines() if DEFECT in line)
NEW = LINE.replace(DEFECT, "attn_scores = attn_scores.masked_fill(")
FORWARD = FIXED[FIXED.index("    def forward") :]
CLASS = FIXED[FIXED.index(f"class {NAME}") :]
CHANGES = {
    "diff": diff(),
    "no context": diff(context=0),
    "much context": diff(context=50),
    "wrong line numbers": diff(start=3),
    "numbers far away": diff(start=900),
    "bare @@": f"@@\n-{LINE}\n+{NEW}\n",
    "git": f"diff --git a/attention.py b/attention.py\nindex 1..2 100644\n{diff()}",
    "search and replace": f"<<<<<<< SEARCH\n{LINE}\n=======\n{NEW}\n>>>>>>> REPLACE\n",
    "search stripped": f"<<<<<<< SEARCH\n{LINE.strip()}\n=======\n{NEW}\n>>>>>>> REPLACE\n",
    "class alone": CLASS,
    "method alone": FORWARD,
    "method without margin": "\n".join(line[4:] for line in FORWARD.split("\n")),
}
"""Parts of a file. `class alone` has no imports: those of the starter stay."""


@pytest.mark.parametrize(
    ("change", "fence", "around"),
    [
        *product(CHANGES, ("backticks", "tildes", "in a list", "four"), ("alone", "prose", "prose after", "heading")),
        *product(("diff", "git"), ("Windows",), ("alone", "thoughts")),
    ],
)
def test_parts_of_a_file_are_put_into_the_starter(change, fence, around):
    language = "diff" if CHANGES[change].startswith(("---", "@@", "diff")) else "python"
    block = FENCES[fence](CHANGES[change].rstrip("\n") + "\n").replace("```python", f"```{language}")
    found = extract_code(SURROUNDINGS[around](block), "exercise_03")
    assert found.split() == FIXED.split()
    assert found.rstrip() == FIXED.rstrip()


@pytest.mark.parametrize(
    "text",
    [
        FIXED,
        f"Here is the file.\n\n{FIXED}",
        f"{FIXED}\nThe mask is kept now, so no token sees the future.\n",
        f"Sure! From this we see the fault.\n\n{FIXED}\n\nI hope this helps.\n",
        json.dumps({"reasoning": "the mask", "code": FIXED}),
        f"Here is a patch:\n\n{diff()}\n",
        f"<think>\nhm\n</think>\n{FIXED}",
        f"# Solution\nHere is the repaired file:\n\n{FIXED}",
    ],
    ids=["bare", "before", "after", "both", "JSON", "diff", "thoughts", "heading"],
)
def test_code_without_a_fence_is_found(text):
    assert extract_code(text, "exercise_03") == FIXED


@pytest.mark.parametrize("end", ['.\n"""', '."""'])
def test_a_docstring_of_several_lines_is_kept_and_the_prose_before_it_left_out(end):
    module = f'"""Attention.\n\nThe mask is kept now{end}\n\n{FIXED}'
    assert extract_code(f"# Solution\nHere is the file:\n\n{module}", "exercise_03") == module


def test_a_heading_does_not_make_prose_a_part_of_the_tests():
    tests = "import torch\n\n\ndef test_it(subject):\n    assert subject\n"
    assert extract_tests(f"# My tests\nOne of them is enough:\n\n{tests}") == tests


def test_a_helper_of_the_answer_comes_before_the_class_that_uses_it():
    helper = "def masked(scores, mask):\n    return scores.masked_fill(mask, float('-inf'))\n"
    found = extract_code(f"```python\n{helper}\n\n{CLASS}```", "exercise_03")
    assert found.index("import torch") < found.index("def masked") < found.index(f"class {NAME}")


IMPORTS = FIXED[: FIXED.index(f"class {NAME}")]
EXAMPLE = f"head = {NAME}(4, 6, 8, 0.0)\nprint(head(torch.randn(1, 3, 4)).shape)\n"


@pytest.mark.parametrize("answer", ["```python\n{}\n```\n", "Here it is:\n\n{}"], ids=["fenced", "bare"])
@pytest.mark.parametrize(
    "part",
    [
        "EPS = 1e-6",
        "EPS: float = 1e-6",
        "LOW, HIGH = -1.0, 1.0",
        "SIZES = {\n    'small': 8,\n}",
        "Tensor = torch.Tensor",
        "type Tensor = torch.Tensor",
        "ONE = 1\n\n\ndef one():\n    return ONE\n\n\nTWO = one() + 1",
        "@cache(\n    size=8,\n)\ndef one():\n    return 1",
    ],
)
def test_the_parts_before_a_class_without_imports_are_kept(answer, part):
    found = extract_code(answer.format(f"{part}\n\n\n{CLASS}"), "exercise_03")
    assert found == f"{IMPORTS}{part}\n\n\n{CLASS}"


def test_a_constant_after_the_class_that_uses_it_is_kept_and_an_example_is_left_out():
    used = CLASS.replace("dim=-1", "dim=LAST")
    assert used != CLASS
    after = f"LAST = -1\nFIRST = 0\n\n{EXAMPLE}\nif __name__ == '__main__':\n    LAST = print(1)\n"
    assert extract_code(f"```python\n{used}\n\n{after}```", "exercise_03") == f"{IMPORTS}{used}\n\nLAST = -1\n"


def test_a_part_that_needs_the_definition_before_it_comes_after_it():
    parts = f"{CLASS}\n\nHEADS = {{'causal': {NAME}}}\n\n\ndef head(name):\n    return HEADS[name]\n"
    assert extract_code(f"```python\n{parts}```", "exercise_03") == IMPORTS + parts


def test_a_constant_of_the_starter_is_replaced_where_it_is():
    starter = (ROOT / "exercises/exercise_29/.starter/loss.py").read_text(encoding="utf-8")
    constant = "NOT_COUNTED = -100\n"
    assert starter.count(constant) == 1
    own = starter[starter.index("def ") :]
    found = extract_code(f"```python\nNOT_COUNTED = -1\n\n\n{own}```", "exercise_29")
    assert found == starter.replace(constant, "NOT_COUNTED = -1\n")


def test_imports_and_constants_before_a_method_are_kept():
    imports = "import math\nfrom torch import (\n    inf,\n)\n"
    method = CHANGES["method without margin"]
    found = extract_code(f"```python\n{imports}import torch\n\nEPS = 1e-6\n\n{method}\n```", "exercise_03")
    added = f"{imports}\n\nEPS = 1e-6\n\n\n"
    assert found == f"{IMPORTS}{added}{CLASS}"


@pytest.mark.parametrize("text", [diff(context=50), f"@@\n-nowhere\n+there\n{FORWARD}"], ids=["diff", "bare @@"])
def test_a_diff_that_does_not_apply_is_no_code(text):
    stale = text.replace(LINE, LINE.replace("masked_fill", "filled"))
    assert extract_code(f"```diff\n{stale}\n```", "exercise_03") == ""
    assert extract_code(f"```diff\n{stale}\n```\n\n```python\n{FORWARD}\n```", "exercise_03") == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do this.",
        "```python\nprint('hello')\n```",
        f"The class {NAME} is right as it is.",
        "@@\n-no such line\n+another\n",
        "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-nothing\n+something\n```",
        "<<<<<<< SEARCH\nnowhere\n=======\nsomewhere\n>>>>>>> REPLACE",
        "{" * 5000,
        '{"a":' * 50_000,
        "```",
        "`" * 100_000,
        "\x00\ud800",
    ],
    ids=range(12),
)
def test_an_answer_without_code_gives_an_empty_text(text):
    assert extract_code(text, "exercise_03") == ""


def test_one_change_that_does_not_apply_spoils_a_patch():
    assert extract_code(f"```diff\n{diff()}@@\n-nowhere\n+there\n```", "exercise_03") == ""


def test_every_reference_comes_out_of_a_fence_as_it_is():
    course = Course(root=ROOT)
    for exercise_id in course.exercise_ids():
        text = course.reference_text(exercise_id).rstrip("\n") + "\n"
        assert extract_code(f"Fixed:\n\n```python\n{text}```\n", exercise_id) == text.lstrip("\n")


def test_wrong_types_and_names_are_errors():
    with pytest.raises(TypeError, match="an answer is text, not dict"):
        extract_code({}, "exercise_03")
    with pytest.raises(UsageError, match="there is no exercise_99"):
        extract_code("", "exercise_99")


HOSTILE = ("```python\n" * 50_000, "@@\n-a\n+b\n" * 20_000, " " * 500_000, "<think>" * 50_000, "class A:\n" * 50_000)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_long_hostile_answer_takes_little_time(text):
    started = time.process_time()
    extract_code(text, "exercise_03")
    assert time.process_time() - started < 5
