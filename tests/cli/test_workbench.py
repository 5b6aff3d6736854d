"""The commands of students besides grading: hints, differences, resets and the list."""

import re
import subprocess
import sys

import click.testing
import msgspec
import pytest

from grader.checks.outcome import FailureKind, Finding, Location, Outcome, Status
from grader.commands import student
from grader.errors import UsageError
from grader.report.hint import Hint, render_hint
from grader.report.overview import OverviewLine, render_overview
from grader.report.progress import Progress
from grader.spec.edition import Sealed
from grader.spec.loading import load_exercise
from grader.student.changes import changes, restore_starter
from grader.student.hints import next_hint
from grader.student.progress import load_progress, remember_verdict, save_progress
from grader.verdict.attribution import DefectStatus, Reason, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict, not_gradable
from tests.support.mending import mend_module, mend_notebook
from tests.support.pages import notebook_section, terminal_page

EXERCISE = "exercise_03"
DECOY = "exercise_36"
MASK, LONG = "mask-discarded", "long-sequence-unmasked"


@pytest.fixture
def exercise(own_course):
    return load_exercise(own_course.description(EXERCISE))


@pytest.fixture
def steps(exercise):
    """The steps of a defect, each as one line."""
    hints = {defect.id: defect.hints for defect in exercise.defects}
    return lambda defect: [" ".join(text.split()) for text in hints[defect]]


def verdict_on(course, fixed: set[str], exercise_id: str = EXERCISE) -> Verdict:
    """A verdict in which these defects are fixed and the others are not."""
    exercise = load_exercise(course.description(exercise_id))
    defects = [
        DefectVerdict(
            id=each.id,
            status=DefectStatus.FIXED if each.id in fixed else DefectStatus.PRESENT,
            points=0,
            max_points=1,
            stretch=each.stretch,
        )
        for each in exercise.defects
    ]
    is_whole = all(each.id in fixed for each in exercise.defects if not each.stretch)
    outcome = Result.FIXED if is_whole else Result.NOT_FIXED
    score = 10.0 if is_whole else 0.0
    return Verdict(
        exercise=exercise_id,
        file="f",
        outcome=outcome,
        reason=None,
        score=score,
        max_score=10,
        seed=1,
        defects=defects,
        regressions=[],
        checks=[],
        isolation={},
        seconds=0,
    )


def graded(course, fixed: set[str], exercise_id: str = EXERCISE) -> None:
    """Remember a grading after which these defects were fixed."""
    remember_verdict(course, verdict_on(course, fixed, exercise_id))


LAST = (
    "That was the last hint. Now it is up to you",
    ["python -m grader try exercise_03 runs your file", "python -m grader diff exercise_03 shows your change"],
)
"""The hunt announces no number of defects, so no other defect is named."""


def test_each_call_gives_one_step_more_below_those_given(own_course, exercise, steps):
    starter = verdict_on(own_course, set())
    about = "exercise_03 · defect 1 · still there"
    more = "For the next hint", ["python -m grader hint exercise_03 1"]
    for given in (1, 2, 3, 3):
        action, commands = more if given < 3 else LAST
        assert next_hint(own_course, exercise, starter) == Hint(
            title=about, steps=steps(MASK)[:given], total=3, next_action=action, commands=commands
        )
    assert load_progress(own_course, EXERCISE).hints_given == {MASK: 3}


def test_hints_follow_what_the_file_has_left(own_course, exercise, steps):
    numbers = exercise.numbers()
    for fixed, left, given in (({MASK}, LONG, 1), ({LONG}, MASK, 1), ({MASK}, LONG, 2)):
        hint = next_hint(own_course, exercise, verdict_on(own_course, fixed))
        assert f"defect {numbers[left]} · still there" in hint.title
        assert hint.steps == steps(left)[:given]
    done = next_hint(own_course, exercise, verdict_on(own_course, {MASK, LONG}))
    assert done == Hint(
        title=EXERCISE, next_action=f"Every defect of {EXERCISE} is fixed; there is nothing left to hint at."
    )


def test_a_number_asks_for_one_defect_whose_name_is_told_once_it_is_fixed(own_course, exercise, steps):
    assert next_hint(own_course, exercise, showing(verdict_on(own_course, set()), LONG), 2).steps == steps(LONG)[:1]
    told = next_hint(own_course, exercise, verdict_on(own_course, {MASK}), 1).next_action
    assert told == "Defect 1 is fixed: the masked scores were thrown away."
    with pytest.raises(
        UsageError, match="no page or hint has mentioned a defect 3 of exercise_03 yet; leave the number out"
    ):
        next_hint(own_course, exercise, verdict_on(own_course, set()), 3)


def showing(verdict: Verdict, defect: str) -> Verdict:
    """The verdict with a finding about the defect."""
    finding = Finding(kind=FailureKind.VALUES)
    checks = [Outcome(check="values", status=Status.FAILED, finding=finding)]
    return msgspec.structs.replace(verdict, checks=checks, causes={"values": [defect]})


def test_a_number_that_no_page_has_shown_gets_the_same_answer_whether_or_not_there_is_such_a_defect(
    own_course, exercise, steps
):
    verdict = showing(verdict_on(own_course, set()), MASK)
    for number in (2, 3, 70):
        with pytest.raises(UsageError, match=f"no page or hint has mentioned a defect {number} of exercise_03 yet"):
            next_hint(own_course, exercise, verdict, number)
    assert next_hint(own_course, exercise, verdict, 1).steps == steps(MASK)[:1]
    assert next_hint(own_course, exercise, verdict_on(own_course, set()), 1).steps == steps(MASK)[:2]  # known by now


UNDECIDED = Reason(kind=UnknownReason.UNDECIDED)


def in_words_of(statuses: dict[str, DefectStatus], course) -> Verdict:
    """A verdict with these statuses, and the reason for each unknown one."""
    verdict = verdict_on(course, set())
    defects = [
        msgspec.structs.replace(each, status=status, reason=UNDECIDED if status == "unknown" else None)
        for each in verdict.defects
        for status in [statuses[each.id]]
    ]
    return msgspec.structs.replace(verdict, defects=defects, checks=[Outcome(check="values", status=Status.FAILED)])


def test_hints_begin_with_defects_that_are_certainly_present(own_course, exercise, steps):
    verdict = in_words_of({MASK: DefectStatus.UNKNOWN, LONG: DefectStatus.PRESENT}, own_course)
    for given in (1, 2, 3, 3):
        hint = next_hint(own_course, exercise, verdict)
        assert (hint.title, hint.caveat) == ("exercise_03 · defect 2 · still there", "")
        assert hint.steps == steps(LONG)[:given]
    assert (hint.next_action, hint.commands) == LAST


def test_the_hint_of_a_near_miss_is_shown_beside_the_hints_of_its_own_defect_only(own_course, exercise):
    near_miss = exercise.near_misses[0]
    assert near_miss.defect == MASK
    caveats = []
    for status in (DefectStatus.PRESENT, DefectStatus.FIXED):  # a present defect gets the first hints
        verdict = in_words_of({MASK: DefectStatus.UNKNOWN, LONG: status}, own_course)
        verdict = msgspec.structs.replace(verdict, near_miss=near_miss.id)
        caveats.append(next_hint(own_course, exercise, verdict).caveat)
    assert caveats == ["", " ".join(near_miss.hint.split())]


def test_a_hint_says_of_a_defect_what_the_verdict_says_and_that_it_may_be_fixed(own_course, exercise, steps):
    verdict = in_words_of({MASK: DefectStatus.UNKNOWN, LONG: DefectStatus.FIXED}, own_course)
    hint = next_hint(own_course, exercise, verdict)
    assert hint.title == "exercise_03 · defect 1 · can't tell yet"
    page = " ".join(render_hint(hint).split())
    reason = "the checks would give these results with it and without it"
    assert f"You may have fixed this bug already; the checks can't tell: {reason}." in page
    for _ in range(2):
        hint = next_hint(own_course, exercise, verdict)
    assert "python -m grader try exercise_03 runs your file" in hint.commands


def test_if_no_check_fails_at_home_the_next_step_is_the_hand_in(own_course, exercise):
    verdict = in_words_of({MASK: DefectStatus.UNKNOWN, LONG: DefectStatus.FIXED}, own_course)
    verdict = msgspec.structs.replace(verdict, checks=[Outcome(check="values", status=Status.PASSED)])
    assert next_hint(own_course, exercise, verdict).steps == []
    assert "hand it in" in next_hint(own_course, exercise, verdict).next_action
    page = terminal_page(verdict, exercise)
    assert "Not yet" not in page
    assert "Nothing wrong found here" in page
    assert "Next: hand it in" in page
    remember_verdict(own_course, verdict)
    entry = OverviewLine(
        exercise=EXERCISE, title=exercise.title, progress=load_progress(own_course, EXERCISE), difficulty=2
    )
    assert "nothing wrong found here" in render_overview([entry])


def test_a_claim_that_no_check_can_decide_here_is_not_recorded(own_course, monkeypatch):
    verdict = in_words_of({MASK: DefectStatus.UNKNOWN, LONG: DefectStatus.FIXED}, own_course)
    verdict = msgspec.structs.replace(verdict, checks=[Outcome(check="values", status=Status.PASSED)])
    answer = claimed(own_course, EXERCISE, verdict, monkeypatch)
    assert (answer.exit_code, answer.output) == (1, "The checks here cannot decide this claim. Hand the file in.\n")
    assert load_progress(own_course, EXERCISE).claims == []


def test_the_page_of_a_completed_course_follows_only_the_first_right_claim(own_course, monkeypatch):
    completed = []
    monkeypatch.setattr(student, "_print_completed", lambda _course, exercise_id: completed.append(exercise_id))
    verdict = verdict_on(own_course, set(), DECOY)
    for _ in range(2):
        answer = claimed(own_course, DECOY, verdict, monkeypatch)
        assert answer.exit_code == 0
        assert "Your claim is right: nothing is wrong, in line 12 or anywhere else." in answer.output
    assert completed == [DECOY]


def test_a_claim_says_which_of_two_files_it_is_about(own_course, monkeypatch):
    module, notebook = own_course.editable_files(DECOY)
    for path in (module, notebook):
        path.write_text(path.read_text(encoding="utf-8").replace("import torch", "import  torch"), encoding="utf-8")
    answer = claimed(own_course, DECOY, verdict_on(own_course, set(), DECOY), monkeypatch)
    assert notebook.name in answer.stderr


def claimed(course, exercise_id: str, verdict: Verdict, monkeypatch) -> click.testing.Result:
    """The result of the command `claim` on a file with this verdict."""
    monkeypatch.setattr("grader.verdict.judging_files.judge_file", lambda *_: verdict)
    return click.testing.CliRunner().invoke(student.claim, [exercise_id, "sound", "--line", "12"], obj=course)


def test_no_hint_claims_a_fix_in_a_hunt_without_defects(own_course):
    exercise = load_exercise(own_course.description(DECOY))
    verdict = verdict_on(own_course, set(), exercise.id)
    assert next_hint(own_course, exercise, verdict).next_action.startswith(
        "Nothing is wrong with exercise_36 as it stands"
    )
    with pytest.raises(
        UsageError, match="no page or hint has mentioned a defect 1 of exercise_36 yet; leave the number out"
    ):
        next_hint(own_course, exercise, msgspec.structs.replace(verdict, outcome=Result.NOT_FIXED), 1)


def test_a_class_off_by_one_letter_is_named_before_a_reset_is_advised(own_course, exercise):
    name = exercise.interface.entry()
    text = f"there is no class {name}; the classes found: Block, {name[:-1]}; name your class {name}"
    verdict = msgspec.structs.replace(
        verdict_on(own_course, set()),
        outcome=Result.NOT_GRADABLE,
        reason=text,
        unloadable=Finding(kind=FailureKind.ENTRY, message=text, names_found=["Block", name[:-1]]),
    )
    page = " ".join(terminal_page(verdict, exercise).split())
    assert f"Next: rename {name[:-1]} to {name}, then grade again: python -m grader {EXERCISE}" in page
    assert f"You probably meant {name[:-1]}:" in next_hint(own_course, exercise, verdict).steps[0]
    other = msgspec.structs.replace(
        verdict, unloadable=Finding(kind=FailureKind.ENTRY, message=text, names_found=["Block", "Mask"])
    )
    page = " ".join(terminal_page(other, exercise).split())
    assert f"Next: restore the starter and keep a copy of your file: python -m grader reset {EXERCISE}" in page


def test_a_page_without_room_breaks_between_what_it_says_and_never_in_a_command(own_course, exercise):
    verdict = msgspec.structs.replace(
        verdict_on(own_course, set()),
        file="exercises/exercise_03/attention.py",
        checks=[Outcome(check="a", status=Status.PASSED)],
    )
    page = terminal_page(verdict, exercise, width=60).splitlines()
    assert page[:2] == [f"exercise_03 · {exercise.title}", "exercises/exercise_03/attention.py"]
    done = msgspec.structs.replace(verdict, outcome=Result.FIXED)
    sealed = msgspec.structs.replace(exercise, edition=Sealed(hidden_checks=1, defects=[]))
    assert "seed 1 · 0.00 s" in terminal_page(done, sealed, width=60).splitlines()
    shown = render_hint(next_hint(own_course, exercise, verdict), width=40).splitlines()
    assert shown[-1] == "  python -m grader hint exercise_03 1"


def test_a_hunt_without_defects_speaks_of_nothing_else(own_course):
    exercise = load_exercise(own_course.description(DECOY))
    verdict = verdict_on(own_course, set(), exercise.id)
    assert "nothing broke" in terminal_page(verdict, exercise)


def test_a_hunt_without_defects_is_right_and_nothing_of_it_was_fixed(own_course):
    exercise = load_exercise(own_course.description(DECOY))
    verdict = verdict_on(own_course, set(), exercise.id)
    page = terminal_page(verdict, exercise)
    assert "Right · 10 of 10 points" in page
    assert "Fixed" not in page
    section = notebook_section(verdict, exercise)
    assert "<h3>Why nothing was wrong</h3>" in section
    assert "Fixed" not in section
    for hidden, words in ((0, "Right · 10"), (1, "Right, as far as the checks here can tell · 10")):
        sealed = msgspec.structs.replace(exercise, edition=Sealed(hidden_checks=hidden, defects=[]))
        assert f"{words} of 10 points" in terminal_page(verdict, sealed)


def test_a_line_that_cannot_be_compiled_is_cut_and_never_wrapped(own_course, exercise):
    text = "    x = (1 + " + "1 + " * 20
    where = Finding(
        kind=FailureKind.CRASH,
        detail="SyntaxError",
        message="it cannot be compiled",
        location=Location(label="attention.py", line=3, text=text, column=5),
    )
    verdict = msgspec.structs.replace(
        verdict_on(own_course, set()), outcome=Result.NOT_GRADABLE, reason="it cannot be compiled", unloadable=where
    )
    lines = terminal_page(verdict, exercise, width=60).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("     3 │     x = (1 + 1"))
    assert lines[place].endswith("…")
    assert lines[place + 1] == "       │     ^"


@pytest.mark.slow
def test_hints_and_the_like_are_no_attempts(own_course, run_cli):
    run_cli(EXERCISE, cwd=own_course.root)
    for command in ("hint", "try"):
        run_cli(command, EXERCISE, cwd=own_course.root)
    assert len(load_progress(own_course, EXERCISE).attempts) == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("solutoin", "solution"), ("hnit", "hint"), ("exercise_O3/", ""), ("exercise_99", ""), ("attention", "")],
)
def test_only_what_is_near_is_guessed_and_a_slash_at_the_end_is_no_mistake(own_course, run_cli, typed, meant):
    told = run_cli("diff" if typed.startswith("exercise") else typed, typed, cwd=own_course.root).stderr
    assert ("did you mean" in told) == bool(meant or typed == "exercise_O3/")
    assert meant in told
    assert run_cli("diff", "exercise_03/", cwd=own_course.root).returncode == 0


def test_the_steps_given_are_shown_again_without_a_new_one(own_course, exercise, steps):
    starter = verdict_on(own_course, set())
    assert next_hint(own_course, exercise, starter, only_given=True).steps == []
    next_hint(own_course, exercise, starter)
    assert next_hint(own_course, exercise, starter, only_given=True).steps == steps(MASK)[:1]


def test_an_attempt_that_cannot_be_graded_leaves_what_was_known_of_the_defects(own_course, exercise):
    graded(own_course, {MASK})
    remember_verdict(own_course, not_gradable(exercise, "f", 1, Finding(kind=FailureKind.LOAD, message="it raises")))
    progress = load_progress(own_course, EXERCISE)
    assert (progress.outcome, progress.score) == (Result.NOT_GRADABLE, 0.0)
    assert progress.statuses[MASK] is DefectStatus.FIXED


def test_defects_that_count_are_hinted_at_before_those_that_are_extra(own_course):
    exercise = load_exercise(own_course.description("exercise_07"))
    counting = [each.id for each in exercise.defects if not each.stretch]
    verdict = verdict_on(own_course, set(counting[:-1]), "exercise_07")
    number = exercise.numbers()[counting[-1]]
    assert next_hint(own_course, exercise, verdict).title.startswith(f"exercise_07 · defect {number} · still there")


def test_a_file_that_does_not_run_is_hinted_at_as_that_and_keeps_what_was_known(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    graded(own_course, {MASK})
    module.write_text("class CausalSelfAttention(\n")
    shown = run_cli("hint", EXERCISE, cwd=own_course.root).stdout
    assert "exercise_03 cannot be graded as it stands" in shown
    assert "an unclosed bracket or quote" in " ".join(shown.split())
    assert load_progress(own_course, EXERCISE).fixed() == {MASK}
    assert load_progress(own_course, EXERCISE).hints_given == {}


def test_a_crash_that_hides_the_rest_is_hinted_at_first(own_course, run_cli):
    module, _ = own_course.editable_files("exercise_02")
    exercise = load_exercise(own_course.description("exercise_02"))
    number = exercise.numbers()["float-head-dim"]
    assert f"defect {number} · still there" in run_cli("hint", "exercise_02", cwd=own_course.root).stdout
    text = own_course.reference_text("exercise_02")
    module.write_text(text.replace("        # x: (B, T, E)\n", "        1 / 0\n"), encoding="utf-8")
    shown = run_cli("hint", "exercise_02", cwd=own_course.root).stdout
    assert "exercise_02 crashes" in shown
    assert "ZeroDivisionError" in shown


def test_once_all_that_counts_is_fixed_a_crash_is_hinted_at_as_the_extra_that_is_left(own_course, run_cli):
    module, _ = own_course.editable_files("exercise_07")
    number = load_exercise(own_course.description("exercise_07")).numbers()["mask-layout-unchecked"]
    text = own_course.reference_text("exercise_07").replace("if mask.dim() != 3 or any(", "if any(")
    module.write_text(text, encoding="utf-8")
    assert f"exercise_07 · defect {number} · " in run_cli("hint", "exercise_07", cwd=own_course.root).stdout


def test_damaged_progress_is_discarded_and_replaced(own_course, exercise):
    path = own_course.state_folder() / "progress" / f"{EXERCISE}.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"score": "much"}')
    assert load_progress(own_course, EXERCISE) == Progress()
    next_hint(own_course, exercise, verdict_on(own_course, set()))
    assert load_progress(own_course, EXERCISE).hints_given == {MASK: 1}


def test_the_numbers_of_defects_do_not_follow_the_description(own_course):
    is_in_order = []
    for exercise_id in own_course.exercise_ids():
        exercise = load_exercise(own_course.description(exercise_id))
        numbers = [exercise.numbers()[defect.id] for defect in exercise.defects]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
        is_in_order.append(numbers == sorted(numbers))
    assert not all(is_in_order)


def test_nothing_has_changed_in_a_fresh_exercise(own_course):
    assert changes(own_course, EXERCISE) == ""


def test_changes_are_shown_as_a_unified_diff_for_either_twin(own_course):
    module, notebook = own_course.editable_files(EXERCISE)
    for path, mend in ((notebook, mend_notebook), (module, mend_module)):
        mend(path)
        lines = changes(own_course, EXERCISE).splitlines()
        assert lines[:2] == [f"--- starter/{path.name}", f"+++ yours/{path.name}"]
        assert [line for line in lines[2:] if line[0] in "+-"] == [
            "-        attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)",
            "+        attn_scores = attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)",
        ]
        path.write_bytes(own_course.pristine(path).read_bytes())


def test_starting_again_keeps_a_copy_and_restores_both_twins(own_course):
    module, notebook = own_course.editable_files(EXERCISE)
    mend_module(module)
    edited = module.read_bytes()
    notebook.unlink()
    first, second, third, last = restore_starter(own_course, EXERCISE)
    assert third == "trap.py: it was missing; created empty"
    assert last == "To restore it, copy the kept file over the new one."
    kept = first.removeprefix("attention.py: your version is kept as ")
    assert re.fullmatch(r"\.grader/kept/exercise_03/attention-\d{8}-\d{6}\.py", kept)
    assert (own_course.root / kept).read_bytes() == edited
    assert second == "attention.ipynb: it was missing; restored"
    for path in (module, notebook):
        assert path.read_bytes() == own_course.pristine(path).read_bytes()
    save_progress(own_course, EXERCISE, Progress(hints_given={MASK: 2}))
    assert restore_starter(own_course, EXERCISE) == [
        f"{EXERCISE} is unchanged since it was handed out, so there is nothing to reset"
    ]


def test_no_kept_copy_is_ever_written_over(own_course):
    module, _ = own_course.editable_files(EXERCISE)
    for number in range(3):
        module.write_text(f"version = {number}\n")
        restore_starter(own_course, EXERCISE)
    kept = sorted((own_course.state_folder() / "kept" / EXERCISE).iterdir())
    assert sorted(path.read_text() for path in kept) == [f"version = {number}\n" for number in range(3)]


def test_without_a_starter_nothing_is_moved_away(own_course, run_cli):
    module, notebook = own_course.editable_files(EXERCISE)
    mend_module(module)
    before = module.read_bytes()
    own_course.pristine(notebook).unlink()
    done = run_cli("reset", EXERCISE, cwd=own_course.root)
    told = (
        "grader: there is no .starter/attention.ipynb in exercises/exercise_03; unpack the course again to restore it\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
    assert module.read_bytes() == before
    assert not (own_course.state_folder() / "kept").exists()


def test_the_commands_do_what_they_say(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    assert run_cli("diff", EXERCISE, cwd=own_course.root).stdout == "Nothing has changed since the starter.\n"
    module.write_text("x = 1\n")
    shown = run_cli("diff", EXERCISE, cwd=own_course.root)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.endswith("+x = 1\n")
    reset = run_cli("reset", EXERCISE, cwd=own_course.root)
    assert (reset.returncode, reset.stderr) == (0, "")
    assert reset.stdout.startswith("attention.py: your version is kept as .grader/kept/exercise_03/attention-")
    shown = run_cli("hint", EXERCISE, cwd=own_course.root).stdout
    assert shown.startswith("exercise_03 · defect 1 · still there\n\n 1   Take m = ")
    assert shown.endswith("\nHint 1 of 3. For the next hint: python -m grader hint exercise_03 1\n")


def test_an_exercise_that_does_not_exist_is_wrong_usage_and_the_known_ones_are_named(own_course, run_cli):
    for command in (("exercise_99",), ("hint", "exercise_99"), ("mistyped",)):
        answer = run_cli(*command, cwd=own_course.root)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert "the exercises are exercise_01 to exercise_37, and python -m grader lists them" in answer.stderr


def test_the_list_shows_every_state_and_the_overall_progress(own_course, run_cli):
    graded(own_course, {MASK})
    graded(own_course, {"k-reuses-q-proj"}, "exercise_01")
    broken = msgspec.structs.replace(verdict_on(own_course, set(), "exercise_05"), outcome=Result.NOT_GRADABLE)
    remember_verdict(own_course, broken)
    shown = run_cli(cwd=own_course.root, columns=80)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    states = {line[2:13]: line for line in lines if line[2:10] == "exercise"}
    marks = {exercise_id: line[0] for exercise_id, line in states.items()}
    assert (marks["exercise_01"], marks["exercise_02"], marks["exercise_03"], marks["exercise_05"]) == tuple("✗·✓✗")
    assert states["exercise_01"].endswith("0 of 10 points")
    assert states["exercise_02"].endswith("not tried yet")
    assert states["exercise_03"].endswith("  fixed")
    assert states["exercise_05"].endswith("does not run")
    assert any(line.endswith(f"  1 of {len(marks)} fixed") for line in lines)
    difficulty = {name: load_exercise(own_course.description(name)).difficulty for name in states}
    upcoming = min((name for name in states if marks[name] != "✓"), key=lambda name: (difficulty[name], name))
    assert lines[-2:] == [
        f"Next, easiest first: read exercises/{upcoming}/README.md, then",
        f"  python -m grader {upcoming}",
    ]
    assert max(map(len, lines)) <= 80
    dots = difficulty["exercise_01"]
    assert f"{'●' * dots}{'○' * (5 - dots)}  Half of it never wakes up" in states["exercise_01"]


def test_all_fixed_is_celebrated_in_one_line(own_course, run_cli):
    for exercise_id in own_course.exercise_ids():
        exercise = load_exercise(own_course.description(exercise_id))
        graded(own_course, {defect.id for defect in exercise.defects}, exercise_id)
    last = run_cli(cwd=own_course.root).stdout.splitlines()[-1]
    assert last.startswith("You have solved every hunt")


@pytest.mark.slow
def test_the_last_hunt_of_a_theme_ends_with_a_page_on_all_of_them(own_course, run_cli):
    exercise = load_exercise(own_course.description(EXERCISE))
    described = [load_exercise(own_course.description(name)) for name in own_course.exercise_ids()]
    theme = [each for each in described if each.theme == exercise.theme]
    for each in theme:
        if each.id != EXERCISE:
            graded(own_course, {defect.id for defect in each.defects}, each.id)
    module, _ = own_course.editable_files(EXERCISE)
    assert "Theme complete" not in run_cli(EXERCISE, cwd=own_course.root).stdout
    module.write_bytes(own_course.reference(EXERCISE).read_bytes())
    page = run_cli(EXERCISE, cwd=own_course.root).stdout
    words = " ".join(page.partition("Theme complete")[2].split())
    assert words.startswith(f": {exercise.theme}")
    for each in theme:
        assert each.title in words
        for defect in each.defects:
            assert " ".join(defect.title.split()) in words
    assert "Theme complete" not in run_cli(EXERCISE, cwd=own_course.root).stdout


def test_a_solved_hunt_stays_solved_when_its_file_is_played_with(own_course, run_cli):
    graded(own_course, {MASK, LONG})
    graded(own_course, {LONG})
    graded(own_course, set())
    line = next(line for line in run_cli(cwd=own_course.root).stdout.splitlines() if EXERCISE in line)
    assert re.search(r"^✓ .*  fixed on \d{4}-\d\d-\d\d; not fixed now$", line)
    graded(own_course, {MASK})
    line = next(line for line in run_cli(cwd=own_course.root).stdout.splitlines() if EXERCISE in line)
    assert re.search(r"^✓ .*  fixed$", line)
    best = load_progress(own_course, EXERCISE).best
    assert best is not None
    assert (best.fixed, best.defects, best.extras) == (1, 1, 1)


def test_the_list_imports_no_torch(own_course):
    command = [sys.executable, "-X", "importtime", "-m", "grader"]
    shown = subprocess.run(command, cwd=own_course.root, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in shown.stderr.splitlines()}
    assert "grader" in imported
    assert not imported & {"torch", "numpy", "pytest", "nbformat"}


def test_where_all_is_fixed_and_something_new_fails_the_hint_is_to_look_at_the_change(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    text = own_course.reference_text(EXERCISE)
    module.write_text(text.replace("self.dropout", "self.drop"), encoding="utf-8")
    shown = " ".join(run_cli("hint", EXERCISE, cwd=own_course.root).stdout.split())
    told = "python -m grader diff exercise_03 shows what you changed."
    assert shown == f"The starter passes every check that fails now. {told}"


def test_the_hint_for_an_empty_file_says_how_to_get_the_starter_back(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    module.write_text("", encoding="utf-8")
    shown = " ".join(run_cli("hint", EXERCISE, cwd=own_course.root).stdout.split())
    assert "python -m grader reset exercise_03 keeps a copy of your file" in shown


@pytest.mark.slow
def test_a_crash_of_an_edit_leaves_the_known_defects_on_the_page(own_course, run_cli):
    """exercise_24 does not announce how many defects it has: a page lists those that a page has listed before."""
    name, cwd = "exercise_24", own_course.root
    module, _ = own_course.editable_files(name)
    starter = module.read_text(encoding="utf-8")
    module.write_text(starter.replace("return self.norm(", "return self.norm(misspelt + "), encoding="utf-8")
    unknown = run_cli(name, cwd=cwd)
    assert "misspelt" in unknown.stdout
    assert "defect 1" not in unknown.stdout, "no page has listed it"
    module.write_text(starter, encoding="utf-8")
    assert "✗ defect 1 · still there" in run_cli(name, cwd=cwd).stdout
    module.write_text(starter.replace("return self.norm(", "return self.norm(misspelt + "), encoding="utf-8")
    page = run_cli(name, cwd=cwd).stdout
    assert "? defect 1 · can't tell yet" in page
    assert "? defect 2 · can't tell yet" in page
    assert run_cli("hint", name, "2", cwd=cwd).returncode == 0
    report = cwd / "report.html"
    assert run_cli("report", name, "-o", report, cwd=cwd).returncode == 0
    assert "defect 2" in report.read_text(encoding="utf-8")
    assert run_cli("reset", name, cwd=cwd).returncode == 0
    module.write_text(starter.replace("return self.norm(", "return self.norm(misspelt + "), encoding="utf-8")
    assert "defect 1" not in run_cli(name, cwd=cwd).stdout
