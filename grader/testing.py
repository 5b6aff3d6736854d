"""The public API for hidden tests. Other modules of the kit may change with any version.

A hidden test is a pytest function in `tests/hidden/exercise_NN/`. It can use three fixtures:

- `subject`: a `ModuleFactory`. `subject(num_heads=2)` builds the submission's class in a worker.
- `reference`: a `ModuleFactory`. `reference(num_heads=2)` builds the reference's class in this process.
- `gaussian`: `gaussian(2, 5, 12)` returns a random tensor of shape (2, 5, 12) that depends only on the run's seed.

A factory returns a `ModuleProxy`. `compare` and `compare_gradient` raise `Failure` if its results differ from the
reference's. A test can also raise `Failure(kind, text)` itself, or use `assert`, `pytest.fail` and `pytest.raises`.
If the submission raises an exception, the proxy raises `SubjectRaisedError`; its attribute `raised` describes the
exception. A test must not skip.
"""

from grader.checks.compare import compare, compare_gradient
from grader.checks.failure import Failure
from grader.checks.proxies import ModuleFactory, ModuleProxy, Pass
from grader.checks.session import SubjectRaisedError

__all__ = ["Failure", "ModuleFactory", "ModuleProxy", "Pass", "SubjectRaisedError", "compare", "compare_gradient"]
