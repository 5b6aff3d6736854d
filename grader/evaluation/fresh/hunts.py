"""Write fresh hunts into a folder, one after another, as long as the caller asks for more."""

import itertools
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from grader.api import open_course
from grader.errors import UsageError, require_package
from grader.evaluation.catalogue import Hunt, hunt_of
from grader.evaluation.fresh.made import Report
from grader.processes.examiner_process import ExaminerProcess, Service, ServiceRequest
from grader.spec.exercise_names import exercise_id_of
from grader.spec.files import write_product
from grader.spec.paths import Course
from grader.spec.seeds import require_seed

SERVICE = "grader.evaluation.fresh.service"
MAX_SECONDS = 600.0
"""The time limit of one hunt, including all drafts that are dropped before it."""

README = """\
# Fresh hunts

The kit made these hunts from seed {seed}. Nobody has published them.

    python -m grader exercise_01

`solutions/` spoils them.
"""


class Progress(Struct, frozen=True, kw_only=True):
    """A hunt that was written, and the number of drafts that were dropped so far, by the reason."""

    hunt: Hunt
    dropped: dict[str, int]


def fresh_hunts(
    folder: str | Path, *, seed: int, course: str | Path | None = None, bases: Iterable[str] = ()
) -> Iterator[Hunt]:
    """Yield an endless series of hunts that no model has seen; write each hunt into a course folder before yielding it.

    - `folder` is new or empty. It becomes a course: `grade(hunt.id, source, course=folder)`.
    - `seed` determines every hunt, together with its number. Other seeds give other hunts; `seed_of` gives seeds for
      training and seeds for held-out evaluation.
    - `bases` are the exercises whose interfaces, right solutions and checks are used; by default all.

    One process makes the hunts, each when it is asked for. It ends when the iterator is closed. Raise `UsageError` for
    a folder that is in use, an unknown exercise and a seed out of range.
    """
    progress = make_hunts(folder, seed=seed, course=course, bases=bases)
    return (each.hunt for each in progress)


def make_hunts(
    folder: str | Path, *, seed: int, course: str | Path | None = None, bases: Iterable[str] = ()
) -> Generator[Progress, None, None]:
    """Yield what `fresh_hunts` yields, with the numbers of dropped drafts."""
    require_package("libcst", "author")
    base_course, root = open_course(course), Path(folder).absolute()
    seed = require_seed(seed)
    chosen = list(dict.fromkeys(bases)) or base_course.exercise_ids()
    for exercise_id in chosen:
        base_course.require(exercise_id)
        if not base_course.reference(exercise_id).is_file():
            raise UsageError(f"{exercise_id} has no reference here; use a course with solutions/")
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{folder} is in use; name a new folder")
    write_product(root / "exercises" / "README.md", README.format(seed=seed).encode())
    service = Service(module=SERVICE, arguments=(str(base_course.root), str(root), str(seed), *chosen))
    return _made(service, Course(root=root))


def _made(service: Service, course: Course) -> Generator[Progress, None, None]:
    with ExaminerProcess(service) as process:
        for number in itertools.count(1):
            name = exercise_id_of(number)
            report = process.ask(ServiceRequest(body=number, name=name, seconds=MAX_SECONDS), Report)
            yield Progress(hunt=hunt_of(course, report.exercise), dropped=report.dropped)
