"""The class list: who is enrolled, and which of them a submission is from."""

import csv
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.layouts.files import MAX_EXAMPLES, SubmissionFiles
from grader.errors import UsageError
from grader.report.console import printable

COLUMNS = ("id", "name", "group")
EXCELS = re.compile("sep=(.)", re.IGNORECASE)
"""What Excel may write above the columns."""

MOST_BYTES = 64_000_000

WHO = re.compile(
    r"\b(?:\w*(?:user|login|account|mail)\w*|(?:net|student|sis|canvas|moodle|github|uni|campus|person\w*)?id|sid|uid"
    r"|handle|matri\w+|(?:student|id)[ _-]?(?:no|number))\b"
)
"""Columns by whose cells a platform may call a student: ids, logins, e-mail addresses and user names."""

OF_SEVERAL = re.compile(r"\b(?:group|team|section|course|class|term|room|seat|grade|year)\w*\b")
"""Whose ids and addresses name nobody: a submission called so is not the one student's who has that cell."""


class Roster(Struct, frozen=True):
    """Students by id, and ids by everything else that a platform may call them; nobody where there is no list."""

    students: dict[str, Student] = {}
    ids: dict[str, str] = {}

    def identify(self, files: SubmissionFiles) -> tuple[SubmissionFiles, bool]:
        """Return the submission with its student's id from the roster, and whether the roster has one."""
        found = {self.ids[_key(alias)] for alias in files.aliases if _key(alias) in self.ids}
        if len(found) != 1:  # where names point to two, neither is given the other's grade
            return files, False
        (student,) = found
        return structs.replace(files, student=student, name=self.students[student].name or files.name), True


class ClassList:
    """Brings submissions to the roster, which is the gradebook's last one where none is given."""

    def __init__(self, gradebook: Gradebook, roster: Roster) -> None:
        self._gradebook = gradebook
        self._roster = roster if roster.students else make_roster(gradebook.enrolled())
        self._strangers: dict[str, None] = {}  # in order; a class may have a hundred thousand
        self._known_as: dict[str, str] = {}
        self._namesakes: dict[str, None] = {}
        if roster.students:
            gradebook.enroll(list(roster.students.values()))

    def identify(self, submissions: Iterable[SubmissionFiles]) -> Iterator[SubmissionFiles]:
        """The submissions under the roster's ids; who is known by name alone is remembered by it."""
        for files in submissions:
            identified, is_known = self._roster.identify(files)
            if is_known and self._is_anothers(identified.student, files.student):
                identified, is_known = files, False
            elif self._roster.students and not is_known:
                self._strangers[files.student] = None
            if not is_known and files.name:
                self._gradebook.name_student(Student(id=files.student, name=files.name))
            yield identified

    def _is_anothers(self, enrolled: str, student: str) -> bool:
        """Whether a line of the roster was taken for another student of the platform: both keep a grade."""
        first = self._known_as.setdefault(enrolled, student)
        if first != student:
            self._namesakes[f"{first} and {student} may both be {enrolled}; {student} keeps its own id"] = None
        return first != student

    def warnings(self) -> list[str]:
        """Return a warning for students who are not in the roster, and for two in one line of it."""
        count = len(self._strangers)
        lines = [f"two for one line of the roster: {printable(each)}" for each in self._namesakes]
        if not count:
            return lines
        more = f" and {count - MAX_EXAMPLES:,} more" if count > MAX_EXAMPLES else ""
        named = ", ".join(map(printable, itertools.islice(self._strangers, MAX_EXAMPLES)))
        return [*lines, f"not in the roster: {named}{more}; graded all the same"]


def read_roster(path: Path) -> Roster:
    """The students in a CSV file with a column id, and name, group and others where there are any.

    `UsageError` names every line that cannot be meant.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES:,} bytes; hand over the class list alone")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; save it as CSV in UTF-8") from None
    lines = text.splitlines()
    separator = EXCELS.fullmatch(lines[0]) if lines else None
    rows = csv.reader(lines, delimiter=separator[1] if separator else max(",;\t", key="".join(lines[:1]).count))
    try:
        table = [(rows.line_num, row) for row in rows][1 if separator else 0 :]
    except csv.Error as error:
        raise UsageError(f"{path}:{rows.line_num}: {error}; see whether a quotation mark is left open") from None
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
    """The roster of these students."""
    by_id = {student.id: student for student in students}
    return Roster(by_id, _ids(by_id.values()))


def _ids(students: Iterable[Student]) -> dict[str, str]:
    """Ids by themselves, and by names, logins and addresses that stand in no other student's line."""
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
    """The same for one name however it is spelled: some systems write an umlaut as a letter and a mark after it."""
    return " ".join(unicodedata.normalize("NFC", alias).casefold().split())
