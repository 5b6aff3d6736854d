"""Each promise in the interface section of an exercise's README has a check."""

import re
from collections.abc import Callable, Iterator

import pytest

from grader.spec.exercise import Exercise
from grader.spec.kinds import KindName
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.paths import ROOT

EXERCISES = [f"exercise_{number:02}" for number in range(1, 38)]
NAMES = re.compile(r"`([a-z_A-Z]\w*)`")


class Checks:
    """An exercise's checks, asked by property and arguments; hidden tests and variations by their names."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        folder = ROOT / "tests" / "hidden" / exercise.id
        self.hidden = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("test_*.py")))

    def have(self, tag: str, **arguments: object) -> bool:
        """Whether a check of that property has these arguments; a list holds, a constructor gives, what is asked."""
        return any(
            type(check).__struct_config__.tag == tag
            and all(self._holds(getattr(check, name), value) for name, value in arguments.items())
            for check in self.exercise.checks
        )

    @staticmethod
    def _holds(given: object, asked: object) -> bool:
        return (
            asked in given if isinstance(given, list | tuple | dict) and not isinstance(asked, dict) else given == asked
        )

    def test(self, word: str) -> bool:
        """Whether there is a hidden test, or a check with a variation of its own, with that in its name."""
        varying = [check.id for check in self.exercise.checks if check.variation_class()]
        return bool(re.search(rf"def test_\w*{word}", self.hidden) or re.search(word, "\n".join(varying)))

    def are_huge(self) -> bool:
        """Whether a check has inputs at least a million times as large, below which a fill of -1e9 lies."""
        loudest = max(getattr(check, "loudness", 1.0) for check in self.exercise.checks)
        return loudest >= 1e6 or self.test("huge|gaps|loud")

    def have_mask(self, kind: str) -> bool:
        return any(
            getattr(spec, "mask", None) == kind
            for check in self.exercise.checks
            for spec in check.all_inputs(self.exercise.interface).values()
        )


Keeps = Callable[[Checks, str], bool]


def attributes_are_asked(checks: Checks, text: str) -> bool:
    """Every attribute that a bullet names, without layers that have weights: the state dict contains those."""
    text = text.split("the layers", maxsplit=1)[0] + "".join(re.findall(r"and `\w+`", text))
    return all(
        checks.have("attribute_equals", name=name)
        or checks.have("has_layer", name=name)
        or checks.have("has_layer", name=f"attention.{name}")
        for name in NAMES.findall(text)
        if not name[0].isupper() and not re.match(r".*(_proj|W_\w+|w_\w+|attention_scores)$", name)
    )


def shapes(checks: Checks, _: str) -> bool:
    return checks.have("returns_shapes") or checks.have("matches_reference")


def loads(checks: Checks, _: str) -> bool:
    return checks.have("keeps_state_dict") or checks.have("keeps_parameters")


def hides(checks: Checks, text: str) -> bool:
    everything = re.search(r" looks? at (all|every) ", text) is not None
    return everything or checks.have("future_does_not_leak") or checks.have("mask_hides")


def finite_rows(checks: Checks, _: str) -> bool:
    return checks.have("masked_rows_stay_finite") and (
        checks.have("other_rows_match_reference") or checks.have_mask("dead_row")
    )


def values(checks: Checks, _: str) -> bool:
    return checks.have("matches_reference")


def refuses_long(checks: Checks, text: str) -> bool:
    wanted = {"mentions": "context_length"} if "gives" in text else {}
    return checks.have("raises", at="call", **wanted) and (
        "accepted" not in text or checks.have("matches_reference", constructor={"context_length": "tokens"})
    )


def any_mask(checks: Checks, _: str) -> bool:
    return checks.have("accepts_masks") and checks.have("matches_reference", inputs="mask")


def samples_alone(checks: Checks, _: str) -> bool:
    return checks.have("samples_do_not_mix")


PROMISES: dict[str, Keeps] = {
    r"attributes? `|^\| `output_dim`, `num_heads`": attributes_are_asked,
    r"has an `nn.Dropout` of that name": lambda checks, _: checks.have("has_layer", name="dropout", layer="Dropout"),
    r"the same input gives the same output|Dropout .*(acts|with probability)": lambda checks, _: (
        checks.have("dropout_only_in_training") and checks.have("dropout_acts_on_weights")
    ),
    r"in training and evaluation mode|in training and in evaluation|Samples|Images": lambda checks, _: (
        checks.have("matches_reference", training=True) or checks.have("dropout_acts_on_weights")
    ),
    r"do not affect each other": samples_alone,
    r"samples works": samples_alone,
    r"(is|are) not modified|leaves its inputs": lambda checks, _: (
        checks.have("leaves_inputs_alone") or checks.test("group")
    ),
    r"float64": lambda checks, text: checks.have("keeps_dtype") or ("bfloat16" in text and checks.test("every_dtype")),
    r"can be trained afterwards": lambda checks, _: (
        checks.exercise.interface.trains_after_inference and checks.exercise.interface.kind.has_calling_variants
    ),
    r"follows torch's seed": lambda checks, _: checks.have("dropout_acts_on_weights"),
    r"need not be trainable": lambda checks, _: not checks.exercise.interface.trains_after_inference,
    r"[Mm]oved (to|with)|any device": lambda checks, _: checks.have("moves_between_devices"),
    r"deep copy": lambda checks, _: checks.exercise.interface.kind.has_calling_variants,
    r"a head by itself works? on any device": lambda checks, _: checks.have(
        "moves_between_devices", id="a_head_moves_between_devices"
    ),
    r"influence[^.]*whatever the magnitude": lambda checks, _: checks.are_huge(),
    r"magnitude": lambda checks, _: bool(checks.exercise.random_sizes),
    r"up to a thousand": lambda checks, _: checks.exercise.interface.largest_input == 1000,
    r"(at|of) any size|number of heads|of any height|memory layout|passed by keyword": (
        lambda checks, _: bool(checks.exercise.random_sizes)
    ),
    r"torch's seed, default|the module's mode": lambda checks, _: bool(checks.exercise.random_sizes),
    r"constructor (refuses|raises)": lambda checks, _: checks.have("raises", at="constructor"),
    r"longer than `context_length`|of exactly `context_length`": refuses_long,
    r"with `(tokens|time)` from 1 to": lambda checks, _: checks.have("matches_reference", id="full_context"),
    r"checkpoints|[Ss]tate dict|saved weights|parameters are|names of the parameters": loads,
    r"`nn.(Linear|Conv2d)|layers `": loads,
    r"from one into another|only in `context_length`|with another `(block_size|context_length)`": lambda checks, _: (
        checks.have("weights_transfer")
    ),
    r"only if `qkv_bias` is true": lambda checks, _: checks.have(
        "keeps_parameters", constructor={"qkv_bias": not checks.exercise.interface.constructor.get("qkv_bias")}
    ),
    r"`bias=False`": lambda checks, _: checks.have("keeps_parameters", constructor={"bias": False}),
    r"gives a gradient to every parameter": lambda checks, _: checks.have("every_parameter_learns"),
    r"In a mask, 0 hides|hidden (token|key)|[Nn]o later token|hides a key|looks? at|may not be looked at": hides,
    r"look at no key|queries? get (what|the same output)|real cards all weights|finite for every page": finite_rows,
    r"any (integer or float )?dtype|two to four axes": any_mask,
    r"sums? to 1\b|before dropout": lambda checks, _: checks.have("rows_sum_to_one") or values(checks, ""),
    r"^\| [^|]*(`x`|`q`|`k`|output|`X_|`H`|`A`|returns|result|`query`|`key`)": shapes,
    r"^\| [^|]*(series|cards|hidden_states|attn_weights)": shapes,
    r"^\| `(mask|allowed|keep|observed|real|attention_mask)`": lambda checks, _: (
        checks.have("accepts_masks") or checks.have_mask("random") or checks.have_mask("padding")
    ),
    r"[Ss]cores are|Queries, keys and values|[Hh]ead `h`|heads' results|heads are consecutive|heads.0": values,
    r"Every token sees|[Tt]he softmax |output projection;|always (has one|with a bias)|own job|goes through": values,
    r"`proj`|out_proj`|`to_qkv`|`unifyheads`|`w_concat`|Time is the first": values,
    r"`forward\(": shapes,
    r"explains its steps|prints nothing|writes nothing to stdout": lambda checks, text: (
        checks.have("prints_nothing") and (checks.have("prints") or "explains" not in text)
    ),
    r"`split_heads": lambda checks, _: checks.have("matches_reference", method="split_heads"),
    r"`group_heads": lambda checks, _: checks.have("matches_reference", method="group_heads"),
    r"`scaled_dot_product\(|√size": lambda checks, _: checks.have("matches_reference", method="scaled_dot_product"),
    r"`get_scores|subclass": lambda checks, _: checks.test("scor"),
    r"`attn` is `None`": lambda checks, _: checks.have("attribute_equals", name="attn"),
    r"attention weights .*, detached": lambda checks, _: (
        checks.have("attribute_matches_reference", name="attn") and checks.test("detached")
    ),
    r"mask of another shape": lambda checks, _: checks.test("layout|mask"),
    r"^\| `attention` \| a": lambda checks, _: (
        checks.test("attention_by_itself") and checks.have("has_layer", name="attention")
    ),
    r"^`ScaledDotProductAttention\(": lambda checks, _: checks.test("by_itself"),
    r"`dropout` \| a probability": lambda checks, _: checks.have("dropout_acts_on_weights"),
    r"`scale_scores|Both backends": lambda checks, _: (
        checks.have("matches_reference", constructor={"backend": "fused"})
        and checks.have("matches_reference", constructor={"scale_scores": False})
        and checks.have("matches_reference", constructor={"scale_scores": False, "backend": "fused"})
    ),
    r"^\| `(norm|positions|places|attention)` \| `nn|`nn.Parameter`": loads,
    r"^\| `(memory|past|start|rows|moves|patches|resid|logits|tokens|topics|accept|labels|accepted)`": values,
    r"^\| `(predicted|rewards|values|ended|x`, `y|model|optimizer|share|warmth|memory_mask)`": values,
    r"[Qq]ueries are made|are (not )?turned|turns feature|is turned|nothing to do with|query heads share": values,
    r"(takes|subtracts) its slope|is added to": values,
    r"norm` is applied|normed stream is|^The stream is|right up to the rounding|computes is|Not folded": values,
    r"The target of|last place of|holds a `-100`": values,
    r"[Tt]he loss (is|of)|[Ii]t is the sum of three|binary cross entropy|cross entropy of": values,
    r"[Ss]urprise of|[Aa]dvantage of|keeps the smallest set|`share` is kept|All others get|elder learns": values,
    r"can be differentiated|Gradients reach|takes one step": values,
    r"put in training mode|Backward passes|as `torch.chunk`|The optimizer's step uses|summed over all parts": values,
    r"this, in this order|multiply the parameter by|set `m` to|subtract `lr|`m` and `v` are zero|Let `g` be": values,
    r"memory is detached": lambda checks, _: checks.test("learns_by_itself"),
    r"^\| `more` \||^\| `offset` \|": lambda checks, _: checks.test("counted") and checks.have("calls_in_turn"),
    r"a newly built layer|on no call before": lambda checks, _: (
        checks.have("calls_in_turn") or checks.test("leaves_nothing_behind")
    ),
    r"dtype of the inputs": lambda checks, _: checks.test("floats"),
    r"a function in the same file": lambda checks, _: checks.test("by_themselves|every_number"),
    r"the slopes are|slopes of `2": lambda checks, _: checks.test("every_number_of_heads"),
    r"A word sees `window`": lambda checks, _: checks.exercise.random_sizes[0].keys() >= {"window"},
    r"order of the other rows": lambda checks, _: checks.have("samples_in_any_order"),
    r"While training, entries|while training, entries": lambda checks, _: (
        checks.have("dropout_only_in_training") and (checks.test("dropped") or checks.have("dropout_acts_on_weights"))
    ),
    r"In eval mode nothing|being kept": lambda checks, _: checks.have("dropout_only_in_training"),
    r"moves the running mean": lambda checks, _: checks.test("what_training_leaves"),
    r"`follow\(\)`|`follow` (makes|changes)": lambda checks, _: checks.test("what_following_leaves"),
    r"twin's parameters do not require gradients": lambda checks, _: checks.test("gradients_after_following"),
    r"its parameters do not require gradients": lambda checks, _: checks.have("matches_reference", gradients=True),
    r"`fold\(\)`|`folded`|Folded": lambda checks, _: checks.test("unfolding") and checks.test("is_its_base"),
    r"^\| `counted` \||divided by `counted`|Without any target|all micro-batches": lambda checks, _: (
        checks.test("adds?_up") and checks.test("costs_nothing")
    ),
    r"give a finite loss": lambda checks, _: checks.test("finite"),
    r"Targets are facts": lambda checks, _: checks.have("matches_reference", gradients=True),
    r"whether or not it still requires gradients": lambda checks, _: checks.have(
        "matches_reference", id="values_of_numbers"
    ),
    r"without a gradient|`state_dict` holds|as if nothing": lambda checks, _: (
        checks.exercise.interface.kind_name is KindName.OPTIMIZER and values(checks, "")
    ),
    r"parameter group has": lambda checks, _: checks.test("group"),
    r"outputs of padding tokens": lambda checks, _: checks.have_mask("padding"),
    r"filled-up place": lambda checks, _: checks.test("filling"),
}
FREE = re.compile(
    r"not judged|may keep working;|checks do not test it|` divides `|must be divisible|up to you|How you write"
    r"|may be clipped|Everything else is yours|rewrite the (code|function)"
    r"|word may be kept|them may be kept|You may add\s+buffers|Whether gradients flow"
    r"|^\| (---|tensor|what) |whatever the two numbers|attributes? `dropout`$"
    r"|^`\w+\([^`]*\)`( and `\w+\([^`]*\)`)? (is an?|are) (`[a-z.]+(Module|Optimizer)`s?|function)"
    r"( for serving, not for training)?[.;:]"
    r"|^`\w+\([^`]*\)`$|^\d\.$|^`step\(\)` works without arguments|^The size of a head is|of a single sample"
)
"""Sentences that need no check: freedoms, heads of tables, and signatures, whose defaults another test covers."""


def statements(exercise_id: str) -> Iterator[str]:
    """The bullets, rows and sentences of the interface's section."""
    text = (ROOT / "exercises" / exercise_id / "README.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)[2].partition("\n")[2]
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-|] ?)", section):
        part = re.sub(r"\s+", " ", paragraph).strip().removeprefix("- ")
        if part.startswith("|"):
            yield part
        else:
            yield from (each.strip() for each in re.split(r"(?<=[.;]) ", part) if each.strip())


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_promise_of_a_readme_has_a_check_that_keeps_it(exercise_id: str) -> None:
    checks = Checks(load_exercise(Course(root=ROOT).description(exercise_id)))
    unknown, unkept = [], []
    for statement in statements(exercise_id):
        keepers = [keeps for pattern, keeps in PROMISES.items() if re.search(pattern, statement)]
        unknown += [] if keepers or FREE.search(statement) else [statement]
        unkept += [] if all(keeps(checks, statement) for keeps in keepers) else [statement]
    assert (unknown, unkept) == ([], [])


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_every_default_that_a_readme_names_is_checked(exercise_id: str) -> None:
    exercise = load_exercise(Course(root=ROOT).description(exercise_id))
    text = (ROOT / "exercises" / exercise_id / "README.md").read_text(encoding="utf-8")
    signature = re.search(rf"`{exercise.interface.entry()}\(([^`]*)\)`", text)
    assert signature
    left_out = {name for check in exercise.checks for name in check.defaults}
    given = exercise.interface.constructor
    assert [name for name in re.findall(r"(\w+)=", signature[1]) if name in given and name not in left_out] == []
