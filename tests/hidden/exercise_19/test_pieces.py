"""A text given piece by piece is the text given at once."""

# B batch, D model size

from grader.checks.compare import compare
from grader.checks.session import SubjectRaisedError
from grader.testing import Failure

B, D = 2, 12
ARGUMENTS = {"d_model": D, "n_heads": 3, "max_len": 200}


def pieces(subject, reference, gaussian, lengths, method=""):
    """Compare each call."""
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs, variation="OnePieceAtATime" if method else "")
    for index, length in enumerate(lengths):
        x_BTD = gaussian(B, length, D)
        inputs = {"x": x_BTD, "more": index > 0}
        how = f"a text in pieces of {lengths[: index + 1]} words{', without gradients' if method else ''}"
        compare(ours.call(method, **inputs), theirs(**inputs), f"{how}: the last one's output")


def test_a_second_piece_of_one_word(subject, reference, gaussian):
    pieces(subject, reference, gaussian, [4, 1])


def test_a_second_piece_of_several_words(subject, reference, gaussian):
    pieces(subject, reference, gaussian, [4, 3])


def test_many_pieces(subject, reference, gaussian):
    pieces(subject, reference, gaussian, [3, 1, 140, 1, 1, 6], "without_gradients")


def test_the_words_are_counted(subject, gaussian):
    module = subject.build(ARGUMENTS)
    read = 0
    for index, length in enumerate([4, 3, 1, 2]):
        module(x=gaussian(B, length, D), more=index > 0)
        read += length
        require_count(module, read)
    module(x=gaussian(B, 5, D))
    require_count(module, 5)


def require_count(module, read):
    seen = module.attribute("offset")
    if type(seen) is not int or seen != read:
        raise Failure(
            "count", f"after calls with {read} words since the text began: expected offset {read}, got {seen!r}"
        )


def test_a_text_that_begins_forgets_the_one_before(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    for length in (5, 2, 7):
        x_BTD = gaussian(B, length, D)
        compare(ours(x=x_BTD), theirs(x=x_BTD), "a text that begins, after another one: output")


def test_each_call_learns_by_itself(subject, gaussian):
    module = subject.build(ARGUMENTS, variation="OnePieceAtATime")
    try:
        module.call("learn_twice", first=gaussian(B, 3, D), second=gaussian(B, 2, D))
    except SubjectRaisedError as error:
        if "backward" not in error.raised.text:
            raise
        text = (
            "a backward pass after each of two calls: expected both to work, but the second reaches into the first call"
        )
        raise Failure("graph", text) from None
