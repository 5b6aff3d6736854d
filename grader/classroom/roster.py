"""The class list: find the enrolled student of each submission."""

import csv
import io
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.layouts.files import MAX_EXAMPLES, Person, SubmissionFiles
from grader.errors import UsageError
from grader.report.printable import printable

COLUMNS = ("id", "name", "group")
EXCELS = re.compile("sep=(.)", re.IGNORECASE)
"""A first line in which Excel names the separator."""

MAX_ROSTER_BYTES = 64_000_000

WHO = re.compile(
    r"\b(?:\w*(?:user|login|account|mail)\w*|(?:net|student|sis|canvas|moodle|github|uni|campus|person\w*)?id|sid|uid"
    r"|handle|matri\w+|(?:student|id)[ _-]?(?:no|number))\b"
)
"""Columns that may identify a student on a platform: ids, logins, e-mail addresses and user names."""

OF_SEVERAL = re.compile(r"\b(?:group|team|section|course|class|term|room|seat|grade|year)\w*\b")
"""Columns about groups of students. A group's id or address identifies no student, even in a group of one."""


class Roster(Struct, frozen=True, kw_only=True):
    """Students by id, and ids by each alias that a platform may use; both are empty without a class list."""

    students: dict[str, Student] = {}
    ids: dict[str, str] = {}

    def find(self, aliases: Iterable[str]) -> tuple[str, int]:
        """Return the id of the student to whom all known aliases belong, and the number of known aliases.

        The id is empty if no alias is known or if the aliases belong to two students, so that nobody gets another's
        grade.
        """
        found = [self.ids[_key(alias)] for alias in aliases if _key(alias) in self.ids]
        return (found[0], len(found)) if len(set(found)) == 1 else ("", 0)

    def identify(self, files: SubmissionFiles) -> tuple[SubmissionFiles, bool]:
        """Return the submission with its student's id from the roster, and whether the roster has one."""
        student, _ = self.find(files.aliases)
        if not student:
            return files, False
        return structs.replace(files, student=student, name=self.students[student].name or files.name), True


class ClassList:
    """Match submissions with the roster, or with the last roster in the gradebook if none is given."""

    def __init__(self, gradebook: Gradebook, roster: Roster, people: Iterable[Person]) -> None:
        """Enroll the roster's students. `people` are all who may have handed in something."""
        self._gradebook = gradebook
        self._roster = roster if roster.students else make_roster(gradebook.enrolled())
        self._strangers: dict[str, None] = {}  # in order; a class may have a hundred thousand
        self._owners: dict[str, str] = {}
        self._contested: list[str] = []
        if self._roster.students:
            self._assign_lines(people)
        if roster.students:
            gradebook.enroll(list(roster.students.values()))

    def identify(self, submissions: Iterable[SubmissionFiles]) -> Iterator[SubmissionFiles]:
        """Yield the submissions under the roster's ids; store the names of students whom the roster does not have."""
        for files in submissions:
            identified, is_known = self._roster.identify(files)
            if is_known and self._owners.get(identified.student) == files.student:
                yield identified
                continue
            student = files.student
            if student in self._roster.students:  # the platform's id is another student's id in the roster
                student = f"{student} ({files.name or 'another one'})"
            if self._roster.students:
                self._strangers[student] = None
            if files.name:
                self._gradebook.name_student(Student(id=student, name=files.name))
            yield structs.replace(files, student=student)

    def _assign_lines(self, people: Iterable[Person]) -> None:
        """Find the student of each line of the roster.

        If several students fit, the line goes to the student whom most aliases match, or on a tie to the student whose
        id the line has. If the tie remains, nobody gets the line. A name must not count more than an id, because
        students choose some of their names.
        """
        claims: dict[str, dict[str, tuple[int, bool]]] = {}
        for person in people:
            enrolled, count = self._roster.find(person.aliases)
            if enrolled:
                claims.setdefault(enrolled, {})[person.student] = (count, person.student == enrolled)
        for enrolled, claimants in claims.items():
            best = max(claimants.values())
            winners = [student for student, evidence in claimants.items() if evidence == best]
            self._owners[enrolled] = winners[0] if len(winners) == 1 else ""
            if len(claimants) > 1:
                owner = self._owners[enrolled] or "none of them"
                self._contested.append(
                    f"{', '.join(claimants)} all match the row {enrolled}; the row is assigned to {owner}"
                )

    def warnings(self) -> list[str]:
        """Return warnings about students who are not in the roster, and about lines that fit several students."""
        count = len(self._strangers)
        lines = [f"several students match one row of the roster: {printable(each)}" for each in self._contested]
        if not count:
            return lines
        more = f" and {count - MAX_EXAMPLES:,} more" if count > MAX_EXAMPLES else ""
        named = ", ".join(map(printable, itertools.islice(self._strangers, MAX_EXAMPLES)))
        return [*lines, f"not in the roster: {named}{more}; graded all the same"]


def read_roster(path: Path) -> Roster:
    """Read a roster from a CSV file with a column id, and optional columns such as name and group.

    Raise `UsageError`, with every invalid line, if the file cannot be read as a roster.
    """
    try:
        if path.stat().st_size > MAX_ROSTER_BYTES:
            raise UsageError(f"{path} is larger than {MAX_ROSTER_BYTES:,} bytes; give a file with only the class list")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; save it as CSV in UTF-8") from None
    first_line = text.partition("\n")[0].rstrip("\r")
    separator = EXCELS.fullmatch(first_line)
    delimiter = separator[1] if separator else max(",;\t", key=first_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        table = [(rows.line_num, row) for row in rows][1 if separator else 0 :]
    except csv.Error as error:
        raise UsageError(f"{path}:{rows.line_num}: {error}; check for an open quotation mark") from None
    first, header = table[0] if table else (1, [])
    names = [name.strip().lower() for name in header]
    if "id" not in names:
        line = f"{path}:{first}"
        raise UsageError(f"{line}: there is no column id; the first line names the columns: {', '.join(COLUMNS)}")
    problems: list[str] = []
    students: dict[str, Student] = {}
    for number, row in (each for each in table[1:] if any(each[1])):
        cells = dict(zip(names, (cell.strip() for cell in row), strict=False))
        if not cells.get("id"):
            problems.append(f"{path}:{number}: there is no id; write one, or take the line out")
        elif cells["id"] in students:
            problems.append(f"{path}:{number}: {cells['id']} is there already; give each student one line")
        else:
            others = {name: cell for name, cell in cells.items() if name not in COLUMNS and cell}
            name, group = cells.get("name", ""), cells.get("group", "")
            students[cells["id"]] = Student(id=cells["id"], name=name, group=group, columns=others, is_enrolled=True)
    if problems:
        raise UsageError("\n".join(problems))
    return make_roster(students.values())


def make_roster(students: Iterable[Student]) -> Roster:
    """Return the roster of these students."""
    by_id = {student.id: student for student in students}
    return Roster(students=by_id, ids=_ids(by_id.values()))


def _ids(students: Iterable[Student]) -> dict[str, str]:
    """Map each id to itself, and each name, login and address that only one student has to that student's id."""
    found: dict[str, set[str]] = {}
    for student in students:
        words = re.findall(r"\w+", unicodedata.normalize("NFC", student.name))
        orders = (words, [*words[1:], *words[:1]], [*words[-1:], *words[:-1]])
        names = [space.join(order) for space in ("", " ") for order in orders]
        for alias in (student.name, *names, *(cell for name, cell in student.columns.items() if _names_people(name))):
            found.setdefault(_key(alias), set()).add(student.id)
    unique = {alias: next(iter(ids)) for alias, ids in found.items() if alias and len(ids) == 1}
    return unique | {_key(student.id): student.id for student in students}


def _names_people(column: str) -> bool:
    """Return whether a column of the roster identifies students, unlike a year or a seat."""
    plain = re.sub(r"[\W_]+", " ", column.lower())
    return bool(WHO.search(plain)) and not OF_SEVERAL.search(plain)


def _key(alias: str) -> str:
    """Return a key that is equal for all spellings of an alias: case, and an accent as one character or two."""
    return " ".join(unicodedata.normalize("NFC", alias).casefold().split())
