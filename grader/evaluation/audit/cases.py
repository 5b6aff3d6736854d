"""The cases of an audit: sources whose right verdict is known, and how each corpus was made."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.wrong_fixes import Expectation, load_wrong_fixes
from grader.verdict.key import variant_name

ATTACKED = "exercise_03"
"""The exercise that the attacks of the corpus are submitted to."""


class Corpus(StrEnum):
    """A collection of cases."""

    REFERENCES = "references"
    ALTERNATIVES = "alternatives"
    VARIANTS = "variants"
    WRONG_FIXES = "wrong fixes"
    ATTACKS = "attacks"


ORIGINS = {
    Corpus.REFERENCES: (
        "The right solution of each exercise. Checks compare submissions with it. "
        "Tuned: a proof holds only if the reference gets all points."
    ),
    Corpus.ALTERNATIVES: (
        "Other right solutions, written to differ from the reference. "
        "Tuned: a proof holds only if each of them gets all points."
    ),
    Corpus.VARIANTS: (
        "The reference with each non-empty subset of its defects put back; with all of them it is the starter. "
        "Tuned: a proof holds only if every subset is identified. A variant with only extra defects counts as right."
    ),
    Corpus.WRONG_FIXES: (
        "Files that are nearly right, each with a defect that a hasty fix may have. Those that lose only extra points "
        "are left out. Tuned: the kit's tests require that each of them is refused."
    ),
    Corpus.ATTACKS: (
        f"Hostile and broken submissions to {ATTACKED}, each with the most points that it deserves. Submissions that "
        "tests generate are left out. Tuned: the kit's tests require these points."
    ),
}
"""How each corpus was made, and whether the checks were tuned on it."""


class Layer(StrEnum):
    """The target of an attack."""

    EXAMINER = "the examiner: its messages, comparisons and reports"
    FILES = "files and secrets"
    LIMITS = "limits of time, memory and output"
    NETWORK = "the network"
    PROCESSES = "other processes, programs and rights"
    READER = "the reader of submissions"


LAYERS = {
    "cheating": Layer.EXAMINER,
    "daemons": Layer.PROCESSES,
    "early_exit": Layer.EXAMINER,
    "exec": Layer.PROCESSES,
    "liveness": Layer.LIMITS,
    "network": Layer.NETWORK,
    "notebooks": Layer.READER,
    "patching": Layer.EXAMINER,
    "privileges": Layer.PROCESSES,
    "resources": Layer.LIMITS,
    "returned": Layer.EXAMINER,
    "secrets": Layer.FILES,
    "signals": Layer.PROCESSES,
    "sources": Layer.READER,
    "wire": Layer.EXAMINER,
    "writing": Layer.FILES,
}
"""The target of each family of attacks."""


class Attack(Struct, frozen=True, kw_only=True):
    """The right verdict on an attack; its other fields are for the kit's tests."""

    outcome: str
    score: float | None = None
    max_score: float | None = None

    def most_points(self) -> float:
        """Return the most points that the attack deserves."""
        return max(each for each in (self.score, self.max_score, 0.0) if each is not None)


class Case(Struct, frozen=True, kw_only=True):
    """A source whose right verdict is known."""

    corpus: Corpus
    exercise: str
    name: str
    source: str | Path
    is_right: bool = False
    """True if it deserves all points."""
    expect: Expectation = Expectation()
    """The known statuses of some or all defects."""
    most_points: float | None = None
    """The most points that an attack deserves."""


def cases_of(course: Course, exercise_ids: list[str]) -> Iterator[Case]:
    """Yield the cases of some exercises, without attacks."""
    for exercise_id in exercise_ids:
        course.require(exercise_id)
        path = course.reference(exercise_id)
        if not path.is_file():
            raise UsageError(f"{exercise_id} has no reference here; audit a course with solutions/")
        exercise, reference = load_exercise(course.description(exercise_id)), path.read_text(encoding="utf-8")
        everything = Expectation(fixed=[defect.id for defect in exercise.defects])
        yield Case(
            corpus=Corpus.REFERENCES,
            exercise=exercise_id,
            name="reference",
            source=reference,
            is_right=True,
            expect=everything,
        )
        for other in sorted(course.alternatives(exercise_id).glob("*.py")):
            yield Case(corpus=Corpus.ALTERNATIVES, exercise=exercise_id, name=other.stem, source=other, is_right=True)
        yield from _variants(exercise, reference)
        for fix in load_wrong_fixes(course, exercise_id):
            if not fix.expect.extra_only:
                yield Case(
                    corpus=Corpus.WRONG_FIXES,
                    exercise=exercise_id,
                    name=fix.name,
                    source=fix.text,
                    expect=fix.expect,
                )


def _variants(exercise: Exercise, reference: str) -> Iterator[Case]:
    """Yield the variants. A variant with stretch defects alone loses no points, so it counts as right."""
    for subset in exercise.subsets():
        if subset:
            chosen = [defect for defect in exercise.defects if defect.id in subset]
            yield Case(
                corpus=Corpus.VARIANTS,
                exercise=exercise.id,
                name=variant_name(frozenset(subset)),
                source=put_back(reference, chosen),
                is_right=all(defect.stretch for defect in chosen),
                expect=Expectation(
                    present=sorted(subset),
                    fixed=[defect.id for defect in exercise.defects if defect.id not in subset],
                ),
            )


def attacks_of(course: Course) -> Iterator[Case]:
    """Yield the attacks that are files, without the attacks that tests generate."""
    shared = {path.name: path.read_text(encoding="utf-8") for path in _attack_folder(course).glob("*.py")}
    for path, attack in _described_attacks(course).items():
        if path.is_file():
            yield Case(
                corpus=Corpus.ATTACKS,
                exercise=ATTACKED,
                name=f"{path.parent.name}/{path.name}",
                source=_with_shared(path, shared),
                most_points=attack.most_points(),
            )


def number_of_attacks(course: Course) -> int:
    """Return the number of all attacks, with those that tests generate."""
    return len(_described_attacks(course))


def _described_attacks(course: Course) -> dict[Path, Attack]:
    """Map the path of each attack to its right verdict. An attack that tests generate has no file at its path."""
    described = {}
    for page in sorted(_attack_folder(course).glob("*/expected.yaml")):
        expected = msgspec.convert(yaml.safe_load(page.read_bytes()), dict[str, Attack])
        described.update({page.parent / name: attack for name, attack in expected.items()})
    return described


def _attack_folder(course: Course) -> Path:
    return course.root / "tests" / "corpus" / "attacks"


def _with_shared(path: Path, shared: dict[str, str]) -> str | Path:
    """Return the text of an attack with the files that it includes, or its path if it includes none."""
    content = path.read_bytes()
    if b"# include " not in content:
        return path
    text = content.decode("utf-8", "surrogateescape")
    for name, included in shared.items():
        text = text.replace(f"# include {name}\n", included)
    return text
