"""The order of the rows is nobody's business."""

# B batch, F fields, W width

from grader.examiner.compare import FLOAT32, require_close, require_shape, require_tensor

B, F, W = 4, 3, 12


def test_reversing_the_rows_reverses_the_outputs(subject, gaussian):
    module = subject.build({"width": W, "heads": 2, "max_fields": 8})
    rows_BFW = gaussian(B, F, W)
    forwards, backwards = module(rows=rows_BFW), module(rows=rows_BFW.flip(0))
    for seen in (forwards, backwards):
        require_tensor(seen, "output")
        require_shape(seen, [B, F, W], "output")
    require_close(backwards.flip(0), forwards, f"{B} rows in reversed order, reversed again: output", FLOAT32)
