"""One submission beside `import torch`: from the command line, and from a save to the verdict of a watch."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.commands import copy_course, seconds
from tests.benchmarks.table import Target, compared, headline, measured
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
SINGLE, WATCHED = Target(0.70), Target(0.08)
PAUSE_SECONDS = 0.3
"""Between a verdict and the next save: the next worker is being made meanwhile, as it is while a student thinks."""


def single(runs: int) -> Iterator[str]:
    """Lines about one submission from the command line; the commands take turns."""
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
        target = SINGLE if name.startswith("grade") else None
        yield compared(f"{name} / import torch", times[name], times["import torch"], target)


def watch(runs: int) -> Iterator[str]:
    """Lines about a watch in a terminal of its own; between its saves, torch is imported."""
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
    """Seconds from just before a save until the whole verdict has been read."""
    time.sleep(PAUSE_SECONDS)
    watching.forget()
    started = time.perf_counter()
    file.write_text(text, encoding="utf-8")
    watching.verdict()
    return time.perf_counter() - started
