"""A course platform's machine: the platform's folders at its own paths, its user, and nothing else of this machine.

Mount and process namespaces with their own root replace the container. As in a container, no further namespaces can be
made inside. On a machine without namespaces, commands run at the folders' real paths, after a warning.
"""

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support.paths import HOST

SYSTEM = ("/usr", "/etc", "/dev", "/bin", "/sbin", "/lib", "/lib64", "/opt")
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
BUILD = r"""
set -e
root=$1; shift
mount -t tmpfs -o mode=755 none "$root"
mkdir "$root/proc" && mount -t proc none "$root/proc"
mkdir -m 1777 "$root/tmp"
while [ "$1" != -- ]; do
    mkdir -p "$(dirname "$root$2")"
    if [ -L "$1" ]; then cp -P "$1" "$root$2"
    elif [ -d "$1" ]; then mkdir -p "$root$2" && mount --rbind "$1" "$root$2"
    else touch "$root$2" && mount --bind "$1" "$root$2"; fi
    shift 2
done
shift
exec chroot "$root" "$@"
"""
WATCH = r"""
"$@"; code=$?
for second in 1 2 3 4 5; do
    left=
    for each in /proc/[0-9]*; do
        [ "$each" = "/proc/$$" ] || left="$left$(tr '\0' ' ' 2>/dev/null < "$each/cmdline")"
    done 2>/dev/null
    [ -z "$left" ] && break
    sleep 1
done
[ -z "$left" ] || echo "LEFT RUNNING: $left" >&2
exit $code
"""
"""Run a command and report the processes that it left behind; no others exist on the machine."""

LEFT_RUNNING = "LEFT RUNNING"
NO_NAMESPACES = "no mount namespaces here: the platform's commands run at other paths, given by variables"
SECONDS = 600


@cache
def has_namespaces() -> bool:
    """Return whether a platform's paths can be mounted on this machine."""
    done = subprocess.run([*UNSHARE, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    return done.returncode == 0


class PlatformHost:
    """A machine that has only `folders` (path there: folder here) and the system's own folders."""

    def __init__(
        self,
        home: Path,
        folders: Mapping[str, Path],
        *,
        user: int = 0,
        lacks: Sequence[str] = ("namespaces",),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Use the empty folder `home`. `variables` give commands the folders' paths on a machine without namespaces."""
        self._root = home / "root"
        self._root.mkdir(parents=True)
        self._folders = folders
        self._user = user
        self._lacks = lacks
        self._variables = variables or {}

    def run(self, command: Sequence[str], cwd: str = "/", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command with the platform's paths. Its stderr names processes that it left running."""
        plain = {"PATH": os.environ["PATH"], "HOME": "/tmp", **_package_index(), **environment}
        if has_namespaces():
            full = self._inside(command, cwd)
        else:
            warnings.warn(NO_NAMESPACES, stacklevel=2)
            plain |= {name: self._here(path) for name, path in self._variables.items()}
            full = [sys.executable, str(HOST), "--without", ",".join(self._lacks), "--"]
            full += ["env", "-C", self._here(cwd), *map(self._here, command)]
        return subprocess.run(full, env=plain, capture_output=True, text=True, timeout=SECONDS, check=False)

    def _inside(self, command: Sequence[str], cwd: str) -> list[str]:
        python = {str(place): place for place in (Path(sys.base_prefix), Path(sys.prefix))}
        shown = {**{path: Path(path) for path in SYSTEM if os.path.lexists(path)}, **python, "/opt/host.py": HOST}
        places = [str(each) for path, folder in {**shown, **self._folders}.items() for each in (folder, path)]
        user = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups"] if self._user else []
        layers = [sys.executable, "/opt/host.py", "--without", ",".join(self._lacks), "--"]
        inside = [*user, "env", "-C", cwd, *layers, "bash", "-c", WATCH, "bash", *command]
        return [*UNSHARE, "sh", "-c", BUILD, "sh", str(self._root), *places, "--", *inside]

    def _here(self, path: str) -> str:
        """Return the path on this machine of a path on the platform."""
        for there, here in sorted(self._folders.items(), reverse=True):
            if path == there or path.startswith(f"{there}/"):
                return f"{here}{path.removeprefix(there)}"
        return path


def _package_index() -> dict[str, str]:
    """Return this machine's settings of pip's package index."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
