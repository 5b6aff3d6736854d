"""Tests of the Python API in the process of the tests."""

from grader import api


def end_examiners_and_threads() -> None:
    """Let later tests fork nurseries, which only a process with one thread can do."""
    api._pool.close()
    api._trap_pool.close()
    if api._threads is not None:
        api._threads.shutdown()
        api._renew()
