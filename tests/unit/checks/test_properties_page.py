"""tests/README.md documents every built-in property and argument, and no others."""

import re
import subprocess
import sys

import msgspec
import pytest
import yaml

from grader.checks import properties
from grader.spec.properties import PROPERTIES, AnyProperty, Property
from tests.support.paths import ROOT

PAGE = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMON = {field.encode_name for field in msgspec.structs.fields(Property)}


def own_arguments(record: type[Property]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(record)} - COMMON


def test_the_page_has_a_section_for_each_property_and_no_other() -> None:
    assert set(SECTIONS) == set(PROPERTIES)


def test_the_page_explains_what_every_property_takes() -> None:
    table = PAGE.split("## Arguments of every property")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == COMMON | {"property"}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_section_explains_each_argument_and_what_it_detects_and_misses(name: str) -> None:
    section = SECTIONS[name]
    assert set(re.findall(r"^- `(\w+)`:", section, re.MULTILINE)) == own_arguments(PROPERTIES[name])
    assert "\nDetects: " in section
    assert re.search(r"\bMisses: ", section.replace("\n", " "))


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_section_has_an_example_that_a_description_may_hold(name: str) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", SECTIONS[name], re.DOTALL)
    checks = msgspec.convert(yaml.safe_load(example), list[AnyProperty])
    assert [type(check) for check in checks] == [PROPERTIES[name]]


def test_records_of_properties_are_read_without_torch() -> None:
    code = (
        "import sys\n"
        "from grader.spec.properties import PROPERTIES\n"
        "assert not {'torch', 'grader.checks'} & set(sys.modules)\n"
        "print(len(PROPERTIES))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) == len(PROPERTIES)


def test_every_property_is_listed_documented_and_has_a_function() -> None:
    assert set(PROPERTIES.values()) == set(Property.__subclasses__()) == set(properties.FUNCTIONS)
    assert all(record.__doc__ for record in PROPERTIES.values())
