"""A regrade: verdicts put out of force, and the submissions that they were about."""

from pathlib import Path

import msgspec
from msgspec import Struct

from grader.batch.layouts import LayoutOptions
from grader.errors import UsageError
from grader.gradebook import Gradebook


class RegradeRequest(Struct, frozen=True):
    """How many submissions are to be judged again, where they lie and how."""

    count: int
    submissions: Path
    layout: LayoutOptions


class _Recorded(Struct):
    options: LayoutOptions = LayoutOptions()


def request_regrade(
    gradebook: Path, exercise: str, student: str | None, reason: str, submissions: Path | None
) -> RegradeRequest:
    """Put verdicts out of force, so that the next batch judges again what they were about.

    The submissions are those of the newest batch that judged the exercise, unless they are named. `UsageError` where
    they are not there any more, or there is no such verdict; nothing is changed then.
    """
    if not gradebook.is_file():
        raise UsageError(f"there is no gradebook {gradebook}; name the file that batch was given")
    with Gradebook(gradebook) as book:
        row = book.row(
            "SELECT batches.submissions, options FROM verdicts JOIN batches ON batches.id = batch"
            " JOIN submissions ON submissions.id = submission WHERE exercise = ? ORDER BY verdicts.id DESC LIMIT 1",
            exercise,
        )
        where, options = row if row is not None else (".", "{}")
        path = submissions or Path(where)
        if not path.exists():
            raise UsageError(f"the submissions are not in {path} any more; name their place with --submissions")
        count = book.request_regrade(exercise, student, reason)
        return RegradeRequest(count, path, msgspec.json.decode(options, type=_Recorded).options)
