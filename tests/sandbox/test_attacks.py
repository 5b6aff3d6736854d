"""The corpus of attacks under five hosts: right verdicts and nothing left where files, network and calls are closed;
elsewhere no verdict is forged, and what got out is named by the verdict."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.support.attack_hosts import SAMPLE, TRIED, forged, run_on, wrong
from tests.support.attack_makers import MAKERS
from tests.support.attack_run import Run
from tests.support.corpus import read_corpus, strays

LANES = 3
CLOSED = (SAMPLE, "all layers", "no namespaces")


def _hosts(names: Iterable[str]) -> list[object]:
    """All but a sample are slow to try."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name != SAMPLE else []) for name in names]


every_host = pytest.mark.parametrize("host", _hosts(TRIED))
closed_hosts = pytest.mark.parametrize("host", _hosts(CLOSED))


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Run]]]:
    """A run of the corpus on each host that a test asks for, some at a time: much of it is waiting for deadlines."""
    asked = {item.callspec.params["host"] for item in request.session.items if "runs" in item.fixturenames}
    with ThreadPoolExecutor(LANES) as lanes:
        yield {name: lanes.submit(run_on, name, is_whole=False) for name in TRIED if name in asked}


def test_every_file_of_the_corpus_has_an_expected_verdict() -> None:
    attacks = read_corpus()
    assert attacks
    assert not strays()
    assert [attack.key for attack in attacks if not attack.path.is_file() and attack.key not in MAKERS] == []


@closed_hosts
def test_where_all_is_closed_every_verdict_is_right(runs: dict[str, Future[Run]], host: str) -> None:
    run = runs[host].result()
    assert all(run.isolation.values()), run.isolation
    assert wrong(run) == {}


@every_host
def test_no_verdict_is_forged(runs: dict[str, Future[Run]], host: str) -> None:
    assert forged(runs[host].result()) == {}


@every_host
def test_what_gets_out_was_named_by_the_verdict(runs: dict[str, Future[Run]], host: str) -> None:
    run = runs[host].result()
    got_out = {
        "filesystem": bool(run.changed) or any(result.leaks for result in run.results),
        "network": bool(run.messages),
        "syscalls": any(result.lost for result in run.results),
    }
    named = {layer for layer, holds in run.isolation.items() if not holds}
    assert {layer for layer, got in got_out.items() if got} <= named, (got_out, run.changed, run.messages)


@every_host
def test_nothing_is_left_running_or_open(runs: dict[str, Future[Run]], host: str) -> None:
    run = runs[host].result()
    assert (run.processes, run.descriptors) == ([], [])
