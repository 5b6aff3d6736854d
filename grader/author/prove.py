"""Prove exercises: everything that must hold before a verdict can be trusted, in parallel, resumable."""

import ast
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import nbformat

from grader.author.equivalents import Matching, challenge, match_equivalents
from grader.author.mutants import Mutant, mutants_of
from grader.author.new import derive_reference
from grader.author.proof import Fate, Proof, Step, Survivor, advice_for
from grader.author.proof_cache import ProofCache
from grader.author.trials import judge_exactly, try_mutants
from grader.course.fragments import put_back
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.examiner.torch_import import assert_single_thread, import_torch
from grader.submission import Unreadable, read_submission
from grader.verdict.judge import CAN_FORK


def compare_sources(course: Course, exercise: Exercise) -> Step:
    """Starter and notebook against the reference with every defect put back."""
    module, notebook = (course.pristine(path) for path in course.editable_files(exercise.id))
    reference = course.reference(exercise.id).read_text(encoding="utf-8")
    expected = put_back(reference, exercise.defects)
    problems = []
    starter = module.read_text(encoding="utf-8")
    where = module.relative_to(course.root)
    if _tree(starter) != _tree(expected):
        line = _first_difference(starter, expected)
        problems.append(f"{where}:{line}: is not the reference with every defect put back; mend either")
    elif starter != expected:
        line = _first_difference(starter, expected)
        problems.append(f"{where}:{line}: is in other words than the reference with every defect put back; align them")
    invalid = _why_invalid(notebook)
    if invalid:
        problems.append(f"{notebook.relative_to(course.root)}: is no valid notebook ({invalid}); save it from Jupyter")
    twin = read_submission(notebook, notebook.name)
    if isinstance(twin, Unreadable):
        problems.append(f"{notebook.relative_to(course.root)}: {twin.reason}")
    elif _tree("\n\n".join(chunk.text for chunk in twin.chunks)) != _tree(starter):
        problems.append(
            f"{notebook.relative_to(course.root)}: its code cells are not the module; align them, and tag what only "
            "shows things off as demonstration"
        )
    return Step("sources", problems=problems)


def _why_invalid(notebook: Path) -> str:
    """What Jupyter's own reader has against a notebook that is to be handed out; empty where it has nothing."""
    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
    except (nbformat.ValidationError, nbformat.reader.NotJSONError, OSError) as error:
        return str(error).split("\n", 1)[0][:200]
    return ""


def _tree(text: str) -> str:
    """The syntax tree without the module's docstring, which a notebook has in a text cell."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    return ast.dump(tree)


def _first_difference(one: str, other: str) -> int:
    """The number of the first line that differs."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    same = next((number for number, (ours, theirs) in enumerate(lines) if ours != theirs), None)
    return (min(len(one.splitlines()), len(other.splitlines())) if same is None else same) + 1


T = TypeVar("T")

_sources: list[Any] = []
"""Where this process's workers come from: one entry, once `_prepare` has run."""


class Pool:
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
    import_torch()
    from grader.examiner.spawner import Spawner
    from grader.examiner.workers import Nursery

    if CAN_FORK:
        assert_single_thread()
    _sources.append(Nursery() if CAN_FORK else Spawner())


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
        self._ledger = ProofCache(course, exercise.id)
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
