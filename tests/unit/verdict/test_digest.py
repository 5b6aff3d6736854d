"""What a key, a proof and a gradebook's version depend on: all that judging imports, and nothing that is only shown."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

from grader.author.prove import result_digests
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.digest import (
    ALL_BESIDE,
    JUDGING,
    KIT,
    _imported,
    _modules,
    _read,
    depends_on,
    exercise_digest,
    key_digest,
    kit_digest,
)
from grader.verdict.verdict import score_of
from tests.support.paths import ROOT

EXERCISE = "exercise_03"
DIGESTS = """
import os, sys
from pathlib import Path
from grader.author.prove import result_digests
from grader.classroom.tasks import versions
from grader.spec.paths import Course
from grader.verdict.digest import key_digest
for line in sys.stdin:
    if os.fork():
        os.wait()
        continue
    course = Course(Path.cwd())
    proof = "-".join(result_digests(course, "exercise_03").values())
    print(key_digest(course, "exercise_03"), proof, versions(course, "exercise_03"), flush=True)
    os._exit(0)
"""
"""Answers each line in a fork, for a process looks once at the kit's sources."""

JUDGES = [
    "verdict/attribution.py",
    "verdict/verdict.py",
    "submission/submission.py",
    "checks/outcome.py",
    "checks/properties/values.py",
    "sandbox/server.py",
    "sandbox/__main__.py",
    "spec/fragments.py",
]
SHOWS = [
    "report/terminal.py",
    "cli.py",
    "student/watch/events.py",
    "student/hints.py",
    "classroom/run.py",
    "processes/pool.py",
]


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A kit and a course of one's own."""
    folder = tmp_path_factory.mktemp("kit")
    for name in ("exercises", "solutions", "tests/hidden"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(KIT, folder / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def digests(kit):
    """A key's, a proof's and a gradebook's, as the kit in that folder has them when it is asked."""
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


@pytest.mark.parametrize("module", JUDGES)
def test_a_change_in_what_judges_changes_what_keys_proofs_and_verdicts_depend_on(kit, digests, before, module):
    path = kit / "grader" / module
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\n# changed\n", encoding="utf-8")
    after = digests()
    path.write_text(text, encoding="utf-8")
    assert not set(after) & set(before)


@pytest.mark.parametrize("module", SHOWS)
def test_a_change_in_what_shows_or_hands_out_changes_none_of_them(kit, digests, before, module):
    path = kit / "grader" / module
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\n# changed\n", encoding="utf-8")
    after = digests()
    path.write_text(text, encoding="utf-8")
    assert after == before


def test_a_change_in_what_proves_changes_the_proofs_alone(kit, digests, before):
    path = kit / "grader" / "author" / "mutants.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    after = digests()
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != before[1]


def test_what_one_statement_imports_of_the_kit_is_found_whole(own_course):
    more = own_course.hidden_tests(EXERCISE) / "test_more.py"
    seen = []
    for more_modules in ("", ", grader.report.terminal", ", grader.student.watch.events"):
        more.write_text(f"import os, grader.errors as errors{more_modules}\n", encoding="utf-8")
        seen.append(kit_digest(*_imported(more.read_bytes())))
    assert len(set(seen)) == 3


def test_what_judges_imports_nothing_of_the_kit_by_a_name_made_while_it_runs():
    computed = {name for name in depends_on(JUDGING) if b"import_module(f" in _read(_modules()[name])}
    assert computed == {"grader.sandbox.probes"}, "a digest finds only whole folders so"
    assert all(ALL_BESIDE in _read(_modules()[name]) for name in computed)


def test_what_is_found_by_its_words_is_what_a_parser_finds():
    by_name = {".".join(("grader", *path.relative_to(KIT).with_suffix("").parts)): path for path in KIT.rglob("*.py")}
    by_name = {name.removesuffix(".__init__"): path for name, path in by_name.items() if name != "grader.__init__"}
    imported = set()
    for name in depends_on(JUDGING):
        for node in ast.walk(ast.parse(by_name[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert imported & by_name.keys() <= depends_on(JUDGING)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: ", "title: So "),
        ("points: 7", "points: 4"),
        ("nothing_else_broke: 3", "nothing_else_broke: 5"),
        ("\n      - >-\n        ", "\n      - >-\n        So, "),
        ("\nstory: ", "\n# a remark\nstory: "),
    ],
)
def test_texts_points_and_hints_are_no_part_of_what_verdicts_depend_on(own_course, old, new):
    kinds = (key_digest, result_digests, exercise_digest)
    before = [kind(own_course, EXERCISE) for kind in kinds]
    change(own_course, old, new)
    assert [kind(own_course, EXERCISE) for kind in kinds] == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("property: keeps_dtype", "property: prints_nothing"),
        ("\nsizes:", "\nlimits: {seconds: {check: 4}}\nsizes:"),
    ],
)
def test_checks_and_limits_are(own_course, old, new):
    before = key_digest(own_course, EXERCISE)
    change(own_course, old, new)
    assert key_digest(own_course, EXERCISE) != before


def test_the_reference_and_hidden_tests_are(own_course):
    seen = {key_digest(own_course, EXERCISE)}
    for path in (own_course.reference(EXERCISE), own_course.hidden_tests(EXERCISE) / "test_more.py"):
        with path.open("a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        seen.add(key_digest(own_course, EXERCISE))
    assert len(seen) == 3


def test_a_hidden_test_depends_on_what_it_imports(own_course):
    more = own_course.hidden_tests(EXERCISE) / "test_more.py"
    seen = []
    for module in ("grader.checks.compare", "grader.report.terminal"):
        more.write_text(f"from {module} import something\n", encoding="utf-8")
        seen.append(exercise_digest(own_course, EXERCISE))
    assert len(set(seen)) == 2


def test_the_digest_costs_a_few_times_what_reading_the_kit_costs(kit):
    script = """
import time
from pathlib import Path
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict import digest
course = Course(Path.cwd())
load_exercise(course.description("exercise_03"))
def milliseconds(call):
    started = time.process_time()
    call()
    return (time.process_time() - started) * 1000
def digests():
    digest.kit_digest()
    digest.exercise_digest(course, "exercise_03")
milliseconds(lambda: [path.read_bytes() for path in digest.KIT.rglob("*.py")])
reading = [milliseconds(lambda: [path.read_bytes() for path in digest.KIT.rglob("*.py")]) for _ in range(5)]
print(milliseconds(digests), sum(reading) / 5)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=kit, capture_output=True, text=True, check=True)
    taken, reading = map(float, done.stdout.split())
    print(f"the digest: {taken:.1f} ms; reading every module: {reading:.1f} ms")
    assert taken < 3 * reading


def test_a_score_is_added_up_from_what_is_known_of_the_defects(course):
    exercise = load_exercise(course.description(EXERCISE))
    statuses = {defect.id: DefectStatus.FIXED for defect in exercise.defects}
    assert score_of(exercise, statuses, is_whole=True) == exercise.max_score()
    assert score_of(exercise, statuses, is_whole=False) == exercise.max_score() - exercise.nothing_else_broke
    assert score_of(exercise, dict.fromkeys(statuses, DefectStatus.UNKNOWN), is_whole=False) == 0.0


def change(course: Course, old: str, new: str) -> None:
    description = course.description(EXERCISE)
    text = description.read_text(encoding="utf-8")
    assert old in text
    description.write_text(text.replace(old, new, 1), encoding="utf-8")
    os.utime(description)
