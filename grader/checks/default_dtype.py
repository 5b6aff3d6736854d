"""A module must not change torch's default dtype, also where the default dtype is float64."""

from contextlib import suppress

from grader.checks.case import make_case, seed_draws
from grader.checks.properties.symmetries import scale_inputs
from grader.checks.proxies import SubjectFactory
from grader.checks.session import Session, SubjectError
from grader.checks.size_cases import SizeCase
from grader.sandbox.probes import default_dtype as probe
from grader.spec.exercise import Exercise
from grader.spec.properties import KeepsDtype

EXPECTED = "torch.float64"


def find_default_dtype_change(session: Session, exercise: Exercise, seed: int) -> str:
    """Build and call a module where the default dtype is float64. Describe how the module changed the default dtype;
    return an empty text if it did not.

    An exercise without a `keeps_dtype` check does not promise a module in float64, so nothing is called.
    """
    check = next((each for each in exercise.checks if isinstance(each, KeepsDtype)), None)
    if check is None or not exercise.interface.kind.has_calling_variants:
        return ""
    seed_draws(f"{seed}/default dtype")
    case = make_case(exercise, check, SizeCase(sizes=exercise.fixed_sizes_of(check)[-1]))
    inputs = {**case.inputs, **scale_inputs(case, 1.0, "float64")}
    session.begin_check(has_full_time=False)
    observed = EXPECTED
    with suppress(SubjectError):
        module = SubjectFactory(session).build(case.arguments, at_once=False)
        observed = module.run_probe(probe.after_a_call_in_float64, inputs, called=check.method)
    if observed == EXPECTED:
        return ""
    return f"torch's default dtype: expected {EXPECTED} to stay as it is, got {observed}"
