"""The corpus of hostile and broken submissions: `tests/corpus/attacks/<family>/`, with the right verdict of each.

What many attacks share is in `tests/corpus/attacks/`; a line such as `# include starter.py` stands for the whole file.
"""

from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from tests.support.paths import CORPUS

FOLDER = CORPUS / "attacks"
EXPECTED = "expected.yaml"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The right verdict: its outcome and score, or an upper bound of it, and words of its reason or of a finding.

    `where_files_are_open` is the outcome of what needs no more than to read a file: where neither Landlock nor
    namespaces close the file system, it may come to that, and the verdict says that files were open. What
    `hangs` waits for a deadline; what is `slow` takes its time otherwise.
    """

    outcome: str
    score: float | None = None
    max_score: float | None = None
    says: str = ""
    where_files_are_open: str = ""
    hangs: bool = False
    slow: bool = False

    def bound(self) -> float:
        """The most that it may score."""
        bound = self.max_score if self.score is None else self.score
        assert bound is not None, "an entry gives a score or a max_score"
        return bound


class Attack(Struct, frozen=True):
    """One submission of the corpus; a file that no repository can hold is made from its `key`."""

    family: str
    name: str
    expected: Expected

    @property
    def key(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def path(self) -> Path:
        return FOLDER / self.family / self.name

    def source(self) -> bytes:
        """Return what the attacker hands in, with the included files in place."""
        source = self.path.read_bytes()
        for shared in FOLDER.glob("*.py"):
            source = source.replace(f"# include {shared.name}\n".encode(), shared.read_bytes())
        return source


def read_corpus() -> list[Attack]:
    """Every attack, family by family."""
    return [
        Attack(page.parent.name, name, expected)
        for page in sorted(FOLDER.glob(f"*/{EXPECTED}"))
        for name, expected in msgspec.convert(yaml.safe_load(page.read_bytes()), dict[str, Expected]).items()
    ]


def strays() -> set[str]:
    """Files of the corpus that no entry speaks of."""
    known = {attack.key for attack in read_corpus()}
    files = {f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/*") if path.is_file()}
    return {key for key in files - known if not key.endswith(f"/{EXPECTED}")}
