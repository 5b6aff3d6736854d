"""Digests of everything that keys, proofs, gradebooks and caches depend on.

A verdict depends on

- the kit's code in `JUDGES`: whole rooms, including the probes, so that nothing is forgotten,
- torch's version,
- the exercise: the judged fields of its description (no titles, stories, hints or points), its reference and its hidden
  tests.

Code is digested by its meaning, which is its syntax tree without docstrings and messages. Comments and layout are not
in the tree. A message is a string in the kit's code that looks like a phrase. It has two words with a space between
them (in an f-string: one word beside a space), and none of the characters that are typical of patterns and programs.
The values in an f-string count, because computing a value can fail.

No code of the kit reads its own messages. Strings that code does read count, even if they look like phrases: operands
of a comparison, items of a tuple, a list or a set, keys, arguments of functions such as `startswith` or `re.search`
(`READERS`), and constants of a module or a class, which may be used anywhere. Any other string that code reads, such as
a name that seeds random numbers, has no spaces. In an exercise's own files every string counts, because a check may
compare what a module prints or raises.
"""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from grader.sandbox.syntax_trees import is_docstring
from grader.spec.fields import Record
from grader.spec.files import read_cache, write_versioned_cache
from grader.spec.loading import load_exercise
from grader.spec.paths import PACKAGE, Course

JUDGES = ("errors.py", "testing.py", "spec", "submission", "sandbox", "processes", "checks", "verdict")
"""The rooms and modules on the path from a submission to a verdict; they import nothing else of the kit."""

READERS = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "replace", "split", "partition", "rpartition", "strip"),
    *("find", "index", "count", "match", "fullmatch", "search", "sub", "findall", "finditer", "get", "pop", "getattr"),
    *("compile", "exec", "eval", "einsum", "run", "Popen"),
}
"""Functions that read their string arguments."""

CODE = re.compile(r"[\n\\|=\[\]{}^$]|->")
PHRASE = re.compile(r"[A-Za-z]{2,}[,;:.]? [A-Za-z]{2,}")
PHRASE_WITH_VALUES = re.compile(r"[A-Za-z]{2,}[,;:.]? | [A-Za-z]{2,}")

STRINGS = (ast.Constant, ast.JoinedStr)
READING = (ast.Compare, ast.MatchValue, ast.MatchMapping)
READ_FIELDS = ((ast.Dict, "keys"), (ast.Subscript, "slice"))
CALCULATING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Call)
"""Nodes whose strings are not constants of a module or a class."""

UNUSED = ("ctx", "kind", "type_comment")
"""Fields of a syntax tree that follow from other fields or have no meaning."""


def key_digest(course: Course, exercise_id: str) -> str:
    """Digest everything that an exercise's key depends on."""
    parts = (torch_version(), kit_digest(course), exercise_digest(course, exercise_id))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def torch_version() -> str:
    """Return torch's version without its build, such as `+cpu`, which does not change verdicts."""
    torch = sys.modules.get("torch")  # reading the module is faster than reading the package's metadata
    version = str(torch.__version__) if torch else metadata.version("torch")
    return version.split("+")[0]


def exercise_digest(course: Course, exercise_id: str) -> str:
    """Digest the parts of an exercise that verdicts depend on."""
    description = course.description(exercise_id)
    judged = msgspec.json.encode(_judged_part(load_exercise(description)), order="sorted")
    files = [file for file in course.judged_by(exercise_id) if file != description]
    digest = files_digest(course, exercise_id, files)
    return hashlib.sha256(judged + digest.encode()).hexdigest()


def files_digest(course: Course, name: str, files: Iterable[Path]) -> str:
    """Digest the meaning of files in a course; cache the result under `name`."""
    contents = {file.relative_to(course.root).as_posix(): file.read_bytes() for file in files}
    return _cached_digest(course, name, contents, keeps_messages=True)


@cache
def kit_digest(course: Course, name: str = "judges", places: tuple[str, ...] = JUDGES) -> str:
    """Digest the kit's code in rooms and modules, once per process; cache the result in the course under `name`."""
    contents = {path.relative_to(PACKAGE).as_posix(): _read(path) for path in kit_files(places)}
    return _cached_digest(course, name, contents, keeps_messages=False)


@cache
def kit_version(course: Course) -> str:
    """Return the package's version with a digest of what its verdicts depend on."""
    return f"{metadata.version('grader')}+{kit_digest(course)[:12]}"


def kit_files(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files in rooms and modules of the kit, without documentation, caches and hidden files."""
    for place in places:
        if place.endswith(".py"):
            yield PACKAGE / place
        for folder, _, names in os.walk(PACKAGE / place):
            if not folder.endswith("__pycache__"):
                yield from (Path(folder, name) for name in names if not name.startswith(".") and name[-3:] != ".md")


def _cached_digest(course: Course, name: str, contents: dict[str, bytes], *, keeps_messages: bool) -> str:
    """Digest the meaning of files; parse them only if their bytes have changed since the cached digest.

    Parsing the kit takes about a tenth of the time of a grading.
    """
    exact = hashlib.sha256(_read(Path(__file__)))
    for path, content in sorted(contents.items()):
        exact.update(f"{path}\0{len(content)}\0".encode() + content)
    stored = course.state_folder() / "meanings" / f"{name}-{exact.hexdigest()[:32]}.txt"
    try:
        return read_cache(stored).decode()
    except OSError:
        pass
    digest = hashlib.sha256()
    for path, content in sorted(contents.items()):
        digest.update(f"{path}\0".encode() + _meaning(path, content, keeps_messages=keeps_messages) + b"\0")
    write_versioned_cache(stored, digest.hexdigest().encode())
    return digest.hexdigest()


def _meaning(path: str, content: bytes, *, keeps_messages: bool) -> bytes:
    if path.endswith(".py"):
        try:
            return meaning(content, keeps_messages=keeps_messages).encode("utf-8", "surrogatepass")
        except (SyntaxError, ValueError, RecursionError):
            pass  # somebody is writing the file: digest its text
    return content


def meaning(source: bytes | str, *, keeps_messages: bool = True) -> str:
    """Return a source's syntax tree as text, without docstrings and, unless `keeps_messages`, without messages.

    Empty fields are omitted, so that most trees are equal in all versions of Python.
    """
    parts: list[str] = []
    _write(ast.parse(source), parts, is_read=keeps_messages, is_constant=True)
    return "".join(parts)


def _write(node: Any, parts: list[str], *, is_read: bool, is_constant: bool) -> None:
    """Append a node's text to `parts`.

    `is_read`: code reads the strings in the node. `is_constant`: they are constants of a module or a class.
    """
    if not isinstance(node, ast.AST):
        parts.append(repr(node))
        return
    kind = type(node)
    if not is_read and not is_constant and kind in STRINGS and is_message(node):
        parts.append("message")
        for part in getattr(node, "values", ()):
            if isinstance(part, ast.FormattedValue):
                _write(part, parts, is_read=False, is_constant=False)
        return
    is_read = is_read or kind in READING or (isinstance(node, ast.Call) and _name(node.func) in READERS)
    is_constant = is_constant and kind not in CALCULATING
    parts.append(f"{kind.__name__}(")
    for field in node._fields:
        value = getattr(node, field, None)
        if field in UNUSED or value == [] or (value is None and kind is not ast.Constant):
            continue
        parts.append(f"{field}=")
        is_field_read = is_read or (kind, field) in READ_FIELDS
        for part in value if isinstance(value, list) else [value]:
            if not is_docstring(part):
                is_item = field == "elts" and isinstance(part, STRINGS)
                _write(part, parts, is_read=is_field_read or is_item, is_constant=is_constant)
    parts.append(")")


def is_message(node: ast.AST) -> bool:
    """Return whether a string is a message for people."""
    if isinstance(node, ast.JoinedStr):
        texts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return any(map(PHRASE_WITH_VALUES.search, texts)) and not any(map(CODE.search, texts))
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and bool(PHRASE.search(text)) and not CODE.search(text)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)  # three times as fast as a file object
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _judged_part(record: Record) -> dict[str, Any]:
    """Return a record's fields without those that are only displayed or added up."""
    return {name: _plain(value) for name, value in structs.asdict(record).items() if name not in record.DISPLAY_ONLY}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return _judged_part(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value
