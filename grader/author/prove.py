"""Prove exercises: everything that must hold before a verdict can be trusted, in parallel, resumable."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, as_completed
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from grader.author.derived_files import compare_sources, derive_files, read_module
from grader.author.differential import Matching, find_differences, match_equivalents
from grader.author.mutants import Mutant, mutants_of
from grader.author.proof import MutantStatus, Proof, Step, Survivor, advice_for, constant_sizes, points_step
from grader.author.proof_cache import ProofCache
from grader.author.proof_tasks import judge_exactly, judge_rewrites, try_mutants
from grader.author.task_pool import TaskPool
from grader.author.usual_tests import run_usual_tests
from grader.course.paths import Course
from grader.course.reading import read_exercise
from grader.examiner.key import has_key

T = TypeVar("T")

BATCH = 12
"""Mutants that one process tries in a row: collecting the checks costs as much as trying one."""

Job = tuple[Future[Any], Callable[[], None]]
"""A result to come, and what to do once it is there."""

StepTask = Callable[..., list[Step]]

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""


def prove(course: Course, exercise_ids: list[str], advance: Advance) -> list[Proof]:
    """The proofs of the exercises, in their order. Raises `SpecError` for a wrong description."""
    cases = [_UnfinishedProof(course, exercise_id) for exercise_id in exercise_ids]
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


STEPS: tuple[StepTask, ...] = (judge_exactly, judge_rewrites, run_usual_tests)
"""What finds steps of a proof; each is remembered by its name."""


class _UnfinishedProof:
    """The proof of one exercise as it grows."""

    def __init__(self, course: Course, exercise_id: str) -> None:
        starter = read_module(course, course.pristine(course.editable_files(exercise_id)[0]))
        exercise = read_exercise(course.description(exercise_id), starter=starter)
        derive_files(course, exercise)
        self._course = course
        self._reference = read_module(course, course.reference(exercise_id))
        self._exercise = read_exercise(course.description(exercise_id), self._reference)
        sources = compare_sources(course, exercise)
        self._sources = structs.replace(sources, warnings=[*sources.warnings, *constant_sizes(exercise)])
        self._cache = ProofCache(course, exercise_id)
        self._matching: Matching = match_equivalents(mutants_of(self._reference), exercise.equivalents)
        missed_by = [defect.missed_by for defect in exercise.defects]  # no part of what other steps depend on
        told = hashlib.sha256(msgspec.json.encode(missed_by)).hexdigest()[:16]
        self._names = {task: task.__name__ + f" {told}" * (task is run_usual_tests) for task in STEPS}
        self._steps = {task: self._cache.steps(name) for task, name in self._names.items()}
        if not has_key(course, exercise_id):
            self._steps[judge_exactly] = None
        known = {mutant.text: self._cache.status(mutant.text) for mutant in self._matching.others}
        self._statuses = {text: status for text, status in known.items() if status is not None}
        differences = {mutant.text: self._cache.difference(mutant.text) for mutant in self._matching.declared}
        self._differences = {text: difference for text, difference in differences.items() if difference is not None}

    def start(self, pool: TaskPool) -> Iterator[Job]:
        """Hand over what has not been found out yet."""
        for task in STEPS:
            if self._steps[task] is None:
                yield self._start(pool, task, partial(self._store_steps, task))
        uncompared = [mutant for mutant in self._matching.declared if mutant.text not in self._differences]
        for mutants in _batches(uncompared):
            texts = [mutant.text for mutant in mutants]
            yield self._start(pool, find_differences, partial(self._store_differences, texts), texts)
        untested = [mutant for mutant in self._matching.others if mutant.text not in self._statuses]
        for mutants in _batches(untested):
            yield self._start(pool, try_mutants, partial(self._store_statuses, mutants), mutants)

    def _start(self, pool: TaskPool, task: Callable[..., T], store: Callable[[T], None], *arguments: Any) -> Job:
        found = pool.submit(task, self._course.root, self._exercise.id, *arguments)
        return found, lambda: store(found.result())

    def _store_steps(self, task: StepTask, steps: list[Step]) -> None:
        self._steps[task] = steps
        self._cache.store_steps(self._names[task], steps)

    def _store_differences(self, texts: list[str], differences: list[str]) -> None:
        for text, difference in zip(texts, differences, strict=True):
            self._differences[text] = difference
            self._cache.store_difference(text, difference)

    def _store_statuses(self, mutants: list[Mutant], statuses: list[MutantStatus]) -> None:
        for mutant, status in zip(mutants, statuses, strict=True):
            self._statuses[mutant.text] = status
            self._cache.store_status(mutant.text, status)

    def proof(self) -> Proof:
        """What was found out, once everything is in."""
        others = self._matching.others
        survivors = [mutant for mutant in others if self._statuses[mutant.text] is MutantStatus.SURVIVED]
        statuses = Counter(self._statuses[mutant.text] for mutant in others)
        statuses[MutantStatus.EQUIVALENT] += len(self._matching.declared)
        steps = [step for task in STEPS for step in self._steps[task] or []]
        return Proof(
            self._exercise.id,
            [self._sources, points_step(self._exercise), *steps, self._equivalents_step()],
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


def _batches(mutants: list[Mutant]) -> Iterator[list[Mutant]]:
    return (mutants[start : start + BATCH] for start in range(0, len(mutants), BATCH))
