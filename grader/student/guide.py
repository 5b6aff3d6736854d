"""A guided hunt: four cards (predict, locate, fix, explain). Any card can be shown, and any question skipped.

The kit judges each answer by running code. It names no defect and no line to change, and nothing here changes a score.
"""

import contextlib
import time
from collections.abc import Callable, Collection

from msgspec import structs

from grader.errors import SpecError, UsageError
from grader.report.causes import shown_causes
from grader.report.check_names import check_name, check_names
from grader.report.console import judging_note
from grader.report.findings import sentence
from grader.report.guide import (
    answer_now_lines,
    answered_lines,
    card_title,
    claim_lines,
    example_of,
    form_lines,
    happens_lines,
    plain_lines,
    question_lines,
    value_lines,
)
from grader.report.next_steps import undecided
from grader.report.page import Line
from grader.report.phrases import Shell, command, counted, result_and_points, story
from grader.spec.exercise import Defect, Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed
from grader.student.cards import Card, Question, predictions, which_reason, which_test
from grader.student.claims import withhold
from grader.student.conversation import Conversation
from grader.student.evidence import (
    StoredCall,
    answer_claims,
    find_call,
    load_call,
    moved_claim,
    parse_claim,
    source_of,
    store_call,
)
from grader.student.explanations import explained_exercise, load_explained
from grader.student.progress import load_progress, save_progress
from grader.student.recording import record_shown
from grader.submission import Submission
from grader.submission.choice import is_edited
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import Judge, open_judge
from grader.verdict.verdict import Result, Verdict, can_be_examined, refuse

ENOUGH_EVIDENCE = 2
MAX_CAUSES = 3

NAMES = {Card.PREDICT: "Predict", Card.LOCATE: "Locate", Card.FIX: "Fix", Card.EXPLAIN: "Explain"}
AIMS = {
    Card.PREDICT: "what should happen, and what happens?",
    Card.LOCATE: "where does the first wrong value appear?",
    Card.FIX: "change one thing and grade it",
    Card.EXPLAIN: "why did the bug matter, and which test would have caught it?",
}

WHOLE_HUNTS, HALF_HUNTS = 2, 4
"""The guide shows all cards in the first `WHOLE_HUNTS` hunts of a theme, two cards up to `HALF_HUNTS`, then none."""


def guide_hunt(
    course: Course, exercise_id: str, talk: Conversation, cards: Collection[Card], *, is_recorded: bool
) -> None:
    """Show the given cards; without any, the cards that are due. Record verdicts if `is_recorded`.

    Raise `UsageError` if no check can run on the file.
    """
    choice = talk.read_file()
    name = course.shown(choice.path)
    if not can_be_examined(choice.read):
        raise UsageError(f"{name} cannot run yet; python -m grader {exercise_id} says why")
    with open_judge(course, first=exercise_id) as judge:
        with judging_note(choice.path.name):
            verdict = judge(exercise_id, choice.read, name, secret_seed())
        if not verdict.was_checked():
            raise UsageError(f"{name} cannot run yet; python -m grader {exercise_id} says why")
        exercise = load_exercise(course.description(exercise_id))
        verdict = withhold(course, exercise, verdict)
        if is_recorded:
            record_shown(course, choice.read, verdict, is_attempt=False)
        _Hunt(course, exercise, judge, talk, choice.read, verdict, is_recorded=is_recorded).run(cards)


def due_cards(course: Course, exercise: Exercise, *, is_fixed: bool) -> list[Card]:
    """Return the cards to show without being asked: fewer with each hunt of a theme that was guided or solved."""
    hunted = 0
    for other in course.exercise_ids():
        with contextlib.suppress(SpecError):  # reported when that exercise is opened
            if other != exercise.id and load_exercise(course.description(other)).theme == exercise.theme:
                progress = load_progress(course, other)
                hunted += bool(progress.guide.started) or progress.is_solved()
    if is_fixed:
        return [Card.EXPLAIN] if hunted < WHOLE_HUNTS else []
    if hunted < WHOLE_HUNTS:
        return [*Card]
    return [Card.PREDICT, Card.LOCATE] if hunted < HALF_HUNTS else []


class _Hunt:
    """One session over one exercise."""

    def __init__(
        self,
        course: Course,
        exercise: Exercise,
        judge: Judge,
        talk: Conversation,
        submission: Submission,
        verdict: Verdict,
        *,
        is_recorded: bool,
    ) -> None:
        self._course, self._exercise, self._judge, self._talk = course, exercise, judge, talk
        self._submission, self._verdict, self._is_recorded = submission, verdict, is_recorded
        self._record = load_progress(course, exercise.id).guide

    def run(self, cards: Collection[Card]) -> None:
        is_fixed = self._verdict.outcome is Result.FIXED
        shown = sorted(cards) if cards else due_cards(self._course, self._exercise, is_fixed=is_fixed)
        if not shown:
            self._say(
                "You have been guided often enough in this theme, so no card is due.",
                f"To see one: {self._command('--card 1')}",
            )
        if not self._record.started:
            self._store(started=time.time())
        steps: dict[Card, Callable[[], None]] = {
            Card.PREDICT: self._predict,
            Card.LOCATE: self._locate,
            Card.FIX: self._fix,
            Card.EXPLAIN: self._explain,
        }
        if {Card.PREDICT, Card.LOCATE} & {*shown}:
            seed = f"The guide draws its inputs from seed {self._verdict.seed}"
            self._say(f"{seed}, so its numbers differ from the numbers on the page.", style="dim")
        for card in shown:
            self._show(*card_title(card, NAMES[card], AIMS[card]))
            steps[card]()

    def _predict(self) -> None:
        for prediction in predictions(self._exercise, self._verdict):
            is_right = self._question(prediction.question)
            right = prediction.question.options[prediction.question.right]
            label = "What happens" if prediction.asks_what_happens else "What should happen"
            self._show(*answered_lines(is_right=is_right, right=right, label=label))
            self._show(*happens_lines(prediction.happens, prediction.picture, self._talk.width))
            if is_right is not None:
                self._store(predictions=_with_first(self._record.predictions, prediction.question.text, is_right))

    def _locate(self) -> None:
        call, listed = find_call(self._judge, self._exercise, self._submission, self._verdict)
        values = listed.values
        if call.check or load_call(self._course, self._exercise.id) is None:
            call = structs.replace(call, source=source_of(self._submission))
            store_call(self._course, self._exercise.id, call)
        if not listed.has_values():
            self._say("Your file fails before it computes a value that you could make a claim about.")
            return
        self._show(*value_lines(values, self._note_on(call)))
        self._show(*form_lines(example_of(self._exercise, values)))
        found = 0
        text = self._talk.ask("claim> ")
        while text:
            text, is_evidence = self._claim(text, call)
            found += is_evidence
            if is_evidence and found == ENOUGH_EVIDENCE:
                self._say("Two answers that you did not expect: read the code that makes these values.")
            text = text or self._talk.ask("claim> ")

    def _note_on(self, call: StoredCall) -> str:
        if not call.check:
            return "Your file makes these values in an ordinary call, in this order:"
        name = check_name(call.check, check_names(self._exercise))
        return f'The check "{name}" fails. In one of its calls, your file makes these values, in this order:'

    def _claim(self, text: str, call: StoredCall) -> tuple[str | None, bool]:
        """Answer a claim. Return the next claim if it was typed already, and whether the answer is evidence."""
        try:
            claim = parse_claim(text)
        except UsageError as error:
            self._say(f"  {error}", style="yellow")
            return None, False
        answer = answer_claims(self._judge, self._exercise.id, self._submission, call, [claim])[0]
        self._show(*claim_lines(answer))
        if answer.is_true is None:
            return None, False
        if answer.is_true:
            self._record_true_claim()
        verdict = self._talk.ask("  Is this answer what you expect of right code? y or n, Enter if you don't know: ")
        if verdict is not None and verdict.lower() not in ("y", "yes", "n", "no"):
            return verdict, False
        is_evidence = verdict is not None and verdict.lower().startswith("n")
        if is_evidence:
            self._store(evidence={**self._record.evidence, text: answer.is_true})
        return None, is_evidence

    def _record_true_claim(self) -> None:
        record = self._record
        files = self._course.editable_files(self._exercise.id)
        is_untouched = not any(is_edited(self._course, file) for file in files if file.is_file())
        seconds = record.seconds_to_true_claim
        self._store(
            true_claims_before_edit=record.true_claims_before_edit + is_untouched,
            seconds_to_true_claim=time.time() - record.started if seconds is None else seconds,
        )

    def _fix(self) -> None:
        """Show what fails, and grade the file again as often as the student wants."""
        self._show_state()
        if self._talk.in_notebook:
            self._say(f"Change your cell and run it, then %grade {self._exercise.id}")
            return
        while self._verdict.outcome is not Result.FIXED:
            if (
                self._talk.ask("Edit your file, then type g to grade it, or press Enter to go on: ") or ""
            ).lower() != "g":
                return
            choice = self._talk.read_file()
            name = self._course.shown(choice.path)
            refused = refuse(self._exercise, choice.read, name, 0)
            if refused is not None:
                self._say(f"{name} cannot run: {refused.reason}")
                continue
            assert isinstance(choice.read, Submission)
            with judging_note(choice.path.name):
                judged = self._judge(self._exercise.id, choice.read, name, secret_seed())
            self._submission, self._verdict = choice.read, withhold(self._course, self._exercise, judged)
            if self._is_recorded:
                record_shown(self._course, choice.read, self._verdict)
            progress = load_progress(self._course, self._exercise.id)
            self._talk.show_verdict(self._verdict, self._explained(), progress)

    def _show_state(self) -> None:
        verdict, progress = self._verdict, load_progress(self._course, self._exercise.id)
        word, score = result_and_points(verdict, self._exercise)
        count, broken = len(progress.attempts), sum(bool(each.broken) for each in progress.attempts)
        parts = [word, score, *([f"graded {counted(count, 'time')}"] if count else [])]
        parts += [f"something else broke {counted(broken, 'time')}"] if broken else []
        self._say(" · ".join(parts))
        for cause in shown_causes(verdict)[:MAX_CAUSES]:
            self._say(f"  ✗ {sentence(cause.finding)}")
        if verdict.awaits_claim():
            self._say(undecided(self._exercise.id))

    def _explain(self) -> None:
        explained = self._explained()
        statuses = {each.id: each.status for each in self._verdict.defects}
        fixed = [each for each in explained.defects if statuses.get(each.id) is DefectStatus.FIXED]
        call = load_call(self._course, self._exercise.id)
        if not fixed:
            self._say(
                "This card explains defects that you have fixed.",
                f"After your first fix, run {self._command('--card 4')}",
            )
            return
        if call is not None:
            self._answer_evidence_again(call)
        others = _known_defects(self._course, self._exercise)
        for defect in fixed:
            if not defect.is_explained():
                self._say(
                    f"Why it mattered is explained when you hand in. Write a test that catches it: see {TRAP_PAGE}."
                )
                continue
            questions = [which_reason(explained, defect, others)]
            if call is not None and defect.id in call.defects:
                name = check_name(call.check, check_names(self._exercise))
                questions.append(which_test(defect, name))
            for question in questions:
                if question is not None:
                    is_right = self._question(question)
                    self._show(*answered_lines(is_right=is_right, right=question.options[question.right]))
            self._say(story(defect), f"Write a test that catches it: see {TRAP_PAGE}.")

    def _answer_evidence_again(self, call: StoredCall) -> None:
        """Answer again, on the fixed file, the claims that the student called wrong; count changed answers."""
        if not self._record.evidence:
            return
        self._say("You said that these answers are not as they should be. The answers for your file as it is now:")
        after = source_of(self._submission)
        earlier = [parse_claim(text) for text in self._record.evidence]
        claims = [moved_claim(claim, call.source, after) for claim in earlier]
        answers = answer_claims(self._judge, self._exercise.id, self._submission, call, claims)
        contradicted = set(self._record.contradicted)
        asked = zip(self._record.evidence.items(), earlier, claims, answers, strict=True)
        for (text, before), first, claim, answer in asked:
            contradicted |= {text} if answer.is_true is not None and answer.is_true is not before else set()
            lines = answer_now_lines(
                text,
                before=before,
                now=answer,
                line=claim.line if claim.line != first.line else 0,
                is_fixed=self._verdict.outcome is Result.FIXED,
                command=self._command("--card 2"),
            )
            self._show(*lines)
        self._store(contradicted=sorted(contradicted))

    def _explained(self) -> Exercise:
        return load_explained(self._course, self._exercise.id, self._submission, self._verdict)

    def _question(self, question: Question) -> bool | None:
        """Ask a question; return whether the answer is right, None if it was skipped."""
        self._show(*question_lines(question.text, question.options))
        answer = self._talk.ask("number> ")
        while answer and not (answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(question.options)):
            self._say(f"  a number from 1 to {len(question.options)}, or Enter to skip", style="yellow")
            answer = self._talk.ask("number> ")
        return int(answer) - 1 == question.right if answer else None

    def _show(self, *lines: Line) -> None:
        self._talk.show(lines)

    def _say(self, *texts: str, style: str = "") -> None:
        self._show(*plain_lines(*texts, style=style))

    def _store(self, **changes: object) -> None:
        """Change the record, and store it at once."""
        self._record = structs.replace(self._record, **changes)
        progress = load_progress(self._course, self._exercise.id)
        save_progress(self._course, self._exercise.id, structs.replace(progress, guide=self._record))

    def _command(self, options: str) -> str:
        return command(
            "guide", self._exercise.id, options, shell=Shell.NOTEBOOK if self._talk.in_notebook else Shell.TERMINAL
        )


TRAP_PAGE = '"The trap" in exercises/README.md'


def _with_first(answers: dict[str, bool], question: str, is_right: bool) -> dict[str, bool]:
    """Return the answers with one more, unless the question was answered before."""
    return {**answers, question: answers.get(question, is_right)}


def _known_defects(course: Course, exercise: Exercise) -> list[Defect]:
    """Return the defects of other exercises that this student has fixed, those of the same theme first."""
    known: list[tuple[bool, Defect]] = []
    for other in course.exercise_ids():
        if other == exercise.id or not (fixed := load_progress(course, other).fixed()):
            continue
        described = explained_exercise(course, load_exercise(course.description(other)))
        known += [(described.theme != exercise.theme, each) for each in described.defects if each.id in fixed]
    return [defect for _, defect in sorted(known, key=lambda each: each[0])]
