"""Measure one grading beside `import torch`: from the command line, cold and warm, in a watch, and in a notebook."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbclient
import nbformat

from tests.benchmarks.commands import ENVIRONMENT, copy_course, seconds
from tests.benchmarks.table import CannotRunError, Target, compared, headline, measured
from tests.support.watching import Watch

EXERCISE = "exercise_03"
FILE = f"exercises/{EXERCISE}/attention.py"
STARTER, FIX = f"exercises/{EXERCISE}/.starter/attention.py", f"solutions/{EXERCISE}/attention.py"
IMPORT = ["-c", "import torch"]
COMMANDS = {
    "import torch": IMPORT,
    "grade a starter": ["-m", "grader", EXERCISE, "--file", STARTER],
    "grade a fix": ["-m", "grader", EXERCISE, "--file", FIX],
    "list the exercises": ["-m", "grader"],
}
COLD, WARM, WATCHED = Target(bound=0.80), Target(bound=0.12), Target(bound=0.08)
PAUSE_SECONDS = 0.3
"""The pause between two verdicts, in which the next worker starts, as it does while a student thinks."""

WARM_SECONDS = 0.15
TIMED = """%load_ext grader
import time
began, took = [0.0], []
events = get_ipython().events
events.register("pre_run_cell", lambda _info: began.__setitem__(0, time.perf_counter()))
events.register("post_run_cell", lambda _result: took.append(time.perf_counter() - began[0]))"""
"""A cell after which the kernel times every cell, without the protocol of the front end."""


def single(runs: int) -> Iterator[str]:
    """Yield lines about one submission from the command line. The commands take turns."""
    yield headline("One submission from the command line", f"{runs} runs of each, in turns; whole processes")
    for arguments in COMMANDS.values():
        seconds(arguments)  # caches warm, the reference proven on this machine
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    for name, values in times.items():
        yield measured(name, values, "s")
    for name in [each for each in COMMANDS if each != "import torch"]:
        target = COLD if name.startswith("grade") else None
        yield compared(f"{name} / import torch", times[name], times["import torch"], target)


def warm(runs: int) -> Iterator[str]:
    """Yield lines about commands that a warm process answers. After each command, torch is imported."""
    yield headline("The same command, answered by a warm process", f"{runs} runs, fix and starter by turns")
    with tempfile.TemporaryDirectory(prefix="w") as folder:  # the path of a socket is short
        course = copy_course(Path(folder) / "course", [EXERCISE])
        environment = ENVIRONMENT | {"GRADER_WARM": "1", "XDG_RUNTIME_DIR": folder}
        environment.pop("CI", None)
        pairs = []
        try:
            for number in range(-2, runs):  # the first starts the process, the second opens the exercise in it
                time.sleep(PAUSE_SECONDS)
                command = ["-m", "grader", EXERCISE, "--file", (FIX, STARTER)[number % 2], "--warm"]
                pair = seconds(command, course, environment), seconds(IMPORT)
                if number >= 0:
                    pairs.append(pair)
        finally:
            stop = [sys.executable, "-m", "grader", "stop"]
            done = subprocess.run(stop, cwd=course, env=environment, capture_output=True, text=True, check=False)
    if done.stdout != "Stopped one process.\n":
        raise CannotRunError(f"no process stayed warm: {done.stdout}{done.stderr}")
    warm_runs, imports = zip(*pairs, strict=True)
    yield measured("grade in a warm process", warm_runs, "s")
    yield compared("grade in a warm process / import torch", warm_runs, imports, WARM)


def watch(runs: int) -> Iterator[str]:
    """Yield lines about a watch in a terminal. Between two saves, torch is imported."""
    yield headline("Watch, save to verdict", f"{runs} saves, fix and starter by turns, an import of torch after each")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        course = copy_course(Path(folder), [EXERCISE])
        file, texts = course / FILE, [(course / path).read_text(encoding="utf-8") for path in (FIX, STARTER)]
        file.write_text(texts[1], encoding="utf-8")
        with Watch(course, EXERCISE) as watching:
            watching.verdict()
            pairs = []
            for number in range(runs):
                saved = _save(watching, file, f"{texts[number % 2]}\n# {number}\n")
                pairs.append((saved, seconds(IMPORT)))
            watching.press("q")
            watching.process.wait()
    verdicts, imports = zip(*pairs, strict=True)
    yield measured("save to verdict", verdicts, "s")
    yield measured("import torch", imports, "s")
    yield compared("save to verdict / import torch", verdicts, imports, WATCHED)


def _save(watching: Watch, file: Path, text: str) -> float:
    """Return the seconds from a save until the whole verdict has been read."""
    time.sleep(PAUSE_SECONDS)
    watching.forget()
    started = time.perf_counter()
    file.write_text(text, encoding="utf-8")
    watching.verdict()
    return time.perf_counter() - started


def notebook(runs: int) -> Iterator[str]:
    """Yield lines about `%%grade` in a kernel, from the start of the cell to its page, with pauses in between."""
    yield headline("A notebook's %%grade, beginning to end of the cell", f"{runs} cells, fix and starter by turns")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        course = copy_course(Path(folder), [EXERCISE])
        texts = [(course / path).read_text(encoding="utf-8") for path in (FIX, STARTER)]
        graded = [f"%%grade {EXERCISE}\n{texts[number % 2]}\n# {number}" for number in range(runs + 1)]
        sources = [TIMED, *(each for cell in graded for each in (f"time.sleep({PAUSE_SECONDS})", cell))]
        told = "import json; print(json.dumps(took[2::2]))"
        cells = [nbformat.v4.new_code_cell(source) for source in (*sources, told)]
        resources = {"metadata": {"path": str(course)}}
        client = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=300, resources=resources)
        client.execute(env=ENVIRONMENT)
    (printed,) = cells[-1].outputs
    first, *warm = json.loads(printed["text"])
    yield measured("the first", [first], "s")
    yield measured(f"warm (at most {WARM_SECONDS})", warm, "s")
