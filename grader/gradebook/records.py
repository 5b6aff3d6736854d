"""The records that go into a gradebook besides verdicts."""

from msgspec import Struct


class Versions(Struct, frozen=True):
    """What a verdict depends on besides its submission."""

    kit: str
    torch: str
    exercise: str


class SubmissionRecord(Struct, frozen=True):
    """A submission as the gradebook records it; `digest` is that of its exact source, `fingerprint` its tree's.

    `submitted_at` is in UTC, or empty where the layout does not tell it.
    """

    student: str
    exercise: str
    file: str
    digest: str
    fingerprint: str = ""
    remark: str = ""
    submitted_at: str = ""


class SharedVerdict(Struct, frozen=True):
    """A recorded verdict that another submission may share; `is_bound` says that it holds for exact copies alone."""

    id: int
    is_bound: bool


class Student(Struct, frozen=True):
    """Who is known by name; `columns` are what else the roster says."""

    id: str
    name: str = ""
    group: str = ""
    columns: dict[str, str] = {}
    is_enrolled: bool = False
