"""One word after others, and others that are all zeros or that alone take gradients."""

# B batch, W width

import torch

from grader.checks.compare import compare, compare_gradient, compare_gradients

B, W = 2, 12
ARGUMENTS = {"width": W, "heads": 4}
EARLIER = (1, 3, 8)
PROBE = """
class Variation(submission.NearAttention):
    def after_words_that_learn(self, x, memory):
        return self(x=x.detach(), memory=memory)

    def after_fixed_words(self, x, memory):
        return self(x=x, memory=memory.detach())
"""


def pair(subject, reference):
    theirs = reference.build(ARGUMENTS, probe=PROBE, entry="Variation")
    return subject.build(ARGUMENTS, like=theirs, probe=PROBE, entry="Variation"), theirs


def test_one_word_after_others(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    for earlier in EARLIER:
        inputs = {"x": gaussian(B, 1, W), "memory": gaussian(B, earlier, W)}
        expected = theirs.differentiate(None, **inputs)
        for is_training in (False, True):
            ours.training = is_training
            mode = "training" if is_training else "eval"
            item = f"one word, with {earlier} as memory, in {mode} mode: output"
            observed = ours.differentiate(expected.cotangents, **inputs)
            compare(observed.value, expected.value, item)
            compare_gradients(observed.parameters, expected.parameters)
            for name in inputs:
                compare_gradient(observed.inputs.get(name), expected.inputs[name], f"the input {name}")
        ours.training = False
        seen = ours.call_each([inputs], grad=False)
        compare(seen, [expected.value], f"one word, with {earlier} as memory, in eval mode under no_grad: output")


def test_words_of_zeros_before(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    for words, earlier in ((3, 2), (2, 4)):
        inputs = {"x": gaussian(B, words, W), "memory": torch.zeros(B, earlier, W)}
        item = f"x of {words} words, memory of {earlier} words that are all zeros: output"
        compare(ours(**inputs), theirs(**inputs), item)


def test_gradients_of_one_input_alone(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    for method, name in (("after_words_that_learn", "memory"), ("after_fixed_words", "x")):
        inputs = {"x": gaussian(B, 3, W), "memory": gaussian(B, 4, W)}
        expected = theirs.differentiate(None, method, **inputs)
        observed = ours.differentiate(expected.cotangents, method, **inputs)
        compare(observed.value, expected.value, f"where {name} is the only input that needs a gradient: output")
        compare_gradient(observed.inputs.get(name), expected.inputs[name], f"{name}, the only input that needs one,")
