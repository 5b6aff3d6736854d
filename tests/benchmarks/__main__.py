"""Measure the kit beside its references on this machine: ratios, medians and spread.

    python -m tests.benchmarks [PART]... [--runs N] [--jobs N]

The output shows each target beside its ratio, and names the parts that cannot run here, with the reason.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.processes.examiner_process import usable_cores
from grader.spec.paths import Course
from tests.benchmarks import batch, peers, profile, scale, single, traps, unordered
from tests.benchmarks.commands import machine
from tests.benchmarks.table import CannotRunError
from tests.support.paths import ROOT

Part = Callable[[argparse.Namespace], Iterator[str]]
PARTS: dict[str, Part] = {
    "single": lambda given: single.single(given.runs or 9),
    "warm": lambda given: single.warm(given.runs or 21),
    "watch": lambda given: single.watch(given.runs or 21),
    "notebook": lambda given: single.notebook(given.runs or 21),
    "batch": lambda given: batch.batch(given.runs or 5, given.submissions or 200, given.jobs, given.exercises),
    "cores": lambda given: batch.cores(given.runs or 5, given.submissions or 200, given.exercises),
    "scale": lambda given: scale.scale(
        given.submissions or 100_000, given.jobs, given.distinct, given.exercises, shares=not given.no_share
    ),
    "traps": lambda given: traps.traps(given.runs or 1, given.exercises),
    "unordered": lambda given: unordered.unordered(given.submissions or 2_000, given.jobs, given.exercises),
    "profile": lambda given: profile.profile(given.submissions or 300, given.exercises),
    "peers": lambda given: peers.peers(given.runs or 3, given.peers_venv),
}


USUAL = ("single", "warm", "watch", "notebook", "batch", "cores")
"""The parts that run by default."""


def main() -> None:
    given = _arguments()
    print(machine(), flush=True)
    groups = {"usual": USUAL, "all": tuple(PARTS)}
    named = [given.parts] if isinstance(given.parts, str) else given.parts
    chosen = dict.fromkeys(part for name in named for part in groups.get(name, (name,)))
    for name in chosen:
        try:
            for line in PARTS[name](given):
                print(line, flush=True)
        except CannotRunError as error:
            print(f"not run: {error}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about = f"{', '.join(PARTS)}, all, or usual: {' '.join(USUAL)} (the default)"
    choices = [*PARTS, "usual", "all"]
    parser.add_argument("parts", nargs="*", choices=choices, default="usual", metavar="PART", help=about)
    known = Course(root=ROOT).exercise_ids()
    parser.add_argument(
        "--exercises", nargs="+", choices=known, default=known, metavar="EXERCISE", help="measure only these exercises"
    )
    parser.add_argument("--runs", type=_count, help="how often to measure each figure")
    parser.add_argument("--submissions", type=_count, help="how many submissions to grade")
    parser.add_argument(
        "--jobs", type=_count, default=usable_cores(), help="examiners at once; by default one per core"
    )
    parser.add_argument(
        "--distinct", type=_share, default=0.1, help="scale: the share of submissions with a new syntax tree"
    )
    parser.add_argument(
        "--no-share", action="store_true", help="scale: judge every submission, even if an equal one was judged"
    )
    parser.add_argument(
        "--peers-venv", type=Path, help="peers: the environment with otter-grader, nbgrader and check50"
    )
    return parser.parse_args()


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError("above 0, at most 1")
    return share


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    main()
