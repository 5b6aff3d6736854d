"""Dedupe: of submissions that are alike one is judged, and the others wait for its verdict."""

from grader.batch.tasks import Task
from grader.gradebook import Gradebook, SharedVerdict, Versions
from grader.gradebook.gradebook import Likeness

Key = tuple[Likeness, str, Versions, int]


class Deduplicator:
    """Remembers what is being judged; the gradebook remembers what was.

    Submissions are alike when their sources are equal, or their syntax trees where the verdict names no line. What is
    judged and what is shared depends on the order of submissions alone, not on who is done first.
    """

    def __init__(self, gradebook: Gradebook, *, open_counts: bool) -> None:
        self._gradebook = gradebook
        self._open_counts = open_counts
        self._leaders: dict[Key, Task] = {}
        self._followers: dict[Task, list[Task]] = {}
        self._distrusted: set[str] = set()
        self.waiting = 0

    def distrust(self, task: Task) -> None:
        """Share nothing any more among those that are like the task."""
        self._distrusted |= {task.record.digest, task.record.fingerprint} - {""}

    def is_copy(self, task: Task) -> bool:
        """Whether a submission with the very same source was judged or is being judged."""
        return _keys(task)[0] in self._leaders or bool(self._judged("digest", task))

    def shared(self, task: Task) -> SharedVerdict | None:
        """The verdict of one that is alike; None while there is none."""
        if self._is_distrusted(task):
            return None
        same = self._judged("digest", task)
        if same is not None or not task.record.fingerprint:
            return same
        like = self._judged("fingerprint", task)
        return None if like is None or like.is_bound else like

    def follows(self, task: Task) -> bool:
        """Whether one that is alike is being judged; the task then waits for it, and else is the one to wait for.

        Those that waited for a task come back from `settle`.
        """
        if self._is_distrusted(task):
            return False
        is_bound = bool(task.record.fingerprint and self._judged("fingerprint", task))
        keys = _keys(task)
        leader = next((self._leaders[key] for key in (keys[:1] if is_bound else keys) if key in self._leaders), None)
        if leader is not None:
            self._followers[leader].append(task)
            self.waiting += 1
            return True
        self._followers[task] = []
        for key in keys:
            self._leaders.setdefault(key, task)
        return False

    def settle(self, task: Task) -> list[Task]:
        """Those that waited for a task, now that it was judged or could not be."""
        for key in _keys(task):
            if self._leaders.get(key) is task:
                del self._leaders[key]
        followers = self._followers.pop(task, [])
        self.waiting -= len(followers)
        return followers

    def _is_distrusted(self, task: Task) -> bool:
        return bool(self._distrusted & {task.record.digest, task.record.fingerprint})

    def _judged(self, likeness: Likeness, task: Task) -> SharedVerdict | None:
        return self._gradebook.judged_alike(
            likeness, task.record, task.versions, task.seed, open_counts=self._open_counts
        )


def _keys(task: Task) -> list[Key]:
    """By what others may be like the task: its exact source, and its syntax tree where it has one."""
    record = task.record
    keys: list[Key] = [("digest", record.digest, task.versions, task.seed)]
    if record.fingerprint:
        keys.append(("fingerprint", record.fingerprint, task.versions, task.seed))
    return keys
