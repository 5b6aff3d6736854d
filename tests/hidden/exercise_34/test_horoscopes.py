"""Which words are kept."""

# R rows, W words

import torch

from grader.checks.compare import compare
from grader.testing import Failure

R, W = 4, 23
ARGUMENTS = {"share": 0.75, "warmth": 1.0}


def test_sorted_words(subject, reference, gaussian):
    ours, theirs = subject(**ARGUMENTS), reference(**ARGUMENTS)
    logits = gaussian(R, W).sort(dim=-1, descending=True).values
    compare(ours(logits=logits), theirs(logits=logits), "logits that come sorted: chances")


def test_no_kept_word_is_less_likely_than_a_dropped_one(subject, gaussian):
    ours = subject(**ARGUMENTS)
    logits = 0.5 * gaussian(R, W)  # so that no word reaches the share alone
    kept = ours(logits=logits) > 0
    for row in range(R):
        if not bool(kept[row].any()):
            raise Failure("none", f"row {row}: expected the likeliest words to be kept, but none is")
        if bool(kept[row].all()):
            continue
        least, most = float(logits[row][kept[row]].min()), float(logits[row][~kept[row]].max())
        if least < most:
            observed = f"but one with logit {least:.3g} is kept and one with {most:.3g} is dropped"
            text = f"row {row}: expected the likeliest words to be kept, {observed}"
            code = f"logits[{row}][outs[0][{row}] > 0].min() >= logits[{row}][outs[0][{row}] == 0].max()"
            raise Failure("order", text, code=code)


def test_one_word_is_left_however_sure_the_model_is(subject, reference, gaussian):
    ours, theirs = subject(**ARGUMENTS), reference(**ARGUMENTS)
    logits = 0.1 * gaussian(R, W)
    logits[range(R), range(3, 3 + R)] += 8.0
    compare(ours(logits=logits), theirs(logits=logits), "one word in each row that is all but certain: chances")


def test_a_share_of_one_keeps_unlikely_words(subject, reference):
    logits = torch.tensor([[12.0, 11.0, 0.0, 1.0]])
    ours, theirs = subject(share=1.0, warmth=1.0), reference(share=1.0, warmth=1.0)
    if bool((ours(logits=logits) > 0).all()):
        compare(ours(logits=logits), theirs(logits=logits), "share=1, with two unlikely words: chances")
    else:
        raise Failure("unlikely", "share=1: expected all four words to be kept", code="bool((outs[0] > 0).all())")
