"""The kit's own files, for packages and editions: the whole kit, or the part that students use."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.errors import UsageError
from grader.spec.paths import PACKAGE

INSTRUCTORS_FOLDERS = ("author", "classroom", "evaluation")
"""Folders of the kit that students do not need."""

STUDENTS_SUFFIXES = (".py", ".typed", ".html", ".css", ".js", ".j2")
TOOLS_SECTION = re.compile(r"^\[tool\.(?!setuptools)[^\n]*\n(?:(?!\[(?:tool|project|build)).*\n?)*", re.MULTILINE)
EXTRAS_SECTION = re.compile(r"^\[project\.optional-dependencies\]\n(?:(?!\[\w).*\n?)*", re.MULTILINE)

EXECUTABLE = 0o755


def whole_kit() -> dict[Path, bytes]:
    """Return the kit for a machine that grades, with a requirements.txt, by paths beside a course."""
    return _files() | {Path("requirements.txt"): "".join(f"{pin}\n" for pin in _pins()).encode()}


def students_kit() -> dict[Path, bytes]:
    """Return the kit without the parts that only instructors use, and the file that installs it."""
    settings = PACKAGE.parent / "pyproject.toml"
    if not settings.is_file():
        raise UsageError(
            f"there is no {settings}; install the kit with pip install -e, and release from its source folder"
        )
    project = settings.read_text(encoding="utf-8")
    project = EXTRAS_SECTION.sub("", TOOLS_SECTION.sub("", project)).rstrip() + "\n"
    files = {
        path: content
        for path, content in _files().items()
        if path.suffix in STUDENTS_SUFFIXES and path.parts[1] not in INSTRUCTORS_FOLDERS
    }
    return files | {Path("pyproject.toml"): project.encode()}


def write_files(folder: Path, files: dict[Path, bytes]) -> None:
    """Write the files of a package into a folder. A file that begins with `#!` becomes executable."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        if content.startswith(b"#!"):
            (folder / path).chmod(EXECUTABLE)


def _files() -> dict[Path, bytes]:
    """Return the files in the folder `grader`."""
    paths = [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(PACKAGE.parent): path.read_bytes() for path in paths}


def _pins() -> list[str]:
    """Return the kit's requirements, direct and indirect, each at the version that is installed here."""
    found: dict[str, str] = {}
    wanted = ["grader"]
    while wanted:
        for line in metadata.requires(wanted.pop()) or []:
            needed = Requirement(line)
            name = canonicalize_name(needed.name)
            if name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
                found[name] = metadata.version(name).split("+")[0]  # a build without CUDA is named there
                wanted.append(name)
    return [f"{name}=={found[name]}" for name in sorted(found)]
