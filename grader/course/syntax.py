"""What YAML's parser complains of, in words that say what to do."""

from typing import TYPE_CHECKING

from grader.course.problem import Problem, quoted

if TYPE_CHECKING:
    import yaml

COMPLAINTS = (
    (
        "mapping values are not allowed",
        "one key in a line",
        "another colon",
        "put a text that holds a colon in quotes, or line the key up with those above",
    ),
    ("did not find expected ',' or ']'", "a comma or ]", "something else", "close the list that begins at CONTEXT"),
    (
        "did not find expected ',' or '}'",
        "a comma or }",
        "something else",
        "close the mapping that begins at CONTEXT",
    ),
    ("unexpected end of stream", "a closing quote", "the end of the file", "close the quote that begins at CONTEXT"),
    ("could not find expected ':'", "a colon after the key", "none", "write key: value, or indent a text's next line"),
    (
        "did not find expected key",
        "a key of the mapping that begins at CONTEXT",
        "something else",
        "line the keys up in one column, and put a text that begins with a quote in quotes as a whole",
    ),
    ("did not find expected '-' indicator", "a - in the column of the others", "something else", "line the items up"),
    (
        "block sequence entries are not allowed",
        "a value",
        "a - in the middle of a line",
        "begin the list on a new line",
    ),
    ("cannot start any token", "a value", "CHARACTER", "put the text in quotes"),
    ("unknown escape character", "an escape YAML knows", "CHARACTER", "use single quotes, in which \\ is a plain \\"),
    ("alphabetic or numeric character", "a name after & or *", "CHARACTER", "put a text that begins so in quotes"),
    ("undefined tag handle", "a value without a tag", "CHARACTER", "put a text that begins with ! in quotes"),
    (
        "did not find expected <document start>",
        "one mapping",
        "something after its end",
        "line the keys up in one column",
    ),
)


def explain_syntax_error(error: "yaml.MarkedYAMLError", text: str) -> Problem:
    """The parser's complaint as a problem with its place."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.split("\n")
    seen = lines[line - 1] if line <= len(lines) else ""
    context = f"{error.context_mark.line + 1}:{error.context_mark.column + 1}" if error.context_mark else "its start"
    character = quoted(seen[column - 1 : column]) if seen[column - 1 :].strip() else "the end of the line"
    complaint = str(error.problem or error.context)
    if "\t" in seen[: len(seen) - len(seen.lstrip())] or seen[column - 1 : column] == "\t":
        column = seen.index("\t") + 1
        return Problem((), "spaces", "a tab", "indent with spaces; YAML takes no tabs there", line=line, column=column)
    for part, expected, found, remedy in COMPLAINTS:
        if part in complaint:
            told = [_filled(each, context, character) for each in (expected, found, remedy)]
            return Problem((), told[0], told[1], told[2], line=line, column=column)
    found = f"what the parser calls {quoted(complaint)}"
    return Problem((), "YAML", found, "look at this line and the one above it", line=line, column=column)


def _filled(sentence: str, context: str, character: str) -> str:
    return sentence.replace("CONTEXT", context).replace("CHARACTER", character)
