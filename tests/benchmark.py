"""How long a verdict takes beside `import torch`: python tests/benchmark.py [runs]. Ratios within one run, medians."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STARTER = "exercises/exercise_03/.starter/attention.py"
COMMANDS = {
    "import torch": ["-c", "import torch"],
    "grade a starter": ["-m", "grader", "exercise_03", "--file", STARTER],
    "grade a fix": ["-m", "grader", "exercise_03", "--file", "solutions/exercise_03/attention.py"],
    "list": ["-m", "grader"],
}


def seconds(arguments: list[str]) -> float:
    """Wall-clock seconds of one run of the interpreter."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for arguments in COMMANDS.values():
        seconds(arguments)  # caches warm, the reference proven on this machine
    times = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    print(f"{'':<18}{'median s':>10}{'min':>8}{'max':>8}{'/ import torch':>16}   ({runs} runs, side by side)")
    for name, measured in times.items():
        ratio = statistics.median(a / b for a, b in zip(measured, times["import torch"], strict=True))
        print(f"{name:<18}{statistics.median(measured):>10.3f}{min(measured):>8.3f}{max(measured):>8.3f}{ratio:>16.2f}")


if __name__ == "__main__":
    main()
