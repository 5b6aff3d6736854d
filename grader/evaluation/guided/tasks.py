"""Two tasks about a hunt's starter that repair nothing: predict its behaviour, and locate its defects by claims."""

import re

import msgspec

from grader.evaluation.assessment import Assessment
from grader.evaluation.guided.inquiry import AnsweredClaim, Findings, inquire
from grader.spec.paths import Course
from grader.student.cards import Question

MAX_CLAIMS = 4
"""The most claims of an answer that are judged; more would be guesses."""

ENOUGH_CLAIMS = 2
"""The number of claims contradicted by a right implementation that earns everything."""

PREDICT_TASK = """\
Do not repair the file. Answer these questions about it. Return one line for each question: its number, a colon, and the
number of the option that is right, as in `1: 3`."""

LOCATE_TASK = f"""\
The file is defective. Do not repair it: locate the defect by claims about values. The kit calls the file, and makes the
same call to a right implementation. A claim counts if it is true of the file and false of the right implementation;
{ENOUGH_CLAIMS} such claims earn everything. Return at most {MAX_CLAIMS} claims in one fenced block, one
on each line."""

CHOICE = re.compile(r"^[\s>*-]*\**(\d{1,2})\**\s*[:.)=-]+\s*\**\(?(\d{1,2})\b", re.MULTILINE)
"""A line of an answer: the number of a question and the number of an option."""

BULLET = re.compile(r"^[\s>*-]*(?:\d+[.)]\s+)?")

FENCED = re.compile(r"^\s*(?:```|~~~)[^\n]*\n(.*?)^\s*(?:```|~~~)", re.MULTILINE | re.DOTALL)


def predict_task(course: Course, exercise_id: str) -> str:
    """Return the questions on what a starter does and should do."""
    questions = inquire(course, exercise_id).questions
    return "\n\n".join([PREDICT_TASK, *(_numbered(number, each) for number, each in enumerate(questions, 1))])


def locate_task(course: Course, exercise_id: str) -> str:
    """Return the values that a starter computes in a call, and the forms of claims about them."""
    found = inquire(course, exercise_id)
    made = [f"line {each.line}: {each.name} {each.described}" for each in found.values if not each.is_parameter()]
    parameters = [each.name for each in found.values if each.is_parameter()]
    forms = [f"{form}    {meaning}" for form, meaning in found.forms]
    parts = [LOCATE_TASK, "Values that the file makes in the call:", _block(made)]
    if parameters:
        parts.append(f"Parameters: {', '.join(parameters)}.")
    parts += ['The forms of claims. The word "not" before the form negates the claim:', _block(forms)]
    return "\n\n".join(parts)


def assess_predictions(course: Course, exercise_id: str, answer: str) -> Assessment:
    """Assess answers to questions by the share that is right."""
    found = inquire(course, exercise_id)
    chosen = dict(CHOICE.findall(answer))
    right = [chosen.get(str(number)) == str(each.right + 1) for number, each in enumerate(found.questions, 1)]
    value = sum(right) / len(right) if right else 0.0
    return _assessment(value, f"{sum(right)} of {len(right)} answers are right.", answer, found)


def assess_claims(course: Course, exercise_id: str, answer: str) -> Assessment:
    """Assess the claims in an answer.

    The feedback says whether each claim is true of the starter; it does not say which claims count.
    """
    texts = claims_in(answer)
    if not texts:
        return _assessment(0.0, "The answer contains no claim in a fenced block.", answer, Findings())
    found = inquire(course, exercise_id, texts)
    value = min(1.0, sum(each.is_contradicted for each in found.claims) / ENOUGH_CLAIMS)
    return _assessment(value, "\n".join(map(_described, found.claims)), answer, found)


def _assessment(value: float, feedback: str, answer: str, found: Findings) -> Assessment:
    return Assessment(value=value, feedback=feedback, code=answer, record=msgspec.to_builtins(found))


def claims_in(answer: str) -> list[str]:
    """Return the first claims of the last fenced block in an answer, without bullets."""
    blocks = FENCED.findall(answer)
    lines = [BULLET.sub("", line).strip() for line in blocks[-1].splitlines()] if blocks else []
    return [*dict.fromkeys(each for each in lines if each)][:MAX_CLAIMS]


def _numbered(number: int, question: Question) -> str:
    options = [f"   {place}. {option}" for place, option in enumerate(question.options, 1)]
    return "\n".join([f"{number}. {question.text}", *options])


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _described(claim: AnsweredClaim) -> str:
    word = {True: "true", False: "false", None: "no answer"}[claim.is_true]
    return f"- {claim.text}: {word} ({claim.evidence})"
