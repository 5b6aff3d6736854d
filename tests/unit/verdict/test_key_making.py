"""A key is used if it fits the current exercise and the reference passes in it."""

import pytest

from grader.verdict.key import Key, encode_key
from grader.verdict.key_making import _read_key

DIGEST = "d1"
SOUND = Key(digest=DIGEST, signatures={"": {}, "mask": {"values": "failed:values"}}, methods={"": {}, "mask": {}})


@pytest.mark.parametrize(
    ("key", "digest", "is_believed"),
    [
        (SOUND, DIGEST, True),
        (SOUND, "d2", False),
        (
            Key(digest=DIGEST, signatures={"": {"values": "timed_out:timeout"}, "mask": {}}, methods={}),
            DIGEST,
            False,
        ),
        (Key(digest=DIGEST, signatures={}, methods={}), DIGEST, False),
    ],
    ids=["sound", "of something else", "of a reference that hung", "empty"],
)
def test_a_key_that_cannot_be_right_is_made_anew(tmp_path, key: Key, digest: str, is_believed: bool) -> None:
    path = tmp_path / "key.json"
    path.write_bytes(encode_key(key))
    assert _read_key(path, digest) == (key if is_believed else None)
