"""What hidden tests import; the rest of the kit may change without notice.

A hidden test is a pytest function in `tests/hidden/exercise_NN/`. Three fixtures are there without an import:

- `subject`: a `ModuleFactory`; `subject(num_heads=2)` builds the submission's class in a worker.
- `reference`: a `ModuleFactory`; `reference(num_heads=2)` builds the reference's class in this process.
- `gaussian`: `gaussian(2, 5, 12)` draws a tensor of that shape, which depends on the run's seed alone.

What a factory builds is a `ModuleProxy`. `compare` and `compare_gradient` hold its answers against the reference's, or
the test raises `Failure(kind, text)` itself. pytest's own ways work too: `assert`, `pytest.fail`, `pytest.raises`.
Where the submission raises, the proxy raises `SubjectRaisedError`, and `raised` tells what that was. No test may skip.
"""

from grader.checks.compare import Failure, compare, compare_gradient
from grader.checks.proxies import ModuleFactory, ModuleProxy, Pass
from grader.checks.session import SubjectRaisedError

__all__ = ["Failure", "ModuleFactory", "ModuleProxy", "Pass", "SubjectRaisedError", "compare", "compare_gradient"]
