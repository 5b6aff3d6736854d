"""Turn the bytes of a module or a notebook into a `Submission`, or into the reason why that is impossible.

A submission keeps its code in chunks, so that errors name the cell and the line that the student knows.

Modules are decoded as Python decodes them. Notebooks are checked before `json` builds any object: four bytes of JSON
can become an object of two hundred bytes. `nbformat` is not used: on hostile files its time is quadratic, and it
rejects notebooks because of outputs, which nobody grades.
"""

import codecs
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any

import msgspec
from msgspec import Struct

from grader.spec.paths import USUAL_MODULE

MAX_SOURCE_BYTES = 1_000_000
"""The most source that is graded: the text of a module or of all code cells, in UTF-8."""

MAX_FILE_BYTES = 16_000_000
"""The largest file that is read. It may be larger than its source: notebooks contain outputs and pictures."""


class Chunk(Struct, frozen=True, kw_only=True):
    """A piece of source that is compiled by itself: a module or one code cell."""

    label: str
    """The name that errors use: a file's name, or `code cell 3`."""
    text: str


class Submission(Struct, frozen=True, kw_only=True):
    """The source to be graded."""

    name: str
    """The name of the file, or another name for where the source came from."""
    chunks: tuple[Chunk, ...]

    def digest(self) -> str:
        """Return a digest of the exact source."""
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk.text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


class Unreadable(Struct, frozen=True, kw_only=True):
    """The reason why a file cannot be graded."""

    reason: str
    """The problem and the remedy, in one sentence."""
    is_missing_or_empty: bool = False


def why_too_large(submission: Submission) -> Unreadable | None:
    """Return the reason if the submission has more than `MAX_SOURCE_BYTES` of source; None otherwise."""
    size = sum(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in submission.chunks)
    if size <= MAX_SOURCE_BYTES:
        return None
    reason = f"{submission.name} has {size:,} bytes of source, and at most {MAX_SOURCE_BYTES:,} are graded"
    return Unreadable(reason=f"{reason}; remove data and code that the exercise does not need")


def submission_from_text(source: str, name: str = USUAL_MODULE) -> Submission:
    """Return a submission of one chunk."""
    return Submission(name=name, chunks=(Chunk(label=name, text=source),))


CODING_COOKIE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=]")

SLOW_ENCODINGS = {"idna", "punycode"}
"""Encodings of host names. Their decoders need quadratic time."""


def from_module(content: bytes, name: str) -> Submission | Unreadable:
    """Return a module's text, decoded by its byte order mark or coding cookie, with Unix line ends."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)  # reads two lines and tokenizes nothing
        if codecs.lookup(encoding).name in SLOW_ENCODINGS:
            return _undecodable(name, f"the encoding {encoding} is for host names")
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Unreadable(reason=f"{name} is not {error.encoding.upper()} text (line {line}); save it as UTF-8")
    except (SyntaxError, LookupError, UnicodeError) as error:
        if not CODING_COOKIE.search(content):
            return Unreadable(reason=f"{name} is not UTF-8 text; save it as UTF-8")
        return _undecodable(name, str(error).split(";", 1)[0])
    return Submission(name=name, chunks=(Chunk(label=name, text=unix_lines(text)),))


def unix_lines(text: str) -> str:
    """Return the text with Unix line ends and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _undecodable(name: str, problem: str) -> Unreadable:
    return Unreadable(reason=f"{name} cannot be decoded ({problem}); remove its coding line and save it as UTF-8")


PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%grade")
"""Cell magics whose body is ordinary Python."""

MAGIC = re.compile(
    r"""^(?P<indent>[ \t\f]*+)
    (?:(?P<target>[\w.,][\w.,\ ]*+=[ \t]*+)[%!]  # the target of an assignment from a magic or a shell line
    | [%!?]                                     # a line magic, a shell line, or a help request such as ?name
    | [\w.*]++\?{1,2}+[ \t]*+$                  # a help request such as name?
    )[^\n]*+ (?:(?<=\\)\n[^\n]*+)*+             # the line's remainder and its continuation lines
    """,
    re.VERBOSE | re.MULTILINE,
)

PIECE = re.compile(
    r""""{3}(?>[^\\"]++|\\.|"(?!""))*+(?:"{3})?+
    | '{3}(?>[^\\']++|\\.|'(?!''))*+(?:'{3})?+
    | "(?>[^\\"\n]++|\\.)*+"?+
    | '(?>[^\\'\n]++|\\.)*+'?+
    | \#[^\n]*+
    | \\\n?+
    | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<end>\n++)
    | [^'"\#\\()\[\]{}\n]++
    """,
    re.VERBOSE | re.DOTALL,
)
"""A string, a comment, a continuation, a bracket, a line end, or the text between two of these."""


def without_magics(source: str) -> str:
    """Return a cell with `pass` in place of magics, shell lines and help requests; line numbers do not change."""
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%") and first.split()[0] not in PYTHON_CELL_MAGICS:
        return "\n" * source.count("\n")
    if not MAGIC.search(source):
        return source
    kept: list[str] = []
    position = 0
    while magic := _next_magic(source, position):
        kept += source[position : magic.start()], _harmless(magic)
        position = magic.end()
    return "".join([*kept, source[position:]])


def _harmless(magic: re.Match[str]) -> str:
    """Return a statement with as many lines as the magic that it replaces."""
    target = magic["target"]
    statement = f"{target}None" if target else "pass"
    return magic["indent"] + statement + "\n" * magic[0].count("\n")


def _next_magic(source: str, position: int) -> re.Match[str] | None:
    """Return the first magic at the start of a statement; the search begins at the source's start or at a line end."""
    if magic := MAGIC.match(source, position + (position > 0)):
        return magic
    depth = 0
    for piece in PIECE.finditer(source, position):
        if piece["open"]:
            depth += 1
        elif piece["close"]:
            depth = max(depth - 1, 0)
        elif piece["end"] and depth == 0 and (magic := MAGIC.match(source, piece.end())):
            return magic
    return None


DEMONSTRATION = "demonstration"
"""The tag of notebook cells that only show something. The grader does not run them."""

NOTEBOOK_FORMAT = 4

MAX_VALUES = 500_000
"""The most JSON values in a notebook file. A notebook with interactive plots has about a hundred thousand."""

MAX_DEPTH = 100
"""The most levels of JSON lists and objects. The output of a widget has about a dozen."""

JSON_STRING = re.compile(rb'"(?>[^"\\]++|\\.)*+"?+', re.DOTALL)
"""A JSON string, with or without its closing quote."""

ALL_BUT_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")


class _Metadata(Struct, frozen=True, kw_only=True):
    tags: Any = None


class _Cell(Struct, frozen=True, kw_only=True):
    cell_type: str
    metadata: _Metadata
    source: str | list[str]

    def text(self) -> str:
        return self.source if isinstance(self.source, str) else "".join(self.source)

    def is_demonstration(self) -> bool:
        return isinstance(self.metadata.tags, list) and DEMONSTRATION in self.metadata.tags


class _Notebook(Struct, frozen=True, kw_only=True):
    nbformat: int
    nbformat_minor: int
    metadata: Any
    cells: list[_Cell]


def from_notebook(content: bytes, name: str) -> Submission | Unreadable:
    """Return a notebook's code cells in the order of the file; ignore outputs and execution counts."""
    excess = _excess(content)
    if excess:
        return Unreadable(reason=f"{name} {excess}; clear its outputs, or hand in the source alone")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Unreadable(reason=f"{name} is not UTF-8 text; save the notebook again from Jupyter")
    except (ValueError, RecursionError):
        return Unreadable(
            reason=f"{name} is not JSON, so it is not a notebook; save it again from Jupyter, or hand in the .py file"
        )
    version = data.get("nbformat") if isinstance(data, dict) else None
    if type(version) is not int:
        return Unreadable(
            reason=f"{name} is JSON, but not a notebook; hand in the file that Jupyter saved, or the .py file"
        )
    if version != NOTEBOOK_FORMAT:
        return Unreadable(
            reason=f"{name} is a notebook of format {version}; open it in Jupyter and save it again (format 4)"
        )
    try:
        notebook = msgspec.convert(data, _Notebook)
    except msgspec.ValidationError as error:
        return Unreadable(reason=f"{name} is not a valid notebook ({error}); save it again from Jupyter")
    written = Submission(name=name, chunks=tuple(_code_cells(notebook)))
    if not written.chunks:
        return Unreadable(reason=f"{name} has no code cell to grade; put your code into one")
    too_large = why_too_large(written)  # before the search for magics, which takes time
    if too_large:
        return too_large
    chunks = (Chunk(label=chunk.label, text=without_magics(chunk.text)) for chunk in written.chunks)
    return Submission(name=name, chunks=tuple(chunks))


def _excess(content: bytes) -> str:
    """Return a predicate such as "has more than 2 values" if the JSON exceeds a limit; empty if it exceeds none."""
    too_many = f"has more than {MAX_VALUES:,} values"
    if any(islice(JSON_STRING.finditer(content), 2 * MAX_VALUES, None)):  # a key and a value each
        return too_many
    bare = JSON_STRING.sub(b"", content)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") >= MAX_VALUES:
        return too_many
    brackets = bare.translate(None, ALL_BUT_BRACKETS)
    depth = max(accumulate(1 if each in b"[{" else -1 for each in brackets), default=0)
    return f"is nested more than {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else ""


def _code_cells(notebook: _Notebook) -> Iterator[Chunk]:
    """Yield the code cells that are graded, each as written."""
    code_cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    for number, cell in enumerate(code_cells, 1):
        text = cell.text()
        if text.strip() and not cell.is_demonstration():
            yield Chunk(label=f"code cell {number}", text=unix_lines(text))
