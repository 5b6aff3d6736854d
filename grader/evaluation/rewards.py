"""Turn a verdict into a reward between 0 and 1, by one of four schemes.

Each scheme is monotone: a verdict with more defects fixed, or with as many fixed and more checks passed, never has a
smaller reward. A verdict that the kit could not give has no reward: None, never 0.

Every scheme has weaknesses under optimization:

- `points` pays for each fixed defect, and for an undamaged module only at the end. A policy that breaks one thing while
  it fixes another is paid as if it broke nothing. The points are an author's judgement of difficulty.
- `all_or_nothing` pays nothing until everything is right. Most early rewards are 0, so there is little to learn from,
  but it is the scheme that is hardest to game. Use it for evaluation.
- `per_defect` pays the same for each defect. Easy defects are worth as much as hard ones, so a policy may learn these
  alone. A fixed module that breaks something else does not reach 1.
- `dense` also pays for each check that passes. Many checks pass on an untouched starter, so doing nothing has a reward
  above 0; subtract the starter's reward as a baseline. A rewrite that satisfies a common check, such as the one on
  shapes, is paid for it.

Grade with fresh seeds (the default): with a fixed seed, a policy may learn the inputs.
"""

from enum import StrEnum

from grader.checks.outcome import Status
from grader.errors import UsageError
from grader.trap.result import Caught, TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


class Scheme(StrEnum):
    """How a verdict becomes a reward."""

    POINTS = "points"
    ALL_OR_NOTHING = "all_or_nothing"
    PER_DEFECT = "per_defect"
    DENSE = "dense"


TRAP_SCHEMES = (Scheme.POINTS, Scheme.ALL_OR_NOTHING, Scheme.PER_DEFECT)
"""The schemes for traps. A trap has no checks that `dense` could count."""


def reward(verdict: Verdict, scheme: Scheme | str = Scheme.POINTS) -> float | None:
    """Return the verdict's reward from 0 to 1, or None if the kit could not judge the submission.

    With F of N counted defects fixed:

    - `points`: the score divided by the largest score.
    - `all_or_nothing`: 1 if every counted defect is fixed and nothing else is broken, else 0.
    - `per_defect`: (F + 1 if nothing is left to fix and nothing else is broken) / (N + 1).
    - `dense`: (F + the share of checks that pass) / (N + 1). A failed check that only stretch defects explain does not
      count.

    A submission on which no check could run gets 0.
    """
    if scheme not in tuple(Scheme):
        raise UsageError(f"scheme is {scheme!r}; use one of {', '.join(Scheme)}")
    if verdict.outcome is Result.NOT_JUDGED:
        return None
    if verdict.outcome is Result.FIXED:
        return 1.0
    if verdict.outcome is Result.NOT_GRADABLE or scheme == Scheme.ALL_OR_NOTHING:
        return 0.0
    if scheme == Scheme.POINTS:
        return verdict.judged_score() / verdict.max_score if verdict.max_score else 0.0
    counted = [defect for defect in verdict.defects if not defect.stretch]
    fixed = sum(1 for defect in counted if defect.status is DefectStatus.FIXED)
    share = _share_passed(verdict) if scheme == Scheme.DENSE else 0.0
    return (fixed + share) / (len(counted) + 1)


def trap_reward(result: TrapResult, scheme: Scheme | str = Scheme.POINTS) -> float:
    """Return the reward of a trap, from 0 to 1.

    - `points`: the score divided by the largest score.
    - `all_or_nothing`: 1 if the score is the largest one, else 0.
    - `per_defect`: the share of the counted defects that a test catches at all seeds.

    A test that compares the subject with a copy of the starter catches the starter, so it earns all points of a hunt
    with a single defect.
    """
    require_trap_scheme(scheme)
    if scheme == Scheme.ALL_OR_NOTHING:
        return float(0 < result.max_score <= result.score)
    if scheme == Scheme.POINTS:
        return min(result.score / result.max_score, 1.0) if result.max_score else 0.0
    counted = [each for each in result.defects if not each.stretch]
    return sum(1 for each in counted if each.caught is Caught.ALWAYS) / len(counted) if counted else 0.0


def require_trap_scheme(scheme: Scheme | str) -> None:
    """Raise `UsageError` unless the scheme is one for traps."""
    if scheme not in TRAP_SCHEMES:
        *others, last = TRAP_SCHEMES
        raise UsageError(f"scheme is {str(scheme)!r}; for a trap, use {', '.join(others)} or {last}")


def _share_passed(verdict: Verdict) -> float:
    """Return the share of checks that pass, without the failures that only stretch defects explain."""
    stretch = {defect.id for defect in verdict.defects if defect.stretch}
    passed = sum(1 for outcome in verdict.checks if outcome.status is Status.PASSED)
    failed = sum(
        1
        for outcome in verdict.checks
        if outcome.status is not Status.PASSED and not _is_explained_by(verdict.causes.get(outcome.check, []), stretch)
    )
    return passed / (passed + failed) if passed else 0.0


def _is_explained_by(causes: list[str], stretch: set[str]) -> bool:
    return bool(causes) and set(causes) <= stretch
