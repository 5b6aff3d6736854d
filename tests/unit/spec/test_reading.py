"""All problems of a description are reported at once: place, expected value, found value and remedy."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml

from grader.author.derived_files import derive_schema
from grader.errors import SpecError
from grader.spec.document import MAX_DESCRIPTION_BYTES, MAX_VALUES, read_document
from grader.spec.loading import load_exercise, read_exercise
from grader.spec.schema import render_schema
from tests.support.paths import CORPUS, ROOT

BROKEN = CORPUS / "broken_yaml"
SOUND = BROKEN / "sound.yaml"
REFERENCE = (BROKEN / "attention.py").read_text(encoding="utf-8")
CASES = sorted(path.stem for path in BROKEN.glob("*.yaml") if path != SOUND)
DETERMINED = 20260101


def refusal(path: Path, reference: str | None = REFERENCE) -> str:
    with pytest.raises(SpecError) as caught:
        read_exercise(path, reference)
    return str(caught.value) + "\n"


def problems_of(path: Path) -> list[str]:
    try:
        read_exercise(path, REFERENCE)
    except SpecError as error:
        return error.problems
    return []


@pytest.fixture
def refused(tmp_path):
    """The problems of a file with this content."""

    def refused(content: bytes | str) -> str:
        path = tmp_path / "exercise.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return refusal(path).replace(f"{tmp_path}/", "")

    return refused


@pytest.mark.parametrize("name", CASES)
def test_a_broken_description_gets_its_golden_message(name, monkeypatch, request):
    monkeypatch.chdir(BROKEN)
    told = refusal(Path(f"{name}.yaml"))
    golden = BROKEN / f"{name}.txt"
    if request.config.getoption("--rewrite-golden"):
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_every_message_says_where_and_what_was_expected_and_found_and_what_to_write(name):
    for line in (BROKEN / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith(f"{name}.yaml:"), line
        place, _, fault = line.partition(": ")
        assert all(int(number) > 0 for number in place.split(":")[1:])
        _, expected, rest = fault.rpartition("expected ")
        assert expected, line
        assert ", got " in rest, line
        assert "; " in rest.partition(", got ")[2], line


def test_the_description_that_the_broken_ones_were_made_from_is_sound():
    assert read_exercise(SOUND, REFERENCE).max_score() == 10
    assert {path.stem for path in BROKEN.glob("*.txt")} == set(CASES)


def test_a_right_description_needs_no_validator():
    script = (
        "import sys, pathlib; from grader.spec.loading import read_exercise; read_exercise(pathlib.Path(sys.argv[1]))\n"
        "assert 'jsonschema' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(SOUND)], check=True)


def test_a_file_larger_than_the_bound_is_refused_without_being_read_whole(refused):
    assert refused(b"title: " + b"x" * 10_000_000) == (
        "exercise.yaml:1:1: expected a file of at most 1,000,000 bytes, got more than 1,000,000; "
        "describe one exercise in each file\n"
    )


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_that_would_overflow_a_stack_is_refused(refused, opening):
    told = refused(opening * (MAX_DESCRIPTION_BYTES // 2 // len(opening)))
    assert "expected at most 20 levels, got one more" in told


def test_more_values_than_an_exercise_can_have_are_refused(refused):
    told = refused("title: [" + "x, " * MAX_VALUES + "x]")
    assert (
        "expected at most 5,000 values, got more values, with aliases written out; describe one exercise in each file"
        in told
    )


def test_an_alias_bomb_is_refused_before_it_goes_off(refused):
    levels = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 15)]
    begun = time.process_time()
    assert "got more values, with aliases written out" in refused("\n".join(levels))
    assert time.process_time() - begun < 5


def test_a_long_list_of_problems_is_shortened(refused):
    told = refused(SOUND.read_text(encoding="utf-8") + "".join(f"key_{n}: {n}\n" for n in range(2000)))
    assert len(told.splitlines()) == 101
    assert told.splitlines()[-1] == "exercise.yaml: and 1900 more problems"


def test_a_number_longer_than_python_reads_is_a_fault_like_another(refused):
    text = SOUND.read_text(encoding="utf-8")
    assert "points: expected a number, got " in refused(text.replace("points: 3", f"points: {'9' * 10_000}"))
    assert "difficulty: expected an integer from 1 to 5, got 99999" in refused(
        text.replace("difficulty: 2", f"difficulty: {'9' * 100}")
    )


def test_a_folder_or_a_missing_file_is_refused_with_one_sentence(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: cannot be read: Is a directory\n"
    assert "cannot be read: No such file or directory" in refusal(tmp_path / "exercise.yaml")


def test_whatever_is_done_to_a_description_it_is_read_or_refused_in_sentences(tmp_path):
    draw = random.Random(DETERMINED)
    text = SOUND.read_text(encoding="utf-8")
    path = tmp_path / "exercise.yaml"
    snippets = [
        "[",
        "]",
        "{",
        "}",
        ": ",
        "- ",
        "&a ",
        "*a",
        "!x ",
        "|",
        "\n",
        "\n  ",
        "\t",
        "'",
        '"',
        "null",
        "1e-5",
        "#",
        "~",
        "\u2028",
    ]
    lines = text.splitlines(keepends=True)
    for _ in range(400):
        broken = list(text)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(broken))
            broken[at : at + draw.choice([0, 1, 5])] = draw.choice(snippets)
        if draw.random() < 0.3:
            broken = [part for part in lines if draw.random() > 0.05]
        path.write_text("".join(broken), encoding="utf-8")
        told = problems_of(path)
        assert all(problem.startswith(f"{path}:") for problem in told)


@pytest.mark.slow
def test_reading_leaves_memory_whole():
    script = (
        "import sys, pathlib; from grader.errors import SpecError; from grader.spec.loading import read_exercise\n"
        "for name in sys.argv[1:]:\n"
        "    try: read_exercise(pathlib.Path(name))\n"
        "    except SpecError: print('refused')\n"
    )
    command = [sys.executable, "-c", script, str(SOUND), str(BROKEN / "many_faults.yaml")]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONMALLOC": "debug"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")


def test_dates_and_clock_times_are_the_text_they_look_like(tmp_path):
    path = tmp_path / "exercise.yaml"
    text = SOUND.read_text(encoding="utf-8")
    path.write_text(text.replace("title: A hunt", "title: 2024-02-30").replace("story: >", "story: 12:30\n#"), "utf-8")
    path.write_text(path.read_text("utf-8").replace("\n  Once upon a time somebody wrote a layer.", ""), "utf-8")
    exercise = read_exercise(path)
    assert (exercise.title, exercise.story) == ("2024-02-30", "12:30")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = tmp_path / "exercise.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SOUND.read_bytes().replace(b"\n", b"\r\n"))
    found, sound = read_exercise(path, REFERENCE), read_exercise(SOUND, REFERENCE)
    assert found.defects == sound.defects
    assert found.checks == sound.checks


def test_values_are_read_as_pyyaml_reads_them(course):
    for exercise_id in course.exercise_ids():
        content = course.description(exercise_id).read_bytes()
        assert read_document(content).data == yaml.safe_load(content)


def test_every_shipped_description_is_sound_beside_its_reference(course):
    for exercise_id in course.exercise_ids():
        reference = course.reference_text(exercise_id)
        assert read_exercise(course.description(exercise_id), reference).id == exercise_id


def test_a_description_read_again_is_the_one_read_first(tmp_path):
    path = tmp_path / "solutions" / "exercise_90" / "exercise.yaml"
    path.parent.mkdir(parents=True)
    text = SOUND.read_text(encoding="utf-8").replace("dropout: 0.0", "dropout: 0.0, fill: -.inf, none: null, on: yes")
    path.write_text(text, encoding="utf-8")
    first, again = load_exercise(path), load_exercise(path)
    assert list((tmp_path / ".grader" / "exercises").iterdir())
    assert first == again == read_exercise(path)
    assert again.interface.constructor["fill"] == float("-inf")


def test_variations_are_read_again_when_their_file_changes(tmp_path):
    path = tmp_path / "solutions" / "exercise_90" / "exercise.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(SOUND.read_bytes())
    assert load_exercise(path).variations == {}
    for body in ("pass", "x = 1"):
        path.with_name("variations.py").write_text(f"class Changed:\n    {body}\n", encoding="utf-8")
        for each in (load_exercise(path), read_exercise(path)):
            assert each.variations == {"Changed": f"class Changed:\n    {body}\n"}


def test_a_text_that_is_no_size_is_passed_to_the_constructor_as_it_is(tmp_path):
    path = tmp_path / "exercise.yaml"
    path.write_text(SOUND.read_text(encoding="utf-8").replace("dropout: 0.0", "dropout: 0.0, scoring: cosine"), "utf-8")
    assert read_exercise(path).interface.constructor["scoring"] == "cosine"


def test_the_schema_is_printed_and_laid_where_the_descriptions_of_a_course_look_for_it(own_course, run_cli):
    printed = run_cli("schema")
    assert (printed.returncode, printed.stdout) == (0, render_schema())
    path = own_course.description("exercise_03").parent / "../exercise.schema.json"
    for before in ("", "{}"):
        path.write_text(before, encoding="utf-8") if before else path.unlink(missing_ok=True)
        derive_schema(own_course)
        assert path.read_text(encoding="utf-8") == printed.stdout


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(render_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_shipped_description_names_the_schema_and_keeps_to_it(course, validator):
    for exercise_id in course.exercise_ids():
        path = course.description(exercise_id)
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# yaml-language-server: $schema=../exercise.schema.json\n")
        assert list(validator.iter_errors(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    "name", ["points_are_a_word", "key_unknown", "property_misspelt", "argument_of_another_property", "two_hints"]
)
def test_an_editor_sees_by_the_schema_what_is_wrong_with_types_and_keys(name, validator):
    assert not validator.is_valid(yaml.safe_load((BROKEN / f"{name}.yaml").read_text(encoding="utf-8")))


def test_every_key_of_the_schema_is_described():
    schema = json.loads(render_schema())
    for name, part in {"exercise.yaml": schema, **schema["$defs"]}.items():
        for key, value in part.get("properties", {}).items():
            assert value.get("description"), f"{name}.{key}"
        if "properties" in part and name != "Check":  # the schema of its property refuses other keys
            assert part["additionalProperties"] is False


def test_a_problem_with_a_long_key_is_reported_briefly(refused):
    text = SOUND.read_text(encoding="utf-8").replace("constructor:", f"constructor:\n    {'x' * 100_000}: [1]", 1)
    assert max(map(len, refused(text).splitlines())) < 500


@pytest.mark.parametrize("exercise_id", sorted(path.name for path in (ROOT / "solutions").glob("exercise_*")))
def test_a_description_is_the_same_when_it_is_remembered(course, exercise_id):
    exercise = read_exercise(course.description(exercise_id))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(exercise), type=type(exercise)) == exercise
