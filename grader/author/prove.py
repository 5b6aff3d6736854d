"""Prove exercises: everything that must hold before a verdict can be trusted, in parallel, resumable."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from typing import Any

from grader.author.challenge import challenge
from grader.author.equivalents import Matching, match_equivalents
from grader.author.ledger import Ledger
from grader.author.mutants import Mutant, mutants_of
from grader.author.new import derive_reference
from grader.author.pool import Pool
from grader.author.proof import Fate, Proof, Step, Survivor, advice_for
from grader.author.sources import compare_sources
from grader.author.trials import judge_exactly, try_mutants
from grader.course import Course
from grader.exercise import Exercise, load_exercise

BATCH = 12
"""Mutants that one process tries in a row: collecting the checks costs as much as trying one."""

Job = tuple[Future[Any], Callable[[], None]]
"""A result to come, and what to do once it is there."""

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""


def prove(course: Course, exercise_ids: list[str], advance: Advance) -> list[Proof]:
    """The proofs of the exercises, in their order. Raises `SpecError` for a wrong description."""
    cases = [_Proving(course, load_exercise(course.description(exercise_id))) for exercise_id in exercise_ids]
    pool = Pool(os.cpu_count() or 1)
    try:
        jobs = dict(job for case in cases for job in case.start(pool))
        advance(0, len(jobs))
        for done, future in enumerate(as_completed(jobs), start=1):
            jobs[future]()
            advance(done, len(jobs))
    finally:
        pool.close()
    return [case.proof() for case in cases]


class _Proving:
    """The proof of one exercise as it grows."""

    def __init__(self, course: Course, exercise: Exercise) -> None:
        derive_reference(course, exercise)
        self._course = course
        self._exercise = exercise
        self._sources = compare_sources(course, exercise)
        self._ledger = Ledger(course, exercise.id)
        mutants = mutants_of(course.reference(exercise.id).read_text(encoding="utf-8"))
        self._matching: Matching = match_equivalents(mutants, exercise.equivalents)
        self._steps = self._ledger.steps() or []
        known = {mutant.text: self._ledger.fate(mutant.text) for mutant in self._matching.others}
        self._fates = {text: fate for text, fate in known.items() if fate is not None}
        challenged = {mutant.text: self._ledger.difference(mutant.text) for mutant in self._matching.declared}
        self._differences = {text: difference for text, difference in challenged.items() if difference is not None}

    def start(self, pool: Pool) -> Iterator[Job]:
        """Hand over what has not been found out yet."""
        where = (self._course.root, self._exercise.id)
        if not self._steps:
            steps = pool.submit(judge_exactly, *where)
            yield steps, lambda: self._keep_steps(steps.result())
        unchallenged = [mutant for mutant in self._matching.declared if mutant.text not in self._differences]
        untried = [mutant for mutant in self._matching.others if mutant.text not in self._fates]
        for texts in _batches(unchallenged):
            yield self._start_challenge(pool, texts)
        for texts in _batches(untried):
            yield self._start_trials(pool, texts)

    def _start_challenge(self, pool: Pool, texts: list[str]) -> Job:
        found = pool.submit(challenge, self._course.root, self._exercise.id, texts)
        return found, lambda: self._keep_differences(zip(texts, found.result(), strict=True))

    def _start_trials(self, pool: Pool, texts: list[str]) -> Job:
        found = pool.submit(try_mutants, self._course.root, self._exercise.id, texts)
        return found, lambda: self._keep_fates(zip(texts, found.result(), strict=True))

    def _keep_steps(self, steps: list[Step]) -> None:
        self._steps = steps
        self._ledger.keep_steps(steps)

    def _keep_differences(self, found: Iterable[tuple[str, str]]) -> None:
        for text, difference in found:
            self._differences[text] = difference
            self._ledger.keep_difference(text, difference)

    def _keep_fates(self, found: Iterable[tuple[str, Fate]]) -> None:
        for text, fate in found:
            self._fates[text] = fate
            self._ledger.keep_fate(text, fate)

    def proof(self) -> Proof:
        """What was found out, once everything is in."""
        survivors = [mutant for mutant in self._matching.others if self._fates[mutant.text] is Fate.SURVIVED]
        fates = Counter(self._fates[mutant.text] for mutant in self._matching.others)
        fates[Fate.EQUIVALENT] = len(self._matching.declared)
        return Proof(
            self._exercise.id,
            [self._sources, *self._steps, self._challenged()],
            {fate: fates[fate] for fate in Fate},
            [Survivor(mutant, advice_for(mutant.operator)) for mutant in survivors],
        )

    def _challenged(self) -> Step:
        problems = [
            f"declared equivalent, but {difference}; take it out and add a check that sees it:\n{mutant.diff}"
            for mutant in self._matching.declared
            if (difference := self._differences[mutant.text])
        ]
        problems += [
            f"the equivalent {each.was.strip()!r} -> {each.becomes.strip()!r} matches no mutant; take it out"
            for each in self._matching.idle
        ]
        return Step("equivalents", str(len(self._matching.declared)), problems)


def _batches(mutants: list[Mutant]) -> Iterator[list[str]]:
    texts = [mutant.text for mutant in mutants]
    return (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
