"""The program of the process that makes fresh hunts: `python -m grader.evaluation.fresh.service` reads its requests."""

import gc
import os
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from grader.errors import KitError
from grader.evaluation.fresh.orders import Order, Report
from grader.processes.examiner_process import Requests
from grader.processes.worker_source import open_worker_source
from grader.spec.paths import Course, exercise_id_of

COLLECT_EVERY = 10
"""Collect reference cycles after this many hunts."""


def _serve(order: Order) -> None:
    """Make the hunts whose numbers are requested, until stdin ends."""
    requests = Requests()
    base_course, course = Course(root=Path(order.root)), Course(root=Path(order.folder))
    source = open_worker_source(base_course.secret_folders(), for_many=True)
    from grader.evaluation.fresh.making import Maker  # imports torch, which must find one thread allowed

    maker = Maker(base_course, course, source, order.bases, order.seed)
    try:
        for body in requests:
            number = int(body)
            try:
                made = maker.make(exercise_id_of(number), number)
                report = Report(exercise=made.exercise.id, dropped=dict(maker.dropped))
            except KitError as error:
                report = Report(error=str(error), dropped=dict(maker.dropped))
            requests.answer(msgspec.json.encode(report))
            source.settle()
            if number % COLLECT_EVERY == 0:
                gc.collect()
    finally:
        maker.close()
        source.close()


def _main() -> NoReturn:
    try:
        _serve(msgspec.json.decode(sys.argv[1], type=Order))
    except BrokenPipeError:
        pass  # the owner is gone
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    _main()
