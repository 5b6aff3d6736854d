"""A module's or a notebook's bytes -> Submission: code in chunks whose lines the student sees, or why there is none.

A module is decoded as Python would. The reader of notebooks bounds what the JSON may build before any of it is built:
four bytes of text can become an object of two hundred. Jupyter's own reader and its schema are not asked: they take
time with the square of what a hostile file holds, and refuse notebooks for outputs that nobody grades.
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


class Chunk(Struct, frozen=True):
    """A stretch of source that is compiled on its own: a module, or one code cell."""

    label: str
    text: str


class Submission(Struct, frozen=True):
    """What is judged: where it came from and its source."""

    name: str
    chunks: tuple[Chunk, ...]

    def digest(self) -> str:
        """A digest of the exact source."""
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk.text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


class Unreadable(Struct, frozen=True):
    """Why a file cannot be judged: one sentence, and the next step; `is_nothing` where it is gone or empty."""

    reason: str
    is_nothing: bool = False


def why_too_large(submission: Submission, max_bytes: int) -> Unreadable | None:
    """Why the submission is too large, if it is larger than `max_bytes`."""
    size = sum(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in submission.chunks)
    if size <= max_bytes:
        return None
    return Unreadable(f"{submission.name} holds {size:,} bytes of source; {max_bytes:,} are allowed")


def submission_from_text(source: str, name: str = USUAL_MODULE) -> Submission:
    """A submission that is already text."""
    return Submission(name, (Chunk(name, source),))


CODING_COOKIE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=]")

SLOW_ENCODINGS = {"idna", "punycode"}
"""Encodings of host names, whose decoders take time with the square of the length."""


def from_module(content: bytes, name: str) -> Submission | Unreadable:
    """A module's text; a byte order mark, a coding cookie and any line ending are honoured."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)  # reads two lines, and tokenizes nothing
        if codecs.lookup(encoding).name in SLOW_ENCODINGS:
            return _undecodable(name, f"{encoding} is for host names")
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Unreadable(f"{name} is not {error.encoding.upper()} text (line {line}); save it as UTF-8")
    except (SyntaxError, LookupError, UnicodeError) as error:
        if not CODING_COOKIE.search(content):
            return Unreadable(f"{name} is not UTF-8 text; save it as UTF-8")
        return _undecodable(name, str(error).split(";", 1)[0])
    return Submission(name, (Chunk(name, unix_lines(text)),))


def unix_lines(text: str) -> str:
    """The text with line ends as Unix writes them, and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _undecodable(name: str, problem: str) -> Unreadable:
    return Unreadable(f"{name} cannot be decoded ({problem}); drop its coding line and save it as UTF-8")


PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%grade")
"""Cell magics whose body is ordinary Python."""

MAGIC = re.compile(
    r"""^(?P<indent>[ \t\f]*+)
    (?:(?P<target>[\w.,][\w.,\ ]*+=[ \t]*+)[%!]  # what a magic or a shell line is assigned to
    | [%!?]                                     # a line magic, a shell line, or a request for help before a name
    | [\w.*]++\?{1,2}+[ \t]*+$                  # or after it
    )[^\n]*+ (?:(?<=\\)\n[^\n]*+)*+             # to the end of the line, and of those it goes on in
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
"""A string, a comment, a line that goes on, a bracket, the end of a line, or what lies between these."""


def without_magics(source: str) -> str:
    """The cell with magics, shell lines and help requests made `pass`; line numbers stay."""
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
    """What takes a magic's place, on as many lines."""
    target = magic["target"]
    statement = f"{target}None" if target else "pass"
    return magic["indent"] + statement + "\n" * magic[0].count("\n")


def _next_magic(source: str, position: int) -> re.Match[str] | None:
    """The first magic that stands where a statement begins, after the source's start or the line end at `position`."""
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
"""The tag of notebook cells that are for looking at and are not run by the grader."""

NOTEBOOK_FORMAT = 4

MAX_VALUES = 500_000
"""Numbers, texts, lists and objects in the file; plots drawn by the browser bring some hundred thousand."""

MAX_SOURCE = 4_000_000
"""Characters of all cells; exercises allow a quarter of that unless they say otherwise."""

MAX_DEPTH = 100
"""Levels of lists and objects; outputs of widgets reach a dozen."""

TEXT = re.compile(rb'"(?>[^"\\]++|\\.)*+"?+', re.DOTALL)
"""A JSON text, or its beginning where it does not end."""

NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")


class _Metadata(Struct):
    tags: Any = None


class _Cell(Struct):
    cell_type: str
    metadata: _Metadata
    source: str | list[str]


class _Notebook(Struct):
    nbformat: int
    nbformat_minor: int
    metadata: Any
    cells: list[_Cell]


def from_notebook(content: bytes, name: str) -> Submission | Unreadable:
    """A notebook's code cells, in the order they stand; outputs and execution counts are ignored."""
    excess = _excess(content)
    if excess:
        return Unreadable(f"{name} {excess}; clear its outputs, or hand in the source alone")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Unreadable(f"{name} is not UTF-8 text; save the notebook again from Jupyter")
    except (ValueError, RecursionError):
        return Unreadable(f"{name} is not JSON, so no notebook; save it again from Jupyter, or hand in the .py file")
    version = data.get("nbformat") if isinstance(data, dict) else None
    if type(version) is not int:
        return Unreadable(f"{name} is JSON, but no notebook; hand in what Jupyter saved, or the .py file")
    if version != NOTEBOOK_FORMAT:
        return Unreadable(f"{name} is a notebook of format {version}; open it in Jupyter and save it again (format 4)")
    try:
        notebook = msgspec.convert(data, _Notebook)
    except msgspec.ValidationError as error:
        return Unreadable(f"{name} is not a valid notebook ({error}); save it again from Jupyter")
    size = sum(
        len(cell.source) if isinstance(cell.source, str) else sum(map(len, cell.source)) for cell in notebook.cells
    )
    if size > MAX_SOURCE:
        return Unreadable(f"{name} holds {size:,} characters of source; {MAX_SOURCE:,} are the most that is read")
    chunks = tuple(_code_cells(notebook))
    if not chunks:
        return Unreadable(f"{name} has no code cell to grade; put your class into one")
    return Submission(name, chunks)


def _excess(content: bytes) -> str:
    """What the file holds too much of; empty where it is within bounds."""
    too_many = f"holds more than {MAX_VALUES:,} values"
    if any(islice(TEXT.finditer(content), 2 * MAX_VALUES, None)):  # a key and a value each
        return too_many
    bare = TEXT.sub(b"", content)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") >= MAX_VALUES:
        return too_many
    brackets = bare.translate(None, NO_BRACKETS)
    depth = max(accumulate(1 if each in b"[{" else -1 for each in brackets), default=0)
    return f"is nested more than {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else ""


def _code_cells(notebook: _Notebook) -> Iterator[Chunk]:
    number = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        number += 1
        source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
        tags = cell.metadata.tags
        is_demonstration = isinstance(tags, list) and DEMONSTRATION in tags
        if source.strip() and not is_demonstration:
            yield Chunk(f"code cell {number}", without_magics(unix_lines(source)))
