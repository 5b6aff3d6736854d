"""What a trap's test may read of an object of the subject."""

import types

import pytest

from grader.sandbox.traps.messages import Failed, Perform, Performed, Plain, decode_outcome, encode
from grader.sandbox.traps.subject_server import SubjectServer

SOURCE = """
class Batches:
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        secret = 0.125
        for number in range(self.count):
            yield number * secret
"""


@pytest.mark.parametrize("name", ["co_consts", "co_names", "co_firstlineno"])
def test_no_test_reads_the_code_of_a_generator(name: str) -> None:
    module = types.ModuleType("attention")
    exec(compile(SOURCE, "attention.py", "exec"), vars(module))
    server = SubjectServer(module, "Batches", None)

    def perform(**request: object) -> object:
        return decode_outcome(server.perform(encode(Perform(**request)), noise=False))

    assert isinstance(perform(action="build", arguments=[Plain(value=3)]), Performed)
    assert isinstance(perform(action="call", target=1, name="__iter__"), Performed)
    for path in ("gi_frame.f_code", "gi_code"):
        assert isinstance(perform(action="read", target=2, path=path, name=name), Failed)
