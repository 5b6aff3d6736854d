"""The files of a student edition: descriptions, pages and the kit's own, and what must not stand in any of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from grader.errors import UsageError
from grader.spec.document import Dumper
from grader.spec.edition import Sealed, SealedDefect
from grader.spec.exercise import Exercise
from grader.spec.paths import Course

INTRODUCTION = "# What you may know of this exercise. More checks run when you hand in your file.\n"


def description_of(exercise: Exercise, hidden_checks: int, *, with_hints: bool) -> bytes:
    """The exercise.yaml of an edition: nothing of defects but points and, where asked, hints."""
    numbers = exercise.numbers()
    defects = sorted(exercise.defects, key=lambda defect: numbers[defect.id])
    sealed = [
        SealedDefect(points=defect.points, stretch=defect.stretch, hints=defect.hints if with_hints else ("", "", ""))
        for defect in defects
    ]
    description = {
        "format_version": exercise.format_version,
        "title": exercise.title,
        "difficulty": exercise.difficulty,
        "theme": exercise.theme,
        "source": {"title": exercise.source.title},
        "story": exercise.story.strip(),
        "interface": msgspec.to_builtins(exercise.interface),
        "sizes": exercise.sizes,
        "nothing_else_broke": exercise.nothing_else_broke,
        "defects": [],
        "checks": [_given(msgspec.structs.replace(check, for_=())) for check in exercise.checks],
        "limits": msgspec.to_builtins(exercise.limits),
        "edition": msgspec.to_builtins(Sealed(hidden_checks=hidden_checks, defects=sealed)),
    }
    return (INTRODUCTION + _yaml(description)).encode()


def _given(record: Struct) -> dict[str, Any]:
    """A record's fields, without those that have their defaults."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    for field in msgspec.structs.fields(record):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if getattr(record, field.name) == default:
            data.pop(field.encode_name, None)
    return data


def _yaml(data: dict[str, Any]) -> str:
    text: str = yaml.dump(data, Dumper=Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=120)
    return text


INSTRUCTORS_PARTS = ("author", "classroom")
"""What of the kit students have no use for."""

KIT_SUFFIXES = (".py", ".typed", ".html", ".css", ".js", ".j2")
TOOLS_SECTION = re.compile(r"^\[tool\.(?!setuptools)[^\n]*\n(?:(?!\[(?:tool|project|build)).*\n?)*", re.MULTILINE)
EXTRAS_SECTION = re.compile(r"^\[project\.optional-dependencies\]\n(?:(?!\[\w).*\n?)*", re.MULTILINE)

README = """\
# Bug hunts in attention code

Each folder in `exercises/` holds a story, a piece of attention code that its author believed in, and the same code as a
notebook. Find out what it does wrong, mend it, and see what the checks say.

Install once, then check the first hunt (Python 3.11 or newer):

```sh
python3 -m venv .venv && . .venv/bin/activate
pip install torch==2.13.0 -e . && python -m grader {first}
```

(A plain `pip install torch` may take a build with gigabytes of CUDA; the version named above has a CPU build.)

{table}

## Handing in

Hand in the file that you edited, `exercises/<exercise>/attention.py` for most, or its notebook twin: one file for each
exercise, under its own name, in the way your course asks for. All checks run then, on inputs that nobody has
seen before, and they give the points: what only fits the inputs of this edition earns nothing.
"""


def readme(exercises: list[Exercise]) -> bytes:
    """The edition's first page."""
    return README.format(first=exercises[0].id, table=_table(exercises)).encode()


ABOUT_HINTS = re.compile(
    r"\nStuck\?[^\n]*\n\n    python -m grader hint [^\n]*\n"
    r"|^\| `python -m grader hint .*\n"
    r"|^%hint .*\n"
    r"|`hint`, "
    r"| When a hint [^.]*\.",
    re.MULTILINE,
)
ABOUT_SOLUTIONS = re.compile(r"^\| `python -m grader solution .*\n", re.MULTILINE)
"""What students' pages say about commands that an edition does not have."""


def _page(text: str, *, with_hints: bool) -> bytes:
    """Return a page without what it says about commands that the edition does not have."""
    text = ABOUT_SOLUTIONS.sub("", text)
    return (text if with_hints else ABOUT_HINTS.sub("", text)).encode()


def overview(course: Course, exercises: list[Exercise], *, with_hints: bool) -> bytes:
    """The list of hunts, without those that were not asked for."""
    chosen = {exercise.id for exercise in exercises}
    lines = (course.root / "exercises" / "README.md").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not (row := re.match(r"\| \[(exercise_\d+)\]", line)) or row[1] in chosen]
    return _page("".join(kept), with_hints=with_hints)


def handouts(course: Course, exercise: Exercise) -> dict[Path, Path]:
    """Where an edition's files come from: students' files are the starters, whatever has become of them here."""
    here = Path("exercises") / exercise.id
    sources = {here / "README.md": course.exercise_folder(exercise.id) / "README.md"}
    for path in course.editable_files(exercise.id):
        pristine = course.pristine(path)
        sources |= {here / path.name: pristine, pristine.relative_to(course.root): pristine}
    return sources


def pages(course: Course, exercise: Exercise, *, with_hints: bool) -> dict[Path, bytes]:
    """What a student reads and edits of an exercise."""
    files = {path: source.read_bytes() for path, source in handouts(course, exercise).items()}
    story = Path("exercises") / exercise.id / "README.md"
    return files | {story: _page(files[story].decode(), with_hints=with_hints)}


def kit_files() -> dict[Path, bytes]:
    """The grader without what only instructors use, and what installs it."""
    kit = Path(__file__).resolve().parent.parent
    paths = [path for path in sorted(kit.rglob("*")) if path.suffix in KIT_SUFFIXES or path.name == "py.typed"]
    files = {
        Path("grader") / path.relative_to(kit): path.read_bytes()
        for path in paths
        if path.relative_to(kit).parts[0] not in INSTRUCTORS_PARTS and "__pycache__" not in path.parts
    }
    settings = kit.parent / "pyproject.toml"
    if not settings.is_file():
        raise UsageError(f"there is no {settings}; release from the folder that pip install -e was given")
    project = settings.read_text(encoding="utf-8")
    project = EXTRAS_SECTION.sub("", TOOLS_SECTION.sub("", project)).rstrip() + "\n"
    return files | {Path("pyproject.toml"): project.encode()}


def _table(exercises: list[Exercise]) -> str:
    rows = [
        f"| [{exercise.id}](exercises/{exercise.id}/README.md) | {exercise.title} | {exercise.max_score():g} |"
        for exercise in exercises
    ]
    return "\n".join(["| exercise | story | points |", "| --- | --- | --- |", *rows])


SHORTEST_TELLING_LINE = 16
"""A line of code shorter than this says nothing: `else:`, `return output`."""

OPENERS = ("(", "[", "{")
"""A line that ends so says nothing before the next one: `raise ValueError(`."""


class Spoiler(Struct, frozen=True):
    """A text that gives something away, and what it is."""

    text: str
    what: str


def find_spoilers(course: Course, exercises: list[Exercise], files: dict[Path, bytes]) -> list[str]:
    """A sentence for each place in an edition's files that gives a solution away."""
    shown = "\n".join(_read(course.pristine(course.editable_files(exercise.id)[0])) for exercise in exercises)
    spoilers = [spoiler for exercise in exercises for spoiler in _spoilers(course, exercise, shown)]
    return [
        f"{path} holds {spoiler.what} ({spoiler.text!r}); take it out or word it otherwise"
        for path, content in files.items()
        for spoiler in spoilers
        if spoiler.text.encode() in content
    ]


def _spoilers(course: Course, exercise: Exercise, shown: str) -> Iterator[Spoiler]:
    """Ids, titles, reasons and fixes of defects, the reference's own lines, the hidden tests' names."""
    for defect in exercise.defects:
        if "-" in defect.id:  # a single word may stand anywhere
            yield Spoiler(defect.id, f"the id of a defect of {exercise.id}")
        yield Spoiler(defect.title, f"the title of a defect of {exercise.id}")
        yield from (Spoiler(line, f"why {defect.id} matters") for line in _telling(defect.why, shown))
        for _, fix in defect.edits():
            yield from (Spoiler(line, f"a fix of {defect.id}") for line in _telling(fix, shown))
    yield from (Spoiler(line, f"what looks wrong in {exercise.id}") for line in _telling(exercise.decoy, shown))
    reference = _telling(_read(course.reference(exercise.id)), shown)
    yield from (Spoiler(line, f"a line of the reference of {exercise.id}") for line in reference)
    for path in course.hidden_tests(exercise.id).glob("*.py"):
        names = (line for line in _telling(_read(path), shown) if line.startswith("def test_"))
        yield from (Spoiler(name, f"the name of a hidden test of {exercise.id}") for name in names)


def _telling(text: str, shown: str) -> list[str]:
    """The lines that say something, and that no starter shows."""
    lines = dict.fromkeys(line.strip() for line in text.splitlines())
    return [
        line
        for line in lines
        if len(line) >= SHORTEST_TELLING_LINE and not line.endswith(OPENERS) and line not in shown
    ]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
