"""Make attacks that a repository cannot store: bytes that are no text, links, pipes, devices."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.submission import MAX_SOURCE_BYTES
from tests.support.hostile import reference, starter
from tests.support.paths import ROOT

MEGABYTE = 1_000_000
DEVICE = Path("/dev/zero")
CELL: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}


def encoded(encoding: str, cookie: str = "") -> Callable[[Path], None]:
    """Write the reference in an encoding, with a word that some encodings lack."""
    first = f"# -*- coding: {cookie} -*-\n" if cookie else ""
    source = first + "# Größe\n" + reference()
    return lambda path: write(path, source.encode(encoding))


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def source(make: Callable[[str], str]) -> Callable[[Path], None]:
    """Write the reference after `make` changed it."""
    return lambda path: write(path, make(reference()).encode("utf-8"))


def link_out(path: Path) -> None:
    """Link to the reference."""
    path.symlink_to(ROOT / "solutions" / "exercise_03" / "attention.py")


def link_to_a_device(path: Path) -> None:
    path.symlink_to(DEVICE)


def link_loop(path: Path) -> None:
    path.symlink_to(path.name)


def device(path: Path) -> None:
    """Make an endless device; without the permission for that, a link to one."""
    try:
        os.mknod(path, 0o600 | 0o020000, DEVICE.stat().st_rdev)
    except OSError:
        link_to_a_device(path)


def unreadable(path: Path) -> None:
    """Write an empty file that its owner cannot read. Root can."""
    path.touch(mode=0o000)


def sparse(path: Path) -> None:
    """Write a sparse file of 64 GB."""
    with path.open("wb") as file:
        file.truncate(64_000 * MEGABYTE)


def notebook(*cells: Any, **fields: Any) -> Callable[[Path], None]:
    """Write a notebook with these code cells; `fields` are further keys of the notebook."""
    made = [{**CELL, "source": cell} if isinstance(cell, str) else cell for cell in cells]
    content = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": made, **fields}
    return lambda path: write(path, json.dumps(content).encode())


def with_outputs(*outputs: Any) -> dict[str, Any]:
    return {**CELL, "source": reference(), "outputs": list(outputs)}


def with_many_outputs(make: Callable[[], list[Any]]) -> Callable[[Path], None]:
    """Write a right notebook with outputs that are made when it is written."""

    def write_notebook(path: Path) -> None:
        notebook(with_outputs(*make()))(path)

    return write_notebook


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def raw_notebook(make: Callable[[str], str]) -> Callable[[Path], None]:
    """Write the text of a right notebook after `make` changed it, for text that `json` would not write."""
    content = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [with_outputs()]}
    return lambda path: write(path, make(json.dumps(content)).encode("utf-8", "surrogatepass"))


def halves(text: str) -> tuple[str, str]:
    """Split the text before the class."""
    before, _, after = text.partition("\n\nclass ")
    return before, "class " + after


def deep(levels: int) -> str:
    return "value = " + "(" * levels + "1" + ")" * levels + "\n"


SOURCES: dict[str, Callable[[Path], None]] = {
    "latin_1_with_a_cookie.py": encoded("latin-1", "latin-1"),
    "latin_1_without_a_cookie.py": encoded("latin-1"),
    "utf_7_with_a_cookie.py": encoded("utf-7", "utf-7"),
    "utf_8_with_a_mark.py": encoded("utf-8-sig"),
    "utf_8_with_a_mark_and_another_cookie.py": encoded("utf-8-sig", "latin-1"),
    "utf_16.py": encoded("utf-16"),
    "utf_32.py": encoded("utf-32"),
    "ebcdic.py": encoded("cp500"),
    "a_cookie_that_lies.py": encoded("utf-8", "ascii"),
    "a_cookie_of_no_encoding.py": encoded("utf-8", "no-such-encoding"),
    "a_cookie_that_unpacks.py": encoded("utf-8", "bz2"),
    "a_cookie_that_turns_letters.py": encoded("utf-8", "rot13"),
    "a_cookie_of_ten_thousand_letters.py": encoded("utf-8", "utf-8-" + "x" * 10_000),
    "nul.py": source(lambda text: text + "\0"),
    "nul_in_a_string.py": source(lambda text: text + 'nothing = "\0"\n'),
    "bytes_of_every_kind.py": lambda path: write(path, bytes(range(256)) * 64),
    "half_a_character.py": lambda path: write(path, b'half = "\xed\xa0\x80"\n' + reference().encode()),
    "half_a_character_in_utf_7.py": lambda path: write(
        path, b"# coding: utf-7\n# +2AA-\n" + reference().encode("utf-7")
    ),
    "five_megabytes.py": source(lambda text: text + "# more\n" * (5 * MEGABYTE // 7)),
    "sixty_four_gigabytes.py": sparse,
    "just_small_enough.py": source(lambda text: text + "#" * (MAX_SOURCE_BYTES - len(text.encode()))),
    "one_byte_too_large.py": source(lambda text: text + "#" * (MAX_SOURCE_BYTES - len(text.encode()) + 1)),
    "a_very_long_line.py": source(lambda text: text + "letters = '" + "x" * (900_000) + "'\n"),
    "deep_brackets.py": source(lambda text: deep(100_000) + text),
    "deep_sum.py": source(lambda text: "value = " + "1 + " * 100_000 + "1\n" + text),
    "deep_signs.py": source(lambda text: "value = " + "-" * 200_000 + "1\n" + text),
    "deep_attributes.py": source(lambda text: "value = torch" + ".x" * 200_000 + "\n" + text),
    "deep_blocks.py": source(
        lambda text: "".join(" " * level + "if True:\n" for level in range(150)) + " " * 150 + "pass\n" + text
    ),
    "deep_but_not_too_deep.py": source(lambda text: text + deep(80)),
    "ten_thousand_functions.py": source(
        lambda text: text + "".join(f"def f{number}(): 0\n" for number in range(10_000))
    ),
    "an_integer_of_a_million_digits.py": source(lambda text: "number = " + "9" * 900_000 + "\n" + text),
    "line_ends_of_old.py": source(lambda text: text.replace("\n", "\r")),
    "line_ends_of_every_kind.py": source(
        lambda text: "".join(
            line + end for line, end in zip(text.split("\n"), ["\n", "\r\n", "\r"] * len(text), strict=False)
        )
    ),
    "line_separators.py": source(lambda text: "# one\u2028# two\x0b# three\x85# four\n" + text),
    "form_feeds.py": source(lambda text: text.replace("\n\n", "\n\f\n")),
    "tabs_and_spaces.py": source(lambda text: text.replace("        self.output_dim", "\tself.output_dim", 1)),
    "tabs.py": source(lambda text: text.replace("    ", "\t")),
    "link_out.py": link_out,
    "link_loop.py": link_loop,
    "link_to_a_device.py": link_to_a_device,
    "fifo.py": os.mkfifo,
    "device.py": device,
    "directory.py": lambda path: path.mkdir(),
    "missing.py": lambda path: None,
    "unreadable.py": unreadable,
    "empty.py": lambda path: write(path, b""),
    "only_a_mark.py": lambda path: write(path, b"\xef\xbb\xbf\r\n \t\r\n"),
}

NOTEBOOKS: dict[str, Callable[[Path], None]] = {
    "format_3.ipynb": lambda path: write(
        path,
        json.dumps(
            {
                "nbformat": 3,
                "nbformat_minor": 0,
                "metadata": {"name": ""},
                "worksheets": [{"cells": [{"cell_type": "code", "input": reference(), "language": "python"}]}],
            }
        ).encode(),
    ),
    "a_huge_format.ipynb": raw_notebook(lambda text: text.replace('"nbformat": 4', '"nbformat": ' + "4" * 4000)),
    "an_endless_format.ipynb": raw_notebook(lambda text: text.replace('"nbformat": 4', '"nbformat": 1e999')),
    "a_format_that_is_true.ipynb": raw_notebook(lambda text: text.replace('"nbformat": 4', '"nbformat": true')),
    "a_later_minor_format.ipynb": raw_notebook(
        lambda text: text.replace('"nbformat_minor": 4', '"nbformat_minor": 99')
    ),
    "no_cells.ipynb": notebook(),
    "without_a_list_of_cells.ipynb": lambda path: write(path, b'{"nbformat": 4, "nbformat_minor": 4, "metadata": {}}'),
    "words_alone.ipynb": notebook({"cell_type": "markdown", "metadata": {}, "source": reference()}),
    "ten_megabytes_of_outputs.ipynb": with_many_outputs(lambda: [printed("loss: 0.1\n" * MEGABYTE)]),
    "twenty_megabytes_of_outputs.ipynb": with_many_outputs(lambda: [printed("loss: 0.1\n" * 2 * MEGABYTE)]),
    "two_million_small_outputs.ipynb": with_many_outputs(lambda: [[]] * 2_000_000),
    "deep_json.ipynb": lambda path: write(path, b'{"nbformat": 4, "cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "deep_metadata.ipynb": raw_notebook(
        lambda text: text.replace('"metadata": {}', '"metadata": ' + '{"a": ' * 50_000 + "0" + "}" * 50_000, 1)
    ),
    "half_a_notebook.ipynb": raw_notebook(lambda text: text[: len(text) // 2]),
    "the_same_key_twice.ipynb": raw_notebook(lambda text: text[:-1] + ', "cells": []}'),
    "nan.ipynb": raw_notebook(lambda text: text.replace('"metadata": {}', '"metadata": {"a": NaN, "b": -Infinity}', 1)),
    "with_a_mark.ipynb": raw_notebook(lambda text: "\ufeff" + text),
    "half_a_character.ipynb": raw_notebook(lambda text: text.replace("import torch", "# \\\\ud800\\nimport torch", 1)),
    "half_a_character_in_the_source.ipynb": raw_notebook(
        lambda text: text.replace("import torch", "# \\ud800\\nimport torch", 1)
    ),
    "an_empty_object.ipynb": lambda path: write(path, b"{}"),
    "a_list.ipynb": lambda path: write(path, b"[4]"),
    "a_number_of_a_million_digits.ipynb": lambda path: write(path, b'{"nbformat": ' + b"4" * MEGABYTE + b"}"),
    "source_as_lists.ipynb": notebook({**CELL, "source": reference().splitlines(keepends=True)}),
    "source_as_numbers.ipynb": notebook({**CELL, "source": [1, 2, 3]}),
    "two_cells_with_one_id.ipynb": notebook(
        *({**CELL, "id": "same", "source": half} for half in halves(reference())), nbformat_minor=5
    ),
    "attachments.ipynb": notebook(
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": "![](attachment:plot.png)",
            "attachments": {"plot.png": {"image/png": "iVBORw0KGgo=" * 1000}},
        },
        reference(),
    ),
    "cells_that_raise.ipynb": notebook(
        "raise RuntimeError('before')", reference(), "1 / 0", "CausalSelfAttention(no_such_argument=1)"
    ),
    "a_cell_that_ends_the_program.ipynb": notebook(reference(), "import os\nos._exit(0)"),
    "a_cell_that_cannot_be_compiled.ipynb": notebook(reference(), "def (:\n"),
    "magics.ipynb": notebook(
        "%load_ext autoreload\n%autoreload 2\n!pip install einops\n%cd /tmp\nfiles = !ls\nprint?\n??torch",
        "%%bash\nrm -rf no_such_folder",
        "%%time\n" + reference(),
        "%timeit 1 + 1",
    ),
    "a_cell_that_writes_a_file.ipynb": notebook("%%writefile attention.py\n" + reference()),
    "magics_inside_strings.ipynb": notebook('text = """\n%%bash\n!ls\n"""\n' + reference()),
    "an_await_at_the_top.ipynb": notebook("import asyncio\nawait asyncio.sleep(0)", reference()),
    "ten_thousand_cells.ipynb": notebook(*["x = 1"] * 10_000, reference()),
    "the_wrong_class_last.ipynb": notebook(reference(), starter()),
    "shown_and_not_run.ipynb": notebook(
        {**CELL, "metadata": {"tags": ["demonstration"]}, "source": "raise SystemExit"}, reference()
    ),
    "all_shown_and_none_run.ipynb": notebook({**CELL, "metadata": {"tags": ["demonstration"]}, "source": reference()}),
    "tags_of_another_kind.ipynb": notebook({**CELL, "metadata": {"tags": {"demonstration": 1}}, "source": reference()}),
    "another_language.ipynb": notebook(
        reference(), metadata={"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}
    ),
    "a_notebook_that_is_python.ipynb": lambda path: write(path, reference().encode()),
    "a_pipe.ipynb": os.mkfifo,
}

MAKERS: dict[str, Callable[[Path], None]] = {
    **{f"sources/{name}": make for name, make in SOURCES.items()},
    **{f"notebooks/{name}": make for name, make in NOTEBOOKS.items()},
}
"""The functions that write each attack's file, by `family/name`."""


def main() -> None:
    """Write one attack's file: `python -m tests.support.attack_makers sources/nul.py PATH`."""
    key, path = sys.argv[1:]
    MAKERS[key](Path(path))


if __name__ == "__main__":
    main()
