"""A guided hunt: four cards (predict, locate, fix, explain). Any card can be shown, and any question skipped.

The kit judges each answer by running code. It names no defect and no line to change, and nothing here changes a score.
"""

import contextlib
import re
import time
from collections.abc import Callable, Collection

from msgspec import structs

from grader.errors import SpecError, UsageError
from grader.report.causes import shown_causes
from grader.report.check_names import check_name, check_names
from grader.report.console import judging_note
from grader.report.findings import sentence
from grader.report.guide import (
    ClaimAnswer,
    Meaning,
    answer_now_lines,
    answered_lines,
    card_title,
    claim_lines,
    defect_title,
    error_texts,
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
from grader.student.call_words import advice_without_values, call_words
from grader.student.cards import Card, Question, first_sentence, predictions, which_reason, which_test
from grader.student.claim_forms import ValueClaim, parse_claim
from grader.student.claims import withhold
from grader.student.conversation import Conversation
from grader.student.evidence import (
    MadeClaim,
    StoredCall,
    StoredCalls,
    answer_claims,
    find_call,
    load_calls,
    moved_claim,
    source_of,
    store_calls,
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
EXPECTED = "  Would right code give the same answer? y, n, or Enter if you don't know: "
YES_OR_NO = {"y", "yes", "n", "no"}
HELP = {"help", "h", "?"}
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
    course: Course,
    exercise_id: str,
    talk: Conversation,
    cards: Collection[Card],
    *,
    seed: int | None = None,
    is_recorded: bool,
) -> None:
    """Show the given cards; without any, the cards that are due. Record verdicts if `is_recorded`.

    Inputs come from `seed`; without it, from the seed of the last guide, or of the page that the student saw last.
    Raise `UsageError` if no check can run on the file.
    """
    choice = talk.read_file()
    name = course.shown(choice.path)
    if not can_be_examined(choice.read):
        raise UsageError(f"{name} cannot run yet; python -m grader {exercise_id} says why")
    with open_judge(course, first=exercise_id) as judge:
        with judging_note(choice.path.name):
            verdict = judge(exercise_id, choice.read, name, _seed(course, exercise_id, seed))
        if not verdict.was_checked():
            raise UsageError(f"{name} cannot run yet; python -m grader {exercise_id} says why")
        exercise = load_exercise(course.description(exercise_id))
        verdict = withhold(course, exercise, verdict)
        if is_recorded:
            record_shown(course, choice.read, verdict, is_attempt=False)
        _Hunt(course, exercise, judge, talk, choice.read, verdict, is_recorded=is_recorded).run(cards)


def _seed(course: Course, exercise_id: str, given: int | None) -> int:
    """Return the given seed; without it, the seed of the last guide or page, or else a new seed."""
    progress = load_progress(course, exercise_id)
    return next((each for each in (given, progress.guide.seed, progress.seed) if each is not None), secret_seed())


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
        self._explained_on_page: set[str] = set()
        """The fixed defects that a page of this session explained."""

    def run(self, cards: Collection[Card]) -> None:
        is_fixed = self._verdict.outcome is Result.FIXED
        shown = sorted(cards) if cards else due_cards(self._course, self._exercise, is_fixed=is_fixed)
        if not shown:
            self._say(
                "You have been guided often enough in this theme, so no card is due.",
                f"To see one: {self._command('--card 1')}",
            )
        self._store(started=self._record.started or time.time(), seed=self._verdict.seed)
        steps: dict[Card, Callable[[], None]] = {
            Card.PREDICT: self._predict,
            Card.LOCATE: self._locate,
            Card.FIX: self._fix,
            Card.EXPLAIN: self._explain,
        }
        if {Card.PREDICT, Card.LOCATE} & {*shown}:
            self._say(self._seed_words(), style="dim")
        for card in shown:
            self._show(*card_title(card, NAMES[card], AIMS[card]))
            steps[card]()

    def _seed_words(self) -> str:
        """Return a sentence about the seed, which may differ from that of the page that the student saw last."""
        seed, last = self._verdict.seed, load_progress(self._course, self._exercise.id).seed
        inputs = f"The guide draws its inputs from seed {seed}"
        if last is None:
            return f"{inputs}."
        if last == seed:
            return f"{inputs}, like the last page."
        return f"{inputs}, so its numbers differ from the numbers on the page, which has seed {last}."

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
        call = structs.replace(call, source=source_of(self._submission))
        store_calls(self._course, self._exercise.id, self._calls().with_call(call))
        if not listed.has_values():
            self._say(
                "Your file fails before it computes a value that you could make a claim about.",
                call_words(self._exercise, call),
                *error_texts(listed.error),
                f"Go on to the third card: {self._command('--card 3')}",
            )
            return
        self._show(*value_lines(listed, self._notes_on(call)))
        forms = form_lines(example_of(self._exercise, listed.values))
        self._show(*forms)
        found = 0
        text = self._talk.ask("claim> ")
        while text:
            if text.lower() in HELP:
                self._show(*forms)
                text = self._talk.ask("claim> ")
                continue
            text, is_evidence = self._claim(text, call, has_returned=listed.error is None)
            found += is_evidence
            if is_evidence and found == ENOUGH_EVIDENCE:
                self._say("Two answers that you did not expect: read the code that makes these values.")
            text = text or self._talk.ask("claim> ")

    def _notes_on(self, call: StoredCall) -> list[str]:
        """Return sentences about a call: its check, its arguments, and what to do if no value can be wrong."""
        words = call_words(self._exercise, call)
        if not call.check:
            return [words, "Your file makes these values in this ordinary call, in this order:"]
        name = check_name(call.check, check_names(self._exercise))
        kinds = {each.check: each.finding.kind for each in self._verdict.checks if each.finding is not None}
        repeat = "" if self._talk.in_notebook else command("try", self._exercise.id)
        advice = advice_without_values(kinds[call.check], repeat) if call.check in kinds else ""
        return [
            f'The check "{name}" fails. {words}',
            *([advice] if advice else []),
            "In this call, your file makes these values, in this order:",
        ]

    def _claim(self, text: str, call: StoredCall, *, has_returned: bool) -> tuple[str | None, bool]:
        """Answer a claim. Return the next claim if it was typed already, and whether the answer is evidence."""
        try:
            claim = parse_claim(text)
        except UsageError as error:
            self._say(f"  {error}", style="yellow")
            return None, False
        answer = ClaimAnswer(is_true=None, evidence="the call returned nothing, because an exception ended it")
        if has_returned or claim.value != "returned":
            answer = answer_claims(self._judge, self._exercise.id, self._submission, call, [claim])[0]
        self._show(*claim_lines(answer))
        if answer.is_true is None:
            return None, False
        if answer.is_true:
            self._record_true_claim()
        expected = self._talk.ask(EXPECTED)
        while expected is not None and expected.lower() not in YES_OR_NO and " " not in expected:
            self._say("  y, n or Enter", style="yellow")
            expected = self._talk.ask(EXPECTED)
        if expected is not None and expected.lower() not in YES_OR_NO:
            return expected, False
        is_evidence = expected is not None and expected.lower().startswith("n")
        if is_evidence:
            self._store(evidence={**self._record.evidence, text: answer.is_true})
            store_calls(self._course, self._exercise.id, self._calls().with_claim(text, answer=answer.is_true))
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
            self._say(f"Change your cell and run it, then run %grade {self._exercise.id}")
            return
        while self._verdict.outcome is not Result.FIXED:
            answer = self._talk.ask("Edit your file, then type g to grade it, or press Enter to go on: ") or ""
            if answer.lower() != "g":
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
            self._explained_on_page = {each.id for each in self._verdict.defects if each.status is DefectStatus.FIXED}

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
        if not fixed:
            self._say(
                "This card explains defects that you have fixed.",
                f"After your first fix, run {self._command('--card 4')}",
            )
            return
        self._answer_evidence_again()
        others = _known_defects(self._course, self._exercise)
        for defect in fixed:
            if defect.is_explained():
                self._explain_defect(explained, defect, others)
        if locked := [each for each in fixed if not each.is_explained()]:
            self._say(self._when_explained(locked))
        self._say(f"Write a test that catches what you fixed: see {TRAP_PAGE}.")

    def _explain_defect(self, explained: Exercise, defect: Defect, others: list[Defect]) -> None:
        """Ask why a fixed defect mattered and which test catches it, then give the rest of its explanation."""
        self._show(*defect_title(defect.title))
        reason = which_reason(explained, defect, others)
        questions = [reason]
        check = self._calls().catching.get(defect.id)
        if check is not None:
            questions.append(which_test(defect, check_name(check, check_names(self._exercise))))
        for question in questions:
            if question is not None:
                is_right = self._question(question)
                self._show(*answered_lines(is_right=is_right, right=question.options[question.right]))
        if defect.id in self._explained_on_page:
            return
        text = story(defect)
        if reason is not None:
            text = text.removeprefix(first_sentence(defect.why)).strip()
        self._say(*([text] if text else []))

    def _when_explained(self, locked: list[Defect]) -> str:
        """Return when the explanation of fixed defects of a sealed edition comes."""
        numbers = self._exercise.numbers()
        names = [f"defect {numbers[each.id]}" for each in locked]
        may_open = self._has_locks() and any(each.status is not DefectStatus.FIXED for each in self._verdict.defects)
        when = "once all defects are fixed, or when you hand in" if may_open else "when you hand in"
        return f"Why {' and '.join(names)} mattered is explained {when}."

    def _has_locks(self) -> bool:
        return self._course.explanations(self._exercise.id).is_file()

    def _calls(self) -> StoredCalls:
        return load_calls(self._course, self._exercise.id)

    def _answer_evidence_again(self) -> None:
        """Answer again, in its own call, each claim whose answer the student called wrong; count changed answers."""
        if not self._record.evidence:
            return
        self._say("You said that these answers are not as they should be. The answers for your file as it is now:")
        calls = self._calls()
        stored = {each.text for each in calls.claims}
        for claim in calls.claims:
            self._answer_claim_again(claim, calls)
        for text in self._record.evidence:
            if text not in stored:
                self._answer_unstored(text)

    def _answer_claim_again(self, made: MadeClaim, calls: StoredCalls) -> None:
        call, claim = calls.calls[made.call], parse_claim(made.text)
        moved = moved_claim(claim, call.source, source_of(self._submission))
        now = answer_claims(self._judge, self._exercise.id, self._submission, call, [moved])[0]
        meaning = self._meaning(claim, made, now)
        if meaning.is_trace():
            self._store(contradicted=sorted({*self._record.contradicted, made.text}))
            store_calls(self._course, self._exercise.id, self._calls().with_changed(made))
        lines = answer_now_lines(
            made.text,
            before=made.answer,
            now=now,
            line=moved.line if moved.line != claim.line else 0,
            call=call_words(self._exercise, call) if len(calls.calls_of(made.text)) > 1 else "",
            meaning=meaning,
            command=self._command("--card 2"),
        )
        self._show(*lines)

    def _answer_unstored(self, text: str) -> None:
        is_trace = text in self._record.contradicted
        now = ClaimAnswer(is_true=None, evidence="it is about another call")
        meaning = Meaning.CHANGED_EARLIER if is_trace else Meaning.NOT_STORED
        before, command = self._record.evidence[text], self._command("--card 2")
        self._show(*answer_now_lines(text, before=before, now=now, line=0, meaning=meaning, command=command))

    def _meaning(self, claim: ValueClaim, made: MadeClaim, now: ClaimAnswer) -> Meaning:
        """Return what follows from the answer to a claim. An answer that an edit changed remains a trace of a bug."""
        if now.is_true is not None and now.is_true is not made.answer:
            return Meaning.CHANGED
        if made.was_changed:
            return Meaning.CHANGED_EARLIER
        if now.is_true is None:
            return Meaning.UNREACHED if self._has_name(claim.value) else Meaning.REMOVED
        statuses = {each.status for each in self._verdict.defects}
        is_right = self._verdict.outcome is Result.FIXED and statuses <= {DefectStatus.FIXED}
        return Meaning.RIGHT if is_right else Meaning.UNDECIDED

    def _has_name(self, value: str) -> bool:
        """Return whether the student's file contains a name, so that no message calls it removed."""
        name = value.rpartition(".")[2]
        texts = [each.text for each in self._submission.chunks]
        return name == "returned" or any(re.search(rf"\b{re.escape(name)}\b", each) for each in texts)

    def _explained(self) -> Exercise:
        return load_explained(self._course, self._exercise.id, self._submission, self._verdict)

    def _question(self, question: Question) -> bool | None:
        """Ask a question; return whether the answer is right, None if it was skipped."""
        self._show(*question_lines(question.text, question.options))
        answer = self._talk.ask("number> ")
        while answer and not (answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(question.options)):
            self._say(f"  a number from 1 to {len(question.options)}, Enter to skip, or q to leave", style="yellow")
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
        shell = Shell.NOTEBOOK if self._talk.in_notebook else Shell.TERMINAL
        return command("guide", self._exercise.id, options, shell=shell)


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
