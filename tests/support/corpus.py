"""The corpus of hostile and broken submissions: `tests/corpus/attacks/<family>/`, with the right verdict of each.

A line such as `# include starter.py` is replaced by that file of `tests/corpus/attacks/`, which many attacks share.
"""

from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from grader.submission import MAX_FILE_BYTES, MAX_SOURCE_BYTES
from tests.support.paths import CORPUS

FOLDER = CORPUS / "attacks"
EXPECTED = "expected.yaml"

SIZES = {
    "MAX_FILE_BYTES": MAX_FILE_BYTES,
    "MAX_SOURCE_BYTES": MAX_SOURCE_BYTES,
    "ONE_BYTE_TOO_MANY": MAX_SOURCE_BYTES + 1,
}
"""The sizes that the words of a verdict may name, as in `says: "larger than {MAX_FILE_BYTES:,} bytes"`."""


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The right verdict: its outcome, its score or the most that it may be, and words of its reason or of a finding.

    `where_files_are_open` is the outcome of an attack that only needs to read a file, on a host where neither Landlock
    nor namespaces close the file system; the verdict must then report that files are open. An attack that `hangs` waits
    for a deadline; one that is `slow` takes long for another reason.
    """

    outcome: str
    score: float | None = None
    max_score: float | None = None
    says: str = ""
    where_files_are_open: str = ""
    hangs: bool = False
    slow: bool = False

    def words(self) -> str:
        """Return the words that the verdict contains, with the sizes that they name."""
        return self.says.format(**SIZES)

    def bound(self) -> float:
        """Return the highest allowed score."""
        bound = self.max_score if self.score is None else self.score
        assert bound is not None, "an entry gives a score or a max_score"
        return bound


class Attack(Struct, frozen=True):
    """One submission of the corpus. A file that no repository can store is made by the function with its `key`."""

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
        """Return the submission's source, with the included files inserted."""
        source = self.path.read_bytes()
        for shared in FOLDER.glob("*.py"):
            source = source.replace(f"# include {shared.name}\n".encode(), shared.read_bytes())
        return source


def read_corpus() -> list[Attack]:
    """Return every attack, family by family."""
    return [
        Attack(page.parent.name, name, expected)
        for page in sorted(FOLDER.glob(f"*/{EXPECTED}"))
        for name, expected in msgspec.convert(yaml.safe_load(page.read_bytes()), dict[str, Expected]).items()
    ]


def strays() -> set[str]:
    """Return the files of the corpus that no entry names."""
    known = {attack.key for attack in read_corpus()}
    files = {f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/*") if path.is_file()}
    return {key for key in files - known if not key.endswith(f"/{EXPECTED}")}
