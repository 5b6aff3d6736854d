"""Wrong fixes, however plausible, never get everything, and the verdict says of them what it can know.

The first line of a file says what is wrong with it. The second begins with `expect:` and goes on with what a verdict
must say: `fixed=`, `present=`, `unknown=` and `unfixed=` (present or unknown) with the ids of defects; `broken` when
something else must be said to be broken; `extra` when only a stretch defect is left, so only extra points are lost.
"""

import ast

import pytest

from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict
from tests.support.judging import Judge
from tests.support.paths import CORPUS
from tests.support.sampling import of_parts, sampled_in_parts

FOLDER = CORPUS / "wrong_fixes"
EXERCISES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
FEWEST = 8
STATUSES = {
    "fixed": {DefectStatus.FIXED},
    "present": {DefectStatus.PRESENT},
    "unknown": {DefectStatus.UNKNOWN},
    "unfixed": {DefectStatus.PRESENT, DefectStatus.UNKNOWN},
}


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_there_are_wrong_fixes_of_many_sorts(exercise_id: str) -> None:
    assert len([*(FOLDER / exercise_id).glob("*.py")]) >= FEWEST


@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(EXERCISES))
def test_no_wrong_fix_gets_full_marks(judge_text: Judge, exercise_id: str, parts: tuple[int, ...]) -> None:
    paths = of_parts(sorted((FOLDER / exercise_id).glob("*.py")), parts)
    sources = [path.read_text(encoding="utf-8") for path in paths]
    verdicts = judge_text.many(exercise_id, sources)
    complaints = {
        path.name: wrong
        for path, source, verdict in zip(paths, sources, verdicts, strict=True)
        if (wrong := what_is_wrong(verdict, expectations(source)))
    }
    assert not complaints


def expectations(source: str) -> list[str]:
    """The words after `expect:`."""
    lines = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert len(lines) == 2, source[:200]
    assert lines[1].startswith("expect:"), source[:200]
    return lines[1].removeprefix("expect:").split()


def what_is_wrong(verdict: Verdict, words: list[str]) -> list[str]:
    """How the verdict differs from what it must say."""
    statuses = {defect.id: defect.status for defect in verdict.defects}
    wrong = []
    if set(statuses.values()) == {DefectStatus.FIXED} and not verdict.regressions:
        wrong.append("everything is said to be right")
    if "extra" not in words and verdict.outcome is not Result.NOT_FIXED:
        wrong.append(f"the outcome is {verdict.outcome}: {verdict.reason}")
    if "extra" not in words and verdict.score >= verdict.max_score:
        wrong.append(f"it scores {verdict.score}")
    for word in words:
        if word == "broken":
            wrong += [] if verdict.regressions else ["nothing is said to be broken"]
        elif word != "extra":
            how, _, ids = word.partition("=")
            wrong += [f"{i} is {statuses[i]}, not {how}" for i in ids.split(",") if statuses[i] not in STATUSES[how]]
    return wrong
