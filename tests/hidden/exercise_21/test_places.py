"""The function that turns vectors by itself, and a game shown backwards."""

# B batch, T moves, D size of a head, E model size

from grader.examiner.compare import UNCHANGED, Failure, compare, require_shape, require_tensor

B, T, D, E = 2, 6, 8, 16
BASE = 50.0
PROBE = """
class Variation(submission.MoveAttention):
    def turned(self, z, base):
        return submission.rotary(z, base)
"""


def test_vectors_turned_by_themselves(subject, reference, gaussian):
    arguments = {"d_model": E, "n_heads": 2, "base": BASE}
    theirs = reference.build(arguments, probe=PROBE, entry="Variation")
    ours = subject.build(arguments, probe=PROBE, entry="Variation")
    for shape in ((T, D), (B, T, D), (B, 3, T, D)):
        inputs = {"z": gaussian(*shape), "base": BASE}
        compare(ours.call("turned", **inputs), theirs.call("turned", **inputs), f"rotary of a tensor of shape {shape}")


def test_a_game_shown_backwards_is_another_game(subject, gaussian):
    for heads in (1, 2):
        module = subject.build({"d_model": E, "n_heads": heads, "base": BASE})
        moves = gaussian(B, T, E)
        forwards, backwards = module(moves=moves), module(moves=moves.flip(1))
        for seen in (forwards, backwards):
            require_tensor(seen, "output")
            require_shape(seen, [B, T, E], "output")
        change = float((forwards - backwards.flip(1)).abs().max())
        if not change > 100 * UNCHANGED.absolute:
            text = f"a game of {T} moves shown backwards, heads={heads}: expected other outputs, saw the same backwards"
            raise Failure("no-order", text)
