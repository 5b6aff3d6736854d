"""Gradescope's export: submission_12345/ folders beside submission_metadata.yml, which tells whose they are."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from grader.batch.layouts.records import STRAY, SkippedFiles, is_by_the_way, storable
from grader.batch.layouts.units import Unit
from grader.errors import UsageError
from grader.gradebook.gradebook import TIME

NAME = "gradescope"
SHAPE = "submission_<number>/attention.py beside submission_metadata.yml"
METADATA = "submission_metadata.yml"
MOST_METADATA = 64_000_000


def count(root: Path, names: list[str]) -> int:
    return sum(name.startswith("submission_") for name in names) if METADATA in names else 0


def units(root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
    """One for each submitter: of a group, each member is given what the group handed in."""
    metadata = _metadata(root / METADATA)
    for name in names:
        about = metadata.get(name)
        if isinstance(about, dict) and (root / name).is_dir() and not (root / name).is_symlink():
            for person in _list(about.get("submitters")):
                yield _unit(name, about, person)
        elif name != METADATA and not is_by_the_way(name):
            skipped.add(STRAY, f"{storable(name)}, of which {METADATA} says nothing")


def _unit(folder: str, about: dict[str, Any], person: dict[str, Any]) -> Unit:
    known = {key: str(person.get(key) or "") for key in ("sid", "email", "name")}
    student = known["sid"] or known["email"] or known["name"] or folder
    aliases = tuple(filter(None, known.values()))
    return Unit(
        student, folder=folder, name=known["name"], aliases=aliases, submitted_at=_time(about.get("created_at"))
    )


def _metadata(path: Path) -> dict[str, Any]:
    """The file's content, its keys without Ruby's colons. `UsageError` where it is no such file."""
    try:
        if path.stat().st_size > MOST_METADATA:
            raise UsageError(f"{path} is larger than {MOST_METADATA:,} bytes; export fewer submissions at once")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - both are safe ones
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}; export it again") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not tell of submissions; export it again")
    plain: dict[str, Any] = _without_colons(content)
    return plain


def _without_colons(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).removeprefix(":"): _without_colons(item) for key, item in value.items()}
    return [_without_colons(item) for item in value] if isinstance(value, list) else value


def _list(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _time(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return ""
    if not isinstance(value, datetime):
        return ""
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).strftime(TIME)
