"""The observations of an audit, and the counts on its page. The page is made of these records alone."""

from msgspec import Struct

from grader.evaluation.audit.cases import Corpus
from grader.verdict.verdict import Result


class Grading(Struct, frozen=True, kw_only=True):
    """One verdict on a case whose right verdict is known."""

    corpus: Corpus
    exercise: str
    kind: str
    name: str
    seed: int
    outcome: Result
    score: float | None
    max_score: float
    is_right: bool
    """True if the case deserves all points."""
    has_all: bool
    """True if the verdict gave all points."""
    most_points: float | None
    """The most points that an attack deserves."""
    exact: int
    """Defects whose status is known and reported."""
    unknown: int
    """Defects whose status is known and reported as unknown."""
    false: int
    """Defects whose status is known and reported wrongly."""
    seconds: float
    """Wall-clock time of the checks."""


class Share(Struct, frozen=True, kw_only=True):
    """A count of a total, with the exact bounds of the share at the page's level; None if the total is 0."""

    count: int
    total: int
    lower: float | None
    upper: float | None


class Row(Struct, frozen=True, kw_only=True):
    """Counts of some cases. A case counts once: as refused, passed or not judged if that happened at any seed."""

    name: str
    gradings: int
    right_refused: Share
    """Judged right cases that did not get all points."""
    wrong_passed: Share
    """Judged wrong cases that got all points."""
    exact: Share
    """Defects whose known status was reported, counted over all gradings."""
    unknown: Share
    false: Share
    not_judged: Share
    """Cases that the kit could not judge."""


class AttackRow(Struct, frozen=True, kw_only=True):
    """The attacks of a family, or on a layer: those that earned more points than they deserve."""

    name: str
    earned: Share
    names: list[str]
    layer: str = ""
    """The target of a family."""


class Escape(Struct, frozen=True, kw_only=True):
    """An error of the kit that changed points or could have changed them, and its repair."""

    date: str
    escape: str
    fix: str


class Published(Struct, frozen=True, kw_only=True):
    """A figure that others published."""

    system: str
    figure: str
    value: str
    note: str


class Audit(Struct, frozen=True, kw_only=True):
    """All figures of the page."""

    version: str
    """The kit's version, with a digest of what verdicts depend on."""
    torch_version: str
    python_version: str
    command: str
    """The command that reproduces the page."""
    level: float
    """The confidence level of all bounds."""
    seeds: list[int]
    exercises: list[str]
    isolation: dict[str, bool]
    """The protections that held in every grading that ran a check."""
    corpora: list[Row]
    kinds: list[Row]
    hunts: list[Row]
    flips: Share
    """Cases that got all points at some of their seeds and not at others."""
    right_refused: list[str]
    """The names of the right cases that were refused at some seed."""
    wrong_passed: list[str]
    """The names of the wrong cases that passed at some seed."""
    attacks: list[AttackRow]
    layers: list[AttackRow]
    """The same attacks by their target."""
    attacks_left_out: int
    """Attacks of the corpus that were not graded: those that tests generate, or all if the user left them out."""
    jobs: int
    seconds: float
    """Wall-clock time of all gradings."""
    rate: float
    """Gradings per second and job."""
    median_seconds: float
    tail_seconds: float
    """The 99th percentile of the seconds of one grading, without attacks."""
    longest_seconds: float
    gradings: list[Grading]
