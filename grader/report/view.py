"""The view model of a verdict's page: everything that the page says. `terminal.py` and `html.py` lay it out."""

import time
from collections.abc import Collection, Iterator
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import Finding, Outcome, Picture, Status, in_words
from grader.report.causes import Cause, hides_defects, hiding_crash, say_the_same, shown_causes
from grader.report.check_names import check_name, check_names, listed_checks
from grader.report.findings import diagnosis_words, full_text, names_sizes, reason_words, sentence, size_words
from grader.report.next_steps import NextStep, next_steps, origin
from grader.report.phrases import (
    STATUS_WORDS,
    Shell,
    capitalized,
    command,
    defects_without_finding,
    hides_count,
    is_changed,
    missed_tests,
    near_miss_hint,
    open_layers,
    points,
    points_with_unit,
    result_and_points,
    shown_defects,
    was_touched,
)
from grader.report.printable import printable, printable_ends, printable_line, printable_lines
from grader.report.progress import Attempt, Progress
from grader.report.right_behaviour import right_behaviour
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Announcement, Exercise
from grader.spec.properties import DropoutActsOnWeights, DropoutOnlyInTraining
from grader.verdict.attribution import DefectStatus, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

MAX_ADVICE = 240
MAX_PICTURES = 3
"""The most pictures on one page; more rarely add anything."""
MAX_BEFORE_CARET = 80
"""Columns up to which a caret is shown; further right it could wrap."""

CAUSE_WORDS = {Status.CRASHED: "crash", Status.TIMED_OUT: "hangs", Status.NOT_RUN: "no run"}
"""The word in the margin for each status. A check with status `failed` gets "wrong"."""

NOT_SHOWN = "no finding below is due to this defect alone"
"""The note on a defect that only several failures together, or the submission's text, identify."""

NOT_AS_BEFORE = "perhaps behind a finding below"
"""The note on a present defect if a finding in a changed file has no explanation."""

NONE_MATCHES = "no finding below matches a defect; fix the first finding, then grade again"
"""The note on the defects of an exercise that hides their number, if none is listed."""

NO_PROGRESS = Progress()

HIDDEN_TEST = "A check that was written for this exercise alone."
BEHIND_CRASH = "the crash above hides the result of this check"


class PageLimits(Struct, frozen=True, kw_only=True):
    """The most characters of a reason, a finding and a place on a kind of page."""

    reason: int
    finding: int
    place: int
    unused_seed: bool
    """Whether the page names the seed although no check ran."""


ON_PAGES = PageLimits(reason=600, finding=600, place=400, unused_seed=True)
ON_SCREEN = PageLimits(reason=400, finding=480, place=80, unused_seed=False)


class Mark(StrEnum):
    """The mark of a row."""

    GOOD = "✓"
    BAD = "✗"
    UNKNOWN = "?"
    OPEN = "·"

    @property
    def tone(self) -> str:
        """Return the meaning of the mark's colour: good, bad or open."""
        return {Mark.GOOD: "good", Mark.BAD: "bad"}.get(self, "open")


MARKS = {DefectStatus.FIXED: Mark.GOOD, DefectStatus.PRESENT: Mark.BAD, DefectStatus.UNKNOWN: Mark.UNKNOWN}


class Row(Struct, frozen=True, kw_only=True):
    """A row of the table of defects, or its last row: whether anything else broke."""

    name: str
    mark: Mark
    state: str
    points: str
    note: str


class CauseView(Struct, frozen=True, kw_only=True):
    """A cause of failed checks: its word in the margin, its finding, and the line of the submission, at `place`.

    `notes` names the defects, the sizes and the checks.
    """

    word: str
    text: str
    explanation: str
    place: str
    line: str
    notes: str
    printed_title: str
    printed: str
    """The last lines that the submission printed; only the first cause that has any shows them."""
    picture_title: str
    picture: Picture | None


class CheckRow(Struct, frozen=True, kw_only=True):
    """A check in the list of all checks. `finding` may refer to a cause by its number on the page."""

    name: str
    mark: Mark
    status: str
    description: str
    finding: str


class CheckGroup(Struct, frozen=True, kw_only=True):
    """The checks that pass, or those that do not."""

    title: str
    rows: list[CheckRow]
    is_open: bool
    """Whether the page shows the rows at once."""


class AttemptRow(Struct, frozen=True, kw_only=True):
    """An earlier grading. `share` is its part of all points, from 0 to 1."""

    at: str
    outcome: str
    points: str
    fixed: str
    share: float


class VerdictView(Struct, frozen=True, kw_only=True):
    """Everything that a verdict's page says. Texts are safe to print, and empty if the page omits them.

    A layout may omit parts for which it has no room.
    """

    exercise: str
    title: str
    file: str
    checks_note: str
    """How many checks ran, unless the edition runs them all."""
    was_checked: bool
    reason: str
    """Why no check could run. `line` and `caret` show the place in the file."""
    line: str
    caret: str
    defects: list[Row]
    everything_else: Row | None
    """The last row of the table; None if no check could run."""
    lessons_title: str
    lessons: list[str]
    findings_title: str
    causes: list[CauseView]
    hidden_defects: str
    """A sentence about defects behind a crash that hides the other causes."""
    right: list[str]
    near_miss: str
    advice: list[str]
    """The advice of checks, which costs no points."""
    result: str
    is_good: bool
    """Whether nothing wrong is known."""
    score: str
    run: str
    next_steps: list[NextStep]
    shows_all_steps: bool
    """Whether a short page shows all next steps, or only the first."""
    origin: str
    open_layers: str
    checks: list[CheckGroup]
    """All checks, failed ones first; empty if the list would give the hunt away, because all of them pass."""
    attempts: list[AttemptRow]
    full_report: str
    """The command that writes the page with everything; empty in a notebook, which shows that page at once."""


def view_of(
    verdict: Verdict,
    exercise: Exercise,
    progress: Progress = NO_PROGRESS,
    *,
    names: bool = False,
    has_seed: bool = True,
    shell: Shell = Shell.TERMINAL,
    limits: PageLimits = ON_PAGES,
) -> VerdictView:
    """Return everything that a page says about a verdict.

    `progress` is the student's progress before the verdict: a page lists the defects that earlier pages listed, and
    does not explain again what they explained. `names` adds the ids of defects and checks. `has_seed` is false if the
    next submissions get the same seed. `shell` is where the student types the next command.
    """
    was_checked = verdict.was_checked()
    causes = shown_causes(verdict)
    result, score = result_and_points(verdict, exercise)
    line, caret = _line_and_caret(verdict)
    defects = shown_defects(verdict, exercise, progress.listed) if was_checked else []
    edition = exercise.edition
    has_seed = has_seed and (limits.unused_seed or bool(verdict.checks))
    return VerdictView(
        exercise=verdict.exercise,
        title=exercise.title,
        file=printable(verdict.file),
        checks_note=edition.checks_note(run=len(verdict.checks), described=len(exercise.checks)) if was_checked else "",
        was_checked=was_checked,
        reason=printable(verdict.reason or "", limits.reason),
        line=line,
        caret=caret,
        defects=_defect_rows(defects, verdict, exercise, causes, names=names),
        everything_else=_last_row(verdict, exercise, causes) if was_checked else None,
        lessons_title="Why the fixed defects mattered" if exercise.defects else "Why nothing was wrong",
        lessons=_lessons(verdict, exercise, progress),
        findings_title=_findings_title(verdict, exercise),
        causes=_causes(causes, verdict, exercise, defects, limits, names=names, shell=shell),
        hidden_defects=_hidden_defects(verdict, causes),
        right=right_behaviour(verdict, exercise),
        near_miss=near_miss_hint(verdict, exercise),
        advice=[printable(outcome.advice, MAX_ADVICE) for outcome in verdict.checks if outcome.advice],
        result=result,
        is_good=verdict.outcome is Result.FIXED or verdict.is_right_so_far(),
        score=score,
        run=" · ".join([*([f"seed {verdict.seed}"] if has_seed else []), f"{verdict.seconds:.2f} s"]),
        next_steps=next_steps(verdict, exercise, shell),
        shows_all_steps=verdict.outcome is Result.FIXED or verdict.awaits_claim(),
        origin=origin(verdict, exercise),
        open_layers=open_layers(verdict),
        checks=[] if verdict.awaits_claim() else _check_groups(verdict, exercise, causes),
        attempts=[_attempt_row(each, verdict.max_score, exercise) for each in progress.attempts],
        full_report="" if shell is Shell.NOTEBOOK else command("report", exercise.id),
    )


def _line_and_caret(verdict: Verdict) -> tuple[str, str]:
    """Return the line that made the file not gradable, and a line with a caret below the column.

    Both are empty if there is no such line. The caret is also empty if the column is unknown or too far right.
    """
    at = verdict.unloadable.location if verdict.unloadable else None
    if at is None:
        return "", ""
    before = printable_line(at.text[: at.column - 1])
    caret = f"       │ {' ' * len(before)}^" if 0 < at.column <= MAX_BEFORE_CARET else ""
    return f"  {at.line:>4} │ {printable_line(at.text)}", caret


def _defect_rows(
    defects: list[DefectVerdict], verdict: Verdict, exercise: Exercise, causes: list[Cause], *, names: bool
) -> list[Row]:
    """Return a row for each listed defect, or one row for all if findings hide which defects there are."""
    if not defects and causes and hides_count(verdict, exercise):
        state = STATUS_WORDS[DefectStatus.UNKNOWN]
        return [Row(name="defects", mark=Mark.UNKNOWN, state=state, points="", note=NONE_MATCHES)]
    return [_defect_row(each, verdict, exercise, causes, names=names) for each in defects]


def _defect_row(
    defect: DefectVerdict, verdict: Verdict, exercise: Exercise, causes: list[Cause], *, names: bool
) -> Row:
    note = printable(_defect_note(defect, verdict, exercise, causes))
    return Row(
        name=f"defect {exercise.numbers()[defect.id]}",
        mark=MARKS[defect.status],
        state=STATUS_WORDS[defect.status],
        points=_defect_points(defect, verdict, exercise),
        note=": ".join(filter(None, (defect.id, note))) if names else note,
    )


def _defect_note(defect: DefectVerdict, verdict: Verdict, exercise: Exercise, causes: list[Cause]) -> str:
    """Return the note beside a defect's points: its title once fixed, or why its status is unknown."""
    if defect.status is DefectStatus.FIXED:
        return next(each.title for each in exercise.defects if each.id == defect.id)
    is_shown = hiding_crash(causes) is not None or any(defect.id in cause.defects for cause in causes)
    if defect.status is DefectStatus.PRESENT and not is_shown:
        return NOT_AS_BEFORE if defect.id in defects_without_finding(verdict) else NOT_SHOWN
    return reason_words(defect.reason, check_names(exercise)) if defect.reason else ""


def _defect_points(defect: DefectVerdict, verdict: Verdict, exercise: Exercise) -> str:
    """Return the points of a defect as its row shows them; the points of all rows would give their number away."""
    if hides_count(verdict, exercise):
        return points_with_unit(defect) if defect.status is DefectStatus.FIXED else ""
    return f"{points(defect.points)} of {points(defect.max_points)}" + (", extra" if defect.stretch else "")


def _last_row(verdict: Verdict, exercise: Exercise, causes: list[Cause]) -> Row:
    """Return the table's last row: whether anything besides the defects broke, and its points."""
    worth, is_hidden = points(exercise.nothing_else_broke), hides_count(verdict, exercise)
    other = "else " if exercise.defects or verdict.outcome is not Result.FIXED else ""
    name, earned = "everything else", "" if is_hidden else f"0 of {worth}"
    if verdict.regressions:
        note = f"your change broke {listed_checks(verdict.regressions, check_names(exercise))}"
        return Row(name=name, mark=Mark.BAD, state=f"something {other}broke", points=earned, note=note)
    if verdict.outcome is Result.FIXED:
        return Row(name=name, mark=Mark.GOOD, state=f"nothing {other}broke", points=f"{worth} of {worth}", note="")
    note = "" if is_hidden else "awarded once every bug is fixed"
    is_open = _may_have_regressions(verdict, causes)
    state = "can't tell yet whether anything else broke" if is_open else "nothing else broke so far"
    return Row(name=name, mark=Mark.OPEN, state=state, points=earned, note=note)


def _may_have_regressions(verdict: Verdict, causes: list[Cause]) -> bool:
    """Return whether a defect fails differently or, in a changed file, no defect explains some finding.

    While every defect is present, as in the starter, such a finding may belong to several of them.
    """
    reasons = [each.reason.kind for each in verdict.defects if each.reason is not None]
    is_explained = all(cause.is_explained() for cause in causes)
    return UnknownReason.FAILS_DIFFERENTLY in reasons or (is_changed(verdict) and not is_explained)


def _lessons(verdict: Verdict, exercise: Exercise, progress: Progress) -> list[str]:
    """Return why each newly fixed defect mattered, and which usual tests passed in spite of it.

    Once the exercise is fixed, defects that were fixed before are explained again. Usual tests that several defects
    share are named once. A fixed exercise that has no defects gets its own explanation.
    """
    is_fixed = verdict.outcome is Result.FIXED
    explained = set() if is_fixed else progress.fixed()
    ids = {each.id for each in verdict.defects if each.status is DefectStatus.FIXED} - explained
    numbers = exercise.numbers()
    defects = [defect for defect in exercise.defects if defect.id in ids and defect.why]
    defects.sort(key=lambda defect: numbers[defect.id])
    tests = {missed_tests(defect) for defect in defects}
    is_shared = len(defects) > 1 and len(tests) == 1
    lines = []
    for defect in defects:
        parts = [" ".join(defect.why.split())]
        sizes = progress.failing_sizes.get(defect.id)
        parts += [f"It was wrong {sizes}."] if sizes else []
        missed = missed_tests(defect)
        parts += [f"It passes {_usual_tests(missed)}."] if missed and not is_shared else []
        lines.append(f"defect {numbers[defect.id]}: {' '.join(parts)}")
    if is_shared and all(tests):
        lines.append(f"Each of these bugs passes {_usual_tests(tests.pop())}.")
    if is_fixed and exercise.decoy:
        lines.append(" ".join(exercise.decoy.split()))
    return lines


def _usual_tests(missed: str) -> str:
    return f"{'the usual tests' if '; ' in missed else 'a usual test'}: {missed}"


def _findings_title(verdict: Verdict, exercise: Exercise) -> str:
    """Return the title above the findings, with the number of checks that pass."""
    passed = sum(outcome.status is Status.PASSED for outcome in verdict.checks)
    return f"What your {exercise.interface.kind.noun()} does ({passed} of {len(verdict.checks)} checks pass)"


def _causes(
    causes: list[Cause],
    verdict: Verdict,
    exercise: Exercise,
    defects: list[DefectVerdict],
    limits: PageLimits,
    *,
    names: bool,
    shell: Shell,
) -> list[CauseView]:
    """Return the causes of a page that lists these defects."""
    listed = {each.id for each in defects}
    printing = next((cause for cause in causes if cause.finding.printed), None)
    views = []
    for place, cause in enumerate(causes):
        finding, at = cause.finding, cause.finding.location
        has_picture, arguments = place < MAX_PICTURES, as_arguments(finding.size_case)
        pictured = check_name(cause.pictured, check_names(exercise)) if cause.pictured and has_picture else ""
        views.append(
            CauseView(
                word=CAUSE_WORDS.get(cause.status, "wrong"),
                text=printable_ends(sentence(finding), limits.finding),
                explanation=" ".join(_explanations(cause, exercise, shell, is_first=place == 0)),
                place=printable(str(at), limits.place) if at else "",
                line=printable_line(at.text.strip()) if at else "",
                notes=_cause_notes(cause, verdict, exercise, listed, names=names),
                printed_title=f"it printed{f' with {arguments}' if arguments else ''}:",
                printed=printable_lines(finding.printed) if cause is printing else "",
                picture_title=f'in "{pictured}":' if pictured else "",
                picture=cause.picture if has_picture else None,
            )
        )
    return views


def _explanations(cause: Cause, exercise: Exercise, shell: Shell, *, is_first: bool) -> Iterator[str]:
    """Yield the diagnosis of a cause; of the first cause, which `try` repeats, also where its calls can be read."""
    if cause.finding.diagnosis:
        yield f"{capitalized(diagnosis_words(cause.finding.diagnosis))}."
    has_own_calls = any(each.id == cause.checks[0] and each.variation_class() for each in exercise.checks)
    if is_first and has_own_calls and cause.status is Status.FAILED:
        yield f"The check makes its own calls: {command('try', exercise.id, '--code', shell=shell)} shows them."


def _cause_notes(cause: Cause, verdict: Verdict, exercise: Exercise, listed: Collection[str], *, names: bool) -> str:
    """Return the note below a cause: the defects that explain it, the failing sizes, and the checks that found it."""
    shown_names = {check: in_words(check) for check in cause.checks} if names else check_names(exercise)
    found_by = f"found by {listed_checks(cause.checks, shown_names)}"
    label = _cause_label(cause, verdict, exercise, listed)
    settings = "; ".join(filter(None, (size_words(cause.finding), _fixed_arguments(cause, exercise))))
    return " · ".join(filter(None, (label, settings, found_by)))


def _fixed_arguments(cause: Cause, exercise: Exercise) -> str:
    """Return the arguments with which every check of the exercise builds the module, unless the check chooses them or
    the finding's sentence names its sizes.
    """
    check, sizes = next((each for each in exercise.checks if each.id == cause.checks[0]), None), cause.finding.size_case
    if check is None or check.variation_class() or not sizes or names_sizes(cause.finding):
        return ""
    probability = check.probability if isinstance(check, DropoutOnlyInTraining | DropoutActsOnWeights) else ""
    chosen = {*check.constructor, *check.defaults, probability}
    fixed = {
        name: value
        for name, value in exercise.interface.constructor.items()
        if name not in chosen and not (isinstance(value, str) and value in sizes)
    }
    drops = [f"{probability} above 0"] if probability and probability not in check.defaults else []
    return ", ".join(filter(None, [as_arguments(fixed), *drops]))


def _cause_label(cause: Cause, verdict: Verdict, exercise: Exercise, listed: Collection[str]) -> str:
    """Return a phrase on the defects that explain the cause, by number, or on how the student's change may."""
    if cause.is_new():
        return "not one of the original bugs: your change probably caused it"
    if cause.defects:
        return _numbered(cause.defects, exercise)
    if cause.broken:
        return f"your change probably broke {listed_checks(cause.broken, check_names(exercise))}"
    possible = [each for each in _possible_defects(cause, verdict) if each in listed]
    if possible:
        return f"perhaps {_numbered(possible, exercise)}"
    return "can't tell yet whether it is an original bug" if is_changed(verdict) else ""


def _numbered(defects: Collection[str], exercise: Exercise) -> str:
    return f"defect {' or '.join(map(str, sorted(exercise.numbers()[each] for each in defects)))}"


def _possible_defects(cause: Cause, verdict: Verdict) -> list[str]:
    """Return the defects that may be behind an unexplained cause: the student changed how they fail."""
    touched = [
        each.id
        for each in verdict.defects
        if was_touched(each) and each.reason is not None and each.reason.check in cause.checks
    ]
    return [*touched, *defects_without_finding(verdict)]


def _hidden_defects(verdict: Verdict, causes: list[Cause]) -> str:
    crash = hiding_crash(causes)
    is_hiding = crash is not None and hides_defects(verdict, crash)
    return "This crash hides everything after it, possibly another bug." if is_hiding else ""


def _check_groups(verdict: Verdict, exercise: Exercise, causes: list[Cause]) -> list[CheckGroup]:
    rows = _check_rows(verdict, exercise, causes)
    failed, passed = ([row for row in rows if row.mark is mark] for mark in (Mark.BAD, Mark.GOOD))
    return [
        CheckGroup(title="checks that do not pass", rows=failed, is_open=True),
        CheckGroup(title="checks that pass", rows=passed, is_open=False),
    ]


def _check_rows(verdict: Verdict, exercise: Exercise, causes: list[Cause]) -> list[CheckRow]:
    """Return a row for each check. Of checks with one description, only the first shows it.

    The description of a property is the first paragraph of its docstring.
    """
    names, described = check_names(exercise), set[str]()
    descriptions = {check.id: (type(check).__doc__ or "").split("\n\n")[0] for check in exercise.checks}
    rows = []
    for outcome in sorted(verdict.checks, key=lambda outcome: outcome.status is Status.PASSED):
        description = descriptions.get(outcome.check, HIDDEN_TEST)
        rows.append(
            CheckRow(
                name=check_name(outcome.check, names),
                mark=Mark.GOOD if outcome.status is Status.PASSED else Mark.BAD,
                status=str(outcome.status).replace("_", " "),
                description="" if description in described else description,
                finding=_check_finding(outcome, outcome.finding, causes) if outcome.finding else "",
            )
        )
        described.add(description)
    return rows


def _check_finding(outcome: Outcome, finding: Finding, causes: list[Cause]) -> str:
    """Return a check's finding, or a reference to the cause that already shows it, with the sizes if they differ.

    A finding without a cause on the page is hidden by a crash.
    """
    found = ((number, cause.finding) for number, cause in enumerate(causes, 1) if outcome.check in cause.checks)
    number, shown = next(found, (0, None))
    if shown is None:
        return BEHIND_CRASH
    if not say_the_same(finding, shown):
        return full_text(finding)
    sizes = size_words(finding) if finding.sizes != shown.sizes else ""
    return "; ".join(filter(None, (f"see finding {number}", sizes)))


def _attempt_row(attempt: Attempt, max_score: float, exercise: Exercise) -> AttemptRow:
    count = f" of {attempt.defects}" if exercise.announces is Announcement.COUNT else ""
    return AttemptRow(
        at=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt.at)),
        outcome=attempt.outcome.replace("_", " "),
        points=points(attempt.score),
        fixed=f"{attempt.fixed}{count}" + (f", {attempt.extras} extra" if attempt.extras else ""),
        share=min(attempt.score / max_score, 1.0) if max_score else 0.0,
    )
