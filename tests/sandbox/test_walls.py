"""Each wall around a worker holds without the others, as seen by a submission inside."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from functools import cache
from pathlib import Path

import pytest

from tests.support.hostile import starter
from tests.support.paths import HOST, ROOT

LOOK = """
import errno, fcntl, json, os, socket

def attempt(step):
    try:
        return step()
    except OSError as error:
        return errno.errorcode[error.errno]

raise RuntimeError("seen: " + json.dumps({
    "etc": attempt(lambda: sorted(os.listdir("/etc"))[:2]),
    "processes": attempt(lambda: sum(name.isdigit() for name in os.listdir("/proc"))),
    "parent": os.getppid(),
    "user": os.getuid(),
    "socket": attempt(lambda: socket.socket(socket.AF_UNIX) and "made"),
    "owner": attempt(lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())),
    "direct": attempt(lambda: fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)),
    "mode": attempt(lambda: os.chmod("/nowhere", 0)),
}))
"""


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    """What a submission sees on a host without the layers."""
    file = tmp_path_factory.mktemp("look") / "look.py"
    file.write_text(LOOK + starter(), encoding="utf-8")

    @cache
    def look_without(*layers: str) -> dict:
        grade = [sys.executable, "-m", "grader", "exercise_03", "--file", str(file), "--json"]
        host = [sys.executable, str(HOST), "--without", ",".join(layers), "--"]
        done = subprocess.run([*host, *grade], cwd=ROOT, capture_output=True, text=True, check=False)
        verdict = json.loads(done.stdout)
        seen, _ = json.JSONDecoder().raw_decode(verdict["reason"].partition("seen: ")[2])
        return seen | {"isolation": verdict["isolation"]}

    return look_without


def has_own_root(seen: dict) -> bool:
    """Whether namespaces are available: some systems deny them to ordinary users."""
    return seen["parent"] == 1


def test_landlock_and_seccomp_hold_inside_a_root_of_its_own(look) -> None:
    seen = look()
    assert (seen["etc"], seen["socket"], seen["mode"]) == ("EACCES", "EPERM", "EPERM")
    assert all(seen["isolation"].values())


@pytest.mark.slow
def test_a_root_of_its_own_holds_nothing_but_libraries(look) -> None:
    seen = look("landlock", "seccomp")
    if not has_own_root(seen):
        pytest.skip("this host does not allow user namespaces")
    assert seen["etc"] == ["ld.so.cache"]
    assert seen["processes"] <= 3, "the nursery, this worker and the one that was ordered ahead"
    assert {name for name, holds in seen["isolation"].items() if not holds} == {"syscalls"}


@pytest.mark.slow
def test_landlock_alone_leaves_modes_and_local_sockets_open_and_says_so(look) -> None:
    seen = look("seccomp", "namespaces")
    assert seen["etc"] == "EACCES"
    assert (seen["mode"], seen["socket"]) == ("ENOENT", "made")
    assert {name for name, holds in seen["isolation"].items() if not holds} == {"filesystem", "network", "syscalls"}


@pytest.mark.slow
def test_seccomp_alone_lets_nobody_be_signalled_nor_the_examiners_reads_be_spoilt(look) -> None:
    seen = look("landlock", "namespaces")
    assert (seen["owner"], seen["direct"], seen["socket"], seen["mode"]) == ("EPERM",) * 4
    assert {name for name, holds in seen["isolation"].items() if not holds} == {"filesystem"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run workers as another user")
@pytest.mark.parametrize("layers", [(), pytest.param(("landlock", "seccomp", "namespaces"), marks=pytest.mark.slow)])
def test_roots_worker_is_another_user(look, layers) -> None:
    assert look(*layers)["user"] not in (0, os.getuid())


READER = """
try:
    text = open({path!r}, encoding="utf-8").read()
except OSError as error:
    raise RuntimeError(f"seen: {{type(error).__name__}}") from None
raise RuntimeError("seen: all of it" if text else "seen: nothing")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """An environment of its own, whose libraries are this one's."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    packages.rmdir()
    packages.symlink_to(sysconfig.get_path("purelib"))
    return folder


def judged_in(environment: Path, course: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The verdict on what reads the reference, in a course that lies in an environment, and is judged with that."""
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "exercise_03", course / part / "exercise_03")
    file = course / "reader.py"
    file.write_text(READER.format(path=str(course / "solutions/exercise_03/attention.py")), encoding="utf-8")
    grade = [environment / "bin/python", "-m", "grader", "exercise_03", "--file", str(file), "--json", *options]
    return subprocess.run(grade, cwd=course, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("below", ["", "share/course", "src"])
def test_a_course_in_the_folder_of_an_environment_cannot_be_read(environment: Path, below: str) -> None:
    done = judged_in(environment, environment / below, "--strict")
    verdict = json.loads(done.stdout)
    assert "seen: " in verdict["reason"], done
    assert "all of it" not in verdict["reason"]
    assert all(verdict["isolation"].values())


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--spawn",)])
def test_a_course_among_the_libraries_can_be_read_and_every_verdict_says_so(environment: Path, way) -> None:
    course = environment / f"lib/course{len(way)}"
    verdict = json.loads(judged_in(environment, course, *way).stdout)
    assert "all of it" in verdict["reason"]
    assert not verdict["isolation"]["filesystem"]
    shutil.rmtree(course)
    refused = judged_in(environment, course, "--strict", *way)
    assert refused.returncode == 3
    assert "strict grading refuses" in refused.stderr


SPENT = """
import os, resource
from grader.sandbox import self_test
if os.geteuid() == 0:
    os.setresuid(60998, 60998, 60998)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
print(self_test._cannot_start_a_process(), self_test._cannot_open_local_sockets(), self_test._can_write("/tmp"))
"""


def test_what_fails_for_want_of_processes_or_descriptors_counts_as_open() -> None:
    done = subprocess.run([sys.executable, "-c", SPENT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr


@pytest.mark.parametrize("way", [(), pytest.param(("--spawn",), marks=pytest.mark.slow)], ids=["forked", "spawned"])
def test_nothing_is_imported_from_the_current_folder(tmp_path, way) -> None:
    for name in ("msgspec", "yaml", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')", encoding="utf-8")
    file = ROOT / "exercises/exercise_03/attention.py"
    script = [sys.executable, "-c", "import sys; del sys.path[0]; from grader.__main__ import run; run()"]
    program = script if way else [sys.executable, "-m", "grader"]
    options = ["exercise_03", "--course", str(ROOT), "--file", str(file), "--json", *way]
    done = subprocess.run([*program, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["outcome"] == "not_fixed"


def test_the_doctor_says_why_a_layer_is_missing() -> None:
    host = [sys.executable, str(HOST), "--without", "landlock,seccomp,namespaces", "--"]
    doctor = [sys.executable, "-m", "grader", "doctor"]
    done = subprocess.run([*host, *doctor], cwd=ROOT, capture_output=True, text=True, check=False)
    told = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr
    assert re.search(
        r"filesystem open; landlock: LandlockNotAvailableError: .*; namespaces: unshare: Operation not", told
    )
    assert re.search(r"syscalls open; seccomp: OSError: \[Errno \d+\]", told)


NAMELESS = """
from grader.sandbox import layers
problems = {}
layers._keep_names(0, 0, problems)
print(problems)
"""


def test_a_user_without_a_mapping_in_its_namespace_is_reported() -> None:
    done = subprocess.run([sys.executable, "-c", NAMELESS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.search(r"'namespaces': 'a user without a name there: \[Errno \d+\]", done.stdout), done.stderr
