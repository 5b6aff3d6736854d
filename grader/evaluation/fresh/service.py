"""The program of the process that makes fresh hunts.

`python -m grader.evaluation.fresh.service ROOT FOLDER SEED BASE...` reads the numbers of the hunts.
"""

import gc
import sys
from contextlib import closing
from pathlib import Path

from grader.errors import KitError, LostNurseryError
from grader.evaluation.fresh.made import Report
from grader.processes.examiner_process import ServiceRequests, run_service
from grader.processes.worker_source import open_worker_source
from grader.spec.exercise_names import exercise_id_of
from grader.spec.paths import Course

COLLECT_EVERY = 10
"""Collect reference cycles after this many hunts."""


def _serve() -> None:
    _, root, folder, seed, *bases = sys.argv
    base_course, course, requests = Course(root=Path(root)), Course(root=Path(folder)), ServiceRequests(int)
    with closing(open_worker_source(base_course.secret_folders(), for_many=True)) as source:
        from grader.evaluation.fresh.making import Maker  # imports torch, which must find one thread allowed

        def make(number: int) -> Report:
            try:
                made = maker.make(exercise_id_of(number), number)
            except LostNurseryError as error:
                raise KitError(str(error)) from error  # another process would not know the earlier hunts
            return Report(exercise=made.exercise.id, dropped=dict(maker.dropped))

        with closing(Maker(base_course, course, source, bases, int(seed))) as maker:
            for number in requests:
                requests.answer(make, number)
                source.settle()
                if number % COLLECT_EVERY == 0:
                    gc.collect()


if __name__ == "__main__":
    run_service(_serve)
