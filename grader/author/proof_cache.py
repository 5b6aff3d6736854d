"""What earlier runs of the proof found out, so that an interrupted one goes on where it stopped."""

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.author.proof import MutantStatus, Step
from grader.course.paths import Course
from grader.examiner.digest import key_digest, kit_digest

Kind = TypeVar("Kind")

PROVING = "grader.author.prove"
"""What is found out is found out there."""


class ProofCache:
    """Results by the digest of everything they depend on, one line each; half a line at the end does no harm."""

    def __init__(self, course: Course, exercise_id: str) -> None:
        self._digest = inputs_digest(course, exercise_id)
        folder = course.state_folder() / "proofs"
        self._path = folder / f"{exercise_id}-{self._digest[:16]}.jsonl"
        for outdated in folder.glob(f"{exercise_id}-*.jsonl"):
            if outdated != self._path:
                outdated.unlink(missing_ok=True)
        self._known = _read(self._path)

    def status(self, text: str) -> MutantStatus | None:
        """What became of a mutant with this text; None where it has not been tried."""
        return _decode(self._known.get(_key("status", text)), MutantStatus)

    def difference(self, text: str) -> str | None:
        """What told a declared equivalent from the reference, empty for nothing; None where they were not compared."""
        return _decode(self._known.get(_key("difference", text)), str)

    def steps(self) -> list[Step] | None:
        """What judging found; None where it has not been done."""
        return _decode(self._known.get(_key("steps", "")), list[Step])

    def store_status(self, text: str, status: MutantStatus) -> None:
        self._store(_key("status", text), status)

    def store_difference(self, text: str, difference: str) -> None:
        self._store(_key("difference", text), difference)

    def store_steps(self, steps: list[Step]) -> None:
        self._store(_key("steps", ""), steps)

    def _store(self, key: str, value: object) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode([key, value]))


def inputs_digest(course: Course, exercise_id: str) -> str:
    """What the proof of an exercise depends on, its mutants aside."""
    files = sorted(course.pristine(course.exercise_folder(exercise_id) / "attention.py").parent.glob("*"))
    files += sorted(course.alternatives(exercise_id).glob("*.py"))
    digest = hashlib.sha256(f"{key_digest(course, exercise_id)}\0{kit_digest(PROVING)}".encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _key(kind: str, text: str) -> str:
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


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
