r"""A code cell -> the same without what only IPython understands.

Told apart by a scan for strings, comments and brackets, whose time grows with the length and nothing else. Python's
own tokenizer is not asked: it is made for source that one trusts, and takes minutes over a megabyte of `'\'\'\`.
"""

import re

PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Cell magics whose body is ordinary Python."""

MAGIC = re.compile(
    r"""^(?P<indent>[ \t\f]*+)
    (?:(?P<target>[\w.,][\w.,\ ]*+=[ \t]*+)[%!]  # what a magic or a shell line is assigned to
    | [%!?]                                     # a line magic, a shell line, or a request for help before a name
    | [\w.*]++\?{1,2}+[ \t]*+$                  # or after it
    )[^\n]*+ (?:(?<=\\)\n[^\n]*+)*+             # to the end of the line, and of those it goes on in
    """,
    re.VERBOSE | re.MULTILINE,
)

PIECE = re.compile(
    r""""{3}(?>[^\\"]++|\\.|"(?!""))*+(?:"{3})?+
    | '{3}(?>[^\\']++|\\.|'(?!''))*+(?:'{3})?+
    | "(?>[^\\"\n]++|\\.)*+"?+
    | '(?>[^\\'\n]++|\\.)*+'?+
    | \#[^\n]*+
    | \\\n?+
    | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<end>\n++)
    | [^'"\#\\()\[\]{}\n]++
    """,
    re.VERBOSE | re.DOTALL,
)
"""A string, a comment, a line that goes on, a bracket, the end of a line, or what lies between these."""


def without_magics(source: str) -> str:
    """The cell with magics, shell lines and help requests made `pass`; line numbers stay."""
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%") and first.split()[0] not in PYTHON_CELL_MAGICS:
        return "\n" * source.count("\n")
    if not MAGIC.search(source):
        return source
    kept: list[str] = []
    position = 0
    while magic := _next_magic(source, position):
        kept += source[position : magic.start()], _harmless(magic)
        position = magic.end()
    return "".join([*kept, source[position:]])


def _harmless(magic: re.Match[str]) -> str:
    """What takes a magic's place, on as many lines."""
    target = magic["target"]
    statement = f"{target}None" if target else "pass"
    return magic["indent"] + statement + "\n" * magic[0].count("\n")


def _next_magic(source: str, position: int) -> re.Match[str] | None:
    """The first magic that stands where a statement begins, after the source's start or the line end at `position`."""
    if magic := MAGIC.match(source, position + (position > 0)):
        return magic
    depth = 0
    for piece in PIECE.finditer(source, position):
        if piece["open"]:
            depth += 1
        elif piece["close"]:
            depth = max(depth - 1, 0)
        elif piece["end"] and depth == 0 and (magic := MAGIC.match(source, piece.end())):
            return magic
    return None
