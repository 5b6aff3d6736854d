"""Each of the three parts by itself, and logits that are very sure."""

# N manuscripts, C topics

import torch

from grader.checks.compare import compare

N, C = 5, 4
SURE = 300.0


def some(gaussian):
    return {
        "topics": gaussian(N, C),
        "accept": gaussian(N),
        "labels": gaussian(N, C).argmax(dim=-1),
        "accepted": torch.sigmoid(gaussian(N)),
        "elder": gaussian(N, C),
    }


def difference(module, inputs, others):
    return module(**inputs) - module(**{**inputs, **others})


def test_other_labels_cost_what_they_should(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = some(gaussian)
    others = {"labels": (inputs["labels"] + 1) % C}
    compare(
        difference(ours, inputs, others), difference(theirs, inputs, others), "with other labels: change of the loss"
    )


def test_other_votes_cost_what_they_should(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = some(gaussian)
    others = {"accepted": 1.0 - inputs["accepted"]}
    compare(
        difference(ours, inputs, others), difference(theirs, inputs, others), "with other votes: change of the loss"
    )


def test_another_elder_costs_what_it_should(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = some(gaussian)
    others = {"elder": gaussian(N, C)}
    compare(
        difference(ours, inputs, others), difference(theirs, inputs, others), "with another elder: change of the loss"
    )


def test_sure_logits_cost_a_finite_amount(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = some(gaussian)
    for name in ("topics", "accept", "elder"):
        inputs[name] = SURE * inputs[name]
    compare(ours(**inputs), theirs(**inputs), f"logits {SURE:g} times as large: loss")
