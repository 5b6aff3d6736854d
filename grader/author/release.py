"""A course -> its student edition: everything a student may have, and nothing that spoils a hunt."""

import ast
import re
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from grader.author.spoilers import find_spoilers
from grader.course.fragments import put_back
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.errors import KitError, SpecError, UsageError
from grader.examiner.key import KEY_SEED
from grader.examiner.outcome import Status
from grader.examiner.property import Property
from grader.submission import Submission, Unreadable, read_submission

INTRODUCTION = "# What students may know of this exercise. More checks follow when a solution is handed in.\n"


def public_checks(exercise: Exercise) -> list[Property]:
    """The checks that a student edition can run, without the names of the defects that they are for."""
    found = [check for check in exercise.checks if check.public and not check.needs_reference]
    return [msgspec.structs.replace(check, for_=()) for check in found]


def public_description(exercise: Exercise, hidden_checks: int, *, with_hints: bool) -> str:
    """The exercise.yaml of a student edition: nothing of defects but, where asked, their hints."""
    numbers = exercise.numbers()
    defects = sorted(exercise.defects, key=lambda defect: numbers[defect.id])
    description = {
        "format_version": exercise.format_version,
        "title": exercise.title,
        "difficulty": exercise.difficulty,
        "source": {"title": exercise.source.title},
        "story": exercise.story.strip(),
        "interface": msgspec.to_builtins(exercise.interface),
        "ladder": exercise.ladder,
        "total_points": exercise.max_score(),
        "nothing_else_broke": exercise.nothing_else_broke,
        "hidden_checks": hidden_checks,
        "defects": [],
        "checks": [_given(check) for check in public_checks(exercise)],
        "limits": msgspec.to_builtins(exercise.limits),
    }
    if with_hints:
        description["hints"] = [[text.strip() for text in defect.hints] for defect in defects]
    return INTRODUCTION + _yaml(description)


def _given(record: Struct) -> dict[str, Any]:
    """A record's fields, without those that have their defaults."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    for field in msgspec.structs.fields(record):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if getattr(record, field.name) == default:
            data.pop(field.encode_name, None)
    return data


def _yaml(data: dict[str, Any]) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes out again what stands twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


INSTRUCTORS_PARTS = ("author", "gradebook", "batch")
"""What of the kit students have no use for."""

KIT_SUFFIXES = (".py", ".typed", ".html", ".css", ".js", ".j2")
COURSE_FOLDERS = ("exercises", "grader", "solutions", "tests")
TOOLS_SECTION = re.compile(r"^\[tool\.(?!setuptools)[^\n]*\n(?:(?!\[(?:tool|project|build)).*\n?)*", re.MULTILINE)
EXTRAS_SECTION = re.compile(r"^\[project\.optional-dependencies\]\n(?:(?!\[\w).*\n?)*", re.MULTILINE)

README = """\
# Bug hunts in attention code

Each folder in `exercises/` holds a story, a piece of attention code that its author believed in, and the same code as a
notebook. Find out what it does wrong, mend it, and see what the public checks say.

Install once, then check the first hunt (Python 3.11 or newer):

```sh
python3 -m venv .venv && . .venv/bin/activate
pip install torch==2.13.0 -e . && python -m grader {first}
```

(A plain `pip install torch` may take a build with gigabytes of CUDA; the version named above has a CPU build.)

{table}

## Handing in

Hand in `exercises/<exercise>/attention.py`, or `attention.ipynb` if that is what you edited: one file for each
exercise, under its own name, in the way your course asks for. Hidden checks run then, and give the points.
"""


def release(course: Course, folder: Path, *, with_hints: bool = True) -> str:
    """Write the student edition into a new or empty folder; what is in it, and what was left out.

    An exercise is left out whose starter passes all that an edition can check: it would look done before it is begun.
    Raises `UsageError` where the folder is taken, `SpecError` where an exercise is not fit to be handed out, having
    written nothing.
    """
    _require_room(course, folder)
    exercises = [load_exercise(course.description(exercise_id)) for exercise_id in course.exercise_ids()]
    if any(exercise.is_public() for exercise in exercises):
        raise UsageError("this is a student edition already; release from the course that has solutions/")
    problems = [problem for exercise in exercises for problem in _why_unfit(course, exercise)]
    if problems:
        raise SpecError(problems)
    hidden, idle = _try_starters(course, exercises)
    exercises = [exercise for exercise in exercises if exercise.id in hidden]
    if not exercises:
        raise SpecError(idle)
    files = _kit() | {
        Path("README.md"): README.format(first=exercises[0].id, table=_table(exercises)).encode(),
        Path("exercises/README.md"): _overview(course, exercises, with_hints=with_hints),
    }
    for exercise in exercises:
        files |= _exercise(course, exercise, hidden[exercise.id], with_hints=False)
    spoilers = find_spoilers(course, exercises, files)
    if spoilers:
        raise SpecError(spoilers)
    if with_hints:
        for exercise in exercises:
            files |= _exercise(course, exercise, hidden[exercise.id], with_hints=True)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return "\n".join([_summary(folder, exercises, sum(hidden.values()), with_hints=with_hints), *idle])


def _require_room(course: Course, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty, and nothing is overwritten; name a new folder")
    inside = next((name for name in COURSE_FOLDERS if folder.resolve().is_relative_to(course.root / name)), None)
    if inside:
        raise UsageError(f"{folder} lies in the course's own {inside}/; name a folder elsewhere")


def _why_unfit(course: Course, exercise: Exercise) -> list[str]:
    """What speaks against handing the exercise out."""
    starter = course.pristine(course.editable_files(exercise.id)[0])
    reference = course.reference(exercise.id)
    missing = [path for path in _handouts(course, exercise).values() if not path.is_file()]
    missing += [path for path in (reference,) if not path.is_file()]
    if missing:
        return [f"{path.relative_to(course.root)}: there is no such file; put it back" for path in missing]
    problems = []
    if not public_checks(exercise):
        problems.append(f"{exercise.id}: no check is public; mark one that needs no reference with public: true")
    defective = put_back(reference.read_text(encoding="utf-8"), exercise.defects)
    wanted = ast.dump(ast.parse(defective))
    for path in (starter, course.pristine(course.editable_files(exercise.id)[1])):
        if _tree(path) != wanted:
            place = path.relative_to(course.root)
            problems.append(f"{place}: is not the reference with every defect in it; run python -m grader prove")
    return problems


def _tree(path: Path) -> str:
    """The syntax tree of a module's or a notebook's graded code."""
    read = read_submission(path, path.name)
    if isinstance(read, Unreadable):
        raise KitError(read.reason)
    body = [node for chunk in read.chunks for node in ast.parse(chunk.text).body]
    return ast.dump(ast.Module(body, []))


def _try_starters(course: Course, exercises: list[Exercise]) -> tuple[dict[str, int], list[str]]:
    """How many checks of each exercise stay hidden; and a sentence on each whose starter looks done."""
    from grader.examiner.worker_source import open_worker_source

    source = open_worker_source(spawn=True)  # who releases may have threads, and a fork must not
    from grader.examiner.pytest_session import Examiners, with_examiners

    def body(examiners: Examiners) -> tuple[dict[str, int], list[str]]:
        hidden, idle = {}, []
        for exercise in exercises:
            examiner = examiners.examiner(exercise)
            public = [check.id for check in public_checks(exercise)]
            path = course.pristine(course.editable_files(exercise.id)[0])
            starter = read_submission(path, path.name)
            assert isinstance(starter, Submission), "its syntax tree was compared"
            seen = examiner.examine(starter, KEY_SEED, only=public)
            if seen.unloadable or any(outcome.status is not Status.PASSED for outcome in seen.outcomes):
                hidden[exercise.id] = len(examiner.check_ids()) - len(public)
            else:
                passes = "its starter passes every public check, and would look done"
                idle.append(f"{exercise.id} was left out: {passes}; make a check public that sees a defect by itself")
        return hidden, idle

    try:
        return with_examiners(course, source, body)
    finally:
        source.close()


HINT_LINES = re.compile(
    r"\nStuck\?[^\n]*\n\n    python -m grader hint [^\n]*\n"
    r"|^- `python -m grader hint.*\n(?:  .*\n)*"
    r"|^%hint .*\n",
    re.MULTILINE,
)
"""What speaks of hints in the pages that students read."""

SOLUTION_SENTENCE = re.compile(r" Once a hunt is over, `solution`[^.]*\.")


def _page(text: str, *, with_hints: bool) -> bytes:
    """A page of an edition: nothing of what it does not have."""
    text = SOLUTION_SENTENCE.sub("", text)
    return (text if with_hints else HINT_LINES.sub("", text)).encode()


def _overview(course: Course, exercises: list[Exercise], *, with_hints: bool) -> bytes:
    """The list of hunts, without those that were left out."""
    chosen = {exercise.id for exercise in exercises}
    lines = (course.root / "exercises" / "README.md").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not (row := re.match(r"\| \[(exercise_\d+)\]", line)) or row[1] in chosen]
    return _page("".join(kept), with_hints=with_hints)


def _handouts(course: Course, exercise: Exercise) -> dict[Path, Path]:
    """Where an edition's files come from: students' files are the starters, whatever has become of them here."""
    here = Path("exercises") / exercise.id
    sources = {here / "README.md": course.exercise_folder(exercise.id) / "README.md"}
    for path in course.editable_files(exercise.id):
        pristine = course.pristine(path)
        sources |= {here / path.name: pristine, here / ".starter" / path.name: pristine}
    return sources


def _exercise(course: Course, exercise: Exercise, hidden: int, *, with_hints: bool) -> dict[Path, bytes]:
    description = public_description(exercise, hidden, with_hints=with_hints)
    files = {path: source.read_bytes() for path, source in _handouts(course, exercise).items()}
    story = Path("exercises") / exercise.id / "README.md"
    files[story] = _page(files[story].decode(), with_hints=with_hints)
    return files | {Path("exercises") / exercise.id / "exercise.yaml": description.encode()}


def _kit() -> dict[Path, bytes]:
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


def _summary(folder: Path, exercises: list[Exercise], hidden: int, *, with_hints: bool) -> str:
    public = sum(len(public_checks(exercise)) for exercise in exercises)
    hints = "with" if with_hints else "without"
    told = (
        f"{len(exercises)} exercises {hints} hints, {public} public checks, {hidden} left for when they are handed in"
    )
    lines = [f"{folder} is the student edition: {told}."]
    for exercise in exercises:
        shown = {check.id for check in public_checks(exercise)}
        kept = [check.id for check in exercise.checks if check.public and check.id not in shown]
        if kept:
            lines.append(f"{exercise.id}: {', '.join(kept)} stayed hidden: what needs the reference cannot be public")
    return "\n".join(lines)
