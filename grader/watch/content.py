"""Whether what is in a file looks like the half of something, as it does while it is being written."""

from grader.submission import Submission
from grader.submission.choice import Choice

WHOLE = 0.9
"""A file that keeps less than this of its length may still be on its way to the disk."""


def looks_cut_off(before: Choice, now: Choice) -> bool:
    """Whether the source lost a good part of its length or its last line's end, as one that is half written does."""
    if not isinstance(before.read, Submission) or not isinstance(now.read, Submission) or before.path != now.path:
        return False
    whole, part = _text(before.read), _text(now.read)
    return len(part) < WHOLE * len(whole) or (whole.endswith("\n") and not part.endswith("\n"))


def _text(submission: Submission) -> str:
    return "".join(chunk.text for chunk in submission.chunks)
