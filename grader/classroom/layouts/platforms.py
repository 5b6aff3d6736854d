"""Layouts of course platforms: each class knows one platform's names, and gives a unit for each student."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from grader.classroom.gradebook.class_records import CANVAS_NAME, MOODLE_NAME
from grader.classroom.gradebook.rows import TIME
from grader.classroom.layouts.files import STRAY, SkippedFiles, list_folder_if_readable, storable
from grader.classroom.layouts.units import NUMBERED, PlatformLayout, Unit
from grader.errors import UsageError

GRADESCOPE_METADATA = "submission_metadata.yml"
MOST_METADATA = 64_000_000


class Gradescope:
    """Gradescope's export: submission_12345/ folders beside submission_metadata.yml, which tells whose they are."""

    NAME = "gradescope"
    LANDMARK = GRADESCOPE_METADATA

    def count(self, root: Path, names: list[str]) -> int:
        return sum(name.startswith("submission_") for name in names) if GRADESCOPE_METADATA in names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each submitter: of a group, each member is given what the group handed in."""
        metadata = _gradescope_metadata(root / GRADESCOPE_METADATA)
        for name in names:
            about = metadata.get(name)
            if isinstance(about, dict) and (root / name).is_dir() and not (root / name).is_symlink():
                for person in _mappings(about.get("submitters")) or [{}]:
                    yield _of_person(name, about, person)
            elif name != GRADESCOPE_METADATA:
                skipped.add(STRAY, f"{storable(name)}, of which {GRADESCOPE_METADATA} says nothing")


def _of_person(folder: str, about: dict[str, Any], person: dict[str, Any]) -> Unit:
    known = {key: str(person.get(key) or "") for key in ("sid", "email", "name")}
    student = known["sid"] or known["email"] or known["name"] or folder
    aliases = tuple(filter(None, known.values()))
    return Unit(
        student,
        folder=folder,
        name=known["name"],
        aliases=aliases,
        submitted_at=_gradescope_time(about.get("created_at")),
    )


def _gradescope_metadata(path: Path) -> dict[str, Any]:
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


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _gradescope_time(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return ""
    if not isinstance(value, datetime):
        return ""
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).strftime(TIME)


class Moodle:
    """What Moodle hands out: for each student a folder Name_123_assignsubmission_file_, or files named so."""

    NAME = "moodle"
    LANDMARK = ""

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(MOODLE_NAME.fullmatch(name)) for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each folder, or for each file that lies loose."""
        for each in names:
            match = MOODLE_NAME.fullmatch(each)
            if match is None:
                skipped.add(STRAY, storable(each))
                continue
            name = storable(match["name"])
            about = Unit(match["id"], name=name, aliases=(name,))
            if (root / each).is_dir():
                yield Unit(about.student, folder=each, name=name, aliases=about.aliases)
            else:
                yield Unit(about.student, loose=((each, match["file"]),), name=name, aliases=about.aliases)


class Canvas:
    """What Canvas hands out: lastname_12345_67890_attention.py, flat, with LATE in the name of what came late."""

    NAME = "canvas"
    LANDMARK = ""

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(CANVAS_NAME.fullmatch(name)) and "_assignsubmission_" not in name for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each user, who may have handed in several files."""
        users: dict[str, list[re.Match[str]]] = {}
        for name in names:
            match = CANVAS_NAME.fullmatch(name)
            if match:
                users.setdefault(match["user"], []).append(match)
            else:
                skipped.add(STRAY, storable(name))
        for user, matches in users.items():
            name = storable(matches[0]["name"])
            loose = tuple((match[0], match["file"]) for match in matches)
            yield Unit(user, loose=loose, name=name, aliases=(user, name))


CLONED = "-submissions"
"""What GitHub Classroom ends the folder's name in that it clones an assignment's repositories into."""

REPOSITORY = re.compile(r"(?P<exercise>exercise[-_]?(?P<number>\d+))[-_](?P<login>.+)", re.IGNORECASE)


class Repositories:
    """A class's repositories, cloned side by side: exercise-03-login."""

    NAME = "repositories"
    LANDMARK = ""

    def count(self, root: Path, names: list[str]) -> int:
        return sum(_repository(root, name) is not None for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each repository."""
        for name in names:
            told = _repository(root, name)
            if told is not None and not (root / name).is_symlink():
                exercise, login = told
                yield Unit(login, folder=name, exercise=exercise, aliases=(login,))
            else:
                skipped.add(STRAY, storable(name))


def _repository(root: Path, name: str) -> tuple[str, str] | None:
    """Exercise and login; in a folder that is called by its assignment, what follows the assignment is the login."""
    if not (root / name).is_dir():
        return None
    match = REPOSITORY.fullmatch(name)
    if match:
        return f"exercise_{int(match['number']):02}", storable(match["login"])
    assignment = root.name.removesuffix(CLONED)
    login = name.removeprefix(f"{assignment}-")
    return ("", storable(login)) if assignment != root.name and login not in ("", name) else None


SUBMITTED = "submitted"
NBGRADER_STAMP = re.compile(r"(?P<time>[\d-]+ [\d:.]+)\s*(?P<zone>\S*)")


class Nbgrader:
    """nbgrader's course folder: submitted/<student>/<assignment>/, with the time of the submission in timestamp.txt."""

    NAME = "nbgrader"
    LANDMARK = SUBMITTED

    def count(self, root: Path, names: list[str]) -> int:
        if root.name == SUBMITTED:
            return len(names)
        return len(list_folder_if_readable(root / SUBMITTED)) if SUBMITTED in names else 0

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each student's assignment; the course's other folders are none of the batch's business."""
        base = "" if root.name == SUBMITTED else f"{SUBMITTED}{os.sep}"
        for student in list_folder_if_readable(root / base, skipped):
            if not (root / base / student).is_dir() or (root / base / student).is_symlink():
                skipped.add(STRAY, storable(base + student))
                continue
            for assignment in list_folder_if_readable(root / base / student, skipped):
                folder = f"{base}{student}{os.sep}{assignment}"
                if (root / folder).is_dir() and not (root / folder).is_symlink():
                    name = storable(student)
                    number = NUMBERED.fullmatch(assignment)
                    exercise = f"exercise_{int(number[1]):02}" if number else ""
                    stamp = _nbgrader_time(root / folder / "timestamp.txt")
                    yield Unit(name, folder=folder, exercise=exercise, aliases=(name,), submitted_at=stamp)
                else:
                    skipped.add(STRAY, storable(folder))


def _nbgrader_time(path: Path) -> str:
    """When it was submitted, as nbgrader wrote it down; empty where it did not."""
    try:
        match = NBGRADER_STAMP.match(path.read_text(encoding="utf-8")) if not path.is_symlink() else None
        if match is None:
            return ""
        zone = ZoneInfo(match["zone"]) if match["zone"] else UTC
        return datetime.fromisoformat(match["time"]).replace(tzinfo=zone).astimezone(UTC).strftime(TIME)
    except (OSError, ValueError, KeyError):
        return ""


EXERCISES = "exercises"


class Edition:
    """The student edition as it was handed out: each student's copy, in which exercises/<exercise>/ holds the work."""

    NAME = "edition"
    LANDMARK = EXERCISES

    def count(self, root: Path, names: list[str]) -> int:
        if EXERCISES in names:
            return 1
        return sum(bool(_exercises_of(root, name)) or name.lower().endswith(".zip") for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """One for each copy, or each archive with one; the root itself may be a single student's."""
        if EXERCISES in names:
            student = storable(root.resolve().name)
            yield Unit(student, folder=EXERCISES, aliases=(student,))
            return
        for name in names:
            edition = _exercises_of(root, name)
            student = storable(name[: -len(".zip")] if name.lower().endswith(".zip") else name)
            if edition:
                yield Unit(student, folder=edition, aliases=(student,))
            elif name.lower().endswith(".zip"):
                yield Unit(student, loose=((name, name),), aliases=(student,))
            else:
                skipped.add(STRAY, storable(name))


def _exercises_of(root: Path, name: str) -> str:
    """Where the exercises of a student's copy lie, at the top or in its only folder; empty where there are none."""
    folder = root / name
    if folder.is_symlink() or not folder.is_dir():
        return ""
    inside = list_folder_if_readable(folder)
    for path in (name, f"{name}{os.sep}{inside[0]}" if len(inside) == 1 else name):
        if (root / path / EXERCISES).is_dir():
            return f"{path}{os.sep}{EXERCISES}"
    return ""


CLASS_LAYOUTS: tuple[PlatformLayout, ...] = (Gradescope(), Moodle(), Canvas(), Repositories())
"""What platforms hand out for a whole class."""

PLATFORM_LAYOUTS = (*CLASS_LAYOUTS, Nbgrader(), Edition())
"""Platforms' layouts; of those that fit equally, the first."""
