"""A game shown backwards."""

# B batch, T moves, E model size

from grader.checks.compare import require_shape, require_tensor
from grader.checks.tolerances import UNCHANGED
from grader.testing import Failure

B, T, E = 2, 6, 16
BASE = 50.0


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
            text = (
                f"{T} moves, and the same moves in reversed order, n_heads={heads}: "
                "expected other outputs, got the same outputs in reversed order"
            )
            raise Failure("no-order", text, code="(outs[-2] - outs[-1].flip(1)).abs().max() > 1e-4")
