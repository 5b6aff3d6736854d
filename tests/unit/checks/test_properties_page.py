"""tests/README.md tells of every built-in property, of each of its arguments, and of nothing that is not there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from grader.checks.properties import PROPERTIES, AnyProperty
from grader.spec.checks import Check
from tests.support.paths import ROOT

PAGE = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMON = {field.encode_name for field in msgspec.structs.fields(Check)}


def own_arguments(record: type[Check]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(record)} - COMMON


def test_the_page_has_a_section_for_each_property_and_no_other() -> None:
    assert set(SECTIONS) == set(PROPERTIES)


def test_the_page_explains_what_every_property_takes() -> None:
    table = PAGE.split("## What every property takes")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == COMMON | {"property"}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_section_explains_each_argument_and_what_can_and_cannot_be_seen(name: str) -> None:
    section = SECTIONS[name]
    assert set(re.findall(r"^- `(\w+)`:", section, re.MULTILINE)) == own_arguments(PROPERTIES[name])
    assert "\nSees: " in section
    assert re.search(r"\bCannot see: ", section.replace("\n", " "))


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_section_has_an_example_that_a_description_may_hold(name: str) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", SECTIONS[name], re.DOTALL)
    checks = msgspec.convert(yaml.safe_load(example), list[AnyProperty])
    assert [type(check) for check in checks] == [PROPERTIES[name]]


def test_a_property_stands_in_one_file_and_is_found_there_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from grader.checks.properties import PROPERTIES\n"
        "assert 'torch' not in sys.modules\n"
        "print(len(PROPERTIES))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) == len(PROPERTIES)
    for name, record in PROPERTIES.items():
        assert record.__doc__, name
        assert "try_case" in vars(record), name


def test_a_new_file_of_properties_is_found_by_lying_there(tmp_path: Path) -> None:
    copy = tmp_path / "grader"
    shutil.copytree(ROOT / "grader", copy, ignore=shutil.ignore_patterns("__pycache__"))
    source = '''
"""A family of one."""

from grader.checks.properties import Property


class IsNew(Property, frozen=True, tag="is_new"):
    """It is there."""

    def try_case(self, context: object, case: object) -> None:
        return
'''
    (copy / "examiner" / "properties" / "novelties.py").write_text(source, encoding="utf-8")
    code = (
        "import msgspec\n"
        "from grader.checks.properties import AnyProperty\n"
        "print(msgspec.convert({'property': 'is_new'}, AnyProperty))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith("IsNew(")
