"""What keys, proofs and gradebooks depend on: the meaning of the code that decides an outcome, and nothing else."""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest

from grader.author.proof_cache import PROVES_STEPS, TRIES_MUTANTS, result_digests
from grader.spec.loading import load_exercise
from grader.spec.paths import PACKAGE, Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.digest import JUDGES, exercise_digest, key_digest, kit_files, meaning
from grader.verdict.verdict import score_of
from tests.support.paths import ROOT

EXERCISE = "exercise_03"
DIGESTS = """
import os, sys
from pathlib import Path
from grader.author.proof_cache import result_digests
from grader.classroom.work import ModuleWork
from grader.spec.paths import Course
from grader.verdict.digest import key_digest
for line in sys.stdin:
    if os.fork():
        if os.wait()[1]:
            break
        continue
    course = Course(root=Path.cwd())
    proof = "-".join(result_digests(course, "exercise_03").values())
    print(key_digest(course, "exercise_03"), proof, ModuleWork().versions(course, "exercise_03"), flush=True)
    os._exit(0)
"""
"""Answers each line in a fork, because a process reads the kit's sources once."""

DECIDING = [
    *("checks/runner.py", "checks/compare.py", "verdict/attribution.py", "submission/submission.py"),
    *("spec/fragments.py", "sandbox/server.py", "sandbox/__main__.py"),
]
SHOWING = [
    *("report/terminal.py", "cli.py", "student/watch/events.py", "student/hints.py", "classroom/run.py"),
    *("commands/doctor.py", "author/new.py"),
]
BEFORE = '''
def _refuse(count):
    """Refuse."""
    raise ValueError(f"{count} values are too many" if count else "no value is too few")
'''
REWORDED = '''
def _refuse(count):
    """Raise an error."""
    # zero is refused as well
    raise ValueError(
        f"got {count} values, which is more than allowed" if count else "need at least one value"
    )
'''
CHANGED = BEFORE.replace("if count else", "if not count else")


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A copy of the kit with a course."""
    folder = tmp_path_factory.mktemp("kit")
    for name in ("exercises", "solutions", "tests/hidden"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(PACKAGE, folder / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    for name in DECIDING:
        with (folder / "grader" / name).open("a", encoding="utf-8") as file:
            file.write(BEFORE)
    return folder


@pytest.fixture(scope="module")
def digests(kit):
    """Return the digests of a key, a proof and a gradebook as that kit computes them now."""
    command, pipe = [sys.executable, "-c", DIGESTS], subprocess.PIPE
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, cwd=kit, env=environment, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:

        def ask() -> tuple[str, str, str]:
            process.stdin.write("\n")
            key, proof, versions = process.stdout.readline().strip().split(" ", 2)
            return key, proof, versions

        yield ask


@pytest.fixture(scope="module")
def before(digests):
    return digests()


def edited(digests, path, old, new):
    """Return the digests while a file is another one."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    try:
        return digests()
    finally:
        path.write_text(text, encoding="utf-8")


def test_comments_docstrings_and_messages_make_nothing_stale(kit, digests, before):
    paths = [kit / "grader" / module for module in DECIDING]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text.replace(BEFORE, REWORDED), encoding="utf-8")
    after = digests()
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    assert after == before


@pytest.mark.parametrize("module", DECIDING)
def test_a_change_of_deciding_code_makes_keys_proofs_and_gradebooks_stale(kit, digests, before, module):
    assert not set(edited(digests, kit / "grader" / module, BEFORE, CHANGED)) & set(before)


@pytest.mark.parametrize("module", SHOWING)
def test_a_change_in_what_shows_or_hands_out_makes_nothing_stale(kit, digests, before, module):
    path = kit / "grader" / module
    text = path.read_text(encoding="utf-8")
    assert edited(digests, path, text, f"{text}\n{CHANGED}") == before


def test_a_change_in_what_proves_makes_proofs_alone_stale(kit, digests, before):
    path = kit / "grader" / "author" / "mutants.py"
    text = path.read_text(encoding="utf-8")
    key, proof, versions = edited(digests, path, text, f"{text}\n{CHANGED}")
    assert (key, versions) == (before[0], before[2])
    assert proof != before[1]


def test_the_meaning_of_variations_counts_and_their_comments_do_not(kit, digests, before):
    path = kit / "solutions" / EXERCISE / "variations.py"
    path.write_text("class Twice(submission.CausalSelfAttention):\n    times = 2\n", encoding="utf-8")
    own = digests()
    assert not set(own) & set(before)
    assert edited(digests, path, "2\n", "2  # two\n") == own
    assert not set(edited(digests, path, "2\n", "3\n")) & set(own)
    path.unlink()
    assert digests() == before


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("sandbox/probes/another.py", "def probe(): ...\n", True),
        ("sandbox/probes/inputs.json", "{}\n", True),
        ("sandbox/NOTES.md", "How it works.\n", False),
        ("sandbox/.layers.py.swp", "half a line", False),
        ("report/templates/another.html.j2", "<p>\n", False),
    ],
)
def test_files_of_every_kind_in_a_deciding_room_count(kit, digests, before, name, content, counts):
    path = kit / "grader" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    after = digests()
    path.unlink()
    assert (after != before) is counts
    assert digests() == before


EQUAL = {
    "comments": ("x = 1", "# one\nx = 1  # two"),
    "layout": ("f(a, b)", "f(\n    a,\n    b,\n)"),
    "a docstring": ('def f():\n    """Do."""\n    return 1', 'def f():\n    """Do it."""\n    return 1'),
    "a docstring that was missing": ("class A:\n    x = 1", 'class A:\n    """A."""\n    x = 1'),
    "the text below a constant": ('X = 1\n"""One."""', 'X = 1\n"""The first."""'),
    "quotes": ("f('values')", 'f("values")'),
    "an error's message": ('raise ValueError("it is empty")', 'raise ValueError("the file is empty; save it")'),
    "the words around values": ('f(f"expected {a}, saw {b}")', 'f(f"{a} was expected; the output is {b}")'),
    "one of two messages": ('f("is late" if a else "never came")', 'f("came late" if a else "did not come")'),
    "a message among data": ('f(kind="values", text="too large by far")', 'f(kind="values", text="is too large")'),
    "a message of a rule": ('R = (Rule(K, "no check tells"),)', 'R = (Rule(K, "no check can tell"),)'),
}
DIFFERENT = {
    "an operator": ("x = a + b", "x = a - b"),
    "a number": ("x = 1e-5", "x = 1e-4"),
    "a name": ("x = a", "x = b"),
    "a default": ("def f(x=1): ...", "def f(x=2): ..."),
    "the order of statements": ("f()\ng()", "g()\nf()"),
    "a decorator": ("@cache\ndef f(): ...", "def f(): ..."),
    "a condition": ("if a:\n    f()", "f()"),
    "None in place of nothing": ("def f():\n    return", "def f():\n    return None"),
    "one word": ('f(kind="values")', 'f(kind="dtype")'),
    "a value in a message": ('f(f"expected {a}, saw {b}")', 'f(f"expected {a}, saw {b[0]}")'),
    "a message that was code": ('f("too large by far")', "f(TEXT)"),
    "no message": ('f("too large by far")', "f()"),
    "a name made of parts": ('f(f"{a} {b}")', 'f(f"{b} {a}")'),
    "a path made of parts": ('f(f"{a}/status of")', 'f(f"{a}/status")'),
    "an operand": ('x = a == "EOF when reading"', 'x = a == "EOF while reading"'),
    "a member": ('x = a in ("by position", "in order")', 'x = a in ("by position", "at once")'),
    "a key": ('x = {"by position": f}', 'x = {"in order": f}'),
    "a key that is looked up": ('x = a["by position"]', 'x = a["in order"]'),
    "a case": ('match a:\n    case "by position":\n        f()', 'match a:\n    case "in order":\n        f()'),
    "words that are looked for": (
        'x = any(word in a for word in ("no kernel", "not implemented"))',
        'x = any(word in a for word in ("no kernel", "is not implemented"))',
    ),
    "a beginning": ('x = a.startswith("called by")', 'x = a.startswith("called in")'),
    "a pattern": ('x = re.search("not enough memory", a)', 'x = re.search("out of memory", a)'),
    "axes": ('x = einsum("ab cd, cd ef", a, b)', 'x = einsum("ab cd, ef cd", a, b)'),
    "a program": ('f("import torch\\nprint(1)")', 'f("import torch\\nprint(2)")'),
    "a program in one line": ('exec("import torch")', 'exec("import numpy")'),
    "a constant of a module": ('ENDS = "end of file"', 'ENDS = "end of line"'),
    "a constant of a class": ('class A(Enum):\n    X = "by position"', 'class A(Enum):\n    X = "in order"'),
    "a table of a module": ('X = {K: ("by position", 1)}', 'X = {K: ("in order", 1)}'),
}  # fmt: skip


@pytest.mark.parametrize("change", EQUAL)
def test_messages_for_people_do_not_count(change):
    one, other = EQUAL[change]
    assert meaning(one, keeps_messages=False) == meaning(other, keeps_messages=False)


@pytest.mark.parametrize("change", DIFFERENT)
def test_strings_that_code_reads_count(change):
    one, other = DIFFERENT[change]
    assert meaning(one, keeps_messages=False) != meaning(other, keeps_messages=False)


def test_messages_of_an_exercise_count_because_checks_may_read_them():
    one, other = EQUAL["an error's message"]
    assert meaning(one) != meaning(other)


def test_no_deciding_code_reads_a_message_of_the_kit():
    """Only messages of Python and torch are compared or searched; `READERS` keeps those in the digest."""
    readers = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "split", "search", "fullmatch"}
    read = set()
    for path in kit_files(JUDGES):
        for node in ast.walk(ast.parse(path.read_bytes())):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Compare) or getattr(function, "attr", "") in readers:
                strings = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
                read |= {each for each in strings if isinstance(each, str) and re.search(r"[a-z]{2} | [a-z]{2}", each)}
    assert read <= {"EOF when reading a line"}


@pytest.mark.parametrize(
    ("places", "others"),
    [
        (JUDGES, set()),
        (TRIES_MUTANTS, {*JUDGES, "author/proof.py"}),  # which words the results, as output_shapes.py does
        (PROVES_STEPS, {*JUDGES, "author/proof.py", "author/output_shapes.py"}),
    ],
)
def test_deciding_code_imports_only_deciding_code(places, others):
    files = {"grader": PACKAGE, **{_module(path): path for path in kit_files(["."]) if path.suffix == ".py"}}
    deciding = {_module(path) for path in kit_files({*places, *others}) if path.suffix == ".py"} | {"grader"}
    for path in kit_files(places):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
            beyond = {name for name in names if name in files and files[name].name != "__init__.py"} - deciding
            assert not beyond, f"{path} imports {beyond}"


def _module(path):
    return ".".join(("grader", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: ", "title: So "),
        ("  adapted_from:\n", "  adapted_from:\n    - {work: another, license: not stated}\n"),
        ("points: 7", "points: 4"),
        ("nothing_else_broke: 3", "nothing_else_broke: 5"),
        ("\n      - >-\n        ", "\n      - >-\n        So, "),
        ("\nstory: ", "\n# a remark\nstory: "),
    ],
)
def test_texts_points_and_hints_make_nothing_stale(own_course, old, new):
    kinds = (key_digest, result_digests, exercise_digest)
    before = [kind(own_course, EXERCISE) for kind in kinds]
    change(own_course, old, new)
    assert [kind(own_course, EXERCISE) for kind in kinds] == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("property: keeps_dtype\n    precise: false", "property: prints_nothing"),
        ("\nsizes:", "\nlimits: {seconds: {check: 4}}\nsizes:"),
    ],
)
def test_checks_and_limits_count(own_course, old, new):
    before = key_digest(own_course, EXERCISE)
    change(own_course, old, new)
    assert key_digest(own_course, EXERCISE) != before


def test_the_reference_and_hidden_tests_count_by_their_meaning(own_course):
    paths = [own_course.reference(EXERCISE), own_course.hidden_tests(EXERCISE) / "test_more.py"]
    paths[1].write_text("", encoding="utf-8")
    digests = [key_digest(own_course, EXERCISE)]
    for path in paths:
        for line in ("# changed", "CHANGED = 1", "def half("):  # the last one does not parse
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
            digests.append(key_digest(own_course, EXERCISE))
    before, commented, changed, broken, commented_test, changed_test, broken_test = digests
    assert before == commented
    assert broken == commented_test
    assert len({before, changed, broken, changed_test, broken_test}) == 5


def test_the_digest_of_an_unchanged_kit_costs_a_few_times_what_reading_it_costs(kit):
    script = """
import time
from pathlib import Path
from grader.spec.loading import load_exercise
from grader.spec.paths import PACKAGE, Course
from grader.verdict import digest
course = Course(root=Path.cwd())
load_exercise(course.description("exercise_03"))
def milliseconds(call):
    started = time.process_time()
    call()
    return (time.process_time() - started) * 1000
def read():
    return [path.read_bytes() for path in PACKAGE.rglob("*.py")]
def digests():
    digest.kit_digest(course)
    digest.exercise_digest(course, "exercise_03")
digests()
digest.kit_digest.cache_clear()
read()
print(milliseconds(digests), sum(milliseconds(read) for _ in range(5)) / 5)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=kit, capture_output=True, text=True, check=True)
    taken, reading = map(float, done.stdout.split())
    print(f"the digest: {taken:.1f} ms; reading every module: {reading:.1f} ms")
    assert taken < 3 * reading


def test_a_score_is_added_up_from_what_is_known_of_the_defects(course):
    exercise = load_exercise(course.description(EXERCISE))
    statuses = {defect.id: DefectStatus.FIXED for defect in exercise.defects}
    assert score_of(exercise, statuses, is_fixed=True) == exercise.max_score()
    assert score_of(exercise, statuses, is_fixed=False) == exercise.max_score() - exercise.nothing_else_broke
    assert score_of(exercise, dict.fromkeys(statuses, DefectStatus.UNKNOWN), is_fixed=False) == 0.0


def change(course: Course, old: str, new: str) -> None:
    description = course.description(EXERCISE)
    text = description.read_text(encoding="utf-8")
    assert old in text
    description.write_text(text.replace(old, new, 1), encoding="utf-8")
    os.utime(description)
