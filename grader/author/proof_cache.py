"""The cache of a proof's results, and the digests of everything that they depend on."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.spec.files import read_cache, write_cache
from grader.spec.paths import Course
from grader.trap.implementations import trap_digest
from grader.verdict.digest import files_digest, key_digest, kit_digest

T = TypeVar("T")

TRIES_MUTANTS = tuple(
    f"author/{name}.py" for name in ("mutation_testing", "differential", "mutants", "operators", "parsed_source")
)
PROVES_STEPS = (
    *TRIES_MUTANTS,
    *(f"author/{name}.py" for name in ("proof_tasks", "rewrites", "statement_rewrites", "usual_tests")),
)
"""The modules that decide the results of a proof, besides those that decide verdicts."""


class ProofCache:
    """The results of a proof. Each is one line of JSON with a key: the result's kind, the digest of everything that the
    kind depends on, and the result's subject.

    The subject of a status or of a difference is a mutant's syntax tree. The subject of steps is the name of their
    task. A line that was cut off in the middle is ignored.
    """

    def __init__(self, course: Course, exercise_id: str, *, fresh: bool = False) -> None:
        self._digests = {kind: digest[:16] for kind, digest in result_digests(course, exercise_id).items()}
        self._path = course.state_folder() / "proofs" / f"{exercise_id}.jsonl"
        written = _read_lines(self._path)
        current = tuple(f"{kind}-{digest}-" for kind, digest in self._digests.items())
        self._known = {key: value for key, value in written.items() if key.startswith(current) and not fresh}
        if len(self._known) < len(written):
            lines = [b"\n" + msgspec.json.encode([key, value]) for key, value in self._known.items()]
            write_cache(self._path, b"".join(lines))

    def digest(self, **subjects: Iterable[str]) -> str:
        """Digest everything that results about these subjects depend on. A keyword names a kind of result."""
        keys = sorted(self._key(kind, subject) for kind, each in subjects.items() for subject in each)
        return hashlib.sha256("\n".join(keys).encode()).hexdigest()

    def load_all(self, kind: str, subjects: Iterable[str], result_type: type[T]) -> dict[str, T]:
        """Return the results that are known, by subject."""
        known = {subject: self._known.get(self._key(kind, subject)) for subject in subjects}
        return {
            subject: msgspec.json.decode(line, type=result_type) for subject, line in known.items() if line is not None
        }

    def store(self, kind: str, subject: str, result: object) -> None:
        """Append a result."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode([self._key(kind, subject), result]))

    def _key(self, kind: str, subject: str) -> str:
        return f"{kind}-{self._digests[kind]}-{hashlib.sha256(subject.encode()).hexdigest()[:24]}"


def result_digests(course: Course, exercise_id: str) -> dict[str, str]:
    """Digest everything that each kind of result depends on, besides its subject."""
    key = key_digest(course, exercise_id)
    mutants = _joined(key, kit_digest(course, "tries_mutants", TRIES_MUTANTS))
    files = [*sorted(course.starters(exercise_id).glob("*")), *sorted(course.alternatives(exercise_id).glob("*.py"))]
    fixes = files_digest(course, f"fixes_{exercise_id}", files)
    steps = _joined(key, kit_digest(course, "proves_steps", PROVES_STEPS), fixes)
    return {"status": mutants, "difference": mutants, "steps": steps}


def model_trap_digest(course: Course, exercise_id: str) -> str:
    """Digest the model trap and everything that it runs on."""
    files = [path for path in [course.model_trap(exercise_id)] if path.is_file()]
    step = kit_digest(course, "proves_traps", ("author/model_trap.py",))
    return _joined(step, trap_digest(course, exercise_id), files_digest(course, f"model_trap_{exercise_id}", files))


def _joined(*digests: str) -> str:
    return hashlib.sha256("\0".join(digests).encode()).hexdigest()


def _read_lines(path: Path) -> dict[str, msgspec.Raw]:
    try:
        lines = read_cache(path).splitlines()
    except OSError:
        return {}
    known = {}
    for line in lines:
        try:
            key, value = msgspec.json.decode(line, type=tuple[str, msgspec.Raw])
        except msgspec.DecodeError:
            continue  # the line that was being written when a run was interrupted
        known[key] = value
    return known
