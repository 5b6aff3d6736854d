"""The submissions of the benchmark: the course's right, wrong and hostile modules, and any number made from them.

A fixed share of the made submissions has a new syntax tree. The other submissions repeat an earlier one, half of them
exactly, half with other comments and blank lines. So the share that must be judged, and its kinds, are the same for any
number of submissions.
"""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from grader.spec.fragments import make_variant
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.wrong_fixes import load_wrong_fixes
from tests.support.corpus import read_corpus

SHARES = {"right": 7, "some fixed": 6, "wrong fix": 5, "hostile": 2}
"""The number of each kind among twenty new submissions, which are made from the course's modules."""

HOSTILE_EXERCISE = "exercise_03"
UNQUIET = ("daemons", "liveness", "notebooks", "resources", "wire")
"""Families of attacks that wait for deadlines or use up resources. The other families end quickly."""

REMEMBERED = 2000
"""The number of recent modules from which a repetition is chosen."""

FIRST = ("Ada", "Chidi", "Emmy", "Hōkūlani", "José", "Lise", "Mary-Ann", "Nguyễn", "Ólafur", "Srinivasa", "Юлия", "王")
LAST = (
    "Abara",
    "Curie",
    "de la Cruz",
    "Hopper",
    "Lovelace",
    "Meitner",
    "Noether",
    "O'Brien",
    "Sato",
    "Turing",
    "Çelik",
)
REMARKS = ("mended", "todo: ask about the mask", "v2 (final)", "why does this work?", "checked by hand", "ignore above")


class Sample(Struct, frozen=True, kw_only=True):
    """One submission; `base` names the module that it was made from."""

    student: str
    exercise: str
    source: str
    base: str


class Base(Struct, frozen=True, kw_only=True):
    """A module of the course."""

    kind: str
    exercise: str
    name: str
    source: str


def harmless(course: Course, count: int) -> list[Sample]:
    """Return `count` of the course's right and wrong modules and starters, mixed; always the same ones."""
    stock = [base for base in _stock(course) if base.kind != "hostile"]
    random.Random(1).shuffle(stock)
    bases = [stock[number % len(stock)] for number in range(count)]
    return [
        Sample(student=f"student {number:06}", exercise=each.exercise, source=each.source, base=each.name)
        for number, each in enumerate(bases)
    ]


def solutions(course: Course, times: int) -> list[Sample]:
    """Return every reference `times` times, so that a batch opens every exercise."""
    return [
        Sample(student=f"student {number:06}", exercise=each, source=course.reference_text(each), base=each)
        for each in course.exercise_ids()
        for number in range(times)
    ]


def made(course: Course, count: int, distinct: float, seed: int = 1) -> Iterator[Sample]:
    """Yield `count` submissions. The first thousand are the same for every count."""
    draw = random.Random(seed)
    fresh = _fresh(_stock(course), draw)
    known: list[Base] = []
    for number in range(count):
        is_new = not known or int((number + 1) * distinct) > int(number * distinct)
        base = next(fresh) if is_new else draw.choice(known)
        if is_new and len(known) < REMEMBERED:
            known.append(base)
        elif is_new:
            known[draw.randrange(REMEMBERED)] = base
        source = base.source if is_new or draw.random() < 0.5 else _dressed(base.source, draw)
        yield Sample(
            student=f"{draw.choice(FIRST)} {draw.choice(LAST)} {number:06}",
            exercise=base.exercise,
            source=source,
            base=base.name,
        )


def write_samples(samples: Iterable[Sample], path: Path) -> Path:
    """Write submissions as a file for `python -m grader batch`."""
    with path.open("wb") as file:
        for sample in samples:
            file.write(msgspec.json.encode(sample) + b"\n")
    return path


def read_samples(path: Path) -> list[Sample]:
    with path.open("rb") as file:
        return [msgspec.json.decode(line, type=Sample) for line in file]


def _fresh(stock: list[Base], draw: random.Random) -> Iterator[Base]:
    """Yield modules of each kind by its share, each with a new syntax tree."""
    by_kind = {kind: [base for base in stock if base.kind == kind] for kind in SHARES}
    kinds = [kind for kind, share in SHARES.items() for _ in range(share) if by_kind[kind]]
    number = 0
    while True:
        draw.shuffle(kinds)
        for kind in kinds:
            base = draw.choice(by_kind[kind])
            number += 1
            yield msgspec.structs.replace(base, source=f"{base.source}\n\n{_draft(number, draw)}\n")


def _draft(number: int, draw: random.Random) -> str:
    """Return leftover code for the end of a file, different for each number."""
    return draw.choice(
        (
            f"ATTEMPT = {number}",
            f"def attempt_{number}():\n    return {number}",
            f'class Attempt{number}:\n    """Left from before."""',
        )
    )


def _dressed(source: str, draw: random.Random) -> str:
    """Return the source with another layout and the same syntax tree."""
    before = "".join(f"# {draw.choice(REMARKS)}\n" for _ in range(draw.randrange(3)))
    after = f"\n# {draw.choice(REMARKS)}, {draw.randrange(10**9)}\n"
    return before + "\n" * draw.randrange(4) + source + after + "\n" * draw.randrange(4)


def _stock(course: Course) -> list[Base]:
    """Return all modules of the course, and the attacks."""
    found = []
    for each in course.exercise_ids():
        files = {
            "starter": [course.pristine(course.editable_files(each)[0])],
            "right": [course.reference(each), *sorted(course.alternatives(each).glob("*.py"))],
        }
        found += [_base(kind, each, path) for kind, paths in files.items() for path in paths]
        fixes = load_wrong_fixes(course, each)
        found += [
            Base(kind="wrong fix", exercise=each, name=f"{each}: wrong_fixes/{fix.name}", source=fix.text)
            for fix in fixes
        ]
        found += _some_fixed(course, each)
    return [*found, *(_hostile() if HOSTILE_EXERCISE in course.exercise_ids() else [])]


def _some_fixed(course: Course, exercise_id: str) -> list[Base]:
    """Return the variants of the reference with at least one defect."""
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference_text(exercise_id)
    return [
        Base(
            kind="some fixed",
            exercise=exercise_id,
            name=f"{exercise_id}: {'+'.join(sorted(subset))}",
            source=make_variant(reference, exercise, subset),
        )
        for subset in exercise.subsets()
        if subset
    ]


def _hostile() -> list[Base]:
    """Return the attacks that are text and end quickly."""
    quick = [each for each in read_corpus() if not each.expected.slow and each.family not in UNQUIET]
    return [
        Base(
            kind="hostile",
            exercise=HOSTILE_EXERCISE,
            name=f"{HOSTILE_EXERCISE}: attacks/{each.key}",
            source=each.source().decode(),
        )
        for each in quick
        if each.path.suffix == ".py" and each.path.is_file()
    ]


def _base(kind: str, exercise_id: str, path: Path) -> Base:
    name = f"{exercise_id}: {path.parent.parent.name}/{path.parent.name}/{path.name}"
    return Base(kind=kind, exercise=exercise_id, name=name, source=path.read_text(encoding="utf-8"))
