"""Tasks that repair nothing: predict what a starter does, and locate its defects by claims about its values."""

import asyncio

import pytest

from grader.evaluation.assessment import Assessment
from grader.evaluation.environments.forms import Form
from grader.evaluation.environments.questions import assess, hunts_of, question
from grader.evaluation.guided import inquiry
from grader.evaluation.guided.tasks import CHOICE, LOCATE_TASK, claims_in
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.paths import ROOT

COURSE = Course(root=ROOT)
ONE = "exercise_03"
THROWN_AWAY = "attn_scores unchanged 41"
SEES_WHAT_COMES = "attn_weights[0, 0, 1] not equals 0"


@pytest.fixture(autouse=True, scope="module")
def _processes_end_with_this_module():
    yield
    inquiry.close()


def assessed(form: Form, answer: str, exercise_id: str = ONE) -> Assessment:
    (hunt,) = hunts_of([exercise_id], ROOT)
    return asyncio.run(assess(hunt, form, answer, course=ROOT))


def in_a_block(*claims: str) -> str:
    return "\n".join(["I think:", "", "```text", *claims, "```"])


@pytest.mark.slow
def test_a_prediction_shows_its_options_and_right_answers_earn_everything():
    questions = inquiry.inquire(COURSE, ONE).questions
    text = question(hunts_of([ONE], ROOT)[0], Form.PREDICT, ROOT)
    for each in questions:
        assert each.text in text
        assert all(option in text for option in each.options)
    right = [f"{number}: {each.right + 1}" for number, each in enumerate(questions, 1)]
    wrong = [f"{number}: {each.right + 2}" for number, each in enumerate(questions, 1)]
    assert assessed(Form.PREDICT, "\n".join(right)).value == 1
    assert assessed(Form.PREDICT, "\n".join([*right[:1], *wrong[1:]])).value == pytest.approx(1 / len(questions))
    assert assessed(Form.PREDICT, "I do not know.").value == 0


@pytest.mark.slow
def test_right_answers_earn_everything():
    questions = inquiry.inquire(COURSE, ONE).questions
    lines = [f"{number}: {each.right + 1}" for number, each in enumerate(questions, 1)]
    assert assessed(Form.PREDICT, "\n".join(["Here they are.", *lines])).value == 1


@pytest.mark.parametrize("form", ["{0}: {1}", "{0}. {1}", "- {0}: {1}", "**{0}**: **{1}**", "> {0} = ({1})"])
def test_a_choice_is_read_in_many_forms(form):
    lines = [form.format(number, option) for number, option in ((1, 3), (12, 1))]
    assert CHOICE.findall("\n".join(["Here they are.", *lines])) == [("1", "3"), ("12", "1")]


def test_a_starter_is_located_by_claims_that_the_reference_contradicts():
    found = assessed(Form.LOCATE, in_a_block(THROWN_AWAY, SEES_WHAT_COMES))
    assert found.value == 1
    assert f"{THROWN_AWAY}: true" in found.feedback


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        (THROWN_AWAY, 0.5),
        ("attn_scores not unchanged 41", 0),  # true of the reference alone
        ("attn_weights sums_to_one", 0),  # true of both
        ("attn_weights shape 7 7", 0),  # false of both
        ("nothing finite", 0),  # no such value
        ("line 41 is wrong", 0),
    ],
)
def test_a_claim_counts_if_it_is_true_of_the_starter_alone(claim, value):
    found = assessed(Form.LOCATE, in_a_block(claim, claim))
    assert found.value == value
    assert claim in found.feedback


def test_the_feedback_on_claims_does_not_say_what_a_right_implementation_does():
    known = assessed(Form.LOCATE, in_a_block("attn_weights finite", THROWN_AWAY)).feedback.splitlines()
    assert [line.partition(": ")[2].partition(" ")[0] for line in known] == ["true", "true"]


def test_an_answer_without_claims_earns_nothing():
    assert assessed(Form.LOCATE, "It is line 41.").value == 0


def test_the_first_four_claims_of_the_last_block_are_read_without_bullets():
    answer = in_a_block("old finite") + "\n\n" + in_a_block("- a finite", "2. b finite", "", "* c finite", "d x", "e x")
    assert claims_in(answer) == ["a finite", "b finite", "c finite", "d x"]


def test_the_task_says_how_many_claims_are_read_and_how_many_earn_everything():
    assert "\n2 such claims earn everything. Return at most 4 claims in one fenced block" in LOCATE_TASK


def test_only_starters_with_defects_have_something_to_locate():
    located = {hunt.id for hunt in hunts_of(course=ROOT, form=Form.LOCATE)}
    assert located == {each for each in COURSE.exercise_ids() if load_exercise(COURSE.description(each)).defects}


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", [hunt.id for hunt in hunts_of(course=ROOT, form=Form.LOCATE)])
def test_every_starter_has_questions_and_values_to_make_claims_about(exercise_id):
    found = inquiry.inquire(COURSE, exercise_id)
    assert found.questions
    assert found.forms
    for each in load_exercise(COURSE.description(exercise_id)).defects:
        for form in (Form.PREDICT, Form.LOCATE):
            assert each.title not in question(hunts_of([exercise_id], ROOT)[0], form, ROOT)
