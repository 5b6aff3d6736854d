"""Watching: a verdict for whatever is saved, in whatever calling variant, once; keys; and a terminal left as it was
found.
"""

import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.watching import PATIENCE, VERDICT, Watch, examiners_of, small_course

SETTLED = 0.6
"""Seconds after which all effects of a save have been shown."""

QUIET = 5.0
"""Seconds without a verdict after which none is under way, even on a busy machine."""

TRIES = 20
"""Times that saves in quick succession are repeated while the machine is too busy to make them in time."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_course(tmp_path_factory.mktemp("course"), "exercise_03")


@pytest.fixture(scope="module")
def shared(course: Path) -> Iterator[Watch]:
    with Watch(course, "exercise_03") as watch:
        watch.verdict()
        yield watch


@pytest.fixture
def module(course: Path) -> Path:
    return course / "exercises/exercise_03/attention.py"


@pytest.fixture
def starter(module: Path) -> str:
    return (module.parent / ".starter/attention.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fix(course: Path) -> str:
    return (course / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")


@pytest.fixture
def watch(shared: Watch, module: Path, starter: str) -> Watch:
    """The watch, having told of a starter that no test saved before."""
    shared.forget()
    module.write_text(f"{starter}\n# {time.monotonic_ns()}\n", encoding="utf-8")
    shared.verdict()
    time.sleep(0.1)
    shared.forget()
    return shared


def save_within(watch: Watch, seconds: float, save: Callable[[], object]) -> None:
    """Call `save`, and repeat it if it took too long: a watch rightly judges a file that stays unchanged."""
    for _ in range(TRIES):
        started = time.monotonic()
        save()
        if time.monotonic() - started < seconds:
            return
        wait_until_quiet(watch)
        watch.forget()
    pytest.fail(f"the machine is too busy: no {TRIES} times within {seconds} s")


def wait_until_quiet(watch: Watch) -> None:
    """Wait until no verdict comes any more: a slow save has one, several, or none if it was taken back."""
    count, since = watch.verdicts(), time.monotonic()
    while time.monotonic() - since < QUIET:
        time.sleep(0.1)
        if watch.verdicts() != count:
            count, since = watch.verdicts(), time.monotonic()


def test_the_examiner_that_is_there_judges_each_save_and_the_first_line_says_what_changed(watch, module, starter, fix):
    examiners = examiners_of(watch.process.pid)
    for number in range(5):
        watch.forget()
        module.write_text(f"{(fix, starter)[number % 2]}\n# {number}\n", encoding="utf-8")
        told = watch.verdict()
        first = told.rpartition("\x1b[H\x1b[2J\x1b[3J")[2].splitlines()[0]
        word = ("fixed", "back")[number % 2]
        changed = rf"defect 1 is {word} · defect 2 is {word}"
        assert re.fullmatch(rf"attention.py · \d\d:\d\d:\d\d · {changed}", first)
        assert ("Fixed · 10 of 10", "Not yet · 0 of 10")[number % 2] in told
    assert examiners_of(watch.process.pid) == examiners


def test_every_verdict_of_a_watch_is_drawn_from_one_seed(watch, module, fix):
    module.write_text(fix, encoding="utf-8")
    first = re.search(r"seed (\d+)", watch.verdict())
    watch.forget()
    module.write_text(fix + "\n", encoding="utf-8")
    assert re.search(r"seed (\d+)", watch.verdict())[1] == first[1]


def test_saves_by_renaming_are_followed_without_reporting_a_missing_file(watch, module, fix):
    draft = module.with_name(".attention.py.swp")
    draft.write_text(fix + "# renamed\n", encoding="utf-8")
    draft.replace(module)
    assert "Fixed" in watch.verdict()
    watch.forget()

    def save() -> None:
        module.rename(module.with_name("attention.py~"))  # as vim does where it keeps a backup
        time.sleep(0.1)
        module.write_text(f"{fix}# renamed again {time.monotonic_ns()}\n", encoding="utf-8")
        module.with_name("attention.py~").unlink()

    save_within(watch, 0.35, save)
    time.sleep(SETTLED)
    assert "Fixed" in watch.verdict()
    assert watch.verdicts() == 1


@pytest.mark.parametrize(
    "half",
    [
        pytest.param(lambda _: 0, id="empty"),
        pytest.param(lambda text: text.index("Linear(") + 3, id="in a word"),
        pytest.param(lambda text: text.index("    def forward"), id="between methods"),
        pytest.param(lambda text: len(text) - 3, id="but for its end"),
    ],
)
def test_a_half_written_file_gets_no_verdict_of_its_own(watch, module, fix, half):
    def save() -> None:
        text = f"{fix}# written in two halves {time.monotonic_ns()}\n"
        with module.open("w", encoding="utf-8") as file:
            file.write(text[: half(text)])
            file.flush()
            time.sleep(0.2)
            file.write(text[half(text) :])

    save_within(watch, 0.35, save)
    time.sleep(SETTLED)
    assert "Fixed" in watch.verdict()
    assert watch.verdicts() == 1


def test_only_the_last_of_a_burst_of_saves_is_shown_and_an_unchanged_save_shows_nothing(watch, module, starter, fix):
    def save_often() -> None:
        for number in range(20):
            module.write_text(f"{(fix, starter)[number % 2]}# burst {number}\n", encoding="utf-8")
            time.sleep(0.005)
        module.write_text(f"{fix}# last {time.monotonic_ns()}\n", encoding="utf-8")

    save_within(watch, 0.2, save_often)
    time.sleep(SETTLED)
    told = watch.verdict()
    assert "Fixed" in VERDICT.split(told)[-1]
    assert watch.verdicts() == 1
    watch.forget()
    last = module.read_text(encoding="utf-8")
    module.write_text(last, encoding="utf-8")
    module.touch()
    time.sleep(SETTLED)

    def take_back() -> None:
        module.write_text(starter, encoding="utf-8")
        time.sleep(0.02)
        module.write_text(last, encoding="utf-8")  # before there was a verdict

    save_within(watch, 0.08, take_back)
    time.sleep(SETTLED)
    assert watch.verdicts() == 0


def test_a_deleted_file_is_reported_and_followed_when_it_is_back(watch, module, fix):
    module.unlink()
    assert "there is no file attention.py" in watch.verdict()
    watch.forget()
    module.write_text(fix, encoding="utf-8")
    assert "Fixed" in watch.verdict()


def test_a_folder_that_is_moved_away_and_back_is_followed(watch, module, fix):
    home, away = module.parent, module.parent.with_name("away")
    home.rename(away)
    assert "there is no file attention.py" in watch.verdict()
    watch.forget()
    (away / "attention.py").write_text(fix + "# moved\n", encoding="utf-8")
    away.rename(home)
    assert "Fixed" in watch.verdict()
    watch.forget()
    module.write_text(fix + "# moved and saved\n", encoding="utf-8")
    watch.verdict()


def test_a_link_to_a_file_elsewhere_is_followed_without_events(watch, tmp_path, module, starter, fix):
    elsewhere = tmp_path / "mine.py"
    elsewhere.write_text(fix, encoding="utf-8")
    module.unlink()
    module.symlink_to(elsewhere)
    try:
        assert "Fixed" in watch.verdict()
        watch.forget()
        elsewhere.write_text(starter, encoding="utf-8")
        assert "Not yet" in watch.verdict()
    finally:
        module.unlink()


def test_a_syntax_error_is_shown_with_its_line_and_changes_no_defect(watch, module, starter, fix):
    module.write_text(fix, encoding="utf-8")
    watch.verdict()
    watch.forget()
    module.write_text(fix + "def unfinished(\n", encoding="utf-8")
    told = watch.verdict()
    assert "Not gradable" in told
    assert "def unfinished(" in told
    watch.forget()
    module.write_text(fix + "# finished\n", encoding="utf-8")
    assert " · no change" in watch.verdict()


def test_the_notebook_is_graded_when_it_was_saved_last(watch, module):
    notebook = module.with_suffix(".ipynb")
    before = notebook.read_text(encoding="utf-8")
    notebook.write_text(before.replace("import torch", "import torch  # mine", 1), encoding="utf-8")
    told = watch.verdict()
    notebook.write_text(before, encoding="utf-8")
    assert "attention.ipynb, the newer one" in told
    assert re.search(r"attention\.ipynb · \d\d:", told)


@pytest.mark.slow
def test_a_submission_that_hangs_does_not_keep_the_next_one_waiting(watch, module, starter, fix):
    """Its examiner is ended long before the time limit, and another one judges what was saved since."""
    (examiner,) = examiners_of(watch.process.pid)
    module.write_text(starter + "while True: pass\n", encoding="utf-8")
    time.sleep(0.5)
    module.write_text(fix + "# after the loop\n", encoding="utf-8")
    assert "Fixed" in watch.verdict()
    assert watch.verdicts() == 1
    deadline = time.monotonic() + PATIENCE
    while len(examiners_of(watch.process.pid)) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    (other,) = examiners_of(watch.process.pid)
    assert other != examiner


def test_keys_give_a_hint_the_diff_and_the_report_again(watch, module, starter):
    watch.press("h")
    assert "defect 1 · still there" in watch.wait_for("Hint 1 of 3")
    watch.press("d")
    assert "+# " in watch.wait_for(r"\+# \d+")
    watch.press("\x1b[d")  # what a terminal sends for some key of its own
    time.sleep(0.3)
    assert watch.new == ""
    watch.press("xr")
    told = watch.verdict()
    assert " · shown again" in told
    assert watch.verdicts() == 1


def test_a_watch_that_was_stopped_and_goes_on_reads_keys_again(watch):
    watch.process.send_signal(signal.SIGSTOP)
    termios.tcsetattr(watch.terminal, termios.TCSANOW, watch.settings)  # as a shell does for its input line
    watch.process.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 10
    while watch.is_restored() and time.monotonic() < deadline:
        time.sleep(0.01)
    watch.press("r")
    assert " · shown again" in watch.verdict()


def ways_to_end() -> list:
    return [
        pytest.param(lambda watch: watch.press("q"), 0, id="q"),
        pytest.param(lambda watch: watch.press("\x04"), 0, id="Ctrl-D"),
        pytest.param(lambda watch: watch.press("\x03"), 130, id="Ctrl-C"),
        pytest.param(lambda watch: watch.process.send_signal(signal.SIGTERM), 128 + signal.SIGTERM, id="SIGTERM"),
    ]


@pytest.mark.parametrize(("end", "status"), ways_to_end())
def test_every_end_restores_the_terminal_and_leaves_no_process(tmp_path, end, status):
    course = small_course(tmp_path, "exercise_03")
    with Watch(course, "exercise_03") as watch:
        watch.wait_for("Watching")
        deadline = time.monotonic() + 20
        while (watch.is_restored() or not processes_of(course)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not watch.is_restored()
        end(watch)
        assert watch.process.wait(20) == status
        assert watch.is_restored()
        assert "Traceback" not in watch.new
    until = time.monotonic() + 20
    while processes_of(course) and time.monotonic() < until:
        time.sleep(0.05)
    assert not processes_of(course)


def test_an_error_restores_the_terminal_too(tmp_path):
    course = small_course(tmp_path, "exercise_03", "exercise_06")
    with Watch(course) as watch:
        watch.verdict()
        (course / "solutions/exercise_03/exercise.yaml").write_text("title: [", encoding="utf-8")
        fix = (course / "solutions/exercise_06/attention.py").read_text(encoding="utf-8")
        (course / "exercises/exercise_06/attention.py").write_text(fix, encoding="utf-8")
        assert watch.process.wait(30) == 2
        assert watch.is_restored()
        assert "exercise_03/exercise.yaml" in watch.wait_for(r"exercise.yaml:\d+")


@pytest.mark.slow
def test_without_a_name_the_easiest_exercise_not_fixed_is_followed_and_then_the_next(tmp_path):
    course = small_course(tmp_path, "exercise_03", "exercise_06")
    with Watch(course) as watch:
        assert "Watching: exercise_06" in watch.verdict()
        watch.forget()
        for exercise, follows in (
            ("exercise_06", r"Fixed · .*Next: exercise_03.*Now: not fixed yet, 0 of 10"),
            ("exercise_03", r"Fixed · .*Every exercise is fixed"),
        ):
            fix = (course / f"solutions/{exercise}/attention.py").read_text(encoding="utf-8")
            (course / f"exercises/{exercise}/attention.py").write_text(fix, encoding="utf-8")
            watch.wait_for(follows)
            watch.forget()
        assert watch.process.wait(20) == 0
        assert watch.is_restored()
    listed = subprocess.run([sys.executable, "-m", "grader"], **plainly(course), timeout=60, check=True)
    assert "  fixed\n" in listed.stdout


@pytest.mark.slow
def test_without_a_name_an_exercise_that_cannot_be_read_is_passed_over(tmp_path):
    course = small_course(tmp_path, "exercise_03", "exercise_06")
    (course / "solutions/exercise_06/exercise.yaml").write_text("title: nothing else\n", encoding="utf-8")
    with Watch(course) as watch:
        assert "Watching: exercise_03" in watch.verdict()
        watch.forget()
        fix = (course / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
        (course / "exercises/exercise_03/attention.py").write_text(fix, encoding="utf-8")
        assert "exercise_06" in watch.wait_for(r"Fixed · .*exercise.yaml")
        assert watch.process.wait(20) == 2


def test_without_a_terminal_it_reads_no_keys_and_writes_plain_text(tmp_path):
    course = small_course(tmp_path, "exercise_03")
    log = tmp_path / "log"
    with log.open("wb") as file:
        watch = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", "exercise_03"],
            **{**plainly(course), "stdout": file, "stdin": subprocess.PIPE},
        )
    try:
        assert watch.stdin is not None
        watch.stdin.write("q\n")
        watch.stdin.close()
        deadline = time.monotonic() + 60
        while "Not yet" not in log.read_text(encoding="utf-8") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert watch.poll() is None
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(20) == 128 + signal.SIGTERM
    finally:
        watch.kill()
        watch.wait()
    told = log.read_text(encoding="utf-8")
    assert "\x1b" not in told
    assert "q quit" not in told
    assert len(VERDICT.findall(told)) == 1


@pytest.mark.slow
def test_a_student_edition_without_hints_is_watched_and_offers_none(tmp_path):
    edition = released(tmp_path, "--without-hints")
    with Watch(edition, "exercise_03", kit=edition) as watch:
        watch.verdict()
        watch.press("h")
        watch.wait_for("This edition has no hints")
        watch.press("q")
        assert watch.process.wait(20) == 0


@pytest.mark.slow
def test_a_sealed_edition_is_watched_with_all_defects_and_says_how_many_checks_ran(tmp_path):
    edition = released(tmp_path)
    fix = (ROOT / "solutions/exercise_03/attention.py").read_text(encoding="utf-8")
    with Watch(edition, "exercise_03", kit=edition) as watch:
        told = watch.verdict()
        assert re.search(r"\d+ of \d+ checks run here\. The others, and your points, come when you hand in\.", told)
        assert "defect 1 · still there" in told
        watch.forget()
        (edition / "exercises/exercise_03/attention.py").write_text(fix, encoding="utf-8")
        assert "defect 1 · fixed" in watch.verdict()
        watch.press("q")
        assert watch.process.wait(20) == 0


def released(folder: Path, *options: str) -> Path:
    """A student edition of exercise_03."""
    edition = folder / "edition"
    command = [sys.executable, "-m", "grader", "release", str(edition), "exercise_03", *options]
    subprocess.run(command, **plainly(ROOT), timeout=300, check=True)
    return edition


def plainly(folder: Path) -> dict:
    """How to run a command in a course without a terminal."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return {"cwd": folder, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def processes_of(course: Path) -> list[str]:
    """The examiners of this course, and what they forked, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(course) in line:
            found.append(line)
    return found
