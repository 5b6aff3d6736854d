"""Nothing that is easily visible to a submission reveals that it is being judged."""

from tests.support.hostile import reference
from tests.support.judging import Judge

LOOKS = """
import os, sys, tempfile

import torch._dynamo
import torch._inductor.config

assert torch.initial_seed() == 67280421310721, "as in any process where nobody has set a seed"
assert sys.argv == ["train.py"] and sys.orig_argv[-1] == "train.py", sys.argv
assert os.environ["HOME"] == "/home/user" and os.environ["USER"] == "user"
assert not any("grader" in name.lower() or "grader" in value.lower() for name, value in os.environ.items())
assert tempfile.gettempdir() == "/tmp"
assert os.getcwd() in {"/home/user", "/"}
"""


def test_seed_arguments_home_and_compiler_look_as_anywhere(judge_text: Judge) -> None:
    verdict = judge_text("exercise_03", reference() + LOOKS)
    assert (verdict.reason, verdict.score) == (None, verdict.max_score)
