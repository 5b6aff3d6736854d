"""Which words are kept, and how many."""

# R rows, W words, K words that are kept

import torch

from grader.examiner.compare import Failure, compare

R, W, MANY = 4, 23, 173
ARGUMENTS = {"share": 0.75, "warmth": 1.0}
ROWS, K = 32, 15
NEAR = 3e-5
"""A hundred times what sums in float32 are off by, and a tenth of what they are in half precision."""


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
            raise Failure("none", f"row {row}: expected the likeliest words, saw none kept")
        if bool(kept[row].all()):
            continue
        least, most = float(logits[row][kept[row]].min()), float(logits[row][~kept[row]].max())
        if least < most:
            seen = f"saw one with logit {least:.3g} kept and one with {most:.3g} dropped"
            text = f"row {row}: expected the likeliest words, {seen}"
            raise Failure("order", text)


def test_one_word_is_left_however_sure_the_model_is(subject, reference, gaussian):
    ours, theirs = subject(**ARGUMENTS), reference(**ARGUMENTS)
    logits = 0.1 * gaussian(R, W)
    logits[range(R), range(3, 3 + R)] += 8.0
    compare(ours(logits=logits), theirs(logits=logits), "one word in each row that is all but certain: chances")


def test_all_words_are_left_with_a_share_of_one(subject, gaussian):
    for words, warmth in ((W, 1.0), (MANY, 1.0), (W, 0.6)):
        ours = subject(share=1.0, warmth=warmth)
        logits = gaussian(R, words)
        what = f"share=1, warmth={warmth:g}, {words} words: chances"
        compare(ours(logits=logits), torch.softmax(logits / warmth, dim=-1), what)


def test_a_sum_that_all_but_meets_the_share(subject, reference, gaussian):
    """The first words come to a little more than the share in every other row, else to a little less."""
    ours, theirs = subject(share=0.7, warmth=1.0), reference(share=0.7, warmth=1.0)
    # so little apart that none of the first is less likely than the others
    drawn = 1 + 0.05 * torch.tanh(gaussian(ROWS, W)).double()
    first, others = (each.sort(dim=-1, descending=True).values for each in drawn.split([K, W - K], dim=-1))
    reached = 0.7 + NEAR * (-1.0) ** torch.arange(ROWS)[:, None]
    chances = [first / first.sum(-1, keepdim=True) * reached, others / others.sum(-1, keepdim=True) * (1 - reached)]
    logits = torch.cat(chances, dim=-1).log().float()
    compare(ours(logits=logits), theirs(logits=logits), f"sums that come within {NEAR:g} of the share: chances")
