"""The audit: its counts are counted a second time from its data, and its bounds from the binomial distribution."""

import json
import math
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from grader import Result
from grader import api as interface
from grader.checks.outcome import FailureKind, Finding
from grader.errors import UsageError
from grader.evaluation.audit.cases import LAYERS, Corpus, Layer, attacks_of, cases_of, number_of_attacks
from grader.evaluation.audit.counting import (
    attack_rows,
    flips,
    grading_of,
    layer_rows,
    misjudged,
    percentile,
    rows_by,
    share,
)
from grader.evaluation.audit.intervals import clopper_pearson
from grader.evaluation.audit.published import KNOWN_ESCAPES, NOT_CLAIMED, PUBLISHED
from grader.evaluation.audit.records import AttackRow, Audit, Grading
from grader.evaluation.audit.running import render_audit, write_audit
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import not_gradable
from tests.support.paths import ROOT
from tests.support.watching import small_course

COURSE = Course(root=ROOT)


def audited(course: Course, folder: Path) -> Audit:
    """The audit of one hunt at two seeds, written into the folder."""
    written = write_audit(course, folder, exercise_ids=["exercise_29"], seeds=2, with_attacks=False, jobs=1)
    interface._pool.close()
    return written


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The audit of one hunt without alternatives and wrong fixes, with the folder that it was written into."""
    course = Course(root=small_course(tmp_path_factory.mktemp("course"), "exercise_29"))
    folder = tmp_path_factory.mktemp("audit")
    return folder, audited(course, folder)


def tail(count: int, total: int, share: float) -> float:
    """The probability of at least so many."""
    portion, counts = Decimal(share), range(count, total + 1)
    return float(sum(math.comb(total, k) * portion**k * (1 - portion) ** (total - k) for k in counts))


@pytest.mark.parametrize(("count", "total"), [(0, 1), (0, 100), (1, 20), (3, 37), (18, 20), (200, 240), (7, 7)])
def test_bounds_are_where_the_binomial_tails_say(count, total):
    lower, upper = clopper_pearson(count, total)
    assert lower <= count / total <= upper
    if count:
        assert tail(count, total, lower) == pytest.approx(0.025, abs=1e-9)
    if count < total:
        assert 1 - tail(count + 1, total, upper) == pytest.approx(0.025, abs=1e-9)
    assert (lower == 0) == (count == 0)
    assert (upper == 1) == (count == total)


def test_bounds_agree_with_published_ones_and_nothing_has_none():
    lower, upper = clopper_pearson(0, 10)
    assert (lower, upper) == (0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(0, 0) is None
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)


def grading(name: str, *, corpus=Corpus.ALTERNATIVES, is_right=True, has_all=True, seed=1, **fields) -> Grading:
    known = {
        "exercise": "exercise_03",
        "kind": "module",
        "outcome": Result.FIXED if has_all else Result.NOT_FIXED,
        "score": 10.0 if has_all else 0.0,
        "max_score": 10.0,
        "most_points": None,
        "exact": 2,
        "unknown": 0,
        "false": 0,
        "seconds": 0.1,
    }
    return Grading(name=name, corpus=corpus, is_right=is_right, has_all=has_all, seed=seed, **known | fields)


def test_a_case_counts_once_and_an_error_at_any_seed_counts():
    gradings = [
        grading("a", seed=1),
        grading("a", seed=2, has_all=False),
        grading("b"),
        grading("wrong", is_right=False, has_all=False, seed=1, unknown=1),
        grading("wrong", is_right=False, has_all=True, seed=2, false=1),
        grading("kit", outcome=Result.NOT_JUDGED, score=None, has_all=False, exact=0),
    ]
    (row,) = rows_by(gradings, lambda each: each.kind)
    counted = {
        name: (each.count, each.total) for name, each in structs.asdict(row).items() if name not in ("name", "gradings")
    }
    assert counted == {
        "right_refused": (1, 2),
        "wrong_passed": (1, 1),
        "exact": (10, 12),
        "unknown": (1, 12),
        "false": (1, 12),
        "not_judged": (1, 4),
    }
    assert (flips(gradings).count, flips(gradings).total) == (2, 2)
    assert misjudged(gradings, is_right=True) == ["alternatives: exercise_03, a"]
    assert misjudged(gradings, is_right=False) == ["alternatives: exercise_03, wrong"]


def test_an_attack_earns_what_is_above_its_points_and_is_in_no_other_table():
    attacks = [
        grading("wire/a.py", corpus=Corpus.ATTACKS, is_right=False, most_points=0.0),
        grading("wire/b.py", corpus=Corpus.ATTACKS, is_right=False, most_points=10.0),
        grading("exec/c.py", corpus=Corpus.ATTACKS, is_right=False, has_all=False, most_points=0.0),
    ]
    rows = attack_rows(attacks)
    assert [(row.name, row.layer, row.earned.count, row.earned.total, row.names) for row in rows] == [
        ("exec", Layer.PROCESSES, 0, 1, []),
        ("wire", Layer.EXAMINER, 1, 2, ["wire/a.py"]),
    ]
    assert [(row.name, row.earned.count, row.earned.total) for row in layer_rows(attacks)] == [
        (Layer.PROCESSES, 0, 1),
        (Layer.EXAMINER, 1, 2),
    ]
    assert rows_by(attacks, lambda each: each.corpus) == []


def test_percentiles_are_values_that_occurred():
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([3.0], 0.99)) == (50, 99, 3)
    assert percentile([], 0.5) == 0


def test_every_corpus_has_cases_and_every_attack_its_points():
    cases = list(cases_of(COURSE, ["exercise_03"]))
    assert {case.corpus for case in cases} == set(Corpus) - {Corpus.ATTACKS}
    variants = {case.name: case.is_right for case in cases if case.corpus is Corpus.VARIANTS}
    assert variants == {
        "long-sequence-unmasked": True,
        "mask-discarded": False,
        "long-sequence-unmasked+mask-discarded": False,
    }
    attacks = list(attacks_of(COURSE))
    assert len(attacks) > 200
    assert all(case.most_points is not None for case in attacks)
    assert len({case.name for case in attacks}) == len(attacks)


def test_attacks_that_tests_generate_are_counted_too(tmp_path):
    family = tmp_path / "tests/corpus/attacks/writing"
    family.mkdir(parents=True)
    (family / "stored.py").write_text("x = 1\n", encoding="utf-8")
    (family / "expected.yaml").write_text("{stored.py: {outcome: fixed}, made.py: {outcome: fixed}}", encoding="utf-8")
    course = Course(root=tmp_path)
    assert [case.name for case in attacks_of(course)] == ["writing/stored.py"]
    assert number_of_attacks(course) == 2


@pytest.mark.slow
def test_a_page_says_why_attacks_were_not_graded(written):
    _, audit = written
    assert "not graded: 3. The user left them out." in render_audit(structs.replace(audit, attacks_left_out=3))
    row = AttackRow(name="writing", earned=share(0, 1), names=[])
    generated = structs.replace(audit, attacks=[row], layers=[row], attacks_left_out=2)
    assert "not graded: 2. Tests generate them when they run." in render_audit(generated)
    assert "were not graded" not in render_audit(structs.replace(generated, attacks_left_out=0))


@pytest.mark.slow
def test_an_audit_of_one_hunt_is_counted_again_from_its_data(written):
    folder, audit = written
    counted_again(folder, audit)
    assert [row.name for row in audit.corpora] == ["references", "variants"]


@pytest.mark.slow
def test_an_audit_of_all_corpora_of_a_hunt_is_counted_again_from_its_data(tmp_path):
    audit = audited(COURSE, tmp_path)
    counted_again(tmp_path, audit)
    assert len(audit.gradings) == 2 * len(list(cases_of(COURSE, ["exercise_29"])))
    assert [row.name for row in audit.corpora] == ["references", "alternatives", "variants", "wrong fixes"]


def counted_again(folder: Path, audit: Audit) -> None:
    """Count the gradings of a written audit without the kit's functions, and compare with every row of its tables."""
    content = (folder / "audit.json").read_bytes()
    assert msgspec.json.decode(content, type=Audit) == audit
    recount(json.loads(content))
    assert len(audit.seeds) == len(set(audit.seeds)) == 2
    for row in audit.corpora:
        assert (row.right_refused.count, row.wrong_passed.count) == (0, 0)
    assert audit.flips.count == 0
    options = "--seeds 2 --jobs 1 --exercise exercise_29 --without-attacks"
    assert audit.command == f"python -m grader audit {options} {folder}"


def recount(data: dict) -> None:
    """Count again, from plain data and with nothing of the kit, what an audit.json reports."""
    cases: dict[tuple, list[dict]] = {}
    for line in data["gradings"]:
        cases.setdefault((line["corpus"], line["exercise"], line["name"]), []).append(line)
        assert line["has_all"] == (line["outcome"] == "fixed" and line["score"] == line["max_score"])
    assert {len(case) for case in cases.values()} == {len(data["seeds"])}
    ordinary = {key: case for key, case in cases.items() if key[0] != "attacks"}
    for table, field in (("corpora", "corpus"), ("kinds", "kind"), ("hunts", "exercise")):
        assert sum(row["gradings"] for row in data[table]) == sum(map(len, ordinary.values()))
        for row in data[table]:
            compare(row, [case for case in ordinary.values() if case[0][field] == row["name"]])
    flipped = [case for case in ordinary.values() if len({line["has_all"] for line in case}) > 1]
    repeated = [case for case in ordinary.values() if len(case) > 1]
    assert (data["flips"]["count"], data["flips"]["total"]) == (len(flipped), len(repeated))
    for field in ("right_refused", "wrong_passed"):
        assert len(data[field]) == sum(row[field]["count"] for row in data["corpora"])
    attacks = {key[2]: case for key, case in cases.items() if key[0] == "attacks"}
    paid = [name for name, case in attacks.items() if any((x["score"] or 0) > (x["most_points"] or 0) for x in case)]
    for table in ("attacks", "layers"):
        assert sum(row["earned"]["total"] for row in data[table]) == len(attacks)
        assert sorted(name for row in data[table] for name in row["names"]) == sorted(paid)
        assert all(row["earned"]["count"] == len(row["names"]) for row in data[table])
    for row in data["attacks"]:
        assert row["earned"]["total"] == sum(1 for name in attacks if name.split("/")[0] == row["name"])
    times = sorted(line["seconds"] for case in ordinary.values() for line in case)
    assert data["longest_seconds"] == times[-1]
    assert sum(1 for each in times if each <= data["tail_seconds"]) >= 0.99 * len(times)


def compare(row: dict, cases: list[list[dict]]) -> None:
    """Compare a row with a count of its cases."""
    unjudged = [case for case in cases if any(line["outcome"] == "not_judged" for line in case)]
    rights = [[line for line in case if line["outcome"] != "not_judged"] for case in cases if case[0]["is_right"]]
    wrongs = [[line for line in case if line["outcome"] != "not_judged"] for case in cases if not case[0]["is_right"]]
    rights, wrongs = [case for case in rights if case], [case for case in wrongs if case]
    refused = [case for case in rights if [line for line in case if not line["has_all"]]]
    passed = [case for case in wrongs if [line for line in case if line["has_all"]]]
    statuses = {name: sum(line[name] for case in cases for line in case) for name in ("exact", "unknown", "false")}
    expected = {
        "right_refused": (len(refused), len(rights)),
        "wrong_passed": (len(passed), len(wrongs)),
        "not_judged": (len(unjudged), len(cases)),
    } | {name: (count, sum(statuses.values())) for name, count in statuses.items()}
    assert {name: (row[name]["count"], row[name]["total"]) for name in expected} == expected, row["name"]
    for name, (count, total) in expected.items():
        if count > 0:
            assert tail(count, total, row[name]["lower"]) == pytest.approx(0.025, abs=1e-6)
        if total and count < total:
            assert tail(count + 1, total, row[name]["upper"]) == pytest.approx(0.975, abs=1e-6)


def test_every_family_of_attacks_is_aimed_at_a_layer():
    families = {path.parent.name for path in (ROOT / "tests/corpus/attacks").glob("*/expected.yaml")}
    assert families == LAYERS.keys()


class _Text(HTMLParser):
    """The visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = False

    def handle_starttag(self, tag, attrs):
        self._hidden = tag == "style"

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        if not self._hidden:
            self.parts.append(data)


def test_the_page_shows_no_number_that_is_not_in_its_data(written):
    folder, audit = written
    reader = _Text()
    reader.feed((folder / "index.html").read_text(encoding="utf-8"))
    text = " ".join(reader.parts)
    shown = set(
        re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)", text.replace(audit.version, "").replace(audit.command, ""))
    )
    shares = [
        each
        for row in (*audit.corpora, *audit.kinds, *audit.hunts)
        for each in structs.asdict(row).values()
        if hasattr(each, "total")
    ]
    shares.append(audit.flips)
    known = {str(number) for each in shares for number in (each.count, each.total)}
    known |= {f"{100 * bound:.1f}" for each in shares for bound in (each.lower, each.upper) if bound is not None}
    known |= {str(row.gradings) for row in (*audit.corpora, *audit.kinds, *audit.hunts)}
    known |= {
        str(each)
        for each in (*audit.seeds, len(audit.gradings), audit.jobs, len(audit.exercises), audit.attacks_left_out)
    }
    known |= {f"{audit.seconds:.1f}", f"{audit.rate:.2f}", f"{100 * audit.level:g}"}
    known |= {f"{each:.2f}" for each in (audit.median_seconds, audit.tail_seconds, audit.longest_seconds)}
    known |= set(re.findall(r"\d+(?:\.\d+)?", " ".join(f"{each.value} {each.note}" for each in PUBLISHED)))
    known |= {"99"}  # the percentile
    known |= set(re.findall(r"\d+", " ".join(f"{each.date} {each.escape} {each.fix}" for each in KNOWN_ESCAPES)))
    known |= set(re.findall(r"\d+", " ".join(NOT_CLAIMED)))
    known |= set(re.findall(r"\d+(?:\.\d+)*", f"{audit.torch_version} {audit.python_version}"))
    assert shown - known == set()
    assert "2412.16336" in text


def test_a_row_without_cases_shows_none_and_names_are_escaped(written):
    _, audit = written
    nothing = structs.replace(audit, flips=share(0, 0), command="<b>")
    page = render_audit(nothing)
    assert "at others: none" in page
    assert "&lt;b&gt;" in page


def test_a_verdict_is_compared_with_what_is_known():
    case = next(each for each in cases_of(COURSE, ["exercise_29"]) if each.corpus is Corpus.VARIANTS)
    (present,) = case.expect.present
    exercise = load_exercise(COURSE.description("exercise_29"))
    verdict = not_gradable(exercise, "loss.py", 1, Finding(kind=FailureKind.LOAD))
    assert grading_of(case, "loss", verdict).exact == 0  # nothing was checked
    defects = [
        structs.replace(each, status=DefectStatus.PRESENT if each.id == present else DefectStatus.FIXED)
        for each in verdict.defects
    ]
    judged = structs.replace(verdict, outcome=Result.NOT_FIXED, defects=defects)
    right = grading_of(case, "loss", judged)
    assert (right.exact, right.unknown, right.false, right.has_all) == (len(defects), 0, 0, False)
    claimed = structs.replace(case, expect=structs.replace(case.expect, present=[], fixed=[present]))
    assert (grading_of(claimed, "loss", judged).exact, grading_of(claimed, "loss", judged).false) == (0, 1)
    unknown = structs.replace(judged, defects=[structs.replace(each, status=DefectStatus.UNKNOWN) for each in defects])
    assert (grading_of(case, "loss", unknown).exact, grading_of(case, "loss", unknown).unknown) == (0, len(defects))


def test_wrong_orders_are_errors(tmp_path):
    with pytest.raises(UsageError, match="there is no exercise_99"):
        write_audit(COURSE, tmp_path, exercise_ids=["exercise_99"])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file: cannot be written: .*; name another folder"):
        write_audit(COURSE, tmp_path / "file", exercise_ids=["exercise_29"])
    with pytest.raises(UsageError, match="seeds is 0; use 1 or more"):
        write_audit(COURSE, tmp_path, seeds=0)
