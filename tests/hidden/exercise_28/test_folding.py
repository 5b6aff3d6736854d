"""Folded or not, the layer computes the same."""

# B batch, I inputs, O outputs

from grader.checks.compare import compare, compare_gradients
from grader.testing import Failure

B, I, O = 3, 6, 5
SETTINGS = [(2, 2.0), (2, 8.0), (4, 0.5), (8, 1.0), (3, 7.0)]


def pairs(subject, reference):
    for rank, alpha in SETTINGS:
        arguments = {"n_in": I, "n_out": O, "rank": rank, "alpha": alpha}
        theirs = reference.build(arguments)
        yield subject.build(arguments, like=theirs), theirs, f"rank={rank}, alpha={alpha:g}"


def call(module, method):
    seen = module.call(method)
    if seen is not None:
        raise Failure("returned", f"{method}: expected it to return nothing, got {type(seen).__name__}")


def require_folded(module, expected, state):
    seen = module.attribute("folded")
    if seen is not expected:
        raise Failure("flag", f"{state}: expected folded to be {expected}, got {seen!r}")


def test_folding_changes_no_output(subject, reference, gaussian):
    for ours, theirs, state in pairs(subject, reference):
        x = gaussian(B, I)
        expected = theirs(x=x)
        for is_training in (True, False):
            ours.training = is_training
            call(ours, "fold")
            compare(ours(x=x), expected, f"{state}, folded: output")
            require_folded(ours, True, f"{state}, folded")


def test_unfolding_brings_the_weights_back(subject, reference, gaussian):
    for ours, theirs, state in pairs(subject, reference):
        x = gaussian(B, I)
        expected = theirs(x=x)
        for method in ("unfold", "fold", "unfold", "unfold", "fold", "fold", "unfold"):
            call(ours, method)
            require_folded(ours, method == "fold", f"{state}, {method}ed")
        compare(ours(x=x), expected, f"{state}, folded and unfolded twice: output")


def test_unfolded_again_it_learns_as_before(subject, reference, gaussian):
    ours, theirs, _ = next(pairs(subject, reference))
    for method in ("fold", "unfold"):
        call(ours, method)
    x = gaussian(B, I)
    expected = theirs.differentiate(None, x=x)
    compare_gradients(ours.differentiate(expected.cotangents, x=x).parameters, expected.parameters)


def test_a_folded_layer_is_its_base(subject, reference, gaussian):
    arguments = {"n_in": I, "n_out": O, "rank": 2, "alpha": 2.0}
    ours = subject.build(arguments, variation="BaseAlone")
    x = gaussian(B, I)
    before = ours(x=x)
    ours.call("fold")
    compare(ours.call("base_alone", x=x), before, "alpha equal to rank, folded: what base computes alone")


def test_training_a_folded_layer_drops_nothing(subject, gaussian):
    ours = subject.build({"n_in": I, "n_out": O, "rank": 2, "alpha": 2.0, "dropout": 0.5})
    ours.call("fold")
    ours.training = True
    x = gaussian(B, I)
    compare(ours(x=x), ours(x=x), "folded, in training mode, the same input again: output")
