"""Phrases that several pages share: commands, the result, points, why defects mattered, which defects are listed."""

from collections.abc import Collection
from enum import StrEnum

from grader.report.causes import group_causes, shown_causes
from grader.spec.exercise import Announcement, Defect, Exercise
from grader.verdict.attribution import DefectStatus, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

OPEN_LAYERS = {
    "process": "the examiner's process",
    "filesystem": "the file system",
    "network": "the network",
    "syscalls": "starting processes",
    "memory": "other processes' memory",
}
"""The parts of the machine that a submission can reach if a layer of isolation is missing."""


class Shell(StrEnum):
    """Where a student types commands."""

    TERMINAL = "terminal"
    NOTEBOOK = "notebook"


def command(name: str, exercise_id: str, *arguments: object, shell: Shell = Shell.TERMINAL) -> str:
    """Return a command as a student types it: `python -m grader hint exercise_03`, `%hint exercise_03`.

    In a terminal, grading needs no name.
    """
    words = [exercise_id, *map(str, arguments)]
    if shell is Shell.NOTEBOOK:
        return " ".join([f"%{name}", *words])
    return " ".join(["python -m grader", *([] if name == GRADE else [name]), *words])


GRADE = "grade"

STATUS_WORDS = {
    DefectStatus.FIXED: "fixed",
    DefectStatus.PRESENT: "still there",
    DefectStatus.UNKNOWN: "can't tell yet",
}
"""The words for a status on pages and in hints."""


def result_and_points(verdict: Verdict, exercise: Exercise) -> tuple[str, str]:
    """Return the result in words, and the points."""
    extra = sum(defect.points for defect in verdict.defects if defect.stretch)
    score = "no points" if verdict.score is None else f"{points(verdict.score)} of {points(verdict.max_score)} points"
    word = result_words(verdict)
    if verdict.outcome is Result.FIXED:
        word = exercise.edition.word_for_fixed(word if exercise.defects else "Right")
    return word, score + (f", {points(extra)} extra" if extra else "")


def near_miss_hint(verdict: Verdict, exercise: Exercise) -> str:
    """Return the hint of the near miss that the submission behaves like; empty if it is none."""
    hints = {each.id: " ".join(each.hint.split()) for each in exercise.near_misses}
    return hints.get(verdict.near_miss, "")


def open_layers(verdict: Verdict) -> str:
    """Return a warning that names the missing layers of isolation; empty if none is missing."""
    names = [OPEN_LAYERS[layer] for layer, is_closed in verdict.isolation.items() if not is_closed]
    return f"Open to submissions on this machine: {', '.join(names)}" if names else ""


def result_words(verdict: Verdict) -> str:
    """Return the result in words."""
    if verdict.is_right_so_far():
        return "Nothing wrong found here"
    return {
        Result.FIXED: "Fixed",
        Result.NOT_FIXED: "Not yet",
        Result.NOT_GRADABLE: "Not gradable",
        Result.NOT_JUDGED: "Not judged",
    }[verdict.outcome]


def points(value: float) -> str:
    """Format points without trailing zeros."""
    return f"{value:g}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 attempt" and "1,200 attempts"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def story(defect: Defect) -> str:
    """Return why the defect mattered and which usual tests miss it."""
    why, missed = " ".join(defect.why.split()), missed_tests(defect)
    return f"{why} The usual tests passed: {missed}." if missed else why


def missed_tests(defect: Defect) -> str:
    """List what is checked by the usual tests that miss the defect; empty if there are none.

    Tests of the same thing at several sizes are named together.
    """
    sizes: dict[str, list[str]] = {}
    for test in defect.missed_by:
        checked, word, size = " ".join(test.says.split()).partition(" with ")
        sizes.setdefault(checked, []).append(f"{word.strip()} {size}".strip())
    return "; ".join(f"{checked} {', or '.join(filter(None, each))}".strip() for checked, each in sizes.items())


def shown_defects(verdict: Verdict, exercise: Exercise, listed: Collection[str] = ()) -> list[DefectVerdict]:
    """Return the defects that a page lists, in the order of their numbers.

    If the exercise announces the number of its defects, these are all defects. Otherwise these are the fixed defects,
    the defects of a shown finding or near-miss hint, the defects that the student has changed without fixing them, and
    the defects that earlier pages `listed`. In a changed file, the only present defect that explains no finding is
    shown too: the findings that no defect explains may be due to it.
    """
    numbers = exercise.numbers()
    ordered = sorted(verdict.defects, key=lambda defect: numbers[defect.id])
    if not hides_count(verdict, exercise):
        return ordered
    found = {*listed, *(defect for cause in shown_causes(verdict) for defect in cause.defects)}
    found |= {each.defect for each in exercise.near_misses if each.id == verdict.near_miss}
    without_finding = defects_without_finding(verdict)
    found |= set(without_finding) if len(without_finding) == 1 else set()
    return [each for each in ordered if each.status is DefectStatus.FIXED or each.id in found or was_touched(each)]


def defects_without_finding(verdict: Verdict) -> list[str]:
    """Return the present defects that alone explain no finding, if a finding in a changed file has no explanation."""
    if not is_changed(verdict) or all(cause.is_explained() for cause in shown_causes(verdict)):
        return []
    explained = {defect for cause in group_causes(verdict) for defect in cause.defects}
    present = [each.id for each in verdict.defects if each.status is DefectStatus.PRESENT]
    return [each for each in present if each not in explained]


def is_changed(verdict: Verdict) -> bool:
    """Return whether some defect is not as in the starter."""
    return any(each.status is not DefectStatus.PRESENT for each in verdict.defects)


def was_touched(defect: DefectVerdict) -> bool:
    """Return whether the defect is unknown because the student changed something about it."""
    touched = (UnknownReason.FAILS_DIFFERENTLY, UnknownReason.FIXED_IN_PART)
    return defect.status is DefectStatus.UNKNOWN and defect.reason is not None and defect.reason.kind in touched


def hides_count(verdict: Verdict, exercise: Exercise) -> bool:
    """Return whether to hide the number of defects from the student. Once everything is fixed, it is shown."""
    return exercise.announces is Announcement.NOTHING and verdict.outcome is not Result.FIXED


def points_with_unit(defect: DefectVerdict | Defect) -> str:
    """Return the points with their unit, as in "1 extra point"."""
    noun = "point" if defect.points == 1 else "points"
    return f"{points(defect.points)} {'extra ' if defect.stretch else ''}{noun}"


def capitalized(text: str) -> str:
    """Return a text with a capital letter at its beginning; `str.capitalize` would also lower the other letters."""
    return f"{text[:1].upper()}{text[1:]}"
