"""Modules in a student's folder, with the names of all modules that an interpreter or a platform may import there."""

import sys
from importlib import metadata
from pathlib import Path

CONFIGURATION = (
    *("sitecustomize", "usercustomize", "conftest", "ipython_config", "jupyter_config", "nbgrader_config"),
    *("ipykernel_launcher", "ipython_kernel_config", "jupyter_nbconvert_config", "setup"),
)
"""Modules that interpreters, kernels and tools look for without being asked."""


def module_names() -> set[str]:
    """Return the names of the standard library's modules, of all installed packages, and of configuration."""
    installed = metadata.packages_distributions()
    return {name for name in (*sys.stdlib_module_names, *installed, *CONFIGURATION) if name.isidentifier()}


def plant(folder: Path, marker: str) -> None:
    """Write a module of every name into a folder. Each one notes in the file `marker` that it ran, and fails."""
    for name in sorted(module_names()):
        note = f"{name}, started as {{' '.join(sys.orig_argv)}}"
        text = f'import sys\nopen({marker!r}, "a").write(f"{note}\\n")\nraise SystemExit("planted")\n'
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
