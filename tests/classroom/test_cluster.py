"""A batch over a real Dask cluster on loopback: the local engine's gradebook, whatever becomes of a worker."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.classroom import cluster_engine
from grader.classroom.engines import EngineKind, choose_engine
from grader.errors import UsageError
from grader.spec.paths import find_course
from tests.support.gradebooks import content, rows
from tests.support.paths import ROOT
from tests.support.watching import small_course

pytest.importorskip("distributed")

EXERCISE = "exercise_03"
PATIENCE = 90.0
STARTER = (ROOT / f"exercises/{EXERCISE}/.starter/attention.py").read_text(encoding="utf-8")
REFERENCE = (ROOT / f"solutions/{EXERCISE}/attention.py").read_text(encoding="utf-8")

DEADLY = """
import os
from grader.classroom import tasks
judge = vars(tasks).setdefault("real_judge", tasks.judge)  # Dask may load this twice
def deadly(place, job):
    if "DEADLY" in str(job.submission):
        os._exit(1)
    return judge(place, job)
tasks.judge = deadly
"""
"""Loaded into a worker: a submission with this word kills it, as a lack of memory would."""


SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
}
"""The first as the README says; the second for haste: two deaths rather than four until a submission is given up."""


class Cluster:
    """A scheduler and workers, each a process that this test starts and ends."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--scheduler-file", str(self._file), *options, cwd=folder
        )
        self.address = str(self._described()["address"])

    def worker(self, course: Path, *options: str) -> "subprocess.Popen[bytes]":
        """A worker of one thread, in whose folder a course lies."""
        place = self.folder / f"worker-{len(self.processes)}"
        return self._start(
            "worker", self.address, "--nthreads", "1", "--local-directory", str(place), *options, cwd=course
        )

    def close(self) -> None:
        for process in reversed(self.processes):  # workers first; what they have started ends with them
            process.kill()
            process.wait()

    def _start(self, *command: str, cwd: Path) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command, "--host", "127.0.0.1", "--no-dashboard"],
            cwd=cwd,
            env=os.environ | SETTINGS | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
        )
        self.processes.append(process)
        return process

    def _described(self) -> dict:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                return json.loads(self._file.read_text(encoding="utf-8"))
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    running = Cluster(folder)
    yield running
    running.close()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return small_course(tmp_path / "batch", EXERCISE)


def hand_in(root: Path, sources: dict[str, str]) -> Path:
    for student, source in sources.items():
        path = root / student / f"{EXERCISE}.py"
        path.parent.mkdir(parents=True)
        path.write_text(source, encoding="utf-8")
    return root


def a_class(root: Path) -> Path:
    sources = {f"a{number:02}": f"{(STARTER, REFERENCE)[number % 2]}\nMINE = {number}\n" for number in range(16)}
    sources |= {
        "b0": REFERENCE,
        "b1": f"# alike\n{REFERENCE}",
        "c0": "def (:\n",
        "c1": "",
        "d0": "import os; os._exit(0)",
    }
    return hand_in(root, sources)


def batch(course: Path, submissions: Path, gradebook: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "grader", "batch", submissions, "--gradebook", gradebook, "--seed", "3", *options]
    return subprocess.Popen(
        list(map(str, command)),
        cwd=course,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]", seconds: float = PATIENCE) -> tuple[int, str]:
    """The exit code, and all that was written."""
    try:
        told = "".join(process.communicate(timeout=seconds))
    finally:
        process.kill()
    return process.returncode, told


def on(cluster: Cluster) -> tuple[str, ...]:
    return "--engine", "dask", "--scheduler", cluster.address


def verdicts(gradebook: Path) -> int:
    with contextlib.suppress(Exception):
        return rows(gradebook, "SELECT count(*) FROM verdicts")[0][0]
    return 0


@pytest.mark.slow
def test_a_worker_killed_in_mid_batch_changes_nothing_in_the_gradebook(tmp_path, course, cluster):
    far = shutil.copytree(course, tmp_path / "far")  # another folder, as on another machine
    first, second = (cluster.worker(far, "--no-nanny") for _ in range(2))
    handed_in = a_class(tmp_path / "class")
    spread, local = tmp_path / "spread.sqlite", tmp_path / "local.sqlite"
    running = batch(course, handed_in, spread, *on(cluster))
    deadline = time.monotonic() + PATIENCE
    while verdicts(spread) < 5:
        assert time.monotonic() < deadline
        assert running.poll() is None, ended(running)
        time.sleep(0.01)
    assert verdicts(spread) < 21
    first.kill()
    status, told = ended(running)
    assert status == 0, told
    assert second.poll() is None
    assert ended(batch(course, handed_in, local, "--jobs", "2"))[0] == 0
    assert content(spread) == content(local)
    assert rows(spread, "SELECT count(*), sum(outcome = 'fixed') FROM current") == [(21, 10)]


@pytest.mark.slow
def test_a_submission_that_kills_every_worker_costs_only_itself(tmp_path, course, cluster):
    preload = tmp_path / "deadly.py"
    preload.write_text(DEADLY, encoding="utf-8")
    for _ in range(2):
        cluster.worker(course, "--nanny", "--preload", str(preload))
    sources = {f"b{number}": f"{REFERENCE}\nMINE = {number}\n" for number in range(6)}
    handed_in = hand_in(tmp_path / "class", {"a": f"{REFERENCE}\nDEADLY = True\n"} | sources)
    gradebook = tmp_path / "class.sqlite"
    status, told = ended(batch(course, handed_in, gradebook, "--no-share", *on(cluster)))
    assert status == 1, told
    found = dict(rows(gradebook, "SELECT student, reason FROM current WHERE outcome != 'fixed'"))
    assert found == {"a": "every worker of the cluster that judged it died"}
    assert rows(gradebook, "SELECT count(*) FROM current WHERE outcome = 'fixed'") == [(6,)]


@pytest.mark.slow
def test_a_worker_with_another_version_of_an_exercise_is_refused_until_it_has_the_same(tmp_path, course, cluster):
    far = shutil.copytree(course, tmp_path / "far")
    cluster.worker(far, "--no-nanny")
    handed_in = hand_in(tmp_path / "class", {"ada": REFERENCE})
    gradebook = tmp_path / "class.sqlite"
    assert ended(batch(course, handed_in, gradebook, *on(cluster)))[0] == 0
    for root in (course, far):
        description = root / "solutions" / EXERCISE / "exercise.yaml"
        text = description.read_text(encoding="utf-8")
        text = text.replace("nothing_else_broke: 3", "nothing_else_broke: 5") + "limits: {output_bytes: 50_000}\n"
        description.write_text(text, encoding="utf-8")
        status, told = ended(batch(course, handed_in, gradebook, *on(cluster)))
        if root is course:
            assert status == 1
            assert f"has another version of {EXERCISE} in {far}" in " ".join(told.split())
            assert rows(gradebook, "SELECT score FROM current") == [(10.0,)]
    assert status == 0, told
    assert rows(gradebook, "SELECT score FROM current") == [(12.0,)]  # the examiner that stood has started again


@pytest.mark.slow
def test_points_are_those_of_the_batch_whatever_a_worker_has(tmp_path, course, cluster):
    far = shutil.copytree(course, tmp_path / "far")
    description = far / "solutions" / EXERCISE / "exercise.yaml"
    text = description.read_text(encoding="utf-8")
    description.write_text(text.replace("nothing_else_broke: 3", "nothing_else_broke: 5"), encoding="utf-8")
    cluster.worker(far, "--no-nanny")
    gradebook = tmp_path / "class.sqlite"
    handed_in = hand_in(tmp_path / "class", {"ada": REFERENCE})
    assert ended(batch(course, handed_in, gradebook, *on(cluster)))[0] == 0
    assert rows(gradebook, "SELECT score, max_score FROM current") == [(10.0, 10.0)]


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_batch_with_a_message_and_a_rerun_continues(tmp_path, course, cluster):
    cluster.worker(course, "--no-nanny")
    handed_in = a_class(tmp_path / "class")
    gradebook = tmp_path / "class.sqlite"
    running = batch(course, handed_in, gradebook, *on(cluster))
    deadline = time.monotonic() + PATIENCE
    while verdicts(gradebook) < 3:
        assert time.monotonic() < deadline
        assert running.poll() is None, ended(running)
        time.sleep(0.01)
    cluster.scheduler.kill()
    status, told = ended(running)
    assert status in (1, 3)
    assert "gone" in told
    assert "Traceback" not in told
    assert ended(batch(course, handed_in, gradebook))[0] == 0
    assert rows(gradebook, "SELECT count(*), sum(outcome = 'fixed') FROM current") == [(21, 10)]


@pytest.mark.slow
def test_a_contradictory_option_or_an_unreachable_scheduler_gives_a_one_line_error(tmp_path, course):
    handed_in = hand_in(tmp_path / "class", {"ada": REFERENCE})
    gradebook = tmp_path / "class.sqlite"
    for options, told in (
        (["--engine", "dask"], "needs --scheduler tls://HOST:PORT"),
        (["--scheduler", "tcp://127.0.0.1:1"], "add --engine dask"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "--jobs is for this machine"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"], "no scheduler answers at tcp://127.0.0.1:1"),
        (["--engine", "dask", "--scheduler", "nonsense"], "nonsense is not encrypted"),
        (["--engine", "dask", "--scheduler", "nonsense", "--plain-tcp"], "no scheduler answers at nonsense"),
    ):
        status, said = ended(batch(course, handed_in, gradebook, *options))
        assert (status, said.count("\n")) == (2, 1), said
        assert told in said


ADDRESSES = {
    "tcp://10.1.2.3:8786": False,
    "10.1.2.3:8786": False,
    "tcp://localhost.example.org:8786": False,
    "tcp://127.0.0.1.example.org:8786": False,
    "ucx://10.1.2.3:8786": False,
    "ws://10.1.2.3:8786": False,
    "tcp://[2001:db8::1]:8786": False,
    "tcp://0.0.0.0:8786": False,
    "tls.example.org:8786": False,
    "tls://10.1.2.3:8786": True,
    "tcp://127.0.0.1:8786": True,
    "tcp://[::1]:8786": True,
    "tcp://localhost:8786": True,
    "127.0.0.1:8786": True,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_scheduler_that_others_may_reach_must_be_encrypted_unless_that_is_allowed(address):
    here = find_course(ROOT)
    if ADDRESSES[address]:
        choose_engine(here, EngineKind.DASK, address, None, is_strict=True)
    else:
        with pytest.raises(UsageError, match="is not encrypted: anybody who can reach"):
            choose_engine(here, EngineKind.DASK, address, None, is_strict=True)
        choose_engine(here, EngineKind.DASK, address, None, is_strict=True, allows_plain_tcp=True)


@pytest.mark.parametrize(
    ("open_place", "info"),
    [
        ("tcp://10.1.2.3:1", {"address": "tcp://10.1.2.3:1", "workers": {}}),
        ("tcp://10.1.2.3:2", {"address": "tcp://127.0.0.1:1", "workers": {"tcp://10.1.2.3:2": {"nanny": None}}}),
        (
            "tcp://10.1.2.3:3",
            {"address": "tcp://127.0.0.1:1", "workers": {"tcp://127.0.0.1:2": {"nanny": "tcp://10.1.2.3:3"}}},
        ),
        ("", {"address": "tcp://127.0.0.1:1", "workers": {"tls://10.1.2.3:2": {}}}),
    ],
)
def test_whatever_address_is_given_neither_scheduler_nor_workers_listen_to_others(
    monkeypatch, tmp_path, open_place, info
):
    class Client:
        def scheduler_info(self, n_workers):
            assert n_workers == -1
            return info

        def nthreads(self):
            return {}

        def get_executor(self, **_):
            return None

        def close(self):
            self.status = "closed"

        status = "closed"

    monkeypatch.setattr(cluster_engine, "_connect", lambda _: Client())
    here = find_course(ROOT)
    given = "tcp://127.0.0.1:1"
    with contextlib.ExitStack() as stack:
        if open_place:
            stack.enter_context(pytest.raises(UsageError, match=f"^{re.escape(open_place)} is not encrypted"))
        stack.enter_context(choose_engine(here, EngineKind.DASK, given, None, is_strict=True))
    with choose_engine(here, EngineKind.DASK, given, None, is_strict=True, allows_plain_tcp=True):
        pass


def certified(folder: Path) -> dict[str, str]:
    """Dask's settings for a certificate of this test's own, as variables."""
    cert, key = folder / "node.pem", folder / "node.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=grader"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    tls = {"CA_FILE": cert}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        tls |= {f"{role}__CERT": cert, f"{role}__KEY": key}
    settings = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(value) for name, value in tls.items()}
    return settings | {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}


@pytest.mark.slow
def test_a_class_is_graded_over_tls_by_dasks_own_settings_and_not_by_a_stranger(tmp_path, course, monkeypatch):
    settings = certified(tmp_path)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "cluster").mkdir()
    running = Cluster(tmp_path / "cluster", "--protocol", "tls")
    try:
        assert running.address.startswith("tls://")
        running.worker(course, "--no-nanny")
        handed_in = hand_in(tmp_path / "class", {"ada": REFERENCE, "bob": STARTER})
        status, said = ended(batch(course, handed_in, tmp_path / "class.sqlite", *on(running)))
        assert (status, verdicts(tmp_path / "class.sqlite")) == (0, 2), said
        for name in settings:
            monkeypatch.delenv(name)
        status, said = ended(batch(course, handed_in, tmp_path / "other.sqlite", *on(running)))
        assert (status, verdicts(tmp_path / "other.sqlite")) == (2, 0), said
        assert "Dask's settings name no certificates" in said
    finally:
        running.close()


@pytest.mark.slow
def test_a_scheduler_without_workers_is_reported(tmp_path, course, cluster):
    handed_in = hand_in(tmp_path / "class", {"ada": REFERENCE})
    status, said = ended(batch(course, handed_in, tmp_path / "class.sqlite", *on(cluster)))
    assert (status, said.count("\n")) == (2, 1), said
    assert f"the scheduler at {cluster.address} has no worker" in said


def test_a_missing_extra_is_named_in_the_error(tmp_path, course):
    (tmp_path / "without").mkdir()
    (tmp_path / "without/distributed.py").write_text("raise ImportError('distributed')", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "grader", "batch", hand_in(tmp_path / "class", {"ada": REFERENCE})),
            *("--gradebook", tmp_path / "class.sqlite", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"),
        ],
        cwd=course,
        env=os.environ | {"PYTHONPATH": f"{tmp_path / 'without'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip().endswith("this needs distributed; install it with pip install -e '.[cluster]'")
