"""The commands: what they promise in --help and in the README, and their exit codes."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import click
import pytest

import grader
from grader.checks.outcome import FailureKind
from grader.cli import command_line
from grader.commands.arguments import exercise_called, exercise_titled
from grader.report.overview import OverviewLine, render_overview
from grader.report.progress import Progress
from grader.student.progress import save_progress
from tests.support.findings import sentence_pattern
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [name for name, each in command_line.commands.items() if not each.hidden]


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


@pytest.mark.parametrize("number", others_slow(range(1, 8)))
def test_the_reference_passes_with_full_score_from_the_command_line(run_cli, number):
    exercise = f"exercise_{number:02}"
    done = run_cli(exercise, "--file", f"solutions/{exercise}/attention.py", "--json")
    verdict = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert verdict["outcome"] == "fixed"
    assert verdict["score"] == verdict["max_score"] == 10
    assert {defect["status"] for defect in verdict["defects"]} == {"fixed"}


def test_seeds_that_no_verdict_can_have_are_refused_before_anything_is_judged(run_cli, tmp_path):
    for seed in (2**31, 99999999999999999999, -1):
        for command in (("exercise_03",), ("batch", tmp_path, "--gradebook", tmp_path / "class.sqlite")):
            done = run_cli(*command, "--seed", seed)
            refused = f"grader: seed is {seed}; use a whole number from 0 to 2147483647\n"
            assert (done.returncode, done.stderr) == (2, refused)


def test_a_course_without_exercises_is_no_crash(run_cli, tmp_path):
    (tmp_path / "exercises").mkdir()
    for command in ("hint", "autograder"):
        done = run_cli(command, cwd=tmp_path)
        assert (done.returncode, "there is no exercise in" in done.stderr) == (2, True), done.stderr


def test_a_report_that_cannot_be_written_is_an_error_message(own_course, run_cli):
    done = run_cli("report", "exercise_03", "-o", "/proc/self/report.html", cwd=own_course.root)
    assert (done.returncode, "/proc/self/report.html: cannot be written" in done.stderr) == (2, True), done.stderr


def test_the_showcase_speaks_of_a_future_token_that_changes_the_past(run_cli):
    done = run_cli("exercise_03", "--file", "exercises/exercise_03/.starter/attention.py", "--json", "--seed", "3")
    verdict = json.loads(done.stdout)
    assert done.returncode == 1
    assert verdict["score"] == 0
    assert {defect["id"]: defect["status"] for defect in verdict["defects"]}["mask-discarded"] == "present"
    findings = " ".join(check["finding"] for check in verdict["checks"])
    parts = {"action": r"changing token \d", "place": r"token \d", "observed": r"[\d.]+", "expected": "no change"}
    assert re.search(sentence_pattern(FailureKind.LEAK, item="output", **parts), findings)


def test_the_same_seed_gives_the_same_findings(run_cli):
    path = "exercises/exercise_04/.starter/attention.py"
    first, second = (
        json.loads(run_cli("exercise_04", "--file", path, "--json", "--seed", "5").stdout) for _ in range(2)
    )
    assert [check["finding"] for check in first["checks"]] == [check["finding"] for check in second["checks"]]


def test_wrong_usage_exits_with_2_and_says_what_there_is(run_cli):
    for arguments in (
        ["exercise_99"],
        ["exercise_"],
        ["reset"],
        ["exercise_03", "--seed", "minus one"],
        ["exercise_03", "--what"],
    ):
        done = run_cli(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr
    assert "exercise_01 to exercise_" in run_cli("exercise_99").stderr


def test_a_name_too_long_for_a_file_is_wrong_usage(run_cli):
    for arguments in (["9" * 5000], ["hint", "exercise_" + "9" * 5000], ["exercise_03", "--file", "x" * 300]):
        done = run_cli(*arguments)
        assert (done.returncode, "grader: there is no " in done.stderr) == (2, True), done.stderr
        assert len(done.stderr) < 500


def test_the_list_needs_no_torch_and_little_time(run_cli):
    run_cli()
    started = time.monotonic()
    done = run_cli()
    seconds = time.monotonic() - started
    assert done.returncode == 0
    assert all(f"exercise_{number:02}" in done.stdout for number in range(1, 38))
    assert seconds < 3  # a tenth of this on an idle machine; the benchmark measures


@pytest.mark.parametrize(
    "name",
    ["3", "03", "exercise_3", "Exercise 3", "exercises/exercise_03", "exercises/exercise_03/README.md"],
)
def test_an_exercise_may_be_called_by_its_number_or_by_a_path_into_its_folder(course, name, monkeypatch):
    monkeypatch.chdir(course.root)
    assert exercise_called(course, name) == "exercise_03"


def test_a_path_elsewhere_and_a_number_that_is_not_there_mean_no_exercise(course, tmp_path):
    (tmp_path / "exercise_03").mkdir()
    for name in ("98", "exercise_98", str(tmp_path / "exercise_03"), "solutions", ""):
        assert exercise_called(course, name) is None


def test_exercises_and_their_themes_are_listed_by_number():
    entries = [
        OverviewLine(exercise=f"exercise_{number}", title="", progress=Progress(), theme=theme)
        for number, theme in (("100", "late"), ("101", "early"), ("12", "late"), ("09", "early"))
    ]
    listed = render_overview(entries, width=60)
    assert re.findall(r"exercise_(\d+)  ", listed) == ["09", "101", "12", "100"]


def test_the_list_fits_a_narrow_terminal():
    titles = ("The model that knew how the sentence ends", "Bags of words")
    entries = [
        OverviewLine(exercise=f"exercise_0{number}", title=title, progress=Progress())
        for number, title in enumerate(titles)
    ]
    first, second, *_ = render_overview(entries, width=60).splitlines()
    assert first == "· exercise_00  ○○○○○  The model that knew ho…  not tried yet"
    assert second == "· exercise_01  ○○○○○  Bags of words            not tried yet"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["wach"], "watch"),
        (["tri", "3"], "try"),
        (["exercise_o3"], "exercise_03"),
        (["hint", "exercize_03"], "exercise_03"),
    ],
)
def test_a_mistyped_name_gets_the_nearest_one(run_cli, arguments, meant):
    done = run_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"did you mean {meant}? The exercises are " in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("word", ["list", "status", "next", "progress"])
def test_words_that_people_type_print_the_list(own_course, run_cli, word):
    assert run_cli(word, cwd=own_course.root).stdout == run_cli(cwd=own_course.root).stdout


def test_help_lists_the_commands(run_cli):
    assert "For students:" in run_cli("help").stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", [["hint"], ["report"], [], ["try"], ["guide", "--card", "4"]])
def test_pipes_in_place_of_the_kits_own_files_stop_no_command(run_cli, own_course, command):
    run_cli("exercise_02", cwd=own_course.root)
    run_cli("hint", "exercise_02", cwd=own_course.root)
    for path in (own_course.root / ".grader").rglob("*"):
        if path.is_file():
            path.unlink()
            os.mkfifo(path)
    done = run_cli(*command, "exercise_02", cwd=own_course.root)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def test_words_of_a_title_identify_its_exercise(course):
    assert exercise_titled(course, "circled in red") == "exercise_35"
    assert exercise_titled(course, "how the sentence ends") == "exercise_03"
    assert exercise_titled(course, "the") is None
    assert exercise_titled(course, "no such title") is None


def test_words_of_a_title_are_answered_with_the_command_of_the_exercise(course, run_cli):
    done = run_cli("how", "the", "sentence", "ends", "--json", cwd=course.root)
    advice = "to grade exercise_03, call it by its name or number: python -m grader exercise_03"
    assert (done.returncode, done.stderr) == (2, f"grader: {advice}\n")


def test_outside_a_course_no_other_one_is_used_in_silence(run_cli, tmp_path):
    done = run_cli(cwd=tmp_path)
    assert done.stderr == f"There is no course in {tmp_path}; using the one in {ROOT} (--course DIR chooses another).\n"
    for arguments in (["--course", str(ROOT), "diff", "3"], ["diff", "3", "--course", str(ROOT)]):
        done = run_cli(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    done = run_cli("diff", "3", "--course", str(tmp_path))
    remedy = "name the folder that contains it, or create it for a new course"
    assert (done.returncode, done.stderr) == (2, f"grader: there is no exercises/ in {tmp_path}; {remedy}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_completions_and_first_words_may_be_exercises(run_cli, shell, monkeypatch):
    assert "_GRADER_COMPLETE" in run_cli("completion", shell).stdout
    for name, value in {
        "_GRADER_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "grader exercise_0",
        "COMP_CWORD": "1" if shell != "fish" else "exercise_0",
    }.items():
        monkeypatch.setenv(name, value)
    assert "exercise_03" in run_cli().stdout


@pytest.mark.parametrize("words", ["grader --course {} ", "grader --course {} hint ", "grader hint --course {} "])
def test_exercises_are_completed_from_the_course_that_is_named(run_cli, words, tmp_path, monkeypatch):
    (tmp_path / "a course" / "exercises" / "exercise_77").mkdir(parents=True)
    words = words.format("'a course'")
    for name, value in {
        "_GRADER_COMPLETE": "bash_complete",
        "COMP_WORDS": f"{words}exercise_",
        "COMP_CWORD": str(words.count(" ") - 1),
    }.items():
        monkeypatch.setenv(name, value)
    printed = run_cli(cwd=tmp_path).stdout
    assert "exercise_77" in printed
    assert "exercise_03" not in printed


def test_a_file_that_is_not_there_or_is_a_link_is_wrong_usage(run_cli, tmp_path):
    done = run_cli("3", "--file", str(tmp_path / "nothing.py"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing.py; check the path" in done.stderr
    link = tmp_path / "link.py"
    link.symlink_to(ROOT / "solutions/exercise_03/attention.py")
    done = run_cli("3", "--file", str(link))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a link; name the file that it points to" in done.stderr


def test_outside_its_environment_it_says_so_in_a_sentence():
    done = subprocess.run([sys.executable, "-S", "-m", "grader"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(r"grader: \S+ has no \w+; activate the environment of README.md\n", done.stderr)


def test_the_version_is_that_of_the_package(run_cli):
    assert run_cli("--version").stdout == f"grader {grader.__version__}\n"


def test_all_are_graded_and_listed(own_course, run_cli):
    for exercise_id in own_course.exercise_ids():
        if exercise_id not in ("exercise_02", "exercise_03", "exercise_06"):
            shutil.rmtree(own_course.exercise_folder(exercise_id))
    module, _ = own_course.editable_files("exercise_03")
    module.write_bytes(own_course.reference("exercise_03").read_bytes())
    own_course.description("exercise_02").write_text("title: nothing else\n", encoding="utf-8")
    done = run_cli("grade", "--all", cwd=own_course.root)
    assert done.returncode == 2
    assert done.stderr.startswith("exercise_02 was skipped: ")
    states = {line[2:13]: line for line in done.stdout.splitlines() if line[2:10] == "exercise"}
    assert states["exercise_03"].endswith("  fixed")
    assert "0 of 10 points" in states["exercise_06"]
    assert run_cli("grade", "--all", "3", cwd=own_course.root).returncode == 2
    assert run_cli("grade", cwd=own_course.root).returncode == 2


def test_the_list_is_grouped_by_theme_and_sorted_by_difficulty_as_the_page_of_hunts_is(run_cli):
    page = (ROOT / "exercises" / "README.md").read_text(encoding="utf-8").partition("\n## Paths\n")[0]
    told = re.findall(r"^### (.+)$|^\| \[(exercise_\d+)\].*? ([●○]{5})", page, re.MULTILINE)
    listed = re.findall(r"^(\w.*)$|^\S (exercise_\d+)  ([●○]{5})", run_cli().stdout.rpartition("\n\n")[0], re.MULTILINE)
    assert listed == told
    assert sum(bool(exercise) for _, exercise, _ in listed) == len(list((ROOT / "exercises").glob("exercise_*")))


def test_a_command_without_an_exercise_means_the_last_one_edited_or_graded(run_cli, own_course):
    untouched = run_cli("diff", "--course", own_course.root)
    assert (untouched.returncode, untouched.stdout) == (2, "")
    assert untouched.stderr == "grader: name an exercise, as in python -m grader diff exercise_01\n"
    edited = own_course.root / "exercises" / "exercise_03" / "attention.py"
    edited.write_text(edited.read_text(encoding="utf-8") + "\nMINE = 1\n", encoding="utf-8")
    shown = run_cli("diff", "--course", own_course.root)
    assert (shown.returncode, shown.stderr) == (0, "No exercise named; using exercise_03:\n")
    assert "+MINE = 1" in shown.stdout
    remembered = own_course.root / ".grader" / "progress" / "exercise_02.json"
    save_progress(own_course, "exercise_02", Progress())
    os.utime(remembered, (time.time() + 60,) * 2)
    assert run_cli("diff", "--course", own_course.root).stderr == "No exercise named; using exercise_02:\n"


def test_nothing_is_put_back_that_was_not_named(run_cli, own_course):
    edited = own_course.root / "exercises" / "exercise_03" / "attention.py"
    edited.write_text("MINE = 1\n", encoding="utf-8")
    done = run_cli("reset", "--course", own_course.root)
    assert (done.returncode, done.stderr) == (2, "grader: name an exercise, as in python -m grader reset exercise_01\n")
    assert edited.read_text(encoding="utf-8") == "MINE = 1\n"


def test_an_exercise_may_stand_before_its_command(run_cli, own_course):
    edited = own_course.root / "exercises" / "exercise_03" / "attention.py"
    edited.write_text(edited.read_text(encoding="utf-8") + "\nMINE = 1\n", encoding="utf-8")
    usual = run_cli("diff", "exercise_03", cwd=own_course.root)
    turned = run_cli("3", "diff", cwd=own_course.root)
    assert "+MINE = 1" in turned.stdout
    assert (turned.returncode, turned.stdout, turned.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    assert "Hint 1 of" in run_cli("3", "hints", cwd=own_course.root).stdout


def test_a_deleted_current_folder_gives_an_error_message(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && {sys.executable} -m grader list"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("grader: the current folder no longer exists")
