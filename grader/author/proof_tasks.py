"""What a process of the pool does for a proof: run mutants, and judge what must be judged exactly."""

from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path

import torch

from grader.author.differential import Comparison, find_differences
from grader.author.mutants import Mutant, is_same_in_other_words
from grader.author.proof import MutantStatus, Step
from grader.author.rewrites import rewrites_of
from grader.author.sizes import describe_shapes
from grader.checks.case import make_case, seed_draws
from grader.checks.outcome import Examination, Key, Status, variant_name
from grader.checks.reference import Reference
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Exercise
from grader.spec.fields import size_of
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, write_product
from grader.spec.properties import Property
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import Judge
from grader.verdict.signatures import encode_key, has_key
from grader.verdict.verdict import Result, Verdict

SEEDS = (7, 81_423, 1_234_567, 20_260_101, 2_000_000_011)
DTYPES = ("float32", "float64")


ROUNDS_OF_REWRITES = 24
"""Rounds in which a rewrite is run beside the reference."""


def try_mutants(source: WorkerSource, root: Path, exercise_id: str, mutants: list[Mutant]) -> list[MutantStatus]:
    """What becomes of each mutant; its checks stop at the first that sees it.

    A survivor that says the same in other words, and computes the same beside the reference, is equivalent.
    """
    course = Course(root)

    is_proven = has_key(course, exercise_id)  # then the reference is known to pass everything
    reference = course.reference(exercise_id).read_text(encoding="utf-8")
    with Runner(course, load_exercise(course.description(exercise_id)), source) as runner:
        only = [] if is_proven else _passing(runner.examine(submission_from_text(reference), SEEDS[0]))
        statuses = [
            _status(runner.examine(submission_from_text(mutant.text), SEEDS[0], stops_at_failure=True, only=only))
            for mutant in mutants
        ]
    doubtful = [
        mutant
        for mutant, status in zip(mutants, statuses, strict=True)
        if status is MutantStatus.SURVIVED and is_same_in_other_words(reference, mutant)
    ]
    texts = [mutant.text for mutant in doubtful]
    same = dict(zip(texts, find_differences(source, root, exercise_id, texts) if texts else [], strict=True))
    return [
        MutantStatus.EQUIVALENT if same.get(mutant.text) == "" else status
        for mutant, status in zip(mutants, statuses, strict=True)
    ]


def judge_rewrites(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """The reference written otherwise, where that computes the same, is right and gets everything."""
    course = Course(root)
    exercise, name = load_exercise(course.description(exercise_id)), course.module_name(exercise_id)
    rewrites = rewrites_of(course.reference(exercise_id).read_text(encoding="utf-8"))
    with Comparison(source, course, exercise) as comparison:
        right = [each for each in rewrites if not comparison.first_difference(each.text, ROUNDS_OF_REWRITES)]

    problems = []
    try:
        with Judge(course, source) as judge:
            reference = submission_from_text(course.reference(exercise_id).read_text(encoding="utf-8"))
            if judge(exercise_id, reference, name, SEEDS[0]).outcome is not Result.FIXED:
                return [Step("rewrites")]  # the scores tell
            for each, seed in zip(right, cycle(SEEDS), strict=False):
                verdict = judge(exercise_id, submission_from_text(each.text), name, seed)
                if verdict.outcome is not Result.FIXED and any(check.finding for check in verdict.checks):
                    problems.append(  # where no check fails, some defect is seen by none, which is told by itself
                        f"the reference rewritten ({', '.join(each.rules)}) computes the same but is refused with seed "
                        f"{seed}: {_failures(verdict)}; that check asks for too much:\n{each.diff()}"
                    )
    except BrokenExerciseError:
        return [Step("rewrites")]  # the scores tell
    return [Step("rewrites", str(len(right)), problems)]


def judge_exactly(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Scores, attribution and alternatives; writes the exercise's key where it is out of date."""
    course = Course(root)

    with Judge(course, source) as judge:
        try:
            exercise, key = judge.open(exercise_id)
        except BrokenExerciseError as error:
            told = f"{error}; {_other_shapes(course, exercise_id) or 'mend the reference or the check'}"
            return [Step("scores", problems=[told])]
        write_product(course.key(exercise_id), encode_key(key))
        judged = _Judged(course, judge, exercise, key)
        return [judged.scores(), judged.subsets(), judged.alternatives()]


def _other_shapes(course: Course, exercise_id: str) -> str:
    """What to write under `outputs` where the reference returns other shapes; empty where it does not."""
    exercise = load_exercise(course.description(exercise_id))
    if not exercise.interface.kind.returns_outputs:
        return ""  # its outputs say what is compared, the first of which are written
    shapes: list[list[tuple[int, ...]]] = []
    expected = []
    try:
        reference = Reference(course.reference(exercise.id), exercise.interface)
        for sizes in exercise.fixed_sizes:
            case = make_case(exercise, Property(), sizes)
            with torch.no_grad():
                outputs = flatten(reference.build(case.arguments)(**case.inputs))
            shapes.append([tuple(each.shape) for each in outputs])
            expected.append([tuple(size_of(size, sizes) for size in shape) for shape in exercise.interface.outputs])
    except Exception:  # noqa: BLE001 - what the reference itself raises is told by the checks
        return ""
    if shapes == expected or len({tuple(map(len, each)) for each in shapes}) != 1:
        return ""
    told = describe_shapes(shapes, exercise.fixed_sizes, exercise.random_sizes)
    return f"for the reference returns other shapes than interface.outputs says, write\n{told}"


def _passing(seen: Examination) -> list[str]:
    """The checks that pass, where some do: what fails on the reference says nothing about its mutants."""
    return [outcome.check for outcome in seen.outcomes if outcome.status is Status.PASSED]


def _status(seen: Examination) -> MutantStatus:
    statuses = {outcome.status for outcome in seen.outcomes}
    if seen.unloadable is not None or statuses & {Status.CRASHED, Status.TIMED_OUT, Status.NOT_RUN}:
        return MutantStatus.CRASH
    is_told = Status.FAILED in statuses or any(outcome.advice for outcome in seen.outcomes)
    return MutantStatus.VALUE if is_told else MutantStatus.SURVIVED


class _Judged:
    """The steps of a proof that are verdicts on texts of one exercise, by the judge that grades submissions."""

    def __init__(self, course: Course, judge: Judge, exercise: Exercise, key: Key) -> None:
        self._course = course
        self._judge_submission = judge
        self._exercise = exercise
        self._key = key
        self._reference = course.reference(exercise.id).read_text(encoding="utf-8")
        self._verdicts: dict[tuple[str, int, str], Verdict] = {}

    def scores(self) -> Step:
        """The starter scores nothing and the reference everything, whatever the seed and the dtype."""
        starter = put_back(self._reference, self._exercise.defects)
        most = self._exercise.max_score()
        problems = list(self._undetermined())
        for seed, dtype in product(SEEDS, DTYPES):
            where = f"with seed {seed} in {dtype}"
            verdict = self._judge(self._reference, seed, dtype)
            if verdict.outcome is not Result.FIXED or verdict.score != most:
                problems.append(f"{where} the reference scores {verdict.score:g} of {most:g}: {_failures(verdict)}")
            verdict = self._judge(starter, seed, dtype)
            if verdict.score and self._exercise.defects:
                fixed = _with_status(verdict, DefectStatus.FIXED)
                problems.append(f"{where} the starter scores {verdict.score:g}; {', '.join(fixed)} went unseen")
        return Step("scores", f"{len(SEEDS)} x {len(DTYPES)}", problems)

    def subsets(self) -> Step:
        """Every subset of the defects is named exactly whatever sizes are drawn; each defect is seen by its checks."""
        problems = list(self._unseen_defects())
        subsets = list(self._exercise.subsets())
        for seed, subset in product(SEEDS, subsets):  # what the reference answers at a seed is known for all subsets
            text = put_back(self._reference, [defect for defect in self._exercise.defects if defect.id in subset])
            problem = self._misread(subset, self._judge(text, seed))
            if problem:
                named = ", ".join(sorted(subset)) or "no defect"
                problems.append(f"with seed {seed} the variant with {named} {problem}")
        return Step("attribution", f"{len(subsets)} x {len(SEEDS)}", problems)

    def _misread(self, subset: frozenset[str], verdict: Verdict) -> str:
        """What is wrong with the verdict on a variant, and what to do; empty where it is exact."""
        present = set(_with_status(verdict, DefectStatus.PRESENT))
        others = set(_with_status(verdict, DefectStatus.UNKNOWN))
        if present != subset or others or verdict.regressions:
            return (
                f"is taken for one with {', '.join(sorted(present)) or 'none'}"
                + (f", {', '.join(sorted(others))} unknown" if others else "")
                + (f", {', '.join(verdict.regressions)} broken" if verdict.regressions else "")
                + "; give the defects checks that see one and not the other"
            )
        seen = {each.check: each.failure_kind() for each in verdict.checks if each.status is not Status.PASSED}
        expected = self._key.failure_kinds[variant_name(subset)]
        drawn = sorted(check for check in seen.keys() | expected if seen.get(check) != expected.get(check))
        if drawn:
            return (
                f"fails other checks than with the key's seed ({', '.join(drawn)}): what they see depends on the draw; "
                "give them a sizes, or inputs, on which the defect always shows"
            )
        return ""

    def alternatives(self) -> Step:
        """Right fixes, however they are written, get everything."""
        paths = sorted(self._course.alternatives(self._exercise.id).glob("*.py"))
        problems = []
        for path in paths:
            verdict = self._judge(path.read_text(encoding="utf-8"), SEEDS[0])
            if verdict.outcome is not Result.FIXED:
                shown = path.relative_to(self._course.root)
                problems.append(f"{shown} is right but is refused: {_failures(verdict)}; that check asks for too much")
        folder = self._course.alternatives(self._exercise.id).relative_to(self._course.root)
        warning = f"there are none; put right solutions in other hands into {folder}/, or nobody knows if they pass"
        return Step("alternatives", str(len(paths)), problems, [] if paths else [warning])

    def _undetermined(self) -> Iterator[str]:
        """Where the reference, in eval mode, gives two answers to one input."""
        reference = Reference(self._course.reference(self._exercise.id), self._exercise.interface)
        check = Property(id="determinism")
        for sizes in self._exercise.fixed_sizes:
            seed_draws(f"{check.id}/{sizes}")
            case = make_case(self._exercise, check, sizes)
            module = reference.build(case.arguments)
            first, again = (flatten(module(**case.inputs)) for _ in range(2))
            if not all(torch.equal(one, other) for one, other in zip(first, again, strict=True)):
                yield f"with {case.sizes} the reference gives two answers in eval mode; gate what is random by training"

    def _unseen_defects(self) -> Iterator[str]:
        checks = {check.id: check for check in self._exercise.checks}
        for defect in self._exercise.defects:
            seen_by = self._key.failure_kinds[variant_name(frozenset({defect.id}))]
            if not seen_by:
                yield f"no check sees {defect.id} alone; add one"
            for name in seen_by:
                declared = checks[name].for_ if name in checks else ()
                if declared and defect.id not in declared:
                    yield f"{name} is for {', '.join(declared)} only, and sees {defect.id}; narrow it, or say so"
        for check in self._exercise.checks:
            for name in check.for_:
                if check.id not in self._key.failure_kinds.get(name, {}):
                    yield f"{check.id} is declared for {name} and does not see it; mend one of them"

    def _judge(self, text: str, seed: int, dtype: str = "float32") -> Verdict:
        """The verdict, which is the same whichever step asks for it."""
        asked = (text, seed, dtype)
        if asked not in self._verdicts:
            submission = submission_from_text(text)
            verdict = self._judge_submission(self._exercise.id, submission, submission.name, seed, dtype=dtype)
            self._verdicts[asked] = verdict
        return self._verdicts[asked]


def _with_status(verdict: Verdict, status: DefectStatus) -> list[str]:
    return [defect.id for defect in verdict.defects if defect.status is status]


def _failures(verdict: Verdict) -> str:
    failed = [f"{check.check}: {check.finding.text}" for check in verdict.checks if check.finding]
    return "; ".join(failed) or verdict.reason or "no check fails"
