"""Prove exercises: everything that must hold before a verdict can be trusted, in parallel, resumable."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, TypeVar

from grader.author.derived_files import compare_sources, derive_reference
from grader.author.differential import Matching, find_differences, match_equivalents
from grader.author.mutants import Mutant, mutants_of
from grader.author.proof import MutantStatus, Proof, Step, Survivor, advice_for
from grader.author.proof_cache import ProofCache
from grader.author.proof_tasks import judge_exactly, try_mutants
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.examiner.worker_source import open_worker_source

T = TypeVar("T")

_sources: list[Any] = []
"""Where this process's workers come from: one entry, once `_prepare` has run."""


class TaskPool:
    """Runs functions whose first argument is a source of workers."""

    def __init__(self, processes: int) -> None:
        self._executor = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_prepare)

    def submit(self, task: Callable[..., T], *arguments: Any) -> "Future[T]":
        """The task's result, some time."""
        return self._executor.submit(_with_source, task, *arguments)

    def close(self) -> None:
        """Drop what has not been started, and end the processes."""
        self._executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    _sources.append(open_worker_source())


def _with_source(task: Callable[..., T], *arguments: Any) -> T:
    return task(_sources[0], *arguments)


BATCH = 12
"""Mutants that one process tries in a row: collecting the checks costs as much as trying one."""

Job = tuple[Future[Any], Callable[[], None]]
"""A result to come, and what to do once it is there."""

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""


def prove(course: Course, exercise_ids: list[str], advance: Advance) -> list[Proof]:
    """The proofs of the exercises, in their order. Raises `SpecError` for a wrong description."""
    cases = [_UnfinishedProof(course, load_exercise(course.description(exercise_id))) for exercise_id in exercise_ids]
    pool = TaskPool(os.cpu_count() or 1)
    try:
        jobs = dict(job for case in cases for job in case.start(pool))
        advance(0, len(jobs))
        for done, future in enumerate(as_completed(jobs), start=1):
            jobs[future]()
            advance(done, len(jobs))
    finally:
        pool.close()
    return [case.proof() for case in cases]


class _UnfinishedProof:
    """The proof of one exercise as it grows."""

    def __init__(self, course: Course, exercise: Exercise) -> None:
        derive_reference(course, exercise)
        self._course = course
        self._exercise = exercise
        self._sources = compare_sources(course, exercise)
        self._cache = ProofCache(course, exercise.id)
        mutants = mutants_of(course.reference(exercise.id).read_text(encoding="utf-8"))
        self._matching: Matching = match_equivalents(mutants, exercise.equivalents)
        self._steps = self._cache.steps() or []
        known = {mutant.text: self._cache.status(mutant.text) for mutant in self._matching.others}
        self._statuses = {text: status for text, status in known.items() if status is not None}
        differences = {mutant.text: self._cache.difference(mutant.text) for mutant in self._matching.declared}
        self._differences = {text: difference for text, difference in differences.items() if difference is not None}

    def start(self, pool: TaskPool) -> Iterator[Job]:
        """Hand over what has not been found out yet."""
        where = (self._course.root, self._exercise.id)
        if not self._steps:
            steps = pool.submit(judge_exactly, *where)
            yield steps, lambda: self._store_steps(steps.result())
        uncompared = [mutant for mutant in self._matching.declared if mutant.text not in self._differences]
        untested = [mutant for mutant in self._matching.others if mutant.text not in self._statuses]
        for texts in _batches(uncompared):
            yield self._start_comparison(pool, texts)
        for texts in _batches(untested):
            yield self._start_mutants(pool, texts)

    def _start_comparison(self, pool: TaskPool, texts: list[str]) -> Job:
        found = pool.submit(find_differences, self._course.root, self._exercise.id, texts)
        return found, lambda: self._store_differences(zip(texts, found.result(), strict=True))

    def _start_mutants(self, pool: TaskPool, texts: list[str]) -> Job:
        found = pool.submit(try_mutants, self._course.root, self._exercise.id, texts)
        return found, lambda: self._store_statuses(zip(texts, found.result(), strict=True))

    def _store_steps(self, steps: list[Step]) -> None:
        self._steps = steps
        self._cache.store_steps(steps)

    def _store_differences(self, found: Iterable[tuple[str, str]]) -> None:
        for text, difference in found:
            self._differences[text] = difference
            self._cache.store_difference(text, difference)

    def _store_statuses(self, found: Iterable[tuple[str, MutantStatus]]) -> None:
        for text, status in found:
            self._statuses[text] = status
            self._cache.store_status(text, status)

    def proof(self) -> Proof:
        """What was found out, once everything is in."""
        survivors = [mutant for mutant in self._matching.others if self._statuses[mutant.text] is MutantStatus.SURVIVED]
        statuses = Counter(self._statuses[mutant.text] for mutant in self._matching.others)
        statuses[MutantStatus.EQUIVALENT] = len(self._matching.declared)
        return Proof(
            self._exercise.id,
            [self._sources, *self._steps, self._equivalents_step()],
            {status: statuses[status] for status in MutantStatus},
            [Survivor(mutant, advice_for(mutant.operator)) for mutant in survivors],
        )

    def _equivalents_step(self) -> Step:
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
