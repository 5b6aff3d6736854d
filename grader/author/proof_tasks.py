"""The steps of a proof that run in processes of the pool. They compare verdicts with exact expectations."""

from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path

import torch

from grader.author.differential import SourceComparison
from grader.author.output_shapes import Correction, describe_shapes
from grader.author.proof import Step
from grader.author.rewrites import rewrites_of
from grader.checks.case import make_case, seed_draws
from grader.checks.outcome import Status
from grader.checks.reference import Reference
from grader.checks.size_cases import SizeCase
from grader.errors import BrokenExerciseError
from grader.processes.workers import WorkerSource
from grader.sandbox.values import flatten
from grader.spec.exercise import Exercise
from grader.spec.fields import sizes_of
from grader.spec.files import write_product
from grader.spec.fragments import make_variant, put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import Judge
from grader.verdict.key import Key, defects_in, encode_key, variant_name
from grader.verdict.near_misses import near_miss_texts
from grader.verdict.verdict import Result, Verdict

SEEDS = (7, 81_423, 1_234_567, 20_260_101, 2_000_000_011)
DTYPES = ("float32", "float64")

OTHER_SHAPES = "the reference returns other shapes than interface.outputs says; write"

ROUNDS_OF_REWRITES = 24
"""Experiments that compare a rewrite with the reference."""


def judge_rewrites(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Prove that rewrites of the reference that compute the same get full marks."""
    course = Course(root=root)
    exercise, name = load_exercise(course.description(exercise_id)), course.module_name(exercise_id)
    reference = course.reference_text(exercise_id)
    with SourceComparison(source, course, exercise) as comparison:
        rewrites = [
            each
            for each in rewrites_of(reference)
            if not comparison.first_difference(each.text, rounds=ROUNDS_OF_REWRITES)
        ]
    problems = []
    try:
        with Judge(course, source) as judge:
            if judge(exercise_id, submission_from_text(reference), name, SEEDS[0]).outcome is not Result.FIXED:
                return [Step(name="rewrites")]  # the step "scores" reports it
            for rewrite, seed in zip(rewrites, cycle(SEEDS), strict=False):
                verdict = judge(exercise_id, submission_from_text(rewrite.text), name, seed)
                if verdict.outcome is not Result.FIXED and any(check.finding for check in verdict.checks):
                    problems.append(  # otherwise a defect fails no check, which the step "attribution" reports
                        f"the reference rewritten ({', '.join(rewrite.rules)}) computes the same but is refused with "
                        f"seed {seed}: {_failures(verdict)}; that check asks for too much:\n{rewrite.diff()}"
                    )
    except BrokenExerciseError:
        return [Step(name="rewrites")]  # the step "scores" reports it
    return [Step(name="rewrites", figures=str(len(rewrites)), problems=problems)]


def judge_exactly(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Prove scores, attribution and alternatives; write the exercise's key if it is stale."""
    course = Course(root=root)
    with Judge(course, source) as judge:
        try:
            exercise, key = judge.open(exercise_id)
        except BrokenExerciseError as error:
            correction = _other_shapes(course, exercise_id)
            remedy = f"{OTHER_SHAPES}\n{correction.text()}" if correction else "correct the reference or the check"
            return [Step(name="scores", problems=[f"{error}; {remedy}"], correction=correction)]
        write_product(course.key(exercise_id), encode_key(key))
        verdicts = _Verdicts(course, judge, exercise, key)
        return [verdicts.scores(), verdicts.attribution(), verdicts.alternatives(), verdicts.near_misses()]


def _other_shapes(course: Course, exercise_id: str) -> Correction | None:
    """Describe the shapes that the reference returns; return None if they are as described."""
    exercise = load_exercise(course.description(exercise_id))
    if not exercise.interface.kind.returns_outputs:
        return None
    shapes: list[list[tuple[int, ...]]] = []
    expected = []
    try:
        reference = Reference(course.reference(exercise.id), exercise)
        for sizes in exercise.fixed_sizes:
            case = make_case(exercise, Property(), SizeCase(sizes=sizes))
            with torch.no_grad():
                outputs = flatten(reference.build(case.arguments)(**case.inputs))
            shapes.append([tuple(each.shape) for each in outputs])
            expected.append([tuple(sizes_of(shape, sizes)) for shape in exercise.interface.outputs])
    except Exception:  # noqa: BLE001 - the checks report what the reference raises
        return None
    if shapes == expected or len({tuple(map(len, each)) for each in shapes}) != 1:
        return None
    return describe_shapes(shapes, exercise.fixed_sizes, exercise.random_sizes)


class _Verdicts:
    """The steps of a proof that need verdicts on variants and alternatives of one exercise."""

    def __init__(self, course: Course, judge: Judge, exercise: Exercise, key: Key) -> None:
        self._course = course
        self._judge = judge
        self._exercise = exercise
        self._key = key
        self._reference = course.reference_text(exercise.id)
        self._verdicts: dict[tuple[str, int, str], Verdict] = {}

    def scores(self) -> Step:
        """Prove that the starter scores 0 and the reference the maximum, at every seed and dtype."""
        starter = put_back(self._reference, self._exercise.defects)
        most = self._exercise.max_score()
        problems = list(self._random_outputs())
        for seed, dtype in product(SEEDS, DTYPES):
            where = f"with seed {seed} in {dtype}"
            verdict = self._verdict(self._reference, seed, dtype)
            if verdict.outcome is not Result.FIXED or verdict.score != most:
                problems.append(f"{where} the reference scores {verdict.score:g} of {most:g}: {_failures(verdict)}")
            verdict = self._verdict(starter, seed, dtype)
            if verdict.score and self._exercise.defects:
                fixed = ", ".join(_with_status(verdict, DefectStatus.FIXED))
                problems.append(f"{where} the starter scores {verdict.score:g}: no check fails for {fixed}")
        return Step(name="scores", figures=f"{len(SEEDS)} x {len(DTYPES)}", problems=problems)

    def attribution(self) -> Step:
        """Prove that every variant is identified exactly at every seed, and that each defect fails its checks."""
        problems = list(self._undetected_defects())
        subsets = list(self._exercise.subsets())
        for seed, subset in product(SEEDS, subsets):  # the reference's answers at one seed serve all subsets
            text = make_variant(self._reference, self._exercise, subset)
            problem = self._misattribution(subset, self._verdict(text, seed))
            if problem:
                defects = ", ".join(sorted(subset)) or "no defect"
                problems.append(f"with seed {seed} the variant with {defects} {problem}")
        return Step(name="attribution", figures=f"{len(subsets)} x {len(SEEDS)}", problems=problems)

    def _misattribution(self, subset: frozenset[str], verdict: Verdict) -> str:
        """Return what is wrong with the verdict on a variant and how to correct it, or nothing if it is exact."""
        present = set(_with_status(verdict, DefectStatus.PRESENT))
        unknown = set(_with_status(verdict, DefectStatus.UNKNOWN))
        if present != subset or unknown or verdict.regressions:
            failed = ", ".join(check.check for check in verdict.checks if check.finding)
            return (
                f"is identified as the one with {', '.join(sorted(present)) or 'none'}"
                + (f", {', '.join(sorted(unknown))} unknown" if unknown else "")
                + (f", {', '.join(verdict.regressions)} broken" if verdict.regressions else "")
                + f" (it fails {failed or 'no check'}); give each defect a check that fails for it alone"
            )
        observed = {each.check: each.signature() for each in verdict.checks if each.status is not Status.PASSED}
        expected = self._key.signatures[variant_name(subset)]
        differing = sorted(check for check in observed.keys() | expected if observed.get(check) != expected.get(check))
        if differing:
            return (
                f"fails other checks than with the key's seed ({', '.join(differing)}), so they depend on random "
                "inputs; give them sizes, or inputs, at which the defect always shows"
            )
        return ""

    def alternatives(self) -> Step:
        """Prove that every alternative gets full marks."""
        folder = self._course.alternatives(self._exercise.id)
        paths = sorted(folder.glob("*.py"))
        problems = []
        for path in paths:
            verdict = self._verdict(path.read_text(encoding="utf-8"), SEEDS[0])
            if verdict.outcome is not Result.FIXED:
                shown = path.relative_to(self._course.root)
                problems.append(f"{shown} is right but is refused: {_failures(verdict)}; that check asks for too much")
        warning = (
            f"there are no alternatives, so right solutions may be refused; put some, written by other people, into "
            f"{folder.relative_to(self._course.root)}/"
        )
        return Step(
            name="alternatives", figures=str(len(paths)), problems=problems, warnings=[] if paths else [warning]
        )

    def near_misses(self) -> Step:
        """Prove that each near miss is refused and recognized at every seed, and that nothing else gets its hint."""
        problems = []
        texts = dict(near_miss_texts(self._exercise, self._reference))
        for seed, (name, text) in product(SEEDS, texts.items()):
            verdict = self._verdict(text, seed)
            if all(check.status is Status.PASSED for check in verdict.checks):
                problems.append(f"with seed {seed} {name} passes every check; remove it, or add a check that fails")
            elif verdict.near_miss not in defects_in(name):
                found = verdict.near_miss or "none"
                problems.append(
                    f"with seed {seed} {name} is recognized as {found}; it behaves like another near miss or a "
                    "variant, or fails other checks than with the key's seed; remove it or add a check"
                )
        problems += [
            f"with seed {seed} a right fix or a variant gets the hint of {verdict.near_miss}; remove the near miss"
            for (text, seed, _), verdict in self._verdicts.items()
            if verdict.near_miss and text not in texts.values()
        ]
        return Step(name="near misses", figures=str(len(self._exercise.near_misses)), problems=problems)

    def _random_outputs(self) -> Iterator[str]:
        """Yield a problem for each size case at which the reference, in eval mode, is not deterministic."""
        reference = Reference(self._course.reference(self._exercise.id), self._exercise)
        check = Property(id="determinism")
        for sizes in self._exercise.fixed_sizes:
            seed_draws(f"{check.id}/{sizes}")
            case = make_case(self._exercise, check, SizeCase(sizes=sizes))
            module = reference.build(case.arguments)
            first, second = (flatten(module(**case.inputs)) for _ in range(2))
            if not all(torch.equal(one, other) for one, other in zip(first, second, strict=True)):
                yield (
                    f"with {case.sizes} the reference returns two outputs for one input in eval mode; "
                    "draw random numbers in training mode only"
                )

    def _undetected_defects(self) -> Iterator[str]:
        """Yield a problem for each defect without a failing check, and for each check that `for` describes wrongly."""
        checks = {check.id: check for check in self._exercise.checks}
        for defect in self._exercise.defects:
            failing = self._key.signatures[variant_name(frozenset({defect.id}))]
            if not failing:
                yield f"no check fails for {defect.id} alone; add one"
            for name in failing:
                declared = checks[name].for_ if name in checks else ()
                if declared and defect.id not in declared:
                    yield f"{name} is for {', '.join(declared)}, but fails for {defect.id}; change the check or `for`"
        for check in self._exercise.checks:
            for name in check.for_:
                if check.id not in self._key.signatures.get(name, {}):
                    yield f"{check.id} is for {name}, but passes with it; change the check or `for`"

    def _verdict(self, text: str, seed: int, dtype: str = "float32") -> Verdict:
        """Return the verdict on a source; each is judged once."""
        case = (text, seed, dtype)
        if case not in self._verdicts:
            submission = submission_from_text(text)
            self._verdicts[case] = self._judge(self._exercise.id, submission, submission.name, seed, dtype=dtype)
        return self._verdicts[case]


def _with_status(verdict: Verdict, status: DefectStatus) -> list[str]:
    return [defect.id for defect in verdict.defects if defect.status is status]


def _failures(verdict: Verdict) -> str:
    failed = [f"{check.check}: {check.finding}" for check in verdict.checks if check.finding]
    return "; ".join(failed) or verdict.reason or "no check fails"
