"""A module's bytes -> its text, decoded as Python would."""

import codecs
import io
import re
import tokenize

from grader.submission.records import Chunk, Submission, Unreadable

CODING_COOKIE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=]")

SLOW_ENCODINGS = {"idna", "punycode"}
"""Encodings of host names, whose decoders take time with the square of the length."""


def from_module(content: bytes, name: str) -> Submission | Unreadable:
    """A module's text; a byte order mark, a coding cookie and any line ending are honoured."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)  # reads two lines, and tokenizes nothing
        if codecs.lookup(encoding).name in SLOW_ENCODINGS:
            return _undecodable(name, f"{encoding} is for host names")
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Unreadable(f"{name} is not {error.encoding.upper()} text (line {line}); save it as UTF-8")
    except (SyntaxError, LookupError, UnicodeError) as error:
        if not CODING_COOKIE.search(content):
            return Unreadable(f"{name} is not UTF-8 text; save it as UTF-8")
        return _undecodable(name, str(error).split(";", 1)[0])
    return Submission(name, (Chunk(name, unix_lines(text)),))


def unix_lines(text: str) -> str:
    """The text with line ends as Unix writes them, and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _undecodable(name: str, problem: str) -> Unreadable:
    return Unreadable(f"{name} cannot be decoded ({problem}); drop its coding line and save it as UTF-8")
