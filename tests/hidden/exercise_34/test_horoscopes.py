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


def test_equally_likely_words(subject):
    share, count = ARGUMENTS["share"], 8
    kept = subject(**ARGUMENTS)(logits=torch.zeros(R, count))
    counts = (kept > 0).sum(-1)
    if bool((counts < share * count).any()):
        text = f"{count} equal logits, share={share}: expected at least {share * count:g} words to be kept"
        raise Failure("ties", text, code=f"bool(((outs[0] > 0).sum(-1) >= {share * count:g}).all())")
    compare(kept, (kept > 0) / counts[:, None], f"{count} equal logits: chances")


def test_hardly_any_warmth(subject, reference, gaussian):
    arguments = {**ARGUMENTS, "warmth": 1e-9}
    logits = gaussian(R, W).sort(dim=-1, descending=True).values - 10
    compare(subject(**arguments)(logits=logits), reference(**arguments)(logits=logits), "warmth=1e-9: chances")


def test_a_share_with_three_digits(subject, reference):
    arguments = {**ARGUMENTS, "share": 0.995}
    logits = -0.5 * torch.arange(W)[None].repeat(2, 1)  # sums of chances are far from the share
    compare(subject(**arguments)(logits=logits), reference(**arguments)(logits=logits), "share=0.995: chances")


def test_a_share_of_one_keeps_very_unlikely_words(subject, reference):
    arguments = {"share": 1.0, "warmth": 1.0}
    logits = torch.tensor([[18.0, 17.0, 0.0, 1.0]], dtype=torch.float64)
    ours, theirs = subject.build(arguments, dtype="float64"), reference.build(arguments, dtype="float64")
    kept = ours(logits=logits)
    if bool((kept > 0).all()):
        compare(kept, theirs(logits=logits), "share=1 in float64, with two unlikely words: chances")
    else:
        raise Failure("unlikely", "share=1: expected all four words to be kept", code="bool((outs[0] > 0).all())")
