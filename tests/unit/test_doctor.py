"""What the doctor says of the packages that the kit needs."""

from pathlib import Path

import pytest

from grader.commands.doctor import _packages

METADATA = """Metadata-Version: 2.1
Name: grader
Version: 9
Requires-Dist: pytest>=1
Requires-Dist: click>=1000
Requires-Dist: no-such-package>=2
Requires-Dist: no-such-other; sys_platform == 'elsewhere'
Provides-Extra: test
Requires-Dist: no-such-test; extra == 'test'
"""


def test_the_doctor_looks_at_what_the_installed_kit_says_it_needs_on_this_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "grader-9.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(METADATA)
    monkeypatch.syspath_prepend(tmp_path)

    found = {each.name: (each.is_met, each.remedy) for each in _packages()}
    assert found == {
        "pytest": (True, "pip install 'pytest>=1'"),
        "click": (False, "pip install 'click>=1000'"),
        "no-such-package": (False, "pip install 'no-such-package>=2'"),
    }
