"""What a check observed: the records that pass from the examiner to the verdict."""

import re
from enum import StrEnum
from typing import Any

from msgspec import Struct


class Status(StrEnum):
    """How a check ended."""

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
    CALLING_VARIANT = "calling variant"  # raises in a calling variant, returns in the plain call
    GRADIENT = "gradient"  # wrong values of a gradient
    NO_GRADIENT = "no-gradient"  # nothing flows back
    ORDER = "order"  # the order of samples changes their outputs
    PARTS = "parts"  # splitting a batch changes outputs
    SHIFT = "shift"  # a value that should change nothing changes outputs
    PADDING = "padding"  # outputs change when padding is cut off
    # What may influence what.
    LEAK = "leak"  # a hidden or later token changes an output
    MIXING = "mixing"  # one sample changes another's output
    DEAD = "dead"  # an output ignores what it should depend on
    # Attention weights.
    SUM = "sum"  # rows do not add up to 1
    SUM_NEARLY = "sum-nearly"  # rows add up to nearly 1, as when weights were dropped
    # Dropout.
    DROPOUT = "dropout"  # acts in eval mode
    NO_DROPOUT = "no-dropout"  # does not act in training mode
    DROPOUT_ELSEWHERE = "dropout-elsewhere"  # acts on something else than the weights
    DROPOUT_CHANCE = "dropout-chance"
    DROPOUT_SHARED = "dropout-shared"  # one draw for several weights
    DROPOUT_GRADIENT = "dropout-gradient"  # the gradient is of other weights than were kept
    # Refusals.
    NOT_REFUSED = "not-refused"  # raises nothing where it should raise
    REFUSED_BY = "refused-by"  # raises another exception; `detail` is its type
    UNCLEAR_REFUSAL = "unclear-refusal"  # the message lacks numbers that it has to mention
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
    STATE_CHANGED = "state-changed"  # changes one of torch's own settings; everything else in the check is right
    LOSS = "loss"  # gradient descent does not lower the loss
    # Ends of a check.
    ASSERTION = "assertion"  # a hidden check's `assert` or `pytest.fail`
    OTHER = "other"  # a hidden check's own kind, which `detail` names
    FORM = "form"  # the check cannot use what was returned; `detail` is the exception's type
    CRASH = "crash"  # the submission raises; `detail` is the exception's type
    DIED = "died"  # the worker ended
    TIMEOUT = "timeout"
    NO_TIME = "no-time"  # not run: earlier checks used up the time
    KIT = "kit"  # the kit's own code raised in the worker
    # Submissions of which no check can run.
    LOAD = "load"  # hangs or dies while it is loading
    ENTRY = "class"  # the class or function to grade is missing
    UNREADABLE = "unreadable"
    MISSING = "missing"  # nothing was handed in
    NOT_JUDGED = "not-judged"  # the kit could not judge it


SEPARATORS = {FailureKind.CRASH: ":", FailureKind.FORM: ":", FailureKind.REFUSED_BY: "-"}
"""What stands between a kind and its detail in a signature; of `OTHER` the detail stands alone."""


def parse_kind(text: str) -> tuple[FailureKind, str]:
    """Return the kind and the detail that a signature such as `crash:TypeError` consists of."""
    for kind, separator in SEPARATORS.items():
        if text.startswith(kind + separator):
            return kind, text.removeprefix(kind + separator)
    try:
        return FailureKind(text), ""
    except ValueError:
        return FailureKind.OTHER, text


class Mode(StrEnum):
    """The mode in which a calling variant calls a module."""

    UNCHANGED = ""
    TRAINING = "training"


class Gradients(StrEnum):
    """The context of a call that decides whether gradients are recorded."""

    RECORDED = ""
    NO_GRAD = "no_grad"
    INFERENCE_MODE = "inference_mode"


class Layout(StrEnum):
    """How inputs lie in memory."""

    CONTIGUOUS = ""
    TRANSPOSED = "transposed"
    EXPANDED = "expanded"  # one sample, with a stride of 0 along the batch


class Sharing(StrEnum):
    """Whether inputs of one shape are one tensor."""

    SEPARATE = ""
    SHARED = "shared"


class History(StrEnum):
    """What happened to the module before the call."""

    FRESH = ""
    RELOADED = "reloaded"  # another module loaded its state dict
    MODES = "modes"  # train() and eval() were called
    COPIED = "copied"  # copy.deepcopy
    DOUBLE = "double"  # converted to float64
    REBUILT = "rebuilt"  # built again with positional arguments
    AFTER_OTHERS = "again"  # called with other values in the same tensors


class Arguments(StrEnum):
    """How inputs are handed over."""

    BY_KEYWORD = ""
    BY_POSITION = "positional"


class Scale(StrEnum):
    """How large inputs are: the large ones are `LARGE_SCALE` times the usual ones."""

    USUAL = ""
    LARGE = "loud"


LARGE_SCALE = 60.0
"""Scores reach thousands, where a fill of -1000 hides nothing."""


class CallingVariant(Struct, frozen=True, kw_only=True):
    """One way to call a module that must not change its result: a value on each axis."""

    arguments: Arguments = Arguments.BY_KEYWORD
    mode: Mode = Mode.UNCHANGED
    gradients: Gradients = Gradients.RECORDED
    layout: Layout = Layout.CONTIGUOUS
    sharing: Sharing = Sharing.SEPARATE
    history: History = History.FRESH
    scale: Scale = Scale.USUAL

    def changes(self) -> list[StrEnum]:
        """Return the values that differ from the plain call, in the order in which people read them."""
        axes = (self.arguments, self.mode, self.gradients, self.layout, self.sharing, self.history, self.scale)
        return [value for value in axes if value]


class Location(Struct, frozen=True, kw_only=True):
    """A line of the submission, as the student numbers it; `column` counts from 1, or is 0 where it is not known.

    It stands in verdicts and gradebooks. Findings make it of a worker's `protocol.Location`, which is bounded and
    tagged for the wire.
    """

    label: str
    line: int
    text: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.label}, line {self.line}" + (f", column {self.column}" if self.column else "")


MOST_LINES = 10
MOST_LINE_BYTES = 200
"""What is shown of what a submission printed: its last lines, each cut."""


def last_lines(printed: bytes) -> str:
    """Return the end of what was printed, as text."""
    lines = printed[-MOST_LINES * MOST_LINE_BYTES :].rstrip(b"\n").split(b"\n")
    return b"\n".join(line[:MOST_LINE_BYTES] for line in lines[-MOST_LINES:]).decode("utf-8", "replace")


class PictureKind(StrEnum):
    """What a picture shows."""

    VALUES = "values"
    WEIGHTS = "weights"
    MOVEMENT = "movement"
    GRADIENTS = "gradients"


class Map(Struct, frozen=True, kw_only=True):
    """A matrix that is drawn, with the rows and columns of its cells that are marked."""

    title: str
    cells: list[list[float]]
    marked: list[tuple[int, int]] = []


class Picture(Struct, frozen=True, kw_only=True):
    """What can be drawn of a finding: maps side by side, `across` of them in a line, all on one scale.

    `rows` and `columns` say what the axes are and `first` at which index each begins, `place` which matrix of several
    it is. Gradients are a map of one row, a bar for each of `names`. `passing` are the same maps at the largest sizes
    that pass, and `passing_sizes` those sizes.
    """

    kind: PictureKind
    maps: list[Map]
    across: int = 1
    place: str = ""
    rows: str = "last axis but one"
    columns: str = "last axis"
    first: tuple[int, int] = (0, 0)
    names: list[str] = []
    passing: list[Map] = []
    passing_sizes: dict[str, int] = {}


class SizeComparison(Struct, frozen=True, kw_only=True):
    """The sizes of the calls that failed, beside the largest sizes that passed.

    `passed` is None where no smaller sizes passed, and `is_smallest` tells that none are smaller than those that
    failed. `constructor` and `defaults` are what the check builds the module with, or leaves at the default.
    `without_gradients` tells that the same sizes pass while gradients are recorded. `message` is the whole comparison
    in words where a gradebook has kept nothing else.
    """

    failed: dict[str, int] = {}
    passed: dict[str, int] | None = None
    is_smallest: bool = False
    constructor: dict[str, Any] = {}
    defaults: list[str] = []
    without_gradients: bool = False
    message: str = ""


class ExplanationKind(StrEnum):
    """In which way values are wrong, or what explains an error; verified on the tensors at hand."""

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
    SIGNATURE = "signature"  # `names`: what was called, then the keywords


class Explanation(Struct, frozen=True, kw_only=True):
    """An explanation that was verified; its kind says what `numbers` and `names` are."""

    kind: ExplanationKind
    numbers: list[float] = []
    names: list[str] = []


class Finding(Struct, frozen=True, kw_only=True):
    """What a check did, expected and observed, in terms of tensors and numbers. `report/` makes sentences of it.

    An example: `action` "changing token 5", `item` "output", `place` "token 2", `expected` "no change", `observed`
    "0.3". Where an error or a hidden check's author says all in words, `message` is the whole sentence.
    """

    kind: FailureKind
    detail: str = ""
    """An exception's type, or the name that a hidden check gives its own kind."""
    calling_variant: CallingVariant | None = None
    """How the call that failed differs from the plain one, where that one passed."""
    action: str = ""
    """What was done."""
    item: str = ""
    """What was looked at: an output, a gradient, an attribute."""
    place: str = ""
    """Where in the item: an index, a token."""
    expected: str = ""
    observed: str = ""
    elements_off: int = 0
    """How many elements of the item are wrong, of `elements`."""
    elements: int = 0
    message: str = ""
    value_path: str | None = None
    """The index of the element in what the last call returned, such as `[1][0, 2]`; None where it is no part of it."""
    size_case: dict[str, int] = {}
    """The sizes that failed, where a check has sizes."""
    sizes: SizeComparison | None = None
    named_sizes: dict[str, int] = {}
    """Sizes that the sentence itself names, because they are what should be refused."""
    names_found: list[str] = []
    """The classes or functions found where the one to grade is missing."""
    explanation: Explanation | None = None
    location: Location | None = None
    operation: str = ""
    """What the submission was doing when it crashed, in one word for what may be written in several ways."""
    printed: str = ""
    """The end of what the submission wrote to stdout meanwhile."""
    picture: Picture | None = None

    def __str__(self) -> str:
        """Return the fields on one line, for errors that maintainers read."""
        variant = ", ".join(self.calling_variant.changes()) if self.calling_variant else ""
        parts = (variant, self.action, " ".join(filter(None, (self.item, self.place))))
        difference = f"expected {self.expected}, observed {self.observed}" if self.expected or self.observed else ""
        return self.message or ": ".join(filter(None, (*parts, difference)))

    def signature(self) -> str:
        """Return the kind with its detail, as keys store it."""
        if self.kind is FailureKind.OTHER:
            return self.detail
        return f"{self.kind}{SEPARATORS.get(self.kind, '')}{self.detail}" if self.detail else str(self.kind)


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of one check. `seconds` is wall-clock time; `advice` is shown and costs nothing.

    `matches_no_variant` tells that its wrong numbers are not those of any variant that fails in the same ways.
    """

    check: str
    status: Status
    finding: Finding | None = None
    seconds: float = 0.0
    advice: str = ""
    matches_no_variant: bool = False

    def changes_settings_only(self) -> bool:
        """Whether the check would have passed, had no call changed torch's own settings."""
        kind = self.finding.kind if self.finding else None
        return self.status is Status.FAILED and kind is FailureKind.STATE_CHANGED

    def signature(self) -> str:
        """Return what is equal for the same fault at any seed; crashes are equal for the same operation alone."""
        if self.finding is None:
            return str(self.status)
        operation = f"@{self.finding.operation}" if self.finding.operation else ""
        return f"{self.status}:{self.finding.signature()}{operation}"


class Examination(Struct, frozen=True, kw_only=True):
    """Everything that was observed of one submission. `verdict/` adds what it says of defects."""

    outcomes: list[Outcome]
    unloadable: Finding | None = None
    """Why no check could run."""
    methods: dict[str, str] = {}
    """A fingerprint of each method's syntax tree."""
    isolation: dict[str, bool] = {}
    seconds: float = 0.0
    deviations: dict[str, Any] = {}
    """By failed check, how what it observed differs from what it expected, for comparison with variants.

    A tensor holds differences in units of the tolerance; a text names what is missing or of another form.
    """
    value_checks: frozenset[str] = frozenset()
    """The checks that compare values with the reference's."""
    partial_value_checks: frozenset[str] = frozenset()
    """The value checks that never called the module as a whole."""
    failed_in_training_variant: frozenset[str] = frozenset()
    """The checks that passed in the plain call and failed in a calling variant in training mode."""
    matching_deviations: frozenset[str] = frozenset()
    """The failed checks whose deviation is that of a matching variant."""
    partial_fixes: dict[str, set[str]] = {}
    """By check, the partially fixed defects whose variants show the same deviation there."""
    identified_defects: dict[str, bool] = {}
    """Sealed editions only: for each defect that the failed checks identify, whether it is present."""


class Key(Struct, frozen=True, kw_only=True):
    """How every variant of an exercise behaves, and how its methods read, by `variant_name`.

    `failure_kinds` leaves out the checks that pass. A sealed edition's key has no `methods`.
    """

    digest: str
    failure_kinds: dict[str, dict[str, str]]
    methods: dict[str, dict[str, str]]


def variant_name(subset: frozenset[str]) -> str:
    """Return the name of the variant with these defects: their ids joined by `+`."""
    return "+".join(sorted(subset))


def has_defect(variant: str, defect: str) -> bool:
    """Whether the variant of that name has a defect put back."""
    return defect in variant.split("+")


def in_words(check: str) -> str:
    """Return a check's id, read as words."""
    return re.sub(r"^test_", "", check).replace("_", " ")
