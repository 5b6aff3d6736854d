"""Run scripts one after another without the kit: print a JSON object of their errors by path, empty for none."""

import contextlib
import io
import json
import runpy
import sys

import torch  # noqa: F401 - once for all scripts


def error_of(path: str) -> str:
    """Run a script and return its error; then forget the modules that it imported."""
    modules, folders = set(sys.modules), [*sys.path]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path)
    except Exception as error:  # noqa: BLE001 - the tests compare it
        return f"{type(error).__name__}: {error}"
    finally:
        own = sys.path[0]
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(own):
                del sys.modules[name]
        sys.path[:] = folders
    return ""


sys.modules["grader"] = None  # type: ignore[assignment]  # importing it fails
print(json.dumps({path: error_of(path) for path in sys.argv[1:]}))
