"""Judge a trap: run it on all implementations in random order, and make the result."""

import random
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from msgspec import structs

from grader.errors import UsageError
from grader.processes.deadlines import TRAP_SECONDS
from grader.processes.worker_source import open_worker_source
from grader.processes.workers import WorkerSource
from grader.sandbox.protocol import TestRun
from grader.sandbox.traps.messages import MAX_TESTS
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import SEEDS, secret_seed
from grader.trap.counting import (
    Observation,
    count_caught,
    count_defects,
    count_tests,
    count_with_own_test,
    with_points,
)
from grader.trap.implementations import Home, Implementation, Role, implementations_at_home, implementations_of
from grader.trap.relay import Relay
from grader.trap.result import Standing, TrapResult
from grader.trap.session import BY_ITSELF, Ending, Trap, TrapSession

SEED_COUNT = 3
"""At how many seeds a test runs on an implementation."""

EVERY_SEED = (Role.RIGHT, Role.DEFECTIVE)
"""Tests run at all seeds on implementations with these roles, and at one seed on all other implementations."""


def judge_trap(
    course: Course,
    exercise_id: str,
    trap: Trap,
    *,
    seed: int | None = None,
    home: Home | None = None,
    strict: bool = False,
    lanes: int = 1,
) -> TrapResult:
    """Return the result of a trap, judged with new worker processes. `home` is for sealed editions: see `TrapJudge`."""
    with closing(open_worker_source(course.secret_folders(), for_many=True, for_tests=True)) as source:
        return TrapJudge(course, source, strict=strict, lanes=lanes)(exercise_id, trap, seed=seed, home=home)


class TrapJudge:
    """Judges traps with the workers of one source, on as many implementations at a time as there are lanes."""

    def __init__(self, course: Course, source: WorkerSource, *, strict: bool = False, lanes: int = 1) -> None:
        self._course, self._source, self._strict, self._lanes = course, source, strict, lanes

    def __call__(
        self,
        exercise_id: str,
        trap: Trap,
        *,
        seed: int | None = None,
        home: Home | None = None,
        roles: Collection[Role] = tuple(Role),
        seconds: float = TRAP_SECONDS,
        is_proof: bool = False,
    ) -> TrapResult:
        """Return the result of a trap on the implementations with these roles.

        Its tests may run for so many seconds. For a proof, the tests run on every wrong fix of a decoy, and on each of
        them at every seed. In a sealed edition, `home` has the student's fix; without `home`, raise `UsageError`.
        """
        started = time.monotonic()
        exercise = load_exercise(self._course.description(exercise_id))
        seed = secret_seed() if seed is None else seed
        module = Path(self._course.module_name(exercise.id)).stem
        relay = Relay(self._source, exercise, trap, seconds=seconds, strict=self._strict, name=module)
        if exercise.edition.HAS_REFERENCE:
            every = implementations_of(self._course, exercise, has_every_wrong_fix=is_proof)
            implementations = [each for each in every if each.role in roles]
        elif home is not None:
            implementations = implementations_at_home(self._course, exercise, home)
        else:
            raise UsageError(
                f"here, your own fix is the right code that your trap must accept, so it must pass every check, also "
                f"those of extra bugs. Grade it until it does, then judge the trap: python -m grader {exercise.id}"
            )
        judgement = _Judgement(relay, exercise, implementations, trap.name, seed, is_proof=is_proof)
        return judgement.result(started, self._lanes)


class _Judgement:
    """One trap on one exercise."""

    def __init__(
        self,
        relay: Relay,
        exercise: Exercise,
        implementations: list[Implementation],
        file: str,
        seed: int,
        *,
        is_proof: bool,
    ) -> None:
        self._relay, self._exercise, self._implementations = relay, exercise, implementations
        self._file, self._seed, self._is_proof = file, seed, is_proof
        self._seeds = [random.Random(f"{seed}/{number}").randrange(SEEDS) for number in range(SEED_COUNT)]  # noqa: S311 - seeds of inputs
        self._observations: list[Observation] = []
        self._is_time_up = False
        self._dropped: set[int] = set()
        """Tests that are set aside already, and that cost time."""
        relay.budget.plan(sum(map(self._planned_runs, implementations)))

    def result(self, started: float, lanes: int) -> TrapResult:
        """Run the trap and return its result. The reference is first and alone, because it decides which tests run."""
        first, *others = self._implementations
        self._relay.budget.plan(-self._planned_runs(first))
        session = self._relay.run(first.source, seeds=self._seeds)
        if session.is_collected:
            self._observe(first, session)
            tasks = [partial(self._run, each) for each in others]
            tasks.append(partial(self._replay, session))
            random.SystemRandom().shuffle(tasks)
            self._run_in_lanes(tasks, lanes)
        order = {id(each): place for place, each in enumerate(self._implementations)}
        self._observations.sort(key=lambda observation: order[id(observation.implementation)])
        stopped = dict.fromkeys(self._relay.budget.too_costly, Standing.TOO_COSTLY)
        stopped |= dict.fromkeys(self._relay.budget.too_large, Standing.OVER_LIMIT)
        tests = count_tests(
            session.names,
            self._observations,
            is_time_up=self._is_time_up,
            stopped=stopped,
            seconds=self._relay.budget.seconds | self._relay.budget.too_costly,
        )
        defects = count_defects(self._exercise, tests, self._observations)
        subsets = count_caught(tests, self._observations, (Role.DEFECTIVE, Role.COMBINED))
        result = TrapResult(
            exercise=self._exercise.id,
            file=self._file,
            seed=self._seed,
            problem=session.problem or ("" if session.names else "there is no test in it"),
            line=session.line,
            tests=tuple(tests),
            defects=tuple(defects),
            subsets=subsets,
            half_mended=count_caught(tests, self._observations, (Role.HALF_MENDED,)),
            with_own_test=count_with_own_test(tests, self._observations),
            is_decoy=not self._exercise.defects,
            is_at_home=not self._exercise.edition.HAS_REFERENCE,
            is_time_up=self._is_time_up,
            isolation=session.isolation,
            seconds=time.monotonic() - started,
        )
        return with_points(result, self._exercise)

    def _run_in_lanes(self, tasks: Sequence[Callable[[], None]], lanes: int) -> None:
        """Run several tasks at a time: each waits most of its time for a process."""
        with ThreadPoolExecutor(lanes) as pool:
            try:
                for done in [pool.submit(task) for task in tasks]:
                    done.result()
            except BaseException:
                self._is_time_up = True  # no other lane starts another implementation
                raise

    def _run(self, implementation: Implementation) -> None:
        runs = self._runs(implementation)
        if runs and not self._is_time_up:
            session = self._relay.run(implementation.source, runs=runs, noisy=self._noisy(implementation))
            self._observe(implementation, session)
        else:
            self._observations.append(Observation(implementation=implementation, outcomes=()))

    def _noisy(self, implementation: Implementation) -> int | None:
        """Return the seed at which the values of a defective implementation get noise.

        So a test that recognizes a defective implementation by the last bits of its values does not fail at this seed.
        """
        return self._seeds[1] if implementation.role is Role.DEFECTIVE else None

    def _runs(self, implementation: Implementation) -> list[TestRun]:
        """Return the runs of all tests that are not set aside yet."""
        seeds = self._seeds_of(implementation)
        self._relay.budget.plan(-self._planned_runs(implementation))
        stopped = self._dropped | set(self._relay.budget.too_costly)
        collected = {outcome.test for outcome in self._observations[0].outcomes}
        return [TestRun(test=test, seed=seed) for seed in seeds for test in sorted(collected - stopped)]

    def _seeds_of(self, implementation: Implementation) -> list[int]:
        is_wrong_fix = implementation.role is Role.DEFECTIVE and not self._exercise.defects  # a decoy has many
        is_at_every_seed = implementation.role in EVERY_SEED and (self._is_proof or not is_wrong_fix)
        return self._seeds if is_at_every_seed else self._seeds[:1]

    def _planned_runs(self, implementation: Implementation) -> int:
        """Return how often a test may run on an implementation, replays included."""
        is_replayed = implementation.role is Role.DEFECTIVE
        return len(self._seeds_of(implementation)) * (2 if is_replayed else 1)

    def _replay(self, session: TrapSession) -> None:
        """Run the tests on the reference's recorded replies, at a random moment among the other implementations.

        So a test that recognizes the reference because it is first has another outcome now.
        """
        if not self._is_time_up:
            rerun = self._relay.replay(session)
            self._is_time_up = self._is_time_up or rerun.is_time_up
            self._observations[0] = structs.replace(self._observations[0], replayed=rerun.outcomes)

    def _observe(self, implementation: Implementation, session: TrapSession) -> None:
        """Add the outcomes on one implementation, and those on its recorded replies where they earn points."""
        is_first = not self._observations
        replayed = None
        self._is_time_up = self._is_time_up or session.is_time_up
        has_failure = any(each.ending is Ending.FAILED for each in session.outcomes)
        if implementation.role is Role.DEFECTIVE and has_failure:
            rerun = self._relay.replay(session)
            self._is_time_up = self._is_time_up or rerun.is_time_up
            replayed = rerun.outcomes
        self._observations.append(
            Observation(implementation=implementation, outcomes=session.outcomes, replayed=replayed)
        )
        if implementation.role is Role.RIGHT:
            self._drop(session, is_first=is_first)

    def _drop(self, session: TrapSession, *, is_first: bool) -> None:
        """Stop running tests that hang or die on a right implementation, or that never call the subject."""
        for number in range(min(len(session.names), MAX_TESTS) if is_first else MAX_TESTS):
            own = [each for each in session.outcomes if each.test == number]
            hangs = any(each.ending not in BY_ITSELF for each in own)
            idle = is_first and not any(each.calls for each in own)
            broken = is_first and bool(own) and not any(each.passed for each in own)
            if hangs or idle or broken:
                self._dropped.add(number)
                self._relay.budget.set_aside(number)
