"""Judge the whole corpus of attacks on all five hosts, and print the tables of grader/sandbox/README.md.

python -m tests.benchmarks.attacks
"""

import os
import platform
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.benchmarks.layer_costs import measure_layers
from tests.support.attack_hosts import HOSTS, copied, forged, run_on, wrong
from tests.support.attack_run import AttackResult, Run

LANES = 2


def print_tables() -> None:
    """Judge the corpus and print the tables. Write unexpected verdicts to stderr."""
    costs = measure_layers()
    with ThreadPoolExecutor(LANES) as lanes:
        runs = dict(zip(HOSTS, lanes.map(partial(run_on, is_whole=True), HOSTS), strict=True))
    for name, run in runs.items():
        for key, result in (wrong(run) | forged(run)).items():
            print(f"{name}: {key}: {result}", file=sys.stderr)
    print("\n\n".join([_preface(), _families(runs), _hosts(runs), *map(_costs, _COSTS, costs)]))


_COSTS = ("once, when the nursery starts", "for each worker, the median of 40")


def _preface() -> str:
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    system = f"Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"
    return f"{system}, as {user}, two cores, two hosts at a time."


def _families(runs: dict[str, Run]) -> str:
    """Return a table of how many verdicts are as expected, and the median of seconds, by family and host."""
    families = sorted({result.key.partition("/")[0] for run in runs.values() for result in run.results})
    rows = [["family", *runs], ["---"] * (len(runs) + 1)]
    rows += [[family, *(_cell(run, _of(run, family)) for run in runs.values())] for family in families]
    rows.append(["all", *(_cell(run, run.results) for run in runs.values())])
    return _table(rows)


def _cell(run: Run, results: list[AttackResult]) -> str:
    off = len(wrong(run).keys() & {each.key for each in results})
    seconds = statistics.median(each.seconds for each in results)
    return f"{len(results) - off} of {len(results)}, {seconds:.2f} s"


def _hosts(runs: dict[str, Run]) -> str:
    """Return a table of what the attacks achieved, by host."""
    rows = [["", *runs], ["---"] * (len(runs) + 1)]
    rows += [
        ["open, according to the verdict", *(_open(run) for run in runs.values())],
        ["verdicts forged", *(str(len(forged(run))) for run in runs.values())],
        ["read the reference and copied it", *(str(len(copied(run))) for run in runs.values())],
        ["revealed a secret", *(str(sum(result.leaks for result in run.results)) for run in runs.values())],
        ["changed files", *(str(len(run.changed)) for run in runs.values())],
        ["reached a server", *(", ".join(run.messages) or "none" for run in runs.values())],
        ["verdicts lost", *(str(sum(bool(result.lost) for result in run.results)) for run in runs.values())],
        ["processes left", *(str(len(run.processes)) for run in runs.values())],
        ["descriptors left", *(str(len(run.descriptors)) for run in runs.values())],
        ["seconds in all", *(f"{run.seconds:.0f}" for run in runs.values())],
    ]
    return _table(rows)


def _open(run: Run) -> str:
    return ", ".join(layer for layer, holds in run.isolation.items() if not holds) or "nothing"


def _costs(when: str, costs: dict[str, float]) -> str:
    rows = [[when, "ms"], ["---", "--:"], *([name, f"{figure:.1f}"] for name, figure in costs.items())]
    return _table([*rows, ["all", f"{sum(costs.values()):.1f}"]])


def _of(run: Run, family: str) -> list[AttackResult]:
    return [result for result in run.results if result.key.startswith(f"{family}/")]


def _table(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    print_tables()
