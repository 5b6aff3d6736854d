"""Render the result of a trap: a page for the terminal, and JSON."""

import itertools
import math
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from rich.text import Text

from grader.processes.deadlines import TEST_SECONDS, TRAP_SECONDS
from grader.report.page import Line, beside, render_page
from grader.report.phrases import Shell, counted, points
from grader.report.printable import printable
from grader.sandbox.text import listed_first
from grader.sandbox.traps.messages import MAX_TESTS, Cause
from grader.trap.counting import SUBSETS_POINTS
from grader.trap.result import Caught, DefectResult, Standing, TestResult, TrapResult

LABEL_WIDTH = 12
MAX_NAME = 44
MAX_REASON = 180
SMALL_DIFFERENCE = 1e-3
"""A difference below this is a matter of rounding: another tolerance helps."""

FORMAT_VERSION = 1

REASONS = {
    Standing.COUNTS: "",
    Standing.NEVER_CALLS: "it does not call the subject; build it with subject(...) and call it",
    Standing.TOO_SLOW: f"it takes more than {TEST_SECONDS:g} s; use smaller sizes",
    Standing.OTHER_CAUSE: (
        "its outcome depends on more than the subject's answers; use no clock, no file, and only the random "
        "numbers of gaussian and torch"
    ),
    Standing.TOO_MANY: (
        f"a trap may have at most {MAX_TESTS} tests, and each set of parameters counts as one; further tests do not run"
    ),
    Standing.NOT_RUN: f"no time was left for all its runs; all tests together may take {TRAP_SECONDS:g} s",
}
"""The reasons to set a test aside that need no numbers of the test."""


class Details(Struct, frozen=True, kw_only=True):
    """What the page may say about defects beyond their numbers, by number."""

    names: dict[int, str] = {}
    """The titles of the defects that the student has fixed in the hunt."""
    sizes: dict[int, str] = {}
    """The sizes at which defects show, in words."""


def render_trap(
    result: TrapResult,
    details: Details = Details(),  # noqa: B008 - it is frozen
    *,
    width: int = 100,
    color: bool = False,
    has_seed: bool = True,
    has_next: bool = False,
    shell: Shell = Shell.TERMINAL,
) -> str:
    """Return the page of a trap. It names no defect but those in `details`.

    `has_next` adds what the student can do next, for pages that are not about a hand-in.
    `has_seed` is false if the next submissions get the same seed, which the page then omits.
    """
    head = Text(f"{result.exercise} · your trap · {counted(len(result.tests), 'test')}", "bold")
    lines: list[Line] = [head]
    if result.problem:
        lines.append(Text(f"No test ran: {_problem(result)}", "red"))
    if result.tests or not result.problem:
        lines += _rows(result, details)
    lines += [Text(words) for words in _notes(result)]
    lines.append(_total(result, has_seed=has_seed))
    if has_next:
        lines.append(Text(f"Next: {_next(result, shell)}"))
    return render_page(lines, width, color=color)


def _rows(result: TrapResult, details: Details) -> list[Line]:
    """Return the rows of the tests, the defects and the counts."""
    lines = [_row("" if place else "right", words) for place, words in enumerate(_tests_words(result))]
    lines += [
        _row("" if place else "defective", _defect_words(defect, details, is_decoy=result.is_decoy))
        for place, defect in enumerate(result.defects)
    ]
    if result.is_at_home and result.subsets.of:
        lines.append(_row("defective", Text(f"the starter  {_starter_words(result, details)}")))
    elif result.subsets.of > len(result.defects):
        caught, of = result.subsets.caught, result.subsets.of
        words = f"combinations  {caught} of {of} caught; catching all of them earns {points(SUBSETS_POINTS)} point"
        lines.append(_row("", Text(words)))
    if result.half_mended.of:
        label, whose = ("earlier", "of your earlier versions ") if result.is_at_home else ("half-fixed", "")
        words = f"{result.half_mended.caught} of {result.half_mended.of} {whose}caught; no points"
        lines.append(_row(label, Text(words)))
    if result.with_own_test.of > 1:
        own, noun = result.with_own_test, "version" if result.is_decoy else "defect"
        words = f"{own.caught} of {own.of} {noun}s are caught by a test that catches no other {noun}; no points"
        lines.append(_row("own tests", Text(words)))
    return lines


def render_trap_json(result: TrapResult) -> str:
    """Return the result as one JSON object, without a line break at its end."""
    data = {
        "format_version": FORMAT_VERSION,
        "exercise": result.exercise,
        "file": printable(result.file),
        "problem": printable(_problem(result)) if result.problem else None,
        "score": result.score,
        "max_score": result.max_score,
        "extra": result.extra,
        "tests": [
            {
                "name": printable(test.name),
                "counts": test.standing is Standing.COUNTS,
                "standing": test.standing,
                "reason": None
                if test.standing is Standing.COUNTS
                else printable(reason_of(test, is_at_home=result.is_at_home)),
            }
            for test in result.tests
        ],
        "defects": [
            {
                "number": each.number,
                "caught": each.caught,
                "by": [printable(name) for name in each.by],
                "points": each.points,
                "max_points": each.max_points,
                "stretch": each.stretch,
            }
            for each in result.defects
        ],
        "subsets": msgspec.structs.asdict(result.subsets),
        "half_mended": msgspec.structs.asdict(result.half_mended),
        "with_own_test": msgspec.structs.asdict(result.with_own_test),
        "isolation": result.isolation,
        "seed": result.seed,
        "seconds": round(result.seconds, 3),
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode()


def _starter_words(result: TrapResult, details: Details) -> str:
    """Return whether the starter is caught; it may have no defect, unless the student has fixed one."""
    if result.subsets.caught:
        return "caught"
    return "not caught" if details.names else "not caught; if the starter has no defect, no test can catch it"


def _row(label: str, words: Text) -> Line:
    return beside(Text(label), words, LABEL_WIDTH)


def _problem(result: TrapResult) -> str:
    place = f"{result.file}:{result.line}: " if result.line else ""
    return f"{place}{result.problem}"


def _tests_words(result: TrapResult) -> list[Text]:
    """Return the rows of the tests. Parameters of one test that do not count for one reason share a row."""

    def function_and_reason(test: TestResult) -> tuple[str, str]:
        if test.standing is Standing.COUNTS:
            return test.name, ""
        return test.name.partition("[")[0], reason_of(test, is_at_home=result.is_at_home)

    rows = []
    for (_, reason), group in itertools.groupby(result.tests, function_and_reason):
        first, *others = group
        name = printable(first.name, MAX_NAME)
        if first.standing is Standing.COUNTS:
            accepted = "your fix" if result.is_at_home else f"{first.accepts} of {first.of}"
            rows.append(Text.assemble((name, "green"), f"  accepts {accepted}"))
        elif others:
            rows.append(
                Text.assemble((f"{name} and {len(others)} more", "yellow"), f"  do not count, each because {reason}")
            )
        else:
            rows.append(Text.assemble((name, "yellow"), f"  does not count: {reason}"))
    return rows


def reason_of(test: TestResult, *, is_at_home: bool = False) -> str:
    """Return why a test does not count, and what to change. At home, the student's own fix is the reference."""
    if test.standing is Standing.FAILS_REFERENCE:
        return f"it fails on {'your own fix' if is_at_home else 'the reference'}: {_failure(test)}"
    if test.standing is Standing.FAILS_RIGHT:
        return f"it fails on {_some_right(test)}; {_remedy(test)}"
    if test.standing is Standing.SOMETIMES:
        return f"it fails on {_sometimes(test, is_at_home=is_at_home)}"
    if test.standing is Standing.TOO_LARGE:
        where = "" if len(test.fails_on) == test.of else f" on {_some_right(test)}"
        return f"{_at_line(test)}it runs out of memory{where}; use smaller sizes"
    if test.standing is Standing.FAILS_EARLY:
        return f"it fails before the subject answers: {_at_line(test)}{printable(test.reason, MAX_REASON)}"
    if test.standing is Standing.TOO_COSTLY:
        return (
            f"its runs would take about {test.seconds:.2g} s, but all tests together may take {TRAP_SECONDS:g} s; "
            "it was stopped to leave time for the others; use smaller sizes or fewer calls"
        )
    if test.standing is Standing.OVER_LIMIT:
        reason = printable(test.reason, MAX_REASON) or "it exchanges too much data with the subject in all runs"
        return f"{reason}; use smaller sizes or fewer calls"
    if test.standing is Standing.ENDED:
        return f"{printable(test.reason, MAX_REASON)}; end a test with an assertion, not by leaving the process"
    return REASONS[test.standing]


def _sometimes(test: TestResult, *, is_at_home: bool) -> str:
    """Return on what a test fails at some seeds, how, and what to change."""
    on = "your own fix" if is_at_home else _some_right(test)
    remedy = "choose inputs and a tolerance at which it always passes"
    if len(test.fails_on) == test.of:
        remedy += ", and use nothing that an earlier run has left"
    return f"{on}, but not at every seed: {_at_line(test)}{printable(test.reason, MAX_REASON)}; {remedy}"


def _some_right(test: TestResult) -> str:
    if len(test.fails_on) == test.of:
        return "every right implementation"
    return f"{len(test.fails_on)} of {test.of} right implementations"


def _failure(test: TestResult) -> str:
    changed = f"; it changes {test.changed} and does not change it back" if test.changed else ""
    return f"{_at_line(test)}{printable(test.reason, MAX_REASON)}{changed}; {_remedy(test)}"


def _remedy(test: TestResult) -> str:
    """Return what would fix a test that fails on right implementations."""
    if test.difference is None:
        if test.standing is Standing.FAILS_RIGHT:
            return f"{_at_line(test)}{printable(test.reason, MAX_REASON)}; test what the README promises, and no more"
        return _remedy_of_exception(test)
    if test.difference < SMALL_DIFFERENCE and math.isfinite(test.difference):
        allowed = f"your tolerance is {test.tolerance:.2g}" if test.tolerance else "your tolerance is 0"
        return f"the values differ by {test.difference:.2g}, {allowed}; use atol={_enough(test.difference):g}"
    place = "" if test.standing is Standing.FAILS_REFERENCE else _at_line(test)  # which `_failure` gives
    return f"{place}the values differ by {test.difference:.2g}, too much for rounding; test what the README promises"


def _remedy_of_exception(test: TestResult) -> str:
    """Return what would fix a test that fails on the reference, by the cause of the failure."""
    if test.cause is Cause.ASSERTION:
        return "read again what the README promises, and compare numbers with a tolerance"
    if test.by_crash:
        return "the subject raises this; use the subject as the README describes"
    if test.cause is Cause.CLOSED:
        return "a test can use no files, processes or network"
    return "correct this line" if test.line else "correct the test"


def _at_line(test: TestResult) -> str:
    return f"line {test.line}: " if test.line else ""


def _enough(difference: float) -> float:
    """Return a tolerance that is well above a difference: a power of ten."""
    return float(10.0 ** math.ceil(math.log10(max(difference, 1e-12)) + 1))


def _defect_words(defect: DefectResult, details: Details, *, is_decoy: bool) -> Text:
    kind = "version" if is_decoy else "extra" if defect.stretch else "defect"
    name = f"{kind} {defect.number}"
    if defect.caught is Caught.ALWAYS:
        by = _listed(defect.by)
        crash = ", because the subject raises an exception" if defect.by_crash else ""
        title = f" ({printable(details.names[defect.number])})" if defect.number in details.names else ""
        return Text.assemble((name, "green"), f"{title}  caught by {by}{crash}")
    words = (
        "not caught"
        if defect.caught is Caught.NEVER
        else f"caught at some seeds by {_listed(defect.sometimes_by)}; it counts only if a test fails at every seed"
    )
    if defect.number in details.sizes:
        words += f"; in your file it was wrong {printable(details.sizes[defect.number])}"
    return Text.assemble((name, "red"), f"  {words}")


def _listed(names: Sequence[str]) -> str:
    """Return the first names of tests, and the number of the others."""
    return listed_first([printable(name, MAX_NAME) for name in names])


def _notes(result: TrapResult) -> list[str]:
    counting = [test for test in result.tests if test.standing is Standing.COUNTS]
    idle = [test.name for test in counting if not test.catches]
    half_fixed_alone = [test.name for test in counting if 0 < test.catches == test.catches_half_fixed]
    notes = []
    if idle and not (result.is_at_home and not result.subsets.caught):  # there the row of the starter says it
        verb, tests, they = ("catches", "a test", "it") if len(idle) == 1 else ("catch", "tests", "they")
        notes.append(
            f"{_listed(idle)} {verb} nothing. That is right for {tests} of a promise that no defect breaks. But {they} "
            "must be able to fail: tests of shapes, of a falling loss or of equal results after equal seeds rarely "
            "fail."
        )
    if half_fixed_alone and not result.is_at_home:
        verb = "catches" if len(half_fixed_alone) == 1 else "catch"
        notes.append(f"{_listed(half_fixed_alone)} {verb} half-fixed code alone, which earns no points.")
    changing = [test for test in result.tests if test.changed]
    notes += [
        f"{printable(test.name, MAX_NAME)} changes {test.changed}; the grader restored it after the test."
        for test in changing
    ]
    if result.is_time_up:
        ran = [test for test in result.tests if test.standing is not Standing.TOO_COSTLY]
        slowest = max(ran, key=lambda test: test.seconds, default=None)
        most = (
            f" {printable(slowest.name, MAX_NAME)} took {slowest.seconds:g} s." if slowest and slowest.seconds else ""
        )
        notes.append(
            f"The tests used up the {TRAP_SECONDS:g} s that all their runs may take, so some implementations were left "
            f"out.{most} This time does not include starting processes and waiting for a busy machine. "
            "Use smaller sizes or fewer calls."
        )
    return notes


def _next(result: TrapResult, shell: Shell) -> str:
    if result.problem and shell is Shell.NOTEBOOK:
        return "fix this cell and run it again."
    if result.problem:
        return f"edit {result.file}, then run python -m grader trap {result.exercise} again."
    if result.catches_all():
        return _next_when_caught(result)
    if not any(test.standing is Standing.COUNTS for test in result.tests):
        return "fix one of the tests: no test counts yet."
    return (
        f"find a sentence of exercises/{result.exercise}/README.md that no test checks. Think of both modes, "
        "gradients, dtypes, memory layouts, large inputs and errors."
    )


def _next_when_caught(result: TrapResult) -> str:
    hand_in = "hand it in as your course asks; python -m grader names the next hunt."
    if result.is_at_home and result.half_mended.caught < result.half_mended.of:
        return f"write a test that fails on the earlier versions of your file that no test catches. Then {hand_in}"
    if result.is_at_home:
        return f"go through your changes to the starter: if any one of them is undone, a test must fail. Then {hand_in}"
    return f"{_missing_point(result)}, or {hand_in}" if _misses_a_subset(result) else hand_in


def _misses_a_subset(result: TrapResult) -> bool:
    """Return whether the point for all subsets of the defects is missing."""
    return not result.is_at_home and not result.is_decoy and result.subsets.caught < result.subsets.of


def _missing_point(result: TrapResult) -> str:
    """Return how to earn the point for all subsets, if every defect that is not extra is caught."""
    missed = [f"extra {each.number}" for each in result.defects if each.caught is not Caught.ALWAYS]
    what = listed_first(missed) or "the combinations that no test catches"
    return f"to earn the point for the combinations, write a test that catches {what}"


def _total(result: TrapResult, *, has_seed: bool) -> Text:
    run = f" · seed {result.seed} · {result.seconds:.2f} s" if has_seed else ""
    if result.is_at_home:
        words = (
            "Here, your own fix is the only right code, and the starter has all defects at once. At the hand-in, the "
            "trap earns points: it runs on other right implementations, and on each defect alone"
        )
        return Text(f"{words}{run}")
    extra = f" and {points(result.extra)} extra" if result.extra else ""
    earned = f"Trap: {points(result.score)} of {points(result.max_score)} points{extra}"
    style = "bold green" if result.catches_all() else "bold"
    return Text.assemble((earned, style), run)
