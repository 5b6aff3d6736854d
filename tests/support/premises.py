"""Files that attacks may reach, and the changes that attacks made to them."""

import ctypes
import hashlib
import os
import secrets
import stat
import sys
from pathlib import Path

import grader

SHARED = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
SYSTEM_V = ("shm", "msg", "sem")
IPC_RMID = 0


class Premises:
    """Watch the folder of a run, and bait in the folders that everyone can write to.

    `words` are inserted into the attacks' sources, so that their files differ from those of another run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        word = secrets.token_hex(3)
        self._mark = f"attack?canary?{word}"
        self._key = int(f"63{word}", 16)
        self.words = {
            "attack-canary": f"attack-canary-{word}",
            "attack_canary": f"attack_canary_{word}",
            "attack-bait": f"attack-bait-{word}",
            "0x6361": hex(self._key),
        }
        self._bait = [each / f"attack-bait-{word}" for each in SHARED if os.access(each, os.W_OK)]
        for each in self._bait:
            each.write_text("bait", encoding="utf-8")
        self._kept = {path: _content(path) for path in [*_walk(folder), *self._bait]}
        self._modes = {path: path.lstat().st_mode for path in self._kept}
        self._before = self._look()

    def mend(self) -> list[str]:
        """Return the new, missing and changed files, after restoring them."""
        after = self._look()
        changed = sorted(name for name in self._before | after if self._before.get(name) != after.get(name))
        if changed:
            self._put_right()
        return changed

    def close(self) -> None:
        """Remove the bait."""
        for each in self._bait:
            each.unlink(missing_ok=True)

    def _put_right(self) -> None:
        for path in _planted(self._mark):
            path.unlink()
        for path in _walk(self._folder):
            if path not in self._kept:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for path, content in reversed(self._kept.items()):  # folders come before their contents
            if content is None:
                path.mkdir(exist_ok=True) if stat.S_ISDIR(self._modes[path]) else None
            elif not path.exists() or _content(path) != content:
                path.write_bytes(content)
            if path.lstat().st_mode != self._modes[path]:
                path.chmod(stat.S_IMODE(self._modes[path]))
        _remove_shared_objects(self._key)

    def _look(self) -> dict[str, str]:
        found = {str(path): fingerprint for path, fingerprint in _walk(self._folder).items()}
        found |= {str(path): _fingerprint(path) for path in [*self._bait, *_planted(self._mark)] if path.exists()}
        return found | _shared_objects(self._key)


def _walk(folder: Path) -> dict[Path, str]:
    return {path: _fingerprint(path) for path in sorted(folder.rglob("*"), reverse=True)}


def _fingerprint(path: Path) -> str:
    status = path.lstat()
    kind = f"{stat.filemode(status.st_mode)} {status.st_size if path.is_file() else ''}"
    content = _content(path)
    return kind if content is None else f"{kind} {hashlib.sha256(content).hexdigest()}"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None


def _planted(mark: str) -> list[Path]:
    """Return files that contain an attack's mark, wherever an attack could plant them."""
    package = Path(grader.__file__).parent
    folders = [*SHARED, Path("/"), *map(Path, sys.path), *package.glob("**/__pycache__")]
    return [path for folder in folders if folder.is_dir() for path in folder.glob(f"{mark}*")]


def _shared_objects(key: int) -> dict[str, str]:
    """System V objects under the attacks' key."""
    found = {}
    for kind in SYSTEM_V:
        try:
            lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        found |= {f"{kind} {line.split()[1]}": "" for line in lines if int(line.split()[0]) == key}
    return found


def _remove_shared_objects(key: int) -> None:
    libc = ctypes.CDLL(None)
    for get, control in (
        (lambda: libc.shmget(key, 0, 0), libc.shmctl),
        (lambda: libc.msgget(key, 0), libc.msgctl),
    ):
        if (found := get()) >= 0:
            control(found, IPC_RMID, None)
