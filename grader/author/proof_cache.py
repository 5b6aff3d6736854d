"""What earlier runs of the proof found out, so that an interrupted one goes on where it stopped."""

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.author.proof import MutantStatus, Step
from grader.course.paths import Course, write_whole
from grader.examiner.digest import key_digest, kit_digest

Kind = TypeVar("Kind")

COMPARING, PROVING = "grader.author.differential", "grader.author.proof_tasks"
"""The modules in which texts are compared and judged."""


class ProofCache:
    """Results by the digest of what each depends on, one line each; half a line at the end does no harm."""

    def __init__(self, course: Course, exercise_id: str) -> None:
        self._digests = {kind: digest[:16] for kind, digest in result_digests(course, exercise_id).items()}
        self._path = course.state_folder() / "proofs" / f"{exercise_id}.jsonl"
        found = _read(self._path)
        current = tuple(f"{kind}-{digest}-" for kind, digest in self._digests.items())
        self._known = {key: value for key, value in found.items() if key.startswith(current)}
        if len(self._known) < len(found):
            lines = [b"\n" + msgspec.json.encode([key, value]) for key, value in self._known.items()]
            write_whole(self._path, b"".join(lines))

    def status(self, text: str) -> MutantStatus | None:
        """What became of a mutant with this text; None where it has not been tried."""
        return _decode(self._known.get(self._key("status", text)), MutantStatus)

    def difference(self, text: str) -> str | None:
        """What told a declared equivalent from the reference, empty for nothing; None where they were not compared."""
        return _decode(self._known.get(self._key("difference", text)), str)

    def steps(self, task: str) -> list[Step] | None:
        """What a task found; None where it has not been done."""
        return _decode(self._known.get(self._key("steps", task)), list[Step])

    def store_status(self, text: str, status: MutantStatus) -> None:
        self._store(self._key("status", text), status)

    def store_difference(self, text: str, difference: str) -> None:
        self._store(self._key("difference", text), difference)

    def store_steps(self, task: str, steps: list[Step]) -> None:
        self._store(self._key("steps", task), steps)

    def _key(self, kind: str, text: str) -> str:
        return f"{kind}-{self._digests[kind]}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def _store(self, key: str, value: object) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode([key, value]))


def result_digests(course: Course, exercise_id: str) -> dict[str, str]:
    """What each kind of result depends on, beside the text that it is about."""
    key = key_digest(course, exercise_id)
    compared = hashlib.sha256(f"{key}\0{kit_digest(COMPARING)}".encode()).hexdigest()
    files = sorted(course.pristine(course.exercise_folder(exercise_id) / "attention.py").parent.glob("*"))
    files += sorted(course.alternatives(exercise_id).glob("*.py"))
    judged = hashlib.sha256(f"{key}\0{kit_digest(PROVING)}".encode())
    for file in files:
        judged.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return {"status": compared, "difference": compared, "steps": judged.hexdigest()}


def _read(path: Path) -> dict[str, msgspec.Raw]:
    known = {}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            key, value = msgspec.json.decode(line, type=tuple[str, msgspec.Raw])
        except msgspec.DecodeError:
            continue  # the line that was being written when the run was ended
        known[key] = value
    return known


def _decode(raw: msgspec.Raw | None, kind: type[Kind]) -> Kind | None:
    return None if raw is None else msgspec.json.decode(raw, type=kind)
