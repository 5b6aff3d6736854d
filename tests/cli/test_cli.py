"""The commands: what they promise in --help and in the README, and their exit codes."""

import json
import re
import time

import click
import pytest

from grader.cli import command_line
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(name for name, command in command_line.commands.items() if not command.hidden)


def test_every_command_has_help_that_says_what_each_option_does(run_cli):
    for name in COMMANDS:
        command = command_line.commands[name]
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.help, (name, parameter.name)
    shown = run_cli("--help")
    assert shown.returncode == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", shown.stdout, re.MULTILINE), name


def test_every_command_but_grade_stands_in_a_readme():
    pages = README + "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("*/README.md"))
    for name in COMMANDS:
        assert name == "grade" or f"python -m grader {name}" in pages or f"`{name}`" in pages, name


def test_every_command_in_the_readmes_exists():
    pages = README + "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("*/README.md"))
    for word in re.findall(r"python -m grader ([a-z]\w*)", pages):
        assert word in COMMANDS or re.fullmatch(r"exercise_\d\d", word), word


def test_the_readmes_commands_are_the_ones_that_ci_runs():
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    first, second = (block.strip().splitlines() for block in blocks)
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for line in (*first, *second):
        for command in line.split(" && "):
            words = [word for word in command.split() if word not in ("--quiet", "&&")]
            assert " ".join(words) in ci.replace("--quiet ", ""), command


@pytest.mark.parametrize("number", range(1, 8))
def test_the_reference_passes_with_full_score_from_the_command_line(run_cli, number):
    exercise = f"exercise_{number:02}"
    done = run_cli(exercise, "--file", f"solutions/{exercise}/attention.py", "--json")
    verdict = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert verdict["outcome"] == "fixed"
    assert verdict["score"] == verdict["max_score"] == 10
    assert {defect["status"] for defect in verdict["defects"]} == {"fixed"}


def test_the_showcase_speaks_of_a_future_token_that_changes_the_past(run_cli):
    done = run_cli("exercise_03", "--file", "exercises/exercise_03/.starter/attention.py", "--json", "--seed", "3")
    verdict = json.loads(done.stdout)
    assert done.returncode == 1
    assert verdict["score"] == 0
    assert {defect["id"]: defect["status"] for defect in verdict["defects"]}["mask-discarded"] == "present"
    findings = " ".join(check["finding"] for check in verdict["checks"])
    assert re.search(r"changing token \d changed the output at token \d by [\d.]+; expected no change", findings)


def test_the_same_seed_gives_the_same_findings(run_cli):
    path = "exercises/exercise_04/.starter/attention.py"
    first, second = (
        json.loads(run_cli("exercise_04", "--file", path, "--json", "--seed", "5").stdout) for _ in range(2)
    )
    assert [check["finding"] for check in first["checks"]] == [check["finding"] for check in second["checks"]]


def test_wrong_usage_exits_with_2_and_says_what_there_is(run_cli):
    for arguments in (
        ["exercise_99"],
        ["exercise_3"],
        ["hint"],
        ["exercise_03", "--seed", "minus one"],
        ["exercise_03", "--what"],
    ):
        done = run_cli(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr
    assert "exercise_03" in run_cli("exercise_99").stderr


def test_the_list_needs_no_torch_and_little_time(run_cli):
    run_cli()
    started = time.monotonic()
    done = run_cli()
    seconds = time.monotonic() - started
    assert done.returncode == 0
    assert all(f"exercise_{number:02}" in done.stdout for number in range(1, 8))
    assert seconds < 3  # a tenth of this on an idle machine; the benchmark measures
