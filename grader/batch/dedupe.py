"""Which submissions are alike: of those, one is judged, and the others wait for its verdict."""

from typing import Literal

from msgspec import Struct

from grader.gradebook import Gradebook, Handed, Kept, Versions
from grader.submission import Submission

Likeness = Literal["digest", "fingerprint"]


class Candidate(Struct, frozen=True, eq=False):
    """A submission that may have to be judged."""

    handed: Handed
    versions: Versions
    submission: Submission


class Sharing:
    """Remembers what is being judged; the gradebook remembers what was.

    Submissions are alike when their sources are equal, or their syntax trees where the verdict names no line. What is
    judged and what is shared depends on the order of submissions alone, not on who is done first.
    """

    def __init__(self, gradebook: Gradebook, seed: int, *, open_counts: bool) -> None:
        self._gradebook = gradebook
        self._seed = seed
        self._open_counts = open_counts
        self._leaders: dict[tuple[Likeness, str, Versions], Candidate] = {}
        self._followers: dict[Candidate, list[Candidate]] = {}
        self.waiting = 0

    def is_copy(self, handed: Handed, versions: Versions) -> bool:
        """Whether a submission with the very same source was judged or is being judged."""
        return ("digest", handed.digest, versions) in self._leaders or bool(self._judged("digest", handed, versions))

    def shared(self, candidate: Candidate) -> Kept | None:
        """The verdict of one that is alike; None while there is none."""
        handed, versions = candidate.handed, candidate.versions
        same = self._judged("digest", handed, versions)
        if same is not None or not handed.fingerprint:
            return same
        like = self._judged("fingerprint", handed, versions)
        return None if like is None or like.is_bound else like

    def follows(self, candidate: Candidate) -> bool:
        """Whether one that is alike is being judged; the candidate then waits for it, and else is the one to wait for.

        What settled candidates are waited for by comes back from `settle`.
        """
        handed, versions = candidate.handed, candidate.versions
        leader = self._leaders.get(("digest", handed.digest, versions))
        is_bound = bool(handed.fingerprint and self._judged("fingerprint", handed, versions))
        if leader is None and handed.fingerprint and not is_bound:
            leader = self._leaders.get(("fingerprint", handed.fingerprint, versions))
        if leader is not None:
            self._followers[leader].append(candidate)
            self.waiting += 1
            return True
        self._followers[candidate] = []
        for key in self._keys(candidate):
            self._leaders.setdefault(key, candidate)
        return False

    def settle(self, candidate: Candidate) -> list[Candidate]:
        """Those that waited for a candidate, now that it was judged or could not be."""
        for key in self._keys(candidate):
            if self._leaders.get(key) is candidate:
                del self._leaders[key]
        followers = self._followers.pop(candidate, [])
        self.waiting -= len(followers)
        return followers

    def _judged(self, likeness: Likeness, handed: Handed, versions: Versions) -> Kept | None:
        value = handed.digest if likeness == "digest" else handed.fingerprint
        return self._gradebook.judged_alike(likeness, value, versions, self._seed, open_counts=self._open_counts)

    def _keys(self, candidate: Candidate) -> list[tuple[Likeness, str, Versions]]:
        handed, versions = candidate.handed, candidate.versions
        keys: list[tuple[Likeness, str, Versions]] = [("digest", handed.digest, versions)]
        if handed.fingerprint:
            keys.append(("fingerprint", handed.fingerprint, versions))
        return keys
