"""The program of a process that answers inquiries: `python -m grader.evaluation.guided.service ROOT` reads requests."""

import sys
from pathlib import Path

from grader.errors import UsageError
from grader.evaluation.catalogue import hunt_of
from grader.evaluation.guided.inquiry import SEED, AnsweredClaim, Findings, Inquiry
from grader.processes.examiner_process import ServiceRequests, run_service
from grader.report.guide import example_of, forms_with
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.cards import predictions
from grader.student.claim_forms import ValueClaim, parse_claim
from grader.student.evidence import StoredCall, answer_claims, find_call, moved_claim
from grader.submission.submission import submission_from_text
from grader.verdict.judge import Judge, open_judge


def find_out(course: Course, judge: Judge, inquiry: Inquiry) -> Findings:
    """Return the questions and values of a starter, or the answers to claims about it."""
    hunt, exercise = hunt_of(course, inquiry.exercise), load_exercise(course.description(inquiry.exercise))
    starter = submission_from_text(hunt.starter, hunt.file_name)
    verdict = judge(hunt.id, starter, hunt.file_name, SEED)
    call, listed = find_call(judge, exercise, starter, verdict)
    if inquiry.claims:
        reference = course.reference_text(hunt.id)
        return Findings(claims=_answered(judge, hunt.id, call, hunt.starter, reference, inquiry.claims))
    return Findings(
        questions=[each.question for each in predictions(exercise, verdict)],
        values=listed.values,
        forms=forms_with(example_of(exercise, listed.values)) if listed.has_values() else [],
    )


def _answered(
    judge: Judge, exercise_id: str, call: StoredCall, starter: str, reference: str, texts: list[str]
) -> list[AnsweredClaim]:
    """Return the answers to claims about the starter, compared with the answers about the reference."""
    parsed: list[ValueClaim | str] = [_parsed(text) for text in texts]
    claims = [each for each in parsed if isinstance(each, ValueClaim)]
    ours = iter(answer_claims(judge, exercise_id, submission_from_text(starter), call, claims))
    moved = [moved_claim(each, starter, reference) for each in claims]
    theirs = iter(answer_claims(judge, exercise_id, submission_from_text(reference), call, moved))
    answers = []
    for text, claim in zip(texts, parsed, strict=True):
        if isinstance(claim, str):
            answers.append(AnsweredClaim(text=text, is_true=None, evidence=claim))
            continue
        own, right = next(ours), next(theirs)
        is_contradicted = own.is_true is True and right.is_true is False
        answers.append(
            AnsweredClaim(text=text, is_true=own.is_true, evidence=own.evidence, is_contradicted=is_contradicted)
        )
    return answers


def _parsed(text: str) -> ValueClaim | str:
    """Return the claim in a line, or the reason why there is none."""
    try:
        return parse_claim(text)
    except UsageError as error:
        return str(error)


def _serve() -> None:
    course, requests = Course(root=Path(sys.argv[1])), ServiceRequests(Inquiry)
    with open_judge(course, strict=True, for_many=True) as judge:
        for inquiry in requests:
            requests.answer(find_out, course, judge, inquiry)


if __name__ == "__main__":
    run_service(_serve)
