"""Outcomes of checks: the records that the runner passes to the verdict."""

import re
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from grader.sandbox.calling_variants import CallingVariant
from grader.spec.fields import MaskKind


class Status(StrEnum):
    """The status of a check."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"


class FailureKind(StrEnum):
    """The kinds of failure. Keys store them, so a changed value makes every key stale.

    The kinds in `SEPARATORS` are refined by a finding's `detail`.
    """

    # Comparisons with the reference, or of two outputs.
    TYPE = "type"  # another Python type, or another number of outputs
    SHAPE = "shape"
    DTYPE = "dtype"
    NONFINITE = "nonfinite"  # NaN or infinity
    VALUES = "values"
    CALLING_VARIANT = "calling variant"  # raises in a calling variant, but not in the plain call
    GRADIENT = "gradient"  # wrong values of a gradient
    NO_GRADIENT = "no-gradient"  # nothing flows back
    ORDER = "order"  # the order of samples changes their outputs
    PARTS = "parts"  # splitting a batch changes outputs
    SHIFT = "shift"  # a value that should change nothing changes outputs
    PADDING = "padding"  # outputs change when padding is cut off
    # Influence of tokens and samples on outputs.
    LEAK = "leak"  # a masked or later token changes an output
    MIXING = "mixing"  # one sample changes another's output
    DEAD = "dead"  # an output ignores what it should depend on
    # Attention weights.
    SUM = "sum"  # rows do not add up to 1
    SUM_NEARLY = "sum-nearly"  # rows add up to nearly 1, as when weights were dropped
    # Dropout.
    DROPOUT = "dropout"  # acts in eval mode
    NO_DROPOUT = "no-dropout"  # does not act in training mode
    DROPOUT_ELSEWHERE = "dropout-elsewhere"  # acts on something other than the weights
    DROPOUT_CHANCE = "dropout-chance"
    DROPOUT_SHARED = "dropout-shared"  # one draw for several weights
    DROPOUT_GRADIENT = "dropout-gradient"  # the gradient does not belong to the weights that were kept
    # Refusals.
    NOT_REFUSED = "not-refused"  # raises nothing where it should raise
    REFUSED_BY = "refused-by"  # raises another exception; `detail` is its type
    UNCLEAR_REFUSAL = "unclear-refusal"  # the exception's message lacks required numbers
    REFUSES_ALL = "refuses-all"  # raises for valid inputs too
    # State and side effects.
    PARAMETERS = "parameters"  # names or shapes of parameters
    STATE = "state"  # the state dict
    TRANSFER = "transfer"  # weights do not load into a module of other sizes
    DEVICE = "device"  # something stays on the old device
    ATTRIBUTE = "attribute"
    LAYER = "layer"
    PRINTS = "prints"
    SILENT = "silent"  # prints nothing where it should print
    INPUT_CHANGED = "input-changed"  # writes to its inputs
    STATE_CHANGED = "state-changed"  # only changes one of torch's own settings
    LOSS = "loss"  # gradient descent does not lower the loss
    # How a check ended.
    ASSERTION = "assertion"  # a hidden check's `assert` or `pytest.fail`
    OTHER = "other"  # a hidden check's own kind, which `detail` names
    FORM = "form"  # the check cannot use the returned value; `detail` is the exception's type
    CRASH = "crash"  # the submission raises; `detail` is the exception's type
    DIED = "died"  # the worker ended
    TIMEOUT = "timeout"
    NO_TIME = "no-time"  # not run: earlier checks used up the time
    KIT = "kit"  # the kit's own code raised in the worker
    # Submissions on which no check can run.
    LOAD = "load"  # hangs or dies while it is loading
    ENTRY = "class"  # the class or function to grade is missing
    UNREADABLE = "unreadable"
    MISSING = "missing"  # nothing was handed in
    NOT_JUDGED = "not-judged"  # the kit could not judge it


SEPARATORS = {FailureKind.CRASH: ":", FailureKind.FORM: ":", FailureKind.REFUSED_BY: "-"}
"""The text between a kind and its detail in a signature. A signature of `OTHER` is the detail alone."""


def parse_kind(text: str) -> tuple[FailureKind, str]:
    """Split a signature such as `crash:TypeError` into its kind and its detail."""
    for kind, separator in SEPARATORS.items():
        if text.startswith(kind + separator):
            return kind, text.removeprefix(kind + separator)
    try:
        return FailureKind(text), ""
    except ValueError:
        return FailureKind.OTHER, text


class Location(Struct, frozen=True, kw_only=True):
    """A line of the submission, in the student's line numbers. `column` counts from 1; 0 means unknown.

    Verdicts and gradebooks contain it. It is made from a worker's `protocol.Location`, whose texts are bounded.
    """

    label: str
    line: int
    text: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.label}, line {self.line}" + (f", column {self.column}" if self.column else "")


MAX_LINES = 10
MAX_LINE_BYTES = 200
"""A finding shows at most this many of the last lines that a submission printed, each cut to this length."""


def last_lines(printed: bytes) -> str:
    """Return the last lines of printed output as text."""
    lines = printed[-MAX_LINES * MAX_LINE_BYTES :].rstrip(b"\n").split(b"\n")
    return b"\n".join(line[:MAX_LINE_BYTES] for line in lines[-MAX_LINES:]).decode("utf-8", "replace")


class PictureKind(StrEnum):
    """What a picture shows."""

    VALUES = "values"
    WEIGHTS = "weights"
    MOVEMENT = "movement"
    GRADIENTS = "gradients"


class Map(Struct, frozen=True, kw_only=True):
    """A matrix to draw; `marked` are the (row, column) indexes of marked cells."""

    title: str
    cells: list[list[float]]
    marked: list[tuple[int, int]] = []


class Picture(Struct, frozen=True, kw_only=True):
    """The picture of a finding: maps on one scale. Gradients are a map with one row."""

    kind: PictureKind
    maps: list[Map]
    across: int = 1
    """How many maps are in a line."""
    place: str = ""
    """The index of the matrix, if the tensor has several."""
    rows: str = "second-to-last axis"
    """The name of the axis of the rows; empty if a vector is drawn."""
    columns: str = "last axis"
    first: tuple[int, int] = (0, 0)
    """The indexes of the first row and the first column."""
    names: list[str] = []
    """The parameters, if the picture shows gradients."""
    passing: list[Map] = []
    """The same maps at the largest sizes that pass."""
    passing_sizes: dict[str, int] = {}
    """These sizes."""


LARGE = 1000
"""Large sizes begin here. Calls that need no gradients then run without them: recording takes most of the time."""


class SizeComparison(Struct, frozen=True, kw_only=True):
    """The sizes of the calls that failed, compared with the largest sizes that passed."""

    failed: dict[str, int] = {}
    passed: dict[str, int] | None = None
    """None if no smaller sizes passed."""
    is_smallest: bool = False
    """Whether the check failed at its smallest sizes."""
    constructor: dict[str, Any] = {}
    """The check's own constructor arguments."""
    defaults: list[str] = []
    """The constructor arguments that the check leaves at their defaults."""
    inputs: dict[str, Any] = {}
    """The check's own inputs that are no tensors."""
    masks: dict[str, MaskKind] = {}
    """The kinds of the check's own masks, by input."""
    without_gradients: bool = False
    """Whether the same sizes pass with gradients enabled."""
    is_large: bool = False
    """Whether a call has a size of `LARGE` or more."""


class LastCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last call of a check that has no size cases."""

    constructor: dict[str, Any] = {}
    """The arguments with which the module was built."""
    shapes: dict[str, list[int]] = {}
    """The shapes of the tensors among the inputs."""
    inputs: dict[str, Any] = {}
    """The numbers and texts among the inputs."""


class DiagnosisKind(StrEnum):
    """How values are wrong, or why a call raised. Each diagnosis is verified on the tensors themselves."""

    ALL_ZERO = "all-zero"
    ONE_FACTOR = "one-factor"  # `numbers`: the factor
    INTERLEAVED = "interleaved"  # `numbers`: how many blocks of the last axis
    REORDERED = "reordered"  # `numbers`: the axis, then the order
    EXCHANGED_AXES = "exchanged-axes"  # `numbers`: both axes
    CONSTANT_ALONG_AXIS = "constant-along-axis"  # `numbers`: the axis
    VECTOR_ADDED = "vector-added"
    ROW_FACTORS = "row-factors"  # `numbers`: the smallest and the largest factor
    PARTLY_ZERO = "partly-zero"  # `numbers`: how many elements are 0
    NOTHING_MASKED = "nothing-masked"
    SIGNATURE = "signature"  # `names`: the method called, then the keywords


class Diagnosis(Struct, frozen=True, kw_only=True):
    """A verified diagnosis; its kind defines the meaning of `numbers` and `names`."""

    kind: DiagnosisKind
    numbers: list[float] = []
    names: list[str] = []


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check did, expected and observed, in terms of tensors and numbers. `report/` turns it into sentences.

    An example: `action` "changing token 5", `item` "output", `place` "token 2", `expected` "no change", `observed`
    "0.3".
    """

    kind: FailureKind
    detail: str = ""
    """An exception's type, or the name that a hidden check gives its own kind."""
    calling_variant: CallingVariant | None = None
    """The calling variant that failed, if the plain call passed."""
    action: str = ""
    """What the check did."""
    item: str = ""
    """What the check compared: an output, a gradient, an attribute."""
    place: str = ""
    """Where in the item: an index, a token."""
    expected: str = ""
    observed: str = ""
    elements_off: int = 0
    """How many elements of the item are wrong, of `elements`."""
    elements: int = 0
    message: str = ""
    """The whole sentence, if an exception or a hidden check's author wrote it."""
    size_case: dict[str, int] = {}
    """The sizes at which the check failed, if it has sizes."""
    sizes: SizeComparison | None = None
    last_call: LastCall | None = None
    """The call before the failure, if the check has no sizes."""
    in_training: bool = False
    """Whether the check keeps the module in training mode."""
    has_extreme_numbers: bool = False
    """Whether the inputs are unusually large, or of a dtype with few digits."""
    named_sizes: dict[str, int] = {}
    """Sizes that the sentence names because the module should refuse them."""
    names_found: list[str] = []
    """The classes or functions in the file, if the one to grade is missing."""
    diagnosis: Diagnosis | None = field(default=None, name="explanation")  # the name in gradebooks
    location: Location | None = None
    operation: str = ""
    """The operation that crashed; equivalent operations have one name."""
    printed: str = ""
    """The last lines that the submission wrote to stdout in this call."""
    picture: Picture | None = None

    def __str__(self) -> str:
        """Return the fields on one line."""
        variant = ", ".join(self.calling_variant.changes()) if self.calling_variant else ""
        parts = (variant, self.action, " ".join(filter(None, (self.item, self.place))))
        difference = f"expected {self.expected}, observed {self.observed}" if self.expected or self.observed else ""
        return self.message or ": ".join(filter(None, (*parts, difference)))

    def signature(self) -> str:
        """Return the kind and its detail in the form that keys store."""
        if self.kind is FailureKind.OTHER:
            return self.detail
        return f"{self.kind}{SEPARATORS.get(self.kind, '')}{self.detail}" if self.detail else str(self.kind)


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    check: str
    status: Status
    finding: Finding | None = None
    seconds: float = 0.0
    """Wall-clock time."""
    advice: str = ""
    """Advice that does not change the score."""

    def changes_settings_only(self) -> bool:
        """Return whether the check failed only because a call changed torch's own settings."""
        kind = self.finding.kind if self.finding else None
        return self.status is Status.FAILED and kind is FailureKind.STATE_CHANGED

    def signature(self) -> str:
        """Return the signature, which does not depend on the seed. For a crash it names the operation."""
        if self.finding is None:
            return str(self.status)
        operation = f"@{self.finding.operation}" if self.finding.operation else ""
        return f"{self.status}:{self.finding.signature()}{operation}"


class FailurePoint(Struct, frozen=True, kw_only=True):
    """Where in a check a submission failed: the size case, whether gradients were recorded, and how many comparisons
    passed.

    `comparisons` counts the comparisons that passed before, at this size case.
    """

    size_case: str = ""
    grad: bool = False
    comparisons: int = 0


class Examination(Struct, frozen=True, kw_only=True):
    """The observations of one submission."""

    outcomes: list[Outcome]
    unloadable: Finding | None = None
    """Why no check could run."""
    methods: dict[str, str] = {}
    """By method, a fingerprint of each statement's syntax tree, with spaces between them."""
    isolation: dict[str, bool] = {}
    seconds: float = 0.0
    deviations: dict[str, Any] = {}
    """By failed check, the difference between observed and expected, for comparison with variants.

    A tensor (the shape of the output) contains differences in units of the tolerance. A set of texts names missing
    parameters or another form.
    """
    failure_points: dict[str, FailurePoint] = {}
    """By failed check, where in the check the submission failed."""
    value_checks: frozenset[str] = frozenset()
    """The checks that compare values with the reference's."""
    partial_value_checks: frozenset[str] = frozenset()
    """The value checks whose success says nothing about what a call of the submission's entry returns."""
    failed_in_training_variant: frozenset[str] = frozenset()
    """The checks that failed in a calling variant in training mode, but not in the plain call."""

    def signatures(self) -> dict[str, str]:
        """Return the signatures of the checks that did not pass, by check."""
        return {each.check: each.signature() for each in self.outcomes if each.status is not Status.PASSED}


def in_words(check: str) -> str:
    """Return a check's id as words."""
    return re.sub(r"^test_", "", check).replace("_", " ")
