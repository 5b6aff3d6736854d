"""Run an audit: grade every case at every seed, and write the page and its data."""

import platform
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from grader.api import grade_many
from grader.errors import UsageError
from grader.evaluation.audit.cases import ORIGINS, Case, Corpus, attacks_of, cases_of, number_of_attacks
from grader.evaluation.audit.counting import attack_rows, flips, grading_of, layer_rows, misjudged, percentile, rows_by
from grader.evaluation.audit.intervals import LEVEL
from grader.evaluation.audit.published import KNOWN_ESCAPES, NOT_CLAIMED, PUBLISHED
from grader.evaluation.audit.records import Audit, Grading
from grader.evaluation.seeds import Split, seed_of
from grader.processes.examiner_process import usable_cores
from grader.report.rendering import page_templates
from grader.spec.files import write_product
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.digest import kit_version, torch_version

Advance = Callable[[int, int], None]


def write_audit(
    course: Course,
    folder: Path,
    *,
    exercise_ids: Iterable[str] = (),
    seeds: int = 1,
    with_attacks: bool = True,
    jobs: int | None = None,
    advance: Advance = lambda _done, _total: None,
) -> Audit:
    """Grade the corpora of a course, write `index.html` and `audit.json` into the folder, and return the figures.

    Raise `UsageError` for an unknown exercise or a folder that cannot be written, and whatever `grade_many` raises for
    the whole machine.
    """
    if seeds < 1:
        raise UsageError(f"seeds is {seeds}; use 1 or more")
    chosen = list(dict.fromkeys(exercise_ids))
    audited = chosen or course.exercise_ids()
    attacks = list(attacks_of(course)) if with_attacks else []
    cases = [*cases_of(course, audited), *attacks]
    _make_folder(folder)
    numbers = [seed_of(Split.HELD_OUT, index) for index in range(seeds)]
    jobs = jobs or usable_cores()
    started = time.monotonic()
    gradings, isolation = _graded(course, cases, numbers, jobs, advance)
    seconds = time.monotonic() - started
    times = [each.seconds for each in gradings if each.corpus is not Corpus.ATTACKS]
    options = [f"--seeds {seeds}", f"--jobs {jobs}", *(f"--exercise {each}" for each in chosen)]
    options += [] if with_attacks else ["--without-attacks"]
    audit = Audit(
        version=kit_version(course),
        torch_version=torch_version(),
        python_version=platform.python_version(),
        command=" ".join(["python -m grader audit", *options, shlex.quote(str(folder))]),
        level=LEVEL,
        seeds=numbers,
        exercises=audited,
        isolation=isolation,
        corpora=rows_by(gradings, lambda each: each.corpus),
        kinds=rows_by(gradings, lambda each: each.kind),
        hunts=rows_by(gradings, lambda each: each.exercise),
        flips=flips(gradings),
        right_refused=misjudged(gradings, is_right=True),
        wrong_passed=misjudged(gradings, is_right=False),
        attacks=attack_rows(gradings),
        layers=layer_rows(gradings),
        attacks_left_out=number_of_attacks(course) - len(attacks),
        jobs=jobs,
        seconds=seconds,
        rate=len(gradings) / seconds / jobs if seconds else 0.0,
        median_seconds=percentile(times, 0.5),
        tail_seconds=percentile(times, 0.99),
        longest_seconds=max(times, default=0.0),
        gradings=gradings,
    )
    write_product(folder / "audit.json", msgspec.json.format(msgspec.json.encode(audit), indent=1) + b"\n")
    write_product(folder / "index.html", render_audit(audit).encode())
    return audit


def _make_folder(folder: Path) -> None:
    """Make the folder before gradings that take hours. Raise `UsageError` if no file can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None


def render_audit(audit: Audit) -> str:
    """Return the page, which shows what is in the records and nothing else."""
    template = page_templates("grader.evaluation", trim_blocks=True).get_template("audit.html.j2")
    return template.render(
        audit=audit, origins=ORIGINS, escapes=KNOWN_ESCAPES, published=PUBLISHED, not_claimed=NOT_CLAIMED
    )


def _graded(
    course: Course, cases: list[Case], seeds: list[int], jobs: int, advance: Advance
) -> tuple[list[Grading], dict[str, bool]]:
    """Return all gradings, in the order of the cases, and the protections that held in each of them."""
    kinds = {
        each: str(load_exercise(course.description(each)).interface.kind_name)
        for each in {case.exercise for case in cases}
    }
    found: dict[tuple[int, int], Grading] = {}
    isolation: dict[str, bool] = {}
    for seed in seeds:
        submissions = ((case.exercise, case.source, index) for index, case in enumerate(cases))
        verdicts = grade_many(submissions, course=course.root, seed=seed, jobs=jobs, ordered=False, errors="return")
        for index, verdict in verdicts:
            found[seed, index] = grading_of(cases[index], kinds[cases[index].exercise], verdict)
            for layer, holds in verdict.isolation.items():
                isolation[layer] = isolation.get(layer, True) and holds
            advance(len(found), len(cases) * len(seeds))
    return [found[key] for key in sorted(found, key=lambda key: (key[1], seeds.index(key[0])))], isolation
