"""The doctor's report on the packages that the kit needs."""

import os
import py_compile
from pathlib import Path

import pytest

from grader.commands.doctor import _bytecode, _packages, has_bytecode
from grader.report.host_states import render_host_states

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


def test_the_doctor_checks_the_requirements_of_the_installed_kit_on_this_system(
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


def test_the_doctor_names_a_version_of_torch_with_which_the_kit_was_never_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "grader-9": "Metadata-Version: 2.1\nName: grader\nVersion: 9\nRequires-Dist: torch>=2\n",
        "torch-2.0.9": "Metadata-Version: 2.1\nName: torch\nVersion: 2.0.9+cpu\n",
    }.items():
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    (torch,) = _packages()
    assert torch.is_met
    assert torch.observed.startswith("2.0.9+cpu, never tried with this kit")


def test_the_doctor_does_not_doubt_the_installed_version_of_torch() -> None:
    assert all("never tried" not in each.observed for each in _packages())


def test_the_doctor_sees_libraries_without_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "late.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr("grader.commands.doctor.LATE_LIBRARIES", ("late", "no_such_library"))
    monkeypatch.syspath_prepend(tmp_path)
    assert not has_bytecode(source)
    missing = _bytecode()
    assert missing.is_warning
    assert f"python -m compileall -q {tmp_path}" in missing.remedy
    assert render_host_states([missing]).startswith("! bytecode")
    py_compile.compile(str(source))
    assert has_bytecode(source)
    assert _bytecode().observed == "the libraries are compiled"
    assert not _bytecode().is_warning
    os.utime(source, (1, 1))
    assert not has_bytecode(source)
