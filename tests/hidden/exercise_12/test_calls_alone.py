"""The inner attention by itself leaves no trace, and serves any sizes and layouts; one tensor may be all arguments."""

# B batch, H heads, I queries, J keys, E d_model

from grader.checks.compare import UNCHANGED, compare, compare_gradients

B, H, I, J, E = 2, 4, 3, 5, 24
SIZES = (6, 3, 16, 1)
ALONE = """
class Variation(submission.ScaleDotProductAttention):
    def settings(self, q, k, v):
        found, dtype = [], torch.get_default_dtype()
        for is_recorded in (True, False):
            with torch.set_grad_enabled(is_recorded):
                self(q, k, v)
                found += [torch.is_grad_enabled(), torch.get_default_dtype() == dtype]
                torch.set_default_dtype(dtype)
        return found

    def transposed(self, q, k, v):
        q, k, v = (each.transpose(1, 2).contiguous().transpose(1, 2) for each in (q, k, v))
        return self(q, k, v)

    def one_for_keys_and_values(self, q, k):
        before = k.detach().clone()
        self(q, k, k)
        return k, before
"""
SHARED = """
class Variation(submission.MultiHeadAttention):
    def all_the_same(self, x):
        return self(x, x, x)

    def queries_and_keys_the_same(self, x, v):
        return self(x, x, v)

    def keys_and_values_the_same(self, q, x):
        return self(q, x, x)
"""


def vectors(gaussian, size=6):
    return {"q": gaussian(B, H, I, size), "k": gaussian(B, H, J, size), "v": gaussian(B, H, J, size)}


def both_alone(subject, reference, probe=ALONE):
    return [kit.build({}, probe=probe, entry="Variation") for kit in (subject, reference)]


def test_inner_attention_serves_any_sizes_and_layouts(subject, reference, gaussian):
    ours, theirs = both_alone(subject, reference)
    for size in SIZES:
        inputs = vectors(gaussian, size)
        turns = f"one ScaleDotProductAttention, now vectors of size {size}: output"
        compare(ours(**inputs), theirs(**inputs), turns)
        seen, expected = ours.call("transposed", **inputs), theirs.call("transposed", **inputs)
        compare(
            seen, expected, f"ScaleDotProductAttention, inputs transposed in memory, vectors of size {size}: output"
        )


def test_inner_attention_leaves_its_arguments_alone(subject, gaussian):
    module = subject.build({}, probe=ALONE, entry="Variation")
    inputs = vectors(gaussian)
    for is_recorded, mode in ((True, ""), (False, ", under no_grad")):
        module.grad = is_recorded
        module(**inputs)
        for name, left in module.inputs_after().items():
            compare(left, inputs[name], f"ScaleDotProductAttention by itself{mode}: {name} after the call", UNCHANGED)
        k, before = module.call("one_for_keys_and_values", q=inputs["q"], k=inputs["k"])
        compare(
            k, before, f"ScaleDotProductAttention by itself{mode}, one tensor as k and v: that tensor after the call"
        )


def test_inner_attention_changes_no_settings(subject, gaussian):
    module = subject.build({}, probe=ALONE, entry="Variation")
    inputs = {name: value.double() for name, value in vectors(gaussian).items()}
    seen = module.call("settings", **inputs)
    names = [
        f"ScaleDotProductAttention by itself{mode}: whether {what} after the call"
        for mode, grad in (("", "on"), (" under no_grad", "off"))
        for what in (f"gradients are {grad}", "the default dtype is as before")
    ]
    for index, name in enumerate(names):
        compare(seen[index], [True, True, False, True][index], name)


def test_gradients_of_inner_attention_reach_all_arguments(subject, reference, gaussian):
    ours, theirs = (kit.build({}, entry="ScaleDotProductAttention") for kit in (subject, reference))
    inputs = vectors(gaussian)
    expected = theirs.differentiate(None, **inputs)
    passed = ours.differentiate(expected.cotangents, **inputs)
    compare(passed.value, expected.value, "ScaleDotProductAttention by itself: output")
    compare_gradients(passed.inputs, expected.inputs)


def test_gradients_are_right_if_one_tensor_is_given_more_than_once(subject, reference, gaussian):
    arguments = {"d_model": E, "n_head": H}
    theirs = reference.build(arguments, probe=SHARED, entry="Variation")
    ours = subject.build(arguments, like=theirs, probe=SHARED, entry="Variation")
    x, other = gaussian(B, J, E), gaussian(B, J, E)
    for method, inputs in (
        ("all_the_same", {"x": x}),
        ("queries_and_keys_the_same", {"x": x, "v": other}),
        ("keys_and_values_the_same", {"q": other, "x": x}),
    ):
        expected = theirs.differentiate(None, method, **inputs)
        passed = ours.differentiate(expected.cotangents, method, **inputs)
        compare(passed.value, expected.value, f"{method.replace('_', ' ')}: output")
        compare_gradients(passed.parameters, expected.parameters)
        compare_gradients(passed.inputs, expected.inputs)
