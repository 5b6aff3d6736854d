"""The parts of a guided hunt: claims as text, questions, the cards that are due."""

import msgspec
import pytest
from msgspec import structs

from grader.checks.outcome import FailureKind, Finding, Outcome, Status
from grader.errors import UsageError
from grader.report.guide import ClaimAnswer, Meaning, answer_now_lines
from grader.report.page import render_page
from grader.report.progress import Attempt, GuideRecord, Progress
from grader.sandbox.calling_variants import CallingVariant, Mode
from grader.sandbox.protocol import Call
from grader.spec.loading import load_exercise
from grader.spec.properties import KeepsDtype
from grader.student.cards import Card, predictions, which_reason, which_test
from grader.student.claim_forms import ValueClaim, parse_claim
from grader.student.evidence import StoredCall, StoredCalls, moved_line
from grader.student.guide import due_cards
from grader.student.progress import load_progress, save_progress
from grader.verdict.verdict import Result
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE

NO_COMPUTING = "a claim compares values and cannot compute; assign the expression to a name, and use the name here"
EXERCISES = sorted(path.name for path in (ROOT / "solutions").glob("exercise_*"))


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("scores unchanged 41", ValueClaim(form="unchanged", value="scores", line=41)),
        ("  k   equals q ", ValueClaim(form="equals", value="k", other="q")),
        ("p[0, :, -1] equals 0", ValueClaim(form="equals", value="p", index=(0, None, -1), other=0.0)),
        ("self.scale equals -0.5", ValueClaim(form="equals", value="self.scale", other=-0.5, digits=1)),
        ("v equals 4.6e-17", ValueClaim(form="equals", value="v", other=4.6e-17, digits=2)),
        ("kept equals True", ValueClaim(form="equals", value="kept", other=1.0)),
        ("x[:-1, 1:] finite", ValueClaim(form="finite", value="x", index=((None, -1), (1, None)))),
        ("x dtype torch.int64", ValueClaim(form="dtype", value="x", other="int64")),
        ("x shape 2 3 4", ValueClaim(form="shape", value="x", shape=(2, 3, 4))),
        ("x shape [2, 3]", ValueClaim(form="shape", value="x", shape=(2, 3))),
        ("w not sums_to_one", ValueClaim(form="sums_to_one", value="w", is_negated=True)),
        ("y[0] depends x[1]", ValueClaim(form="depends", value="y", index=(0,), other="x", other_index=(1,))),
        ("x dtype float64", ValueClaim(form="dtype", value="x", other="float64")),
        ("W_k.weight no_gradient", ValueClaim(form="no_gradient", value="W_k.weight")),
    ],
)
def test_a_line_is_read_as_a_claim(text, claim):
    assert parse_claim(text) == claim


@pytest.mark.parametrize("text", ["line 41 is wrong", "x", "x shape", "x unchanged", "x[a] finite", "x finite y", "\0"])
def test_a_line_that_is_no_claim_is_refused(text):
    with pytest.raises(UsageError, match=r"is not a claim: [a-z]"):
        parse_claim(text)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("x sums to one", "write x sums_to_one"),
        ("x sum to one", "write x sums_to_one"),
        ("no gradient", "write the name of a parameter first, as in NAME no_gradient"),
        ("W_k no gradient", "write W_k no_gradient"),
        ("k == q", "write k equals q"),
        ("C is 10", "write C equals 10"),
        ("C is not 10", "write C not equals 10"),
        ("x isn't finite", "write x not finite"),
        ("x.shape == [2, 3]", "write x shape [2, 3]"),
        ("x.sum() equals 1", NO_COMPUTING),
        ("a + b equals c", NO_COMPUTING),
        ("wei 24 finite", "a claim is about the last value of wei and has no line; write wei finite"),
        ("wei@26 finite", "a claim is about the last value of wei and has no line; write wei finite"),
        ("x[::2] finite", "an index has numbers, slices such as 1:3 without a step, and : for a whole axis"),
        ("x unchanged", "the number of a line must follow the word unchanged"),
        ("x", "a form must follow the name, as in NAME finite; type help for the forms, or press Enter to go on"),
    ],
)
def test_a_refusal_proposes_the_nearest_form(text, advice):
    with pytest.raises(UsageError) as refused:
        parse_claim(text)
    assert str(refused.value) == f'"{text}" is not a claim: {advice}'


@pytest.mark.parametrize(
    ("line", "after", "moved"),
    [(2, "a\nb\nc", 2), (2, "new\na\nb\nc", 3), (2, "a\nB\nc", 2), (3, "a\nB\nB2\nc", 4), (3, "a\nc", 2)],
)
def test_a_line_is_found_again_after_an_edit(line, after, moved):
    assert moved_line(line, "a\nb\nc", after) == moved


def test_fewer_cards_are_due_with_each_hunt_of_a_theme(own_course):
    exercise = load_exercise(own_course.description("exercise_03"))
    others = ["exercise_13", "exercise_14", "exercise_15", "exercise_16"]
    due = [due_cards(own_course, exercise, is_fixed=False)]
    for number, other in enumerate(others):
        solved = Attempt(at=1.0, outcome=Result.FIXED, score=1.0, fixed=1, defects=1)
        progress = Progress(best=solved) if number % 2 else Progress(guide=GuideRecord(started=1.0))
        save_progress(own_course, other, progress)
        due.append(due_cards(own_course, exercise, is_fixed=False))
    first_two = [Card.PREDICT, Card.LOCATE]
    assert due == [[*Card], [*Card], first_two, first_two, []]
    save_progress(own_course, "exercise_13", Progress())
    own_course.description("exercise_16").write_text("title: 5\n", encoding="utf-8")  # another exercise's mistake
    assert due_cards(own_course, exercise, is_fixed=False) == first_two
    assert due_cards(own_course, load_exercise(own_course.description("exercise_01")), is_fixed=True) == [Card.EXPLAIN]


OLD_GUIDE = {
    "started": 5.0,
    "predictions": {"Which rows?": True},
    "explanations": {"Why?": False},
    "claims": 3,
    "true_claims": 2,
    "true_claims_before_edit": 1,
    "seconds_to_true_claim": 60.5,
    "evidence": {"x unchanged 4": True},
    "contradicted": ["x unchanged 4"],
}
"""The answers in `guide` as progress files had them."""


def test_an_old_progress_file_is_read_and_loses_what_nobody_needs(own_course):
    save_progress(own_course, "exercise_03", Progress())
    (path,) = (own_course.state_folder() / "progress").iterdir()
    path.write_bytes(msgspec.json.encode({"score": 4.0, "guide": OLD_GUIDE}))
    progress = load_progress(own_course, "exercise_03")
    assert (progress.score, progress.guide.started) == (4.0, 5.0)
    save_progress(own_course, "exercise_03", progress)
    stored = msgspec.json.decode(path.read_bytes())["guide"]
    assert OLD_GUIDE.keys() - stored.keys() == {"explanations", "claims", "true_claims"}
    assert stored == {name: OLD_GUIDE.get(name) for name in stored}


@pytest.mark.parametrize(
    "exercise_id", [pytest.param(each, marks=[pytest.mark.slow] * (each != EXAMPLE)) for each in EXERCISES]
)
def test_every_starter_has_predictions_that_give_nothing_away(judge_text, course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    every = frozenset(each.id for each in exercise.defects)
    verdict = judge_text(exercise_id, judge_text.variant(exercise_id, every))
    asked = predictions(exercise, verdict)
    assert asked
    assert asked[0].asks_what_happens
    for each in asked:
        assert len(set(each.question.options)) == len(each.question.options) >= 2
        assert 0 <= each.question.right < len(each.question.options)
    shown = " ".join(msgspec.json.encode(asked).decode().split())
    for defect in exercise.defects:
        assert " ".join(defect.title.split()) not in shown
        assert not [fix for _, fix in defect.edits() if " ".join(fix.split()) in shown]


def test_a_property_is_asked_about_only_if_its_own_failure_answers_the_question(judge_text, course):
    exercise = load_exercise(course.description("exercise_32"))
    verdict = judge_text(exercise.id, judge_text.variant(exercise.id, frozenset(each.id for each in exercise.defects)))
    failed = {each.check: each.finding.kind for each in verdict.checks if each.finding}
    dtype = next(each.id for each in exercise.checks if isinstance(each, KeepsDtype))
    assert failed[dtype] is FailureKind.VALUES
    assert not [each for each in predictions(exercise, verdict) if "Which dtype" in each.question.text]
    checks = [
        structs.replace(each, finding=Finding(kind=FailureKind.DTYPE, item="output", expected="a", observed="b"))
        if each.check == dtype
        else each
        for each in verdict.checks
    ]
    asked = predictions(exercise, structs.replace(verdict, checks=checks))
    assert [each.happens for each in asked if "Which dtype" in each.question.text] == ["output: expected a, got b"]


def test_a_failure_in_a_calling_variant_does_not_answer_at_which_sizes_plain_calls_fail(judge_text, course):
    exercise = load_exercise(course.description("exercise_03"))
    verdict = judge_text(exercise.id, judge_text.variant(exercise.id, frozenset()))
    assert predictions(exercise, verdict)[0].question.options[-1] == "at none of them"
    finding = Finding(
        kind=FailureKind.VALUES,
        calling_variant=CallingVariant(mode=Mode.TRAINING),
        size_case=exercise.fixed_sizes[0],
        expected="1",
        observed="2",
    )
    checks = [structs.replace(each, status=Status.FAILED, finding=finding) for each in verdict.checks]
    assert predictions(exercise, structs.replace(verdict, checks=checks)) == []
    plain = structs.replace(finding, calling_variant=None)
    checks = [structs.replace(each, finding=plain) for each in checks]
    asked = predictions(exercise, structs.replace(verdict, checks=checks))
    assert [(each.question.right, each.happens) for each in asked] == [(0, "expected 1, got 2")]


@pytest.mark.parametrize(
    ("now", "meaning", "lines"),
    [
        (False, Meaning.CHANGED, [" ✓  p finite (line 7 now)", "now: false: why", "Your edits changed this answer"]),
        (True, Meaning.CHANGED_EARLIER, [" ✓  p finite (line 7 now)", "now: still true: why", "An earlier edit"]),
        (True, Meaning.RIGHT, [" ·  p finite (line 7 now)", "now: still true: why", "This answer did not"]),
        (None, Meaning.UNREACHED, [" ·  p finite (line 7 now)", "now: no answer, because why", "The call no longer"]),
        (None, Meaning.REMOVED, [" ·  p finite (line 7 now)", "now: no answer, because why", "Your edits removed"]),
    ],
)
def test_an_answer_is_shown_before_and_after_the_edits_with_its_meaning(now, meaning, lines):
    answer = ClaimAnswer(is_true=now, evidence="why")
    shown = answer_now_lines("p finite", before=True, now=answer, line=7, meaning=meaning, command="%guide --card 2")
    title, before, after, last = render_page(shown, 100, color=False).splitlines()
    assert before.strip() == "before your edits: true"
    assert [title, after.strip()] == lines[:2]
    assert last.strip().startswith(lines[2])


def test_the_answer_to_a_claim_of_several_calls_names_its_call():
    answer = ClaimAnswer(is_true=True, evidence="why")
    given = {"before": True, "now": answer, "line": 0, "meaning": Meaning.RIGHT, "command": ""}
    shown = render_page(answer_now_lines("p finite", **given, call="The call: A()."), 100, color=False)
    assert shown.splitlines()[:2] == [" ·  p finite", "    The call: A()."]


def call(number):
    requests = [Call(module=number, arguments={})]
    return StoredCall(requests=requests, check=f"check {number}", defects=[f"defect {number}"])


def test_each_claim_keeps_the_call_in_which_it_was_made():
    calls = StoredCalls().with_call(call(1)).with_claim("x finite", answer=True).with_call(call(2)).with_call(call(3))
    assert [each.check for each in calls.calls] == ["check 1", "check 3"]
    calls = calls.with_claim("y finite", answer=True)
    assert (calls.calls_of("x finite"), calls.calls_of("y finite")) == ([call(1)], [call(3)])
    assert calls.calls_of("z finite") == []
    assert calls.catching == {f"defect {number}": f"check {number}" for number in (1, 2, 3)}


def test_one_claim_in_two_calls_keeps_both_answers_and_in_one_call_the_last():
    calls = (
        StoredCalls()
        .with_call(call(1))
        .with_claim("x finite", answer=True)
        .with_call(call(2))
        .with_claim("x finite", answer=False)
    )
    assert calls.calls_of("x finite") == [call(1), call(2)]
    assert [each.answer for each in calls.claims] == [True, False]
    calls = calls.with_changed(calls.claims[0])
    assert [each.was_changed for each in calls.claims] == [True, False]
    calls = calls.with_call(call(1)).with_claim("x finite", answer=False)
    assert [(each.answer, each.was_changed) for each in calls.claims] == [(False, False), (False, False)]
    assert calls.calls_of("x finite") == [call(2), call(1)]


def test_a_question_names_the_mode_the_arguments_and_the_mask_of_its_call(judge_text, course):
    shown, usual = {}, judge_text(EXAMPLE, judge_text.variant(EXAMPLE, frozenset()))
    for exercise_id in ("exercise_01", "exercise_10", "exercise_27"):
        exercise = load_exercise(course.description(exercise_id))
        outcomes = [Outcome(check=each.id, status=Status.PASSED) for each in exercise.checks]
        asked = predictions(exercise, structs.replace(usual, checks=outcomes))
        shown[exercise_id] = " ".join(each.question.text for each in asked)
    masked = "in evaluation mode and called with a causal mask. The numbers of one token of x are replaced. At which"
    assert f"MultiHeadAttention is built with dropout=0.0, {masked} tokens may the first output" in shown["exercise_01"]
    assert "SelfAttention is built with mask=False and in evaluation mode. Your file" in shown["exercise_10"]
    assert "built with decay=0.8 and in evaluation mode. One sample of x gets" in shown["exercise_27"]


def test_a_wrong_reason_belongs_to_another_defect_and_is_not_similar(course):
    exercises = [load_exercise(course.description(each)) for each in EXERCISES]
    defects = [defect for exercise in exercises for defect in exercise.defects]
    asked = 0
    for exercise in exercises:
        for defect in exercise.defects:
            others = [each for each in defects if each not in exercise.defects]
            question = which_reason(exercise, defect, others)
            assert question is not None
            asked += 1
            right = question.options[question.right]
            assert right in " ".join(defect.why.split())
            wrong = [each for each in question.options if each != right]
            assert len(set(wrong)) == len(wrong) >= 2
            assert not [each for each in wrong if each in " ".join(defect.why.split())]
    assert asked == len(defects)


def test_without_other_reasons_there_is_no_question_about_them(course):
    exercise = load_exercise(course.description("exercise_06"))
    assert which_reason(exercise, exercise.defects[0], []) is None


def test_the_test_that_catches_a_defect_is_one_that_failed(course):
    exercise = load_exercise(course.description("exercise_03"))
    question = which_test(exercise.defects[0], "future does not leak")
    assert question is not None
    assert question.options[question.right] == 'the grader\'s check "future does not leak"'
    assert "a usual test of the right shapes" in question.options
