"""What a file becomes: text in chunks whose lines are the lines the student sees, or why it becomes nothing."""

import hashlib

from msgspec import Struct


class Chunk(Struct, frozen=True):
    """A stretch of source that is compiled on its own: a module, or one code cell."""

    label: str
    text: str


class Submission(Struct, frozen=True):
    """What is judged: where it came from and its source."""

    name: str
    chunks: tuple[Chunk, ...]

    def digest(self) -> str:
        """A fingerprint of the source."""
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk.text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


class Unreadable(Struct, frozen=True):
    """Why a file cannot be judged: one sentence, and the next step."""

    reason: str


def exceeds(submission: Submission, max_bytes: int) -> Unreadable | None:
    """Why the submission is too large, if it is larger than `max_bytes`."""
    size = sum(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in submission.chunks)
    if size <= max_bytes:
        return None
    return Unreadable(f"{submission.name} holds {size:,} bytes of source; {max_bytes:,} are allowed")


def submission_from_text(source: str, name: str = "attention.py") -> Submission:
    """A submission that is already text."""
    return Submission(name, (Chunk(name, source),))
