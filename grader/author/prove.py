"""Prove exercises: everything that must hold before a verdict can be trusted, in parallel, resumable."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from grader.author.derived_files import compare_sources, derive_files, derive_schema, read_module
from grader.author.differential import Matching, find_differences, match_equivalents
from grader.author.mutants import OPERATORS, Mutant, mutants_of
from grader.author.proof import (
    MutantStatus,
    Proof,
    Record,
    Step,
    Survivor,
    constant_sizes,
    missing_checks,
    points_step,
)
from grader.author.proof_tasks import judge_exactly, judge_rewrites, try_mutants
from grader.author.scaffold import render_check
from grader.author.usual_tests import run_usual_tests
from grader.errors import SpecError
from grader.processes.examiner_process import usable_cores
from grader.processes.task_pool import TaskPool
from grader.spec.loading import read_exercise
from grader.spec.paths import Course, write_cache, write_product
from grader.verdict.digest import files_digest, key_digest, kit_digest
from grader.verdict.signatures import has_key

T = TypeVar("T")

MUTANTS_IN_A_TASK = 12
"""Mutants that one process tries in a row: collecting the checks costs as much as trying one."""

Job = tuple[Future[Any], Callable[[], None]]
"""A result to come, and what to do once it is there."""

StepTask = Callable[..., list[Step]]

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""


def prove(course: Course, exercise_ids: list[str], advance: Advance, *, fresh: bool = False) -> list[Proof]:
    """The proofs of the exercises, in their order; `fresh` believes nothing that was found before.

    What held is recorded beside the exercise. A wrong description stops no proof but its own; raises `SpecError` where
    all are wrong.
    """
    derive_schema(course)
    begun = [_begin(course, exercise_id, fresh=fresh) for exercise_id in exercise_ids]
    cases = [each for each in begun if isinstance(each, _UnfinishedProof)]
    if not cases and begun:
        raise SpecError([problem for each in begun if isinstance(each, Proof) for problem in each.steps[0].problems])
    pool = TaskPool(usable_cores())
    try:
        jobs = dict(job for case in cases for job in case.start(pool))
        advance(0, len(jobs))
        for done, future in enumerate(as_completed(jobs), start=1):
            jobs[future]()
            advance(done, len(jobs))
    finally:
        pool.close()
    return [each.proof() if isinstance(each, _UnfinishedProof) else each for each in begun]


def _begin(course: Course, exercise_id: str, *, fresh: bool) -> "_UnfinishedProof | Proof":
    """A proof to be worked on, or what is wrong with the description."""
    try:
        return _UnfinishedProof(course, exercise_id, fresh=fresh)
    except SpecError as error:
        return Proof(exercise_id, [Step("sources", problems=error.problems)], {}, [], is_described=False)


def record_of(course: Course, exercise_id: str) -> Path:
    """The file that says what the exercise's last proof found, where it held."""
    return course.key(exercise_id).with_name("proof.json")


STEP_TASKS: tuple[StepTask, ...] = (judge_exactly, judge_rewrites, run_usual_tests)
"""What processes of the pool do for a proof, each of which gives some of its steps; remembered by their names."""


class _UnfinishedProof:
    """The proof of one exercise as it grows."""

    def __init__(self, course: Course, exercise_id: str, *, fresh: bool) -> None:
        starter = read_module(course, course.pristine(course.editable_files(exercise_id)[0]))
        exercise = read_exercise(course.description(exercise_id), starter=starter)
        derive_files(course, exercise)
        self._course = course
        self._reference = read_module(course, course.reference(exercise_id))
        self._exercise = read_exercise(course.description(exercise_id), self._reference)
        sources = compare_sources(course, exercise)
        self._sources = structs.replace(sources, warnings=[*sources.warnings, *constant_sizes(exercise)])
        self._cache = ProofCache(course, exercise_id, fresh=fresh)
        self._matching: Matching = match_equivalents(mutants_of(self._reference), exercise.equivalents)
        missed_by = [defect.missed_by for defect in exercise.defects]  # no part of what other steps depend on
        how = kit_digest(course, "usual_tests", USUAL_TESTS)
        told = hashlib.sha256(msgspec.json.encode([missed_by, how])).hexdigest()[:16]
        self._names = {task: task.__name__ + f" {told}" * (task is run_usual_tests) for task in STEP_TASKS}
        self._digest = self._cache.digest(
            steps=self._names.values(),
            status=(mutant.text for mutant in self._matching.others),
            difference=(mutant.text for mutant in self._matching.declared),
        )
        self._record = None if fresh else self._read_record()
        self._steps = {task: self._cache.steps(name) for task, name in self._names.items()}
        if not has_key(course, exercise_id):
            self._steps[judge_exactly] = None
        known = {mutant.text: self._cache.status(mutant.text) for mutant in self._matching.others}
        self._statuses = {text: status for text, status in known.items() if status is not None}
        differences = {mutant.text: self._cache.difference(mutant.text) for mutant in self._matching.declared}
        self._differences = {text: difference for text, difference in differences.items() if difference is not None}

    def start(self, pool: TaskPool) -> Iterator[Job]:
        """Hand over what has not been found out yet."""
        if self._record:
            return
        for task in STEP_TASKS:
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
        if self._record:
            return self._proof(self._record.steps, self._record.statuses, [], recorded=True)
        others = self._matching.others
        survivors = [mutant for mutant in others if self._statuses[mutant.text] is MutantStatus.SURVIVED]
        statuses = Counter(self._statuses[mutant.text] for mutant in others)
        statuses[MutantStatus.EQUIVALENT] += len(self._matching.declared)
        steps = [step for task in STEP_TASKS for step in self._steps[task] or []]
        proof = self._proof(
            steps,
            {status: statuses[status] for status in MutantStatus},
            [self._survivor(mutant) for mutant in survivors],
        )
        self._keep_record(Record(self._digest, steps, proof.statuses) if proof.holds() else None)
        return proof

    def _proof(
        self, steps: list[Step], statuses: dict[MutantStatus, int], survivors: list[Survivor], *, recorded: bool = False
    ) -> Proof:
        always_done = [self._sources, points_step(self._exercise), self._equivalents_step()]
        return Proof(self._exercise.id, [*always_done, *steps], statuses, survivors, recorded)

    def _survivor(self, mutant: Mutant) -> Survivor:
        checks = missing_checks(self._reference, self._exercise, mutant.line, mutant.text)
        lines = "\n".join(map(render_check, checks))
        return Survivor(mutant, OPERATORS[mutant.operator].advice, lines)

    def _equivalents_step(self) -> Step:
        problems = [
            f"declared equivalent, but {difference}; take it out and add a check that sees it:\n{mutant.diff}"
            for mutant in self._matching.declared
            if (difference := "" if self._record else self._differences[mutant.text])
        ]
        problems += [
            f"the equivalent {each.was.strip()!r} -> {each.becomes.strip()!r} matches no mutant; take it out"
            for each in self._matching.idle
        ]
        return Step("equivalents", str(len(self._matching.declared)), problems)

    def _read_record(self) -> Record | None:
        """What an earlier proof found; None where there is none of these very sources, or the key is not theirs."""
        try:
            record = msgspec.json.decode(record_of(self._course, self._exercise.id).read_bytes(), type=Record)
        except (OSError, msgspec.MsgspecError):
            return None
        mutants = len(self._matching.declared) + len(self._matching.others)
        is_sound = record.is_sound(self._digest, mutants) and has_key(self._course, self._exercise.id)
        return record if is_sound else None

    def _keep_record(self, record: Record | None) -> None:
        path = record_of(self._course, self._exercise.id)
        if record is None:
            path.unlink(missing_ok=True)  # it may have said otherwise
        else:
            write_product(path, msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1) + b"\n")


def _batches(mutants: list[Mutant]) -> Iterator[list[Mutant]]:
    return (mutants[start : start + MUTANTS_IN_A_TASK] for start in range(0, len(mutants), MUTANTS_IN_A_TASK))


COMPARES = tuple(f"author/{name}.py" for name in ("differential", "mutants", "operators", "parsed_source"))
PROVES = (*COMPARES, "author/proof_tasks.py", "author/rewrites.py", "author/statement_rewrites.py")
USUAL_TESTS = ("author/usual_tests.py",)
"""The modules that run mutants, judge texts and run the usual tests."""


class ProofCache:
    """Results by the digest of what each depends on, one line each; half a line at the end does no harm."""

    def __init__(self, course: Course, exercise_id: str, *, fresh: bool = False) -> None:
        self._digests = {kind: digest[:16] for kind, digest in result_digests(course, exercise_id).items()}
        self._path = course.state_folder() / "proofs" / f"{exercise_id}.jsonl"
        found = _read(self._path)
        current = tuple(f"{kind}-{digest}-" for kind, digest in self._digests.items())
        self._known = {key: value for key, value in found.items() if key.startswith(current) and not fresh}
        if len(self._known) < len(found):
            lines = [b"\n" + msgspec.json.encode([key, value]) for key, value in self._known.items()]
            write_cache(self._path, b"".join(lines))

    def digest(self, **asked: Iterable[str]) -> str:
        """The same for as long as all results of these kinds about these texts would be."""
        keys = sorted(self._key(kind, text) for kind, texts in asked.items() for text in texts)
        return hashlib.sha256("\n".join(keys).encode()).hexdigest()

    def status(self, text: str) -> MutantStatus | None:
        """What became of a mutant with this text; None where it has not been tried."""
        return _decode(self._known.get(self._key("status", text)), MutantStatus)

    def difference(self, text: str) -> str | None:
        """What told a declared equivalent from the reference, empty for nothing; None where they were not compared."""
        return _decode(self._known.get(self._key("difference", text)), str)

    def steps(self, task: str) -> list[Step] | None:
        """What a task found; None where it has not been done."""
        return _decode(self._known.get(self._key("steps", task)), list[Step])

    def store_status(self, text: str, status: MutantStatus) -> None:
        self._store(self._key("status", text), status)

    def store_difference(self, text: str, difference: str) -> None:
        self._store(self._key("difference", text), difference)

    def store_steps(self, task: str, steps: list[Step]) -> None:
        self._store(self._key("steps", task), steps)

    def _key(self, kind: str, text: str) -> str:
        return f"{kind}-{self._digests[kind]}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def _store(self, key: str, value: object) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode([key, value]))


def result_digests(course: Course, exercise_id: str) -> dict[str, str]:
    """What each kind of result depends on, beside the text that it is about."""
    key = key_digest(course, exercise_id)
    compared = _joined(key, kit_digest(course, "compares", COMPARES))
    files = sorted(course.starters(exercise_id).glob("*"))
    files += sorted(course.alternatives(exercise_id).glob("*.py"))
    judged = _joined(key, kit_digest(course, "proves", PROVES), files_digest(course, f"fixes_{exercise_id}", files))
    return {"status": compared, "difference": compared, "steps": judged}


def _joined(*digests: str) -> str:
    return hashlib.sha256("\0".join(digests).encode()).hexdigest()


def _read(path: Path) -> dict[str, msgspec.Raw]:
    known = {}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            key, value = msgspec.json.decode(line, type=tuple[str, msgspec.Raw])
        except msgspec.DecodeError:
            continue  # the line that was being written when the run was ended
        known[key] = value
    return known


def _decode(raw: msgspec.Raw | None, kind: type[T]) -> T | None:
    return None if raw is None else msgspec.json.decode(raw, type=kind)
