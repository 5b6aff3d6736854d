"""The program of a task's verifier: judge the file that the agent left, and write the reward.

`python -m grader.evaluation.harbor.verifying COURSE EXERCISE FILE FOLDER SCHEME` writes `reward.txt` and `verdict.json`
into the folder and returns 0. If the kit cannot judge, it writes no reward and returns 3, so that the sample is masked:
a fault of the kit is never a reward of 0.
"""

import sys
from pathlib import Path

import msgspec

from grader.api import grade
from grader.errors import KitError
from grader.evaluation.rewards import reward
from grader.report.json import to_dict
from grader.submission import Submission, read_submission
from grader.verdict.verdict import Result

REWARD = "reward.txt"
VERDICT = "verdict.json"


def verify(course: Path, exercise_id: str, file: Path, folder: Path, scheme: str) -> int:
    """Write the reward of the agent's file. Return 0, or 3 without a reward if the kit cannot judge.

    Old results are removed first. A file that is missing, a link or unreadable gets 0: a link could lead to the
    reference.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (REWARD, VERDICT):
        (folder / name).unlink(missing_ok=True)
    read = read_submission(file, file.name, inside=file.parent)
    if not isinstance(read, Submission):
        _write(folder, 0.0, {"outcome": Result.NOT_GRADABLE, "reason": read.reason})
        return 0
    try:
        verdict = grade(exercise_id, "\n".join(chunk.text for chunk in read.chunks), course=course)
        value = reward(verdict, scheme)
    except KitError as error:
        sys.stderr.write(f"{error}\n")
        return KitError.exit_code
    if value is None:
        sys.stderr.write(f"{verdict.reason}\n")
        return KitError.exit_code
    _write(folder, value, to_dict(verdict))
    return 0


def _write(folder: Path, value: float, data: dict[str, object]) -> None:
    """Write the verdict, and the reward last: without a reward, nothing counts."""
    (folder / VERDICT).write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n")
    (folder / REWARD).write_text(f"{value:.6f}\n", encoding="utf-8")


if __name__ == "__main__":
    _course, _exercise, _file, _folder, _scheme = sys.argv[1:]
    raise SystemExit(verify(Path(_course), _exercise, Path(_file), Path(_folder), _scheme))
