"""Prove exercises: check everything that their verdicts rely on.

A proof runs in parallel and can be interrupted, because results are cached by the digest of everything they depend on.
A successful proof is recorded beside its exercise. The record is valid until the meaning of something that it depends
on changes.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from grader.author.corrected_copy import corrected_copy
from grader.author.derived_files import derive_files, derive_schema, read_module
from grader.author.differential import find_differences, match_equivalents
from grader.author.model_trap import judge_model_trap
from grader.author.mutants import Mutant, mutants_of
from grader.author.mutation_testing import try_mutants
from grader.author.proof import MutantStatus, Proof, Record, Step, Survivor
from grader.author.proof_cache import ProofCache, model_trap_digest
from grader.author.proof_tasks import judge_exactly, judge_rewrites
from grader.author.static_steps import compare_sources, constant_sizes, points_step, unmatched_equivalent
from grader.author.survivors import advise
from grader.author.usual_tests import run_usual_tests
from grader.errors import SpecError
from grader.processes.examiner_process import usable_cores
from grader.processes.task_pool import TaskPool
from grader.spec.exercise import Exercise
from grader.spec.files import write_product
from grader.spec.loading import read_exercise
from grader.spec.paths import Course
from grader.verdict.key_making import has_key

T = TypeVar("T")

MUTANTS_IN_A_TASK = 12
"""Mutants that one process tries in a row, because collecting the checks takes as long as trying one mutant."""

Job = tuple[Future[Any], Callable[[], None]]
"""A future result, and the function that stores it."""

StepTask = Callable[..., list[Step]]

STEP_TASKS: tuple[StepTask, ...] = (judge_exactly, judge_rewrites, run_usual_tests, judge_model_trap)
"""Tasks for the pool; each returns some of the proof's steps. Results are cached by the tasks' names."""

Advance = Callable[[int, int], None]
"""Called with the number of finished tasks and the number of all tasks."""


def prove(course: Course, exercise_ids: list[str], advance: Advance, *, fresh: bool = False) -> list[Proof]:
    """Prove the exercises and return their proofs in the same order; `fresh` ignores records and caches.

    Record each successful proof. A wrong description stops only its own proof; raise `SpecError` if all are wrong. The
    proof of an exercise that describes wrong outputs goes on with a copy that describes the reference's outputs.
    """
    proofs = _prove_as_described(course, exercise_ids, advance, fresh=fresh)
    return [_go_on(course, proof, advance) for proof in proofs]


def _prove_as_described(course: Course, exercise_ids: list[str], advance: Advance, *, fresh: bool) -> list[Proof]:
    derive_schema(course)
    begun = [_begin(course, exercise_id, fresh=fresh) for exercise_id in exercise_ids]
    unfinished = [each for each in begun if isinstance(each, _UnfinishedProof)]
    if not unfinished and begun:
        raise SpecError([problem for each in begun if isinstance(each, Proof) for problem in each.steps[0].problems])
    pool = TaskPool(usable_cores())
    try:
        jobs = dict(job for each in unfinished for job in each.start(pool))
        advance(0, len(jobs))
        for done, future in enumerate(as_completed(jobs), start=1):
            if not future.cancelled():
                jobs[future]()
            advance(done, len(jobs))
        advice = dict(job for each in unfinished for job in each.start_advice(pool))
        for future in as_completed(advice):
            advice[future]()
    finally:
        pool.close()
    return [each.finish() if isinstance(each, _UnfinishedProof) else each for each in begun]


def _go_on(course: Course, proof: Proof, advance: Advance) -> Proof:
    """Return the proof with the results of a corrected copy of the exercise, if a step can correct all outputs."""
    correction = next((step.correction for step in proof.steps if step.correction), None)
    if correction is None or correction.remarks:
        return proof
    with corrected_copy(course, proof.exercise, correction) as copy:
        [copied] = _prove_as_described(copy, [proof.exercise], advance, fresh=False)
    note = "all other results are those of a copy with these outputs"
    failed = [structs.replace(step, warnings=[note] if step.correction else step.warnings) for step in proof.steps]
    own = {step.name: step for step in failed if not step.holds()}
    return structs.replace(copied, steps=[*({step.name: step for step in copied.steps} | own).values()])


def _begin(course: Course, exercise_id: str, *, fresh: bool) -> "_UnfinishedProof | Proof":
    """Return an unfinished proof, or a failed one if the description is wrong."""
    try:
        return _UnfinishedProof(course, exercise_id, fresh=fresh)
    except SpecError as error:
        sources = Step(name="sources", problems=error.problems)
        return Proof(exercise=exercise_id, steps=[sources], statuses={}, survivors=[], is_described=False)


def record_of(course: Course, exercise_id: str) -> Path:
    """Return the file that records the exercise's last successful proof."""
    return course.key(exercise_id).with_name("proof.json")


class _UnfinishedProof:
    """The proof of one exercise, with the results so far."""

    def __init__(self, course: Course, exercise_id: str, *, fresh: bool) -> None:
        starter = read_module(course, course.pristine(course.editable_files(exercise_id)[0]))
        exercise = read_exercise(course.description(exercise_id), starter=starter)
        derive_files(course, exercise)
        self._course = course
        self._reference = read_module(course, course.reference(exercise_id))
        self._exercise = read_exercise(course.description(exercise_id), self._reference)
        sources = compare_sources(course, exercise)
        self._sources = structs.replace(sources, warnings=[*sources.warnings, *constant_sizes(exercise)])
        self._matching = match_equivalents(mutants_of(self._reference), exercise.equivalents)
        self._names = _names_of_tasks(course, exercise)
        self._cache = ProofCache(course, exercise_id, fresh=fresh)
        self._digest = self._cache.digest(
            steps=self._names.values(),
            status=(mutant.tree for mutant in self._matching.others),
            difference=(mutant.tree for mutant in self._matching.declared),
        )
        self._record = None if fresh else self._read_record()
        self._steps = self._cache.load_all("steps", self._names.values(), list[Step])
        if not has_key(course, exercise_id):
            self._steps.pop(self._names[judge_exactly], None)
        self._statuses = self._cache.load_all("status", _trees(self._matching.others), MutantStatus)
        self._differences = self._cache.load_all("difference", _trees(self._matching.declared), str)
        self._survivors: list[Survivor] = []
        self._tries: list[Future[Any]] = []
        """The tasks that try mutants."""

    def start(self, pool: TaskPool) -> Iterator[Job]:
        """Submit a task for each result that is neither recorded nor cached."""
        if self._record:
            return
        for task, name in self._names.items():
            if name not in self._steps:
                yield self._submit(pool, task, partial(self._store_steps, name))
        for mutants in _batches(mutant for mutant in self._matching.declared if mutant.tree not in self._differences):
            texts = [mutant.text for mutant in mutants]
            store = partial(self._store_each, "difference", self._differences, mutants)
            yield self._try(pool, find_differences, store, texts)
        for mutants in _batches(mutant for mutant in self._matching.others if mutant.tree not in self._statuses):
            store = partial(self._store_each, "status", self._statuses, mutants)
            yield self._try(pool, try_mutants, store, mutants)

    def start_advice(self, pool: TaskPool) -> Iterator[Job]:
        """Submit the tasks that look for checks against the survivors, once all other results are in."""
        if not self._record and self._is_reference_right():
            mutants = [each for each in self._matching.others if self._statuses[each.tree] is MutantStatus.SURVIVED]
            for batch in _batches(mutants):
                yield self._submit(pool, advise, self._survivors.extend, batch)

    def _submit(self, pool: TaskPool, task: Callable[..., T], store: Callable[[T], None], *arguments: Any) -> Job:
        future = pool.submit(task, self._course.root, self._exercise.id, *arguments)
        return future, lambda: store(future.result())

    def _try(self, pool: TaskPool, task: Callable[..., T], store: Callable[[T], None], mutants: list[Any]) -> Job:
        job = self._submit(pool, task, store, mutants)
        self._tries.append(job[0])
        return job

    def _store_steps(self, name: str, steps: list[Step]) -> None:
        """Store the steps of a task. If the reference fails its own checks, cancel the tasks that try mutants."""
        self._steps[name] = steps
        self._cache.store("steps", name, steps)
        if name == self._names[judge_exactly] and not self._is_reference_right():
            for future in self._tries:
                future.cancel()

    def _is_reference_right(self) -> bool:
        """Return whether the reference passes its own checks. Otherwise the only exact step is that of the scores."""
        return any(step.name == "attribution" for step in self._steps[self._names[judge_exactly]])

    def _store_each(self, kind: str, known: dict[str, T], mutants: list[Mutant], results: list[T]) -> None:
        for mutant, result in zip(mutants, results, strict=True):
            known[mutant.tree] = result
            self._cache.store(kind, mutant.tree, result)

    def finish(self) -> Proof:
        """Return the proof, once all results are in, and record it if it is successful."""
        if self._record:
            return self._proof(self._record.steps, self._record.statuses, [], recorded=True)
        steps = [step for name in self._names.values() for step in self._steps[name]]
        if not self._is_reference_right():
            self._write_record(None)
            return self._proof(steps, {}, [])
        declared, others = self._matching.declared, self._matching.others
        survivors = sorted(self._survivors, key=lambda each: each.mutant.line)
        counts = Counter(self._statuses[mutant.tree] for mutant in others)
        counts[MutantStatus.EQUIVALENT] += len(declared)
        statuses = {status: counts[status] for status in MutantStatus}
        proof = self._proof(steps, statuses, survivors)
        self._write_record(Record(digest=self._digest, steps=steps, statuses=statuses) if proof.holds() else None)
        return proof

    def _proof(
        self, steps: list[Step], statuses: dict[MutantStatus, int], survivors: list[Survivor], *, recorded: bool = False
    ) -> Proof:
        return Proof(
            exercise=self._exercise.id,
            steps=[self._sources, points_step(self._exercise), *self._equivalents_steps(), *steps],
            statuses=statuses,
            survivors=survivors,
            recorded=recorded,
        )

    def _equivalents_steps(self) -> Iterator[Step]:
        """Yield the step of the declared equivalents, unless they were not tried and every entry matches a mutant."""
        is_tried = self._record is not None or self._is_reference_right()
        problems = [
            f"declared equivalent, but {difference}; remove the entry and add a check that fails:\n{mutant.diff}"
            for mutant in (self._matching.declared if is_tried else ())
            if (difference := "" if self._record else self._differences[mutant.tree])
        ]
        problems += [unmatched_equivalent(self._reference, each) for each in self._matching.unmatched]
        if is_tried or problems:
            yield Step(name="equivalents", figures=str(len(self._matching.declared)), problems=problems)

    def _read_record(self) -> Record | None:
        """Return the recorded proof; None if there is none for the exercise's current files."""
        try:
            record = msgspec.json.decode(record_of(self._course, self._exercise.id).read_bytes(), type=Record)
        except (OSError, msgspec.MsgspecError):
            return None
        mutants = len(self._matching.declared) + len(self._matching.others)
        is_sound = record.is_sound(self._digest, mutants) and has_key(self._course, self._exercise.id)
        return record if is_sound else None

    def _write_record(self, record: Record | None) -> None:
        path = record_of(self._course, self._exercise.id)
        if record is None:
            path.unlink(missing_ok=True)
        else:
            write_product(path, msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1) + b"\n")


def _names_of_tasks(course: Course, exercise: Exercise) -> dict[StepTask, str]:
    """Return the name under which each task's steps are cached, with a digest of what only this task depends on."""
    names = {task: task.__name__ for task in STEP_TASKS}
    missed_by = msgspec.json.encode([defect.missed_by for defect in exercise.defects])
    names[run_usual_tests] += f" {hashlib.sha256(missed_by).hexdigest()[:16]}"
    names[judge_model_trap] += f" {model_trap_digest(course, exercise.id)[:16]}"
    return names


def _trees(mutants: list[Mutant]) -> list[str]:
    return [mutant.tree for mutant in mutants]


def _batches(mutants: Iterable[Mutant]) -> Iterator[list[Mutant]]:
    listed = list(mutants)
    return (listed[start : start + MUTANTS_IN_A_TASK] for start in range(0, len(listed), MUTANTS_IN_A_TASK))
