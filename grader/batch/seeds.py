"""What follows from a gradebook's seed."""

import hashlib

from grader.batch.tasks import Task
from grader.verdict.judge import MAX_SEED

SAMPLED = 100
"""Of so many shared verdicts one is judged again."""


def seed_of_attempt(seed: int, attempt: int) -> int:
    """The gradebook's seed for first submissions; another for each resubmission, the same for the whole class."""
    if not attempt:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{attempt}".encode()).digest()[:8]) % MAX_SEED


def is_sampled(task: Task) -> bool:
    """Whether a shared verdict is judged by itself too: for one in a hundred, whom nobody without the seed knows."""
    drawn = f"{task.seed}/{task.record.student}/{task.record.exercise}/{task.record.digest}"
    return not int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:8]) % SAMPLED
