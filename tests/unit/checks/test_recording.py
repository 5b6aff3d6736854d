"""Recorded answers replace the reference: each question that was recorded gets its answer, and no other gets one."""

import inspect
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save, save_file

from grader.checks.case import seed_draws
from grader.checks.compare import compare
from grader.checks.outcome import Status
from grader.checks.proxies import Pass
from grader.checks.questions import CallMethod, Question
from grader.checks.recording import NotRecordedError, Recorder, Recording
from grader.checks.reference import AbsentReference, Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.tolerances import FLOAT32, FLOAT32_GRADIENT, FLOAT64, LARGE_INPUTS, LARGE_INPUTS_FLOAT64
from grader.errors import KitError
from grader.sandbox.calling_variants import CallingVariant, Dtype, VariantCall, to_plain
from grader.sandbox.probes.calling_variants import call_in_variants
from tests.support.exercises import make_exercise

SEED = 7
SOURCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(size, 3)
        self.norm = torch.nn.LayerNorm(3)
        self.last = torch.nn.Parameter(torch.randn(size))
        self.odd = torch.nn.Parameter(torch.randperm(size).float() / 7)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        dropped = torch.nn.functional.dropout(x + self.odd, 0.5, self.training)
        return self.norm(self.inner(dropped)), [x * self.last, None, "said"], self.calls
"""

Check = Callable[[ReferenceCache], list[object]]


def differentiates(cache: ReferenceCache) -> list[object]:
    module = cache(size=4)
    weights = {name: weight.clone() for name, weight in module.weights().items()}
    x = torch.randn(2, 4)
    passed = module.differentiate(None, x=x)
    again = module.differentiate([torch.ones(2, 3), torch.ones(2, 4), torch.ones(())], x=x)
    passes = [[each.value, each.cotangents, each.parameters, each.inputs] for each in (passed, again)]
    return [weights, x, passes, torch.randn(3)]


def trains(cache: ReferenceCache) -> list[object]:
    module = cache.build({"size": 5}, dtype="float64")
    module.training = True
    x = torch.randn(2, 5).double()
    return [module(x=x), torch.randn(2), module(x=x), torch.randn(2), module.attribute("odd"), module.shapes()]


def run(cache: ReferenceCache, check: Check) -> list[object]:
    cache.begin(check.__name__, SEED, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    return check(cache)


@pytest.fixture
def reference(tmp_path: Path) -> ReferenceCache:
    path = tmp_path / "exercise_01" / "attention.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return ReferenceCache(Reference(path, make_exercise("Model")))


@pytest.fixture
def answers(reference: ReferenceCache, tmp_path: Path) -> Path:
    """A file with the reference's answers to both checks, and a variant's failures."""
    for check in (differentiates, trains):
        run(reference, check)
    recorder = Recorder()
    failures = {
        "1": {"values": ("values", torch.ones(2, 3)), "form": ("form", (1, "two", None)), "silent": ("x", None)}
    }
    recorder.add(SEED, reference.questions_and_answers(), failures)
    file = tmp_path / "answers.safetensors"
    file.write_bytes(recorder.content())
    return file


@pytest.mark.parametrize("check", [differentiates, trains])
def test_a_recording_answers_like_the_reference_and_random_tensors_in_between_are_the_same(reference, answers, check):
    ours = run(ReferenceCache(AbsentReference(), Recording(answers)), check)
    for seen, expected in zip(ours, run(reference, check), strict=True):
        require_same(seen, expected)


def test_an_answer_is_recorded_as_it_was_given_whatever_the_module_changes_later(answers):
    first, _, second, *_ = run(ReferenceCache(AbsentReference(), Recording(answers)), trains)
    assert (float(first[2]), float(second[2])) == (1, 2)


def require_same(seen: object, expected: object) -> None:
    assert type(seen) is type(expected)
    if isinstance(expected, dict):
        assert isinstance(seen, dict)
        assert seen.keys() == expected.keys()
        for name, value in expected.items():
            require_same(seen[name], value)
    elif isinstance(expected, tuple | list):
        assert isinstance(seen, tuple | list)
        for one, other in zip(seen, expected, strict=True):
            require_same(one, other)
    else:
        compare(seen, expected, "a recorded answer")


def test_a_question_that_was_not_recorded_gets_no_answer(answers):
    cache = ReferenceCache(AbsentReference(), Recording(answers))
    cache.begin("differentiates", SEED, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    with pytest.raises(NotRecordedError):
        cache(size=5)
    cache.begin("differentiates", SEED, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    module = cache(size=4)
    with pytest.raises(NotRecordedError):
        module.differentiate(None, x=torch.randn(2, 4) + 1)
    for check, seed in (("another", SEED), ("differentiates", SEED + 1)):
        cache.begin(check, seed, "float32")
        with pytest.raises(NotRecordedError):
            cache(size=4)


def test_inputs_that_another_processor_rounds_differently_are_the_same_question(answers):
    cache = ReferenceCache(AbsentReference(), Recording(answers))
    cache.begin("differentiates", SEED, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    module = cache(size=4)
    weights = module.weights()
    x = torch.randn(2, 4)
    passed = module.differentiate(None, x=x * (1 + 2e-7))
    assert passed.parameters.keys() == weights.keys()


def test_the_failures_of_a_variant_are_read_with_what_they_observed(answers):
    seen = Recording(answers).examination(SEED, "1")
    assert [(each.check, each.status, each.finding.signature()) for each in seen.outcomes] == [
        ("values", Status.FAILED, "values"),
        ("form", Status.FAILED, "form"),
        ("silent", Status.FAILED, "x"),
    ]
    assert seen.deviations.keys() == {"values", "form"}
    require_same(seen.deviations["values"], torch.ones(2, 3))
    assert seen.deviations["form"] == (1, "two", None)


def called(method: str, **inputs: object) -> CallMethod:
    return CallMethod(module=0, training=False, method=method, inputs=inputs)


def test_equal_tensors_are_stored_once(answers):
    assert load_file(answers).keys() == {"7/float32", "7/float64", "7/index"}
    asked, random, others = called("call", x=torch.ones(2)), torch.randn(1000), torch.randn(1000)
    recorder = Recorder()
    recorder.add(SEED, {"check": {"": [(asked, random), (asked, random.clone())]}}, {})
    recorder.add(SEED + 1, {"check": {"": [(asked, random), (asked, others)]}}, {})
    path = answers.with_name("twice.safetensors")
    path.write_bytes(recorder.content())
    stored = load_file(path)
    assert 1.5 * stored["7/float32"].numel() < stored["8/float32"].numel()


def recorded_answer(path: Path, asked: Question, answer: object, compared: tuple[str, ...]) -> object:
    """Return the answer as it is read from a recording, in a check that only compares values of these dtypes."""
    recorder = Recorder()
    recorder.add(SEED, {"values": {"": [(asked, answer)]}}, {}, {"values": frozenset(compared)})
    path.write_bytes(recorder.content())
    return Recording(path).recorded_answers(SEED, "values", "").answer(asked)


CALLED = called("call")
FLOATS = ("float32", "float64")


def in_variant(variant: CallingVariant, compares_gradients: bool = False) -> CallMethod:
    return called("run_probe", calls=to_plain([VariantCall(variant=variant, compares_gradients=compares_gradients)]))


PLAIN = CallingVariant()
NUMBERS = torch.tensor([0.0, -0.1, 1 / 3, 12.34567, 1e-7, -8.7654e8, 3.4e38, torch.inf, -torch.inf, torch.nan])


def test_calls_in_variants_have_the_options_that_a_recording_reads():
    assert inspect.signature(call_in_variants).parameters.keys() >= in_variant(PLAIN).inputs.keys()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, FLOAT32), (torch.float64, FLOAT64)])
def test_compared_values_are_rounded_towards_zero_by_a_small_part_of_their_tolerance(tmp_path, dtype, tolerance):
    exact = torch.cat([torch.randn(500), torch.randn(500) * 1e-3, NUMBERS]).to(dtype)
    read = recorded_answer(tmp_path / "answers", CALLED, [exact, exact.float()], FLOATS)
    assert read[0].dtype == dtype
    assert not torch.equal(read[0][:1000], exact[:1000])
    assert torch.allclose(read[0], exact, tolerance.relative / 8, tolerance.absolute / 8, equal_nan=True)
    is_finite = exact.isfinite()
    assert (read[0][is_finite].abs() <= exact[is_finite].abs()).all()
    assert torch.equal(read[0].isfinite(), is_finite)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, LARGE_INPUTS), (torch.float64, LARGE_INPUTS_FLOAT64)])
def test_small_values_are_rounded_by_a_small_part_of_the_tolerance_after_large_inputs(tmp_path, dtype, tolerance):
    exact = torch.stack([torch.randn(500) * 1e-6, torch.zeros(500)]).to(dtype)
    read = recorded_answer(tmp_path / "answers", CALLED, exact, FLOATS)
    assert torch.allclose(read, exact, 0.0, tolerance.for_values(exact).absolute / 8)


def test_a_dictionary_without_gradients_is_rounded_like_values(tmp_path):
    exact = torch.randn(1000)
    ((_, read),) = recorded_answer(tmp_path / "answers", in_variant(PLAIN), [(exact, {"keys": exact})], FLOATS)
    assert torch.allclose(read["keys"], exact, FLOAT32.relative / 8, FLOAT32.absolute / 8)


def test_gradients_are_rounded_by_their_own_tolerance_and_cotangents_and_other_answers_not_at_all(tmp_path):
    path, exact = tmp_path / "answers", torch.randn(1000)
    passed = Pass(value=exact, cotangents=[exact], parameters={"weight": exact}, inputs={"x": exact})
    read = recorded_answer(path, called("differentiate"), passed, FLOATS)
    answer = (exact, {"weight": exact}, {"x": exact})
    (variant,) = recorded_answer(path, in_variant(PLAIN, compares_gradients=True), [answer], FLOATS)
    assert torch.equal(read.cotangents[0], exact)
    for gradient in (read.parameters["weight"], read.inputs["x"], variant[1]["weight"], variant[2]["x"]):
        assert torch.allclose(gradient, exact, FLOAT32_GRADIENT.relative / 8, FLOAT32_GRADIENT.absolute / 8)
        assert not torch.allclose(gradient, exact, FLOAT32.relative / 8, FLOAT32.absolute / 8)
    for value in (read.value, variant[0]):
        assert torch.allclose(value, exact, FLOAT32.relative / 8, FLOAT32.absolute / 8)
    weights = {"weight": exact, "count": torch.arange(3), "none": torch.zeros(0, 2)}
    require_same(recorded_answer(path, called("weights"), weights, FLOATS), weights)
    assert torch.equal(recorded_answer(path, CALLED, exact, ()), exact)


def test_values_in_float32_are_not_rounded_where_the_module_computes_in_another_dtype(tmp_path):
    path, exact, in_float64 = tmp_path / "answers", torch.randn(1000), torch.randn(1000, dtype=torch.float64)
    in_double = in_variant(CallingVariant(dtype=Dtype.FLOAT64))
    ((single, double),) = recorded_answer(path, in_double, [(exact, in_float64)], FLOATS)
    assert torch.equal(single, exact)
    assert not torch.equal(double, in_float64)
    assert torch.equal(recorded_answer(path, CALLED, exact, ("float64",)), exact)


@pytest.mark.parametrize("content", [b"", b"12345678{", b"\x02\0\0\0\0\0\0\0{}", save({"7/index": torch.ones(1)})[:-1]])
def test_a_file_that_holds_no_answers_is_reported(tmp_path, content):
    path = tmp_path / "answers.safetensors"
    path.write_bytes(content)
    with pytest.raises(KitError, match="is missing or damaged"):
        Recording(path)


def compressed(content: torch.Tensor) -> torch.Tensor:
    return torch.tensor([*zlib.compress(bytes(content.tolist()))], dtype=torch.uint8)


@pytest.mark.parametrize(
    "answer",
    [
        '{"tensor":["float32",[2,3],1]}',
        '{"tensor":["float32",[2,3],-1]}',
        '{"tensor":["float32",[-2,-3],0]}',
        '{"tensor":["float16",[2],0]}',
        '{"tensor":"float32"}',
        '{"pass":[1]}',
        '{"code":"print()"}',
        '{"tensor":["float32",[2],0],"size":[1]}',
        '{"dict":[1]}',
    ],
)
def test_an_answer_that_does_not_fit_its_tensors_is_reported(tmp_path, answer):
    path = tmp_path / "answers.safetensors"
    index = '{"answers":{},"failures":{"1":{"values":["values",' + answer + "]}}}"
    flat = {"7/float32": torch.ones(6).view(torch.uint8), "7/index": torch.tensor([*index.encode()], dtype=torch.uint8)}
    save_file({name: compressed(each) for name, each in flat.items()}, path)
    with pytest.raises(KitError, match="is missing or damaged"):
        Recording(path).examination(SEED, "1")
