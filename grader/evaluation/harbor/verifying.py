"""The program of a task's verifier: judge the file that the agent left, and write the reward.

`python -m grader.evaluation.harbor.verifying COURSE EXERCISE FILE FOLDER SCHEME FORM` writes `reward.txt` and
`verdict.json` into the folder and returns 0. If the kit cannot judge, it writes no reward and returns 3, so that the
sample is masked: a fault of the kit is never a reward of 0.
"""

import asyncio
import os
import stat
import sys
from pathlib import Path
from typing import Any

import msgspec

from grader.api import grade
from grader.errors import KitError
from grader.evaluation.catalogue import hunt_of
from grader.evaluation.environments.forms import FORMS, Form
from grader.evaluation.guided import inquiry
from grader.evaluation.rewards import Scheme, reward
from grader.report.json import to_dict
from grader.spec.paths import Course
from grader.submission import Submission, read_submission
from grader.verdict.verdict import Result

REWARD = "reward.txt"
VERDICT = "verdict.json"

MAX_ANSWER_BYTES = 100_000
"""The largest answer that is read, unless it is a repaired module."""


def verify(course: Path, exercise_id: str, file: Path, folder: Path, scheme: Scheme, form: Form) -> int:
    """Write the reward of the agent's file. Return 0, or 3 without a reward if the kit cannot judge.

    Old results are removed first. A file that is missing, a link or unreadable gets 0: a link could lead to the
    reference.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (REWARD, VERDICT):
        (folder / name).unlink(missing_ok=True)
    try:
        if form is Form.FIX:
            value, record = _judge_fix(course, exercise_id, file, scheme)
        else:
            value, record = _judge_answer(course, exercise_id, file, scheme, form)
    except KitError as error:
        sys.stderr.write(f"{error}\n")
        return KitError.exit_code
    if value is None:
        sys.stderr.write(f"{record['reason']}\n")
        return KitError.exit_code
    _write(folder, value, record)
    return 0


def _judge_fix(course: Path, exercise_id: str, file: Path, scheme: Scheme) -> tuple[float | None, dict[str, Any]]:
    """Return the reward of a repaired module, None if the kit cannot judge, and the verdict as plain data."""
    read = read_submission(file, file.name, inside=file.parent)
    if not isinstance(read, Submission):
        return 0.0, {"outcome": Result.NOT_GRADABLE, "reason": read.reason}
    text = "\n".join(chunk.text for chunk in read.chunks)
    verdict = grade(exercise_id, f"{text}\n", course=course)  # a single line could be taken for a path
    return reward(verdict, scheme), to_dict(verdict)


def _judge_answer(
    course: Path, exercise_id: str, file: Path, scheme: Scheme, form: Form
) -> tuple[float | None, dict[str, Any]]:
    """Return the reward of tests, predictions or claims, None if the kit cannot judge, and a record of plain data."""
    chosen, opened = FORMS[form], Course(root=course)
    answer = chosen.answer_in_file(_read_answer(file))
    found = asyncio.run(chosen.assess(answer, hunt_of(opened, exercise_id), scheme, opened))
    inquiry.close()
    return found.value, found.record


def _read_answer(file: Path) -> str:
    """Return the text of a file; empty if it is missing, too large or no regular file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as answer:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        content = answer.read(MAX_ANSWER_BYTES + 1)
    return content.decode(errors="replace") if len(content) <= MAX_ANSWER_BYTES else ""


def _write(folder: Path, value: float, data: dict[str, object]) -> None:
    """Write the verdict, and the reward last: without a reward, nothing counts."""
    (folder / VERDICT).write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n")
    (folder / REWARD).write_text(f"{value:.6f}\n", encoding="utf-8")


if __name__ == "__main__":
    _course, _exercise, _file, _folder, _scheme, _form = sys.argv[1:]
    raise SystemExit(verify(Path(_course), _exercise, Path(_file), Path(_folder), Scheme(_scheme), Form(_form)))
