"""Masks of all shapes and dtypes that the page allows, with queries that see nothing."""

# B batch, T tokens, E embed_dim, H num_heads

import torch

from grader.checks.compare import Failure, compare, compare_gradients

B, T, E, H = 2, 5, 12, 3
ARGUMENTS = {"embed_dim": E, "num_heads": H, "dropout": 0.0}
DTYPES = (torch.bool, torch.uint8, torch.float32, torch.int64, torch.float64, torch.int32, torch.float16)
BLIND = (1, 3)
"""Queries that see no key."""


def masks():
    rows_T1 = torch.ones(T, 1)
    rows_T1[list(BLIND)] = 0
    document_B11T = torch.ones(B, 1, 1, T)
    document_B11T[1] = 0
    return {
        "that hides all keys from two queries": rows_T1,
        "that hides everything": torch.zeros(T, T),
        "that hides all keys from two queries, with four axes": rows_T1[None, None],
        "that hides one sample": document_B11T,
    }


def pair(subject, reference):
    theirs = reference.build(ARGUMENTS)
    return subject.build(ARGUMENTS, like=theirs), theirs


def test_queries_without_keys_get_weights_of_zero(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    x = gaussian(B, T, E)
    for turn, (kind, mask) in enumerate(masks().items()):
        for dtype in (DTYPES[turn], torch.uint8):
            given = f"a mask of shape {tuple(mask.shape)} and {dtype} {kind}"
            seen, expected = ours(x=x, mask=mask.to(dtype)), theirs(x=x, mask=mask.to(dtype))
            compare(seen, expected, f"{given}: output")
            hidden = (mask == 0).expand(B, H, T, T)
            largest = float(seen[1][hidden].abs().max())
            if largest:
                raise Failure("hidden-weight", f"{given}: expected weights of exactly zero, got {largest:g}")


def test_one_row_serves_all_queries(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    x = gaussian(B, T, E)
    mask = torch.ones(1, T)
    mask[0, :2] = 0
    for dtype in DTYPES:
        inputs = {"x": x, "mask": mask.to(dtype)}
        item = f"a mask of shape {tuple(mask.shape)} and {dtype} that hides two keys from all queries: output"
        compare(ours(**inputs), theirs(**inputs), item)


def test_queries_without_keys_leave_gradients_right(subject, reference, gaussian):
    ours, theirs = pair(subject, reference)
    inputs = {"x": gaussian(B, T, E), "mask": next(iter(masks().values())).bool()}
    expected = theirs.differentiate(None, **inputs)
    passed = ours.differentiate(expected.cotangents, **inputs)
    compare(passed.value, expected.value, "a mask that hides all keys from two queries: output")
    compare_gradients(passed.parameters, expected.parameters)


def test_masks_of_any_dtype_are_the_same_after_a_call(subject, gaussian):
    module = subject.build(ARGUMENTS)
    x = gaussian(B, T, E)
    for dtype in DTYPES:
        mask = torch.ones(T, T).tril().to(dtype)
        module(x=x, mask=mask)
        compare(module.inputs_after()["mask"], mask, f"the caller's mask of {dtype}, after the call")
