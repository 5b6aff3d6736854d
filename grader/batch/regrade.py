"""A regrade: verdicts put out of force, and the submissions that they were about."""

from pathlib import Path

import msgspec
from msgspec import Struct

from grader.batch.layouts import LayoutOptions
from grader.errors import UsageError
from grader.gradebook import Gradebook


class RegradeRequest(Struct, frozen=True):
    """How many submissions are to be judged again, and for each batch that they came with where they lie and how."""

    count: int
    batches: list[tuple[Path, LayoutOptions]]


class _Recorded(Struct):
    options: LayoutOptions = LayoutOptions()


def request_regrade(
    gradebook: Path, exercise: str, student: str | None, reason: str, submissions: Path | None
) -> RegradeRequest:
    """Put verdicts out of force, so that the next batch judges again what they were about.

    The submissions lie where they lay when they were judged, unless their place is named. `UsageError` where they are
    not there any more, or there is no such verdict; nothing is changed then.
    """
    if not gradebook.is_file():
        raise UsageError(f"there is no gradebook {gradebook}; name the file that batch was given")
    with Gradebook(gradebook) as book:
        found = book.rows(
            "SELECT batches.submissions, options FROM current JOIN verdicts ON verdicts.id = verdict JOIN batches"
            " ON batches.id = batch WHERE exercise = ? AND student = coalesce(?, student) ORDER BY batches.id",
            exercise,
            student,
        )
        places = {Path(where): msgspec.json.decode(options, type=_Recorded).options for where, options in found}
        if submissions is not None:
            places = {submissions: next(reversed(places.values()), LayoutOptions())}
        for path in places:
            if not path.exists():
                raise UsageError(f"the submissions are not in {path} any more; name their place with --submissions")
        return RegradeRequest(book.request_regrade(exercise, student, reason), list(places.items()))
