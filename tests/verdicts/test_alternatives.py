"""Right fixes, however they are written, get everything."""

import pytest

from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import CORPUS
from tests.support.sampling import sampled

FOLDER = CORPUS / "alternatives"
EXERCISES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
FEWEST = 6
SEED = 1_234_567
"""Another than the one that every proof judges them with."""


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_every_right_fix_gets_full_marks(judge_text: Judge, exercise_id: str) -> None:
    paths = sorted((FOLDER / exercise_id).glob("*.py"))
    assert len(paths) >= FEWEST
    verdicts = judge_text.many(exercise_id, [path.read_text(encoding="utf-8") for path in paths], SEED)
    for path, verdict in zip(paths, verdicts, strict=True):
        findings = [f"{check.check}: {check.finding.text}" for check in verdict.checks if check.finding]
        assert verdict.outcome is Result.FIXED, (path.name, verdict.reason, findings)
        assert findings == [], path.name
        assert all(defect.status is DefectStatus.FIXED for defect in verdict.defects), path.name
        assert verdict.regressions == [], path.name
        assert verdict.score == verdict.max_score, path.name
