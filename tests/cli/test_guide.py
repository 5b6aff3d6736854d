"""`guide` from the command line: with answers as options, through a pipe, and on a terminal."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

import msgspec
import pytest

from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.student.evidence import load_calls, store_calls
from grader.student.progress import load_progress
from tests.support.paths import ROOT
from tests.support.watching import own_terminal

EXERCISE = "exercise_03"
EXERCISES = sorted(path.name for path in (ROOT / "solutions").glob("exercise_*"))
WRONG = "attn_scores.masked_fill(self.causal_mask"
RIGHT = "attn_scores = attn_scores.masked_fill(self.causal_mask"


def guide(run_cli, course, *answers, exercise_id=EXERCISE, cards=()):
    options = [part for card in cards for part in ("--card", card)]
    given = [part for answer in answers or ("",) for part in ("--answer", answer)]
    done = run_cli("guide", exercise_id, *options, *given, cwd=course.root)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_prediction_is_compared_with_what_should_happen_and_with_the_file(own_course, run_cli):
    page = guide(run_cli, own_course, "2", "4", cards=[1])
    assert "✓ What happens: at batch=1, tokens=3" in page
    right = "at this token and later ones, never at earlier ones"
    assert f"✗ What should happen: {right}\n  Your file: changing token 1 changed" in page
    assert "· What should happen: at this sample alone" in page  # no third answer
    assert [*load_progress(own_course, EXERCISE).guide.predictions.values()] == [True, False]


def test_a_claim_is_answered_and_counts_after_the_students_own_fix(own_course, run_cli):
    claim = "attn_scores unchanged 41"
    answers = [claim, "maybe", "n", "nothing here", "attn_scores sums_to_one", "x shape 1 3 4", "y"]
    page = guide(run_cli, own_course, *answers, cards=[2])
    assert re.search(
        r"^The guide draws its inputs from seed \d+\.$",
        page,
        re.MULTILINE,
    )
    assert "    38  attn_scores          [1, 3, 3] float32\n" in page
    assert f"claim> {claim}\n  true: all 9 numbers are equal before and after line 41\n" in page
    assert "if you don't know: maybe\ny, n or Enter\n" in page
    assert '"nothing here" is not a claim: write a name and a form' in page
    assert page.count("  true: ") == 2
    record = load_progress(own_course, EXERCISE).guide
    assert record.true_claims_before_edit == 2
    assert record.evidence == {claim: True}
    assert record.seconds_to_true_claim is not None
    module, _ = own_course.editable_files(EXERCISE)
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace(WRONG, RIGHT).replace("import torch\n", "import torch\n\n", 1), encoding="utf-8")
    page = guide(run_cli, own_course, cards=[4])
    lines = f"{claim} (line 42 now)\n    before your edits: true\n    now: false: 3 of 9 numbers differ"
    assert f" ✓  {lines}" in page
    assert "Your edits changed this answer, so it was a trace of a bug." in page
    assert "masked_fill returns a new tensor and does not change the old one." in page
    assert load_progress(own_course, EXERCISE).guide.contradicted == [claim]


@pytest.mark.slow
def test_a_claim_is_answered_again_in_its_own_call_although_the_failing_check_changes(own_course, run_cli):
    exercise_id, claims = "exercise_22", ["forward.words equals 4", "out finite"]
    page = guide(run_cli, own_course, claims[0], "n", claims[1], "n", exercise_id=exercise_id, cards=[2])
    assert page.count("  true: ") == 2
    assert "The call: GroupedAttention(dim=" in page
    before = load_calls(own_course, exercise_id)
    (module,) = [each for each in own_course.editable_files(exercise_id) if each.suffix == ".py"]
    exercise = load_exercise(own_course.description(exercise_id))
    text = module.read_text(encoding="utf-8")
    for number, defect in enumerate(exercise.defects, 1):
        for was, fix in defect.edits():
            assert was in text
            text = text.replace(was, fix)
        module.write_text(text, encoding="utf-8")
        page = guide(run_cli, own_course, "q", exercise_id=exercise_id, cards=[2])
        after = load_calls(own_course, exercise_id)
        assert after.calls_of(claims[0])[0].requests == before.calls[-1].requests != after.calls[-1].requests
        page = " ".join(guide(run_cli, own_course, exercise_id=exercise_id, cards=[4]).split())
        assert f"{claims[0]} before your edits: true now: still true: it is 4" in page
        assert ("the value was not wrong" in page) is (number == len(exercise.defects))
        assert "removed" not in page
    calls = load_calls(own_course, exercise_id)
    store_calls(own_course, exercise_id, calls.with_changed(calls.claims[1]))
    page = guide(run_cli, own_course, exercise_id=exercise_id, cards=[4])
    assert f" ✓  {claims[1]}\n    before your edits: true\n    now: still true" in page
    assert "An earlier edit changed this answer, so it was a trace of a bug." in page


@pytest.mark.slow
def test_a_file_with_an_open_extra_is_not_called_right(own_course, run_cli):
    exercise_id, claim = "exercise_02", "x finite"
    guide(run_cli, own_course, claim, "n", exercise_id=exercise_id, cards=[2])
    module = next(each for each in own_course.editable_files(exercise_id) if each.suffix == ".py")
    exercise = load_exercise(own_course.description(exercise_id))
    assert any(each.stretch for each in exercise.defects)
    text = own_course.reference_text(exercise_id)
    for is_open, wanted in ((True, "Either this value is right, or a bug"), (False, "your file is right")):
        extras = [each for each in exercise.defects if each.stretch and is_open]
        module.write_text(put_back(text, extras), encoding="utf-8")
        page = " ".join(guide(run_cli, own_course, exercise_id=exercise_id, cards=[4]).split())
        assert wanted in page


@pytest.mark.slow
def test_the_guide_keeps_its_seed_and_compares_it_with_that_of_the_page(own_course, run_cli):
    def seed_words(*options):
        done = run_cli("guide", EXERCISE, "--card", "2", "--answer", "q", *options, cwd=own_course.root)
        return done.stdout.partition("\n\n")[0].replace("\n", " ")

    first = seed_words()
    assert re.fullmatch(r"The guide draws its inputs from seed \d+\.", first)
    assert seed_words() == first
    assert seed_words("--seed", "7") == "The guide draws its inputs from seed 7."
    run_cli(EXERCISE, "--seed", "8", cwd=own_course.root)
    differs = "so its numbers differ from the numbers on the page, which has seed 8."
    assert seed_words() == f"The guide draws its inputs from seed 7, {differs}"
    assert seed_words("--seed", "8") == "The guide draws its inputs from seed 8, like the last page."


@pytest.mark.slow
def test_the_file_is_graded_in_the_middle_and_the_fix_is_explained(own_course, run_cli):
    page = guide(run_cli, own_course, "g", "", cards=[3])
    assert "Not yet · 0 of 10 points\n" in page
    assert "✗ defect 1 · still there" in page
    assert len(load_progress(own_course, EXERCISE).attempts) == 1
    assert "graded 1 time\n" in guide(run_cli, own_course, cards=[3])
    assert "This card explains defects that you have fixed." in guide(run_cli, own_course, cards=[4])


def test_another_file_is_guided_without_a_record(own_course, run_cli):
    done = run_cli("guide", EXERCISE, "--file", own_course.reference(EXERCISE), "--card", 3, cwd=own_course.root)
    assert "10 of 10 points" in done.stdout
    assert load_progress(own_course, EXERCISE).outcome is None


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_starter_can_be_guided_without_an_answer(own_course, run_cli, exercise_id):
    page = guide(run_cli, own_course, exercise_id=exercise_id)
    assert "1 Predict" in page
    assert "your file makes these values" in page.lower()
    assert "3 Fix" in page
    assert "nothing is wrong with" not in page.lower()
    if exercise_id in {"exercise_35", "exercise_36", "exercise_37"}:
        assert "if you are sure that nothing is wrong, make that claim" in " ".join(page.split())


@pytest.mark.slow
def test_values_are_shown_at_sizes_that_show_something(own_course, run_cli):
    page = guide(run_cli, own_course, exercise_id="exercise_09", cards=[2])
    assert re.search(r"x +\[2, 5, 3, 4\] float32", page)  # every check of values fails with one pixel too


def test_answers_are_read_from_a_pipe_and_its_end_skips_the_rest(own_course):
    done = subprocess.run(
        [sys.executable, "-m", "grader", "guide", EXERCISE, "--card", "1", "--card", "2"],
        input="2\n\n3\nattn_weights sums_to_one\n",
        cwd=own_course.root,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        check=True,
    )
    assert "number> 2\n✓ What happens: at batch=1, tokens=3" in done.stdout
    assert "· What should happen: at this token and later ones, never at earlier ones" in done.stdout
    assert "claim> attn_weights sums_to_one\n  true: its rows sum to 1\n" in done.stdout


WITHOUT_FORKING = """
from grader.processes import worker_source
worker_source.CAN_FORK = False  # before the modules whose defaults depend on it
worker_source.Forker = None
from grader.__main__ import run
run()
"""


@pytest.mark.slow
def test_workers_are_spawned_where_the_kit_cannot_fork(own_course):
    arguments = ["guide", EXERCISE, "--card", "1", "--answer", ""]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FORKING, *arguments],
        cwd=own_course.root,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Predict" in done.stdout


def press(*keys):
    return lambda terminal: os.write(terminal, "".join(keys).encode())


def resize_and_press(*keys):
    def act(terminal):
        for columns in (40, 132):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        press(*keys)(terminal)

    return act


@pytest.mark.parametrize(
    ("leave", "code", "answered"),
    [
        pytest.param(press("\x04"), 0, 0, id="Ctrl-D"),
        pytest.param(press("2\n", "\x04"), 0, 1, marks=pytest.mark.slow, id="an answer and Ctrl-D"),
        pytest.param(press("\x03"), 130, 0, marks=pytest.mark.slow, id="Ctrl-C"),
        pytest.param(resize_and_press("2\n", "\x04"), 0, 1, marks=pytest.mark.slow, id="another size"),
        pytest.param(os.close, -signal.SIGHUP, 0, marks=pytest.mark.slow, id="a closed terminal"),
    ],
)
def test_the_guide_ends_when_its_student_leaves_the_terminal(own_course, leave, code, answered):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "grader", "guide", EXERCISE]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        command,
        cwd=own_course.root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        preexec_fn=own_terminal,  # noqa: PLW1509 - this process has one thread
    ) as process:
        os.close(theirs)
        page = b""
        while b"number> " not in page:
            page += os.read(ours, 65536)
        leave(ours)
        with contextlib.suppress(OSError):  # the terminal has gone with its last program
            while os.read(ours, 65536):
                pass
        assert process.wait() == code
    if leave is not os.close:
        os.close(ours)
    assert len(load_progress(own_course, EXERCISE).guide.predictions) == answered


def test_a_file_that_does_not_run_is_refused(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_text("class CausalSelfAttention(:\n", encoding="utf-8")
    done = run_cli("guide", EXERCISE, cwd=own_course.root)
    assert done.returncode == 2
    assert "cannot run yet; python -m grader exercise_03 says why" in done.stderr


@pytest.mark.slow
def test_a_damaged_stored_call_is_ignored(own_course, run_cli):
    folder = own_course.state_folder() / "guide"
    folder.mkdir(parents=True)
    (folder / f"{EXERCISE}.msgpack").write_bytes(msgspec.msgpack.encode({"requests": 1}))
    assert "This card explains defects that you have fixed." in guide(run_cli, own_course, cards=[4])
