"""How close values must be, by dtype and by what is compared."""

import torch
from msgspec import Struct


class Tolerance(Struct, frozen=True, kw_only=True):
    """How far an observed value may be from the expected one."""

    relative: float
    absolute: float
    of_largest: float = 0.0
    """This share of the tensor's largest value is added to `absolute`."""

    def for_values(self, expected: torch.Tensor) -> "Tolerance":
        """Return the tolerance for a tensor, with `of_largest` added to `absolute`; for integers, that of integers."""
        if not (expected.is_floating_point() or expected.is_complex()):
            return WHOLE
        if not self.of_largest or not (finite := expected[expected.isfinite()]).numel():
            return self
        absolute = self.absolute + self.of_largest * float(finite.abs().max())
        return Tolerance(relative=self.relative, absolute=absolute)


FLOAT32 = Tolerance(relative=1e-4, absolute=1e-5)
"""At these sizes, right implementations of attention in float32 differ by about 2e-6."""

FLOAT32_GRADIENT = Tolerance(relative=1e-3, absolute=5e-5)
FLOAT64 = Tolerance(relative=1e-9, absolute=1e-10)
UNCHANGED = Tolerance(relative=0.0, absolute=1e-6)
WHOLE = Tolerance(relative=0.0, absolute=0.5)  # for integers, which have no rounding error
FLOAT64_GRADIENT = Tolerance(relative=1e-7, absolute=1e-9, of_largest=1e-10)
GRADIENT_OF_ANY_SIZE = Tolerance(relative=1e-3, absolute=5e-5, of_largest=1e-5)
"""For gradients that are sums over many samples or tokens, in float32."""
GRADIENT_OF_LARGE_INPUTS = Tolerance(relative=1e-5, absolute=1e-6, of_largest=1e-8)
"""In float64."""
LARGE_INPUTS_FLOAT64 = Tolerance(relative=0.0, absolute=0.0, of_largest=1e-8)
LARGE_INPUTS = Tolerance(relative=0.0, absolute=0.0, of_largest=1e-2)
"""Scores in the thousands are rounded to a thousandth, which changes the weights of similar keys as much."""

NEGLIGIBLE = 1e-5
"""Smaller gradients, as for a key's bias or a query with a single key, are zero but for rounding. They may be missing.
"""

NEGLIGIBLE_OF_ANY_SIZE = 10 * NEGLIGIBLE
"""The same for gradients that are sums over many samples or tokens, in float32."""
