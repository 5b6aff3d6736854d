"""A file a student hands in -> Submission: text in chunks whose lines are the lines the student sees. Never executed here."""

import hashlib
import os
import stat
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

DEMONSTRATION = "demonstration"
"""The tag of notebook cells that are for looking at and are not run by the grader."""

PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Cell magics whose body is ordinary Python."""


MAX_FILE_BYTES = 16_000_000
"""A file larger than this, outputs of a notebook included, is not read."""


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


def read_submission(path: Path, name: str) -> Submission | Unreadable:
    """The submission in a `.py` or `.ipynb` file, or why there is none."""
    content = _read_bytes(path, name, MAX_FILE_BYTES)
    if isinstance(content, Unreadable):
        return content
    if path.suffix == ".ipynb":
        return _from_notebook(content, name)
    return _from_module(content, name)


def exceeds(submission: Submission, max_bytes: int) -> Unreadable | None:
    """Why the submission is too large, if it is larger than `max_bytes`."""
    size = sum(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in submission.chunks)
    if size <= max_bytes:
        return None
    return Unreadable(f"{submission.name} holds {size:,} bytes of source; {max_bytes:,} are allowed")


def submission_from_text(source: str, name: str = "attention.py") -> Submission:
    """A submission that is already text."""
    return Submission(name, (Chunk(name, source),))


def _read_bytes(path: Path, name: str, max_bytes: int) -> bytes | Unreadable:
    """The file's content, opened without blocking on a pipe or a device, read once."""
    if path.suffix not in (".py", ".ipynb"):
        return Unreadable(f"{name} is neither a .py nor a .ipynb file; hand in one of these")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return Unreadable(f"there is no file {name}; check the path, or run `reset` to get the starter back")
    except OSError as error:
        return Unreadable(f"{name} cannot be opened: {error.strerror}; check its permissions")
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return Unreadable(f"{name} is a directory; name the file in it")
        if not stat.S_ISREG(status.st_mode):
            return Unreadable(f"{name} is not an ordinary file; hand in a .py or .ipynb file")
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        return Unreadable(f"{name} is larger than {max_bytes:,} bytes; clear its outputs, or hand in the source alone")
    if not content.strip(b" \t\r\n\f\xef\xbb\xbf"):
        return Unreadable(f"{name} is empty; run `reset` to get the starter back")
    return content


def _from_module(content: bytes, name: str) -> Submission | Unreadable:
    """A module's text; a byte order mark, a coding cookie and any line ending are honoured."""
    if b"\0" in content:
        return Unreadable(f"{name} holds a NUL byte, so it is not Python source; save it again as UTF-8 text")
    lines = iter(content.splitlines(keepends=True))
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Unreadable(f"{name} is not {error.encoding} text (line {line}); save it as UTF-8")
    except (SyntaxError, LookupError) as error:
        return Unreadable(f"{name} cannot be decoded: {error}; save it as UTF-8 and drop the coding line")
    return Submission(name, (Chunk(name, _unix_lines(text)),))


def _from_notebook(content: bytes, name: str) -> Submission | Unreadable:
    """A notebook's code cells, in the order they stand; outputs and execution counts are ignored."""
    import nbformat  # a tenth of a second that module submissions need not pay
    from nbformat.reader import NotJSONError

    try:
        text = content.decode("utf-8-sig")
        notebook: Any = nbformat.reader.reads(text)  # type: ignore[no-untyped-call]  # nbformat has no annotations
        version = notebook.get("nbformat")
        if version != 4:  # noqa: PLR2004 - the version of the notebook format
            return Unreadable(
                f"{name} is a notebook of format {version}; open it in Jupyter and save it again (format 4)"
            )
        nbformat.validate(notebook)
    except UnicodeDecodeError:
        return Unreadable(f"{name} is not UTF-8 text; save the notebook again from Jupyter")
    except NotJSONError:
        return Unreadable(
            f"{name} is not JSON, so it is no notebook; save it again from Jupyter, or hand in the .py file"
        )
    except (nbformat.ValidationError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        problem = str(getattr(error, "message", error)).splitlines()[0][:120]
        return Unreadable(f"{name} is not a valid notebook ({problem}); save it again from Jupyter")
    chunks = tuple(_code_cells(notebook))
    if not chunks:
        return Unreadable(f"{name} has no code cell; put your class into one")
    return Submission(name, chunks)


def _code_cells(notebook: Any) -> Iterator[Chunk]:
    number = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        number += 1
        if cell.source.strip() and DEMONSTRATION not in cell.metadata.get("tags", []):
            yield Chunk(f"cell {number}", _without_magics(_unix_lines(cell.source)))


def _unix_lines(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _without_magics(source: str) -> str:
    """The cell with magics, shell lines and help requests made `pass`; line numbers stay."""
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%") and first.split()[0] not in PYTHON_CELL_MAGICS:
        return "\n" * source.count("\n")
    lines = source.split("\n")
    reader = _MagicReader(lines)
    try:
        for token in tokenize.generate_tokens(reader):
            reader.follow(token)
    except (tokenize.TokenError, SyntaxError):
        pass  # the worker's compiler will say what is wrong, at the same line
    return "\n".join(reader.lines)


class _MagicReader:
    """Feeds a tokenizer line by line, so that only what begins a statement is taken for a magic."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.position = 0
        self.depth = 0
        self.between_statements = True

    def __call__(self) -> str:
        if self.position >= len(self.lines):
            return ""
        line = self.lines[self.position]
        if self.between_statements and self.depth == 0 and _is_magic(line):
            line = line[: len(line) - len(line.lstrip())] + "pass"
            self.lines[self.position] = line
        self.position += 1
        return line + "\n"

    def follow(self, token: tokenize.TokenInfo) -> None:
        if token.type == tokenize.OP:
            self.depth += (token.string in "([{") - (token.string in ")]}")
        layout = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
        if token.type not in layout:
            self.between_statements = False
        elif token.type == tokenize.NEWLINE:
            self.between_statements = True


def _is_magic(line: str) -> bool:
    text = line.strip()
    return text.startswith(("%", "!", "?")) or (text.endswith("?") and not text.startswith("#"))
