"""exercise.yaml -> Exercise, with every refusal saying where."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from grader.errors import SpecError
from grader.exercise.blanks import still_blank
from grader.exercise.checks import Check
from grader.exercise.records import Defect, Exercise

SCALARS = yaml.constructor.SafeConstructor()


def load_exercise(path: Path) -> Exercise:
    """The exercise described by the file; `SpecError` names file, line and column of what is wrong."""
    marks: dict[str, tuple[int, int]] = {}
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        data = _data(node, "$", marks, path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise SpecError([f"{where}: {error.problem or error.context}"]) from error
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SpecError([f"{path}: is not YAML in UTF-8: {error}"]) from error
    if not isinstance(data, dict):
        raise SpecError([f"{path}: expected a mapping of keys such as format_version and title"])
    left = [
        f"{path}:{marks[at][0]}:{marks[at][1]}: {at}: still to be filled in: {what}" for at, what in still_blank(data)
    ]
    if left:
        raise SpecError(left)
    try:
        exercise = msgspec.convert({**data, "id": path.parent.name}, Exercise, strict=True)
    except msgspec.ValidationError as error:
        raise SpecError([_located(str(error), marks, path)]) from error
    return _with_check_ids(exercise, path)


def _data(node: yaml.Node | None, at: str, marks: dict[str, tuple[int, int]], path: Path) -> Any:
    """Plain values of a YAML node; remembers the position of each path and refuses duplicate keys."""
    if node is None:
        return None
    marks[at] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_data(item, f"{at}[{index}]", marks, path) for index, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line, column = key_node.start_mark.line + 1, key_node.start_mark.column + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise SpecError([f"{path}:{line}:{column}: {at}: a key must be a plain word"])
            key = _scalar(key_node)
            if key in found:
                raise SpecError([f"{path}:{line}:{column}: {at}.{key}: this key stands twice; keep one"])
            found[key] = _data(value_node, f"{at}.{key}", marks, path)
        return found
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    return SCALARS.construct_object(node)


def _located(message: str, marks: dict[str, tuple[int, int]], path: Path) -> str:
    text, _, at = message.partition(" - at `")
    at = at.rstrip("`") or "$"
    while at not in marks and at != "$":
        at = at[: max(at.rfind("."), at.rfind("["), 1)]
    line, column = marks[at]
    return f"{path}:{line}:{column}: {at}: {text}"


def _with_check_ids(exercise: Exercise, path: Path) -> Exercise:
    """The exercise with every check named; the property's name serves where none is given."""
    checks = [
        check if check.id else msgspec.structs.replace(check, id=str(check.__struct_config__.tag))
        for check in exercise.checks
    ]
    problems = [f"{path}: checks: two checks are called {name}; give one an id of its own" for name in _twice(checks)]
    problems += [f"{path}: defects: two defects are called {name}; rename one" for name in _twice(exercise.defects)]
    for defect in exercise.defects:
        was, fix = (1 if isinstance(part, str) else len(part) for part in (defect.was, defect.fix))
        if was != fix:
            problems.append(f"{path}: defects: {defect.id} has {was} was and {fix} fix fragments; pair them")
    if problems:
        raise SpecError(problems)
    return msgspec.structs.replace(exercise, checks=checks)


def _twice(records: Iterable[Check | Defect]) -> list[str]:
    ids = [record.id for record in records]
    return sorted({name for name in ids if ids.count(name) > 1})
