"""Claims about values as text: the forms that `guide` reads, and advice on lines in no such form."""

import re
from difflib import get_close_matches

from msgspec import Struct

from grader.errors import UsageError
from grader.report.printable import printable

NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
PLACE = r"\s*(?:-?\d*\s*:\s*-?\d*|-?\d+)\s*"
INDEX = rf"(?:\[(?P<{{}}>{PLACE}(?:,{PLACE})*)\])?"
PLAIN = ("sums_to_one", "symmetric", "finite", "no_gradient", "varies")
"""The forms that consist of one word."""

FORMS = (*PLAIN, "unchanged", "equals", "shape", "dtype", "depends")

CLAIM = re.compile(
    rf"(?P<value>{NAME}){INDEX.format('index')} (?P<negated>not )?"
    rf"(?:(?P<plain>{'|'.join(PLAIN)})"
    rf"|unchanged (?P<line>\d+)"
    rf"|shape (?P<shape>\[?\(?\d+(?:[ ,x]+\d+)*,?\)?\]?)"
    rf"|equals (?P<truth>True|False)"
    rf"|equals (?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)"
    rf"|(?P<form>equals|depends|dtype) (?P<other>{NAME}){INDEX.format('other_index')})"
)

MAX_CLAIM = 200
"""The most characters of a claim."""

Place = int | tuple[int | None, int | None] | None
"""An index along one axis: a number, the two ends of a slice, or None for the whole axis."""


class ValueClaim(Struct, frozen=True, kw_only=True):
    """A claim about a value, in the form that `sandbox/probes/claims.py` answers."""

    form: str
    value: str
    index: tuple[Place, ...] = ()
    """An index of the value."""
    is_negated: bool = False
    other: str | float = ""
    """Another value, an input, a dtype or a number."""
    other_index: tuple[Place, ...] = ()
    digits: int = 0
    """The number of digits of a number with a point or an exponent: the value is rounded to as many."""
    line: int = 0
    shape: tuple[int, ...] = ()


def parse_claim(text: str) -> ValueClaim:
    """Return the claim in a line; raise `UsageError` with the nearest form if the line has none of the forms."""
    found = CLAIM.fullmatch(" ".join(text[:MAX_CLAIM].split()))
    if found is None:
        raise UsageError(f'"{printable(text, MAX_CLAIM)}" is not a claim: {_advice(text)}')
    numbers = tuple(int(each) for each in re.findall(r"\d+", found["shape"] or ""))
    form = found["form"] or found["plain"] or ("unchanged" if found["line"] else "shape" if numbers else "equals")
    return ValueClaim(
        form=form,
        value=found["value"],
        index=_index(found["index"]),
        is_negated=bool(found["negated"]),
        other=_number(found) if form == "equals" and found["other"] is None else _other(found),
        other_index=_index(found["other_index"]),
        digits=_digits(found["number"] or ""),
        line=int(found["line"] or 0),
        shape=numbers,
    )


def _number(found: re.Match[str]) -> float:
    return float(found["truth"] == "True") if found["truth"] else float(found["number"])


def _other(found: re.Match[str]) -> str:
    return (found["other"] or "").removeprefix("torch." if found["form"] == "dtype" else "")


def _digits(number: str) -> int:
    """Return the number of digits that a number was typed with; 0 for a whole number, which is exact."""
    mantissa, _, exponent = number.partition("e")
    digits = re.sub(r"\D", "", mantissa).lstrip("0")
    return len(digits) if "." in mantissa or exponent else 0


def _index(text: str | None) -> tuple[Place, ...]:
    return tuple(map(_place, text.split(","))) if text else ()


def _place(text: str) -> Place:
    first, colon, last = (each.strip() for each in text.partition(":"))
    if not colon:
        return int(first)
    return (int(first) if first else None, int(last) if last else None) if first or last else None


REWRITES = (
    (rf"({NAME})\.(shape|dtype)\b", r"\1 \2"),
    (r"\btorch\.(?=float|int|bool|uint|bfloat)", ""),
    (r"\b(?:is|are|was|does|do|has|have)(?:n't| not)\b", "not"),
    (r"\bno gradients?\b|\b(?:has|gets) no_gradient\b|\.grad is None\b", " no_gradient"),
    (r"\bsums? (?:up )?to (?:one|1(?:\.0*)?)\b|\bsums? ?to ?one\b", "sums_to_one"),
    (r"\b(?:is |are )?(?:equal to|the same as|same as|equals?)\b", "equals"),
    (r"!=", " not equals "),
    (r"==?", " equals "),
    (r"\bdepends? on\b|\bdepend\b", "depends"),
    (r"\bsymmetrical\b", "symmetric"),
    (r"\b(?:is |are )?(?:nan|infinite|inf)\b", "not finite"),
    (r"\bvary\b|\brandom\b", "varies"),
    (r"\bunchanged (?:at |by |on |in |after )*(?:line )?(?=\d)", "unchanged "),
    (rf"\b(?:is|are|has|have|was)\s+(?=(?:not )?(?:{'|'.join(FORMS)})\b)", ""),
    (r"\b(?:is|are|was)\b", "equals"),
    (r"\b(shape|dtype) equals\b", r"\1"),
    (r"\b(shape|dtype) not equals\b", r"not \1"),
    (r"\bnot not\b", "not"),
    (rf"\bnot (?!(?:{'|'.join(FORMS)})\b)(?=\S)", "not equals "),
)
"""Common ways to write a claim, each with the way that the guide reads."""

WITH_LINE = re.compile(rf"(?!line\b)({NAME})(?: ?@ ?| ?: ?| (?:at |in |on )?(?:line )?)(\d+)\b(?= )")
"""A claim about a value at a line, which there is not."""

REASONS = (
    (r"no[ _]gradients?", "write the name of a parameter first, as in NAME no_gradient"),
    (
        r".*(?:\[[^\]]*[^\d\s,:\]-]|\[[^,\]]*:[^,\]]*:).*",
        "an index has numbers, slices such as 1:3 without a step, and : for a whole axis",
    ),
    (
        r".*(?:[\w\])] ?(?:[-+*/@%]|\*\*|//) ?[\w(.-]|\w\(|[<>]).*",
        "a claim compares values and cannot compute; assign the expression to a name, and use the name here",
    ),
    (rf"{NAME} (?:not )?unchanged", "the number of a line must follow the word unchanged"),
    (rf"{NAME} (?:not )?shape", "sizes must follow the word shape, as in shape 2 3"),
    (rf"{NAME} (?:not )?equals", "another value or a number must follow the word equals"),
    (rf"{NAME} (?:not )?dtype", "a dtype must follow the word dtype"),
    (rf"{NAME} (?:not )?depends", "an input must follow the word depends"),
    (NAME, "a form must follow the name, as in NAME finite; type help for the forms, or press Enter to go on"),
)
"""Patterns of lines that resemble no claim, and what is wrong with each."""

ADVICE = "write a name and a form, as in NAME finite; type help for the forms, or press Enter to go on"


def _advice(text: str) -> str:
    """Return what to write in place of a line."""
    line = " ".join(text[:MAX_CLAIM].split())
    if with_line := WITH_LINE.match(line):
        nearest = _rewritten(f"{with_line[1]}{line[with_line.end() :]}")
        if nearest is not None:
            return f"a claim is about the last value of {with_line[1]} and has no line; write {nearest}"
    nearest = _rewritten(line)
    if nearest is not None:
        return f"write {nearest}"
    return next((reason for pattern, reason in REASONS if re.fullmatch(pattern, line)), ADVICE)


def _rewritten(line: str) -> str | None:
    """Return the claim that a line resembles; None if there is none."""
    for pattern, replacement in REWRITES:
        line = " ".join(re.sub(pattern, replacement, line, flags=re.IGNORECASE).split())
    words = line.split()
    position = 2 if words[1:2] == ["not"] else 1
    if len(words) > position and words[position] not in FORMS:
        nearest = get_close_matches(words[position].lower(), FORMS, n=1)
        words[position : position + 1] = nearest or words[position : position + 1]
    nearest_line = " ".join(words)
    return nearest_line if CLAIM.fullmatch(nearest_line) else None
