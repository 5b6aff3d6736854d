"""What a key, a proof and a gradebook's verdicts depend on, as digests: of the kit's sources, of an exercise.

The kit's part is derived: a module's own source and that of all it imports, found by reading import statements. What
is only shown (texts, hints, titles) and what is only added up (points) is no part of an exercise's digest.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from grader.spec.fields import Record
from grader.spec.loading import load_exercise
from grader.spec.paths import Course

KIT = Path(__file__).resolve().parents[1]
JUDGING = "grader.verdict.judge"
"""The module that takes a submission to a verdict."""

FROM = re.compile(rb"from (grader[.\w]*) import (\([^)]*\)|[^\n#]*)")
IMPORT = re.compile(rb"import ([\w., ]*grader\.[\w., ]+)")
MODULE = re.compile(rb"grader\.[.\w]+")
RUN = re.compile(rb'"-m", "(grader\.[.\w]+)"')
"""Three patterns that begin with letters are six times as fast as one of their alternatives."""

NAME = re.compile(rb"\w+")
ALL_BESIDE = b"iter_modules("
"""In a package that imports every module in its folder."""


def key_digest(course: Course, exercise_id: str) -> str:
    """What a key depends on."""
    torch = sys.modules.get("torch")  # which knows its version sooner than the package's files tell it
    version = str(torch.__version__) if torch else metadata.version("torch")
    parts = (version.split("+")[0], kit_digest(), exercise_digest(course, exercise_id))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def exercise_digest(course: Course, exercise_id: str) -> str:
    """What verdicts depend on in an exercise: what its description asks for, its reference, its hidden tests."""
    exercise = load_exercise(course.description(exercise_id))
    digest = hashlib.sha256(msgspec.json.encode(_judged_part(exercise), order="sorted"))
    description = course.description(exercise_id)
    files = [file for file in course.judged_by(exercise_id) if file != description]
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents, strict=True):
        digest.update(f"{file.relative_to(course.root)}\0{len(content)}\0".encode() + content)
    imported = sorted({name for content in contents for name in _imported(content)})
    if imported:
        digest.update(kit_digest(*imported).encode())
    return digest.hexdigest()


def kit_digest(*modules: str) -> str:
    """What these modules of the kit depend on, themselves included; the judging path unless told otherwise."""
    digest = hashlib.sha256()
    for name in sorted(depends_on(*(modules or (JUDGING,)))):
        digest.update(f"{name}\0".encode() + _source(name).digest)
    return digest.hexdigest()


@cache
def kit_version() -> str:
    """The package's version, and what its verdicts depend on."""
    return f"{metadata.version('grader')}+{kit_digest()[:12]}"


def depends_on(*modules: str) -> set[str]:
    """The kit's modules that these depend on, themselves included.

    The package itself is left out: it imports what is asked of it, and nothing before.
    """
    there = _modules()
    found: set[str] = set()
    ahead = [name for name in modules if name in there]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += [each for each in _source(name).imports if each in there]
    return found


class _Source(NamedTuple):
    digest: bytes
    imports: list[str]


@cache
def _source(name: str) -> _Source:
    """A module's source, as it was when this process first asked."""
    content = _read(_modules()[name])
    imports = [*_imported(content), name.rpartition(".")[0]]
    if ALL_BESIDE in content:
        imports += [each for each in _modules() if each.startswith(f"{name}.")]
    return _Source(hashlib.sha256(content).digest(), imports)


def _imported(content: bytes) -> Iterator[str]:
    """What a source may import of the kit: names of modules, and others."""
    for module, names in FROM.findall(content):
        yield module.decode()
        yield from (f"{module.decode()}.{name.decode()}" for name in NAME.findall(names))  # some are modules
    yield from (module.decode() for names in IMPORT.findall(content) for module in MODULE.findall(names))
    yield from (f"{program.decode()}{main}" for program in RUN.findall(content) for main in ("", ".__main__"))


@cache
def _modules() -> dict[str, str]:
    """The paths of the kit's modules by their names; those of packages are their `__init__`s'."""
    found = {}
    for folder, _, files in os.walk(KIT):
        package = ".".join(("grader", *Path(folder).relative_to(KIT).parts))
        for file in files:
            stem, suffix = file[:-3], file[-3:]
            if suffix == ".py":
                found[package if stem == "__init__" else f"{package}.{stem}"] = f"{folder}{os.sep}{file}"
    del found["grader"]
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)  # a third of the time that opening a file object takes
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _judged_part(record: Record) -> dict[str, Any]:
    """A record's fields but for those that are only shown or added up."""
    return {name: _plain(value) for name, value in structs.asdict(record).items() if name not in record.ONLY_SHOWN}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return _judged_part(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value
