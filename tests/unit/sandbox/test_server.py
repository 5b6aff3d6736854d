"""An error of the kit's code in a worker is not blamed on the submission."""

import torch

from grader.checks.findings import crash_finding
from grader.checks.proxies import MisfitError
from grader.report.findings import sentence
from grader.sandbox.global_state import GlobalState
from grader.sandbox.protocol import Build, Load, Loaded, Misfit, Raised, Read, Returned, Source
from grader.sandbox.server import Server
from grader.sandbox.values import to_python, with_shared_parts
from grader.spec.exercise import Limits

MODULE = (
    "import torch\n\nclass Plain(torch.nn.Module):\n    @property\n    def broken(self):\n        return {}['no']\n"
)


def loaded() -> Server:
    server = Server()
    server.answer(Load(chunks=[Source(label="attention.py", text=MODULE)], entry="Plain"))
    server.answer(Build(module=1, entry="Plain", arguments={}))
    return server


def test_a_module_that_was_never_built_is_the_kits_own_fault() -> None:
    reply = loaded().answer(Read(module=5, name="x"))
    assert isinstance(reply, Raised)
    assert reply.is_kits
    finding = crash_finding(reply, Limits())
    assert (finding.kind, sentence(finding)[:39]) == ("kit", "the worker reports a fault of the kit, ")


def test_what_the_submission_raises_stays_its_own() -> None:
    reply = loaded().answer(Read(module=1, name="broken"))
    assert isinstance(reply, Raised)
    assert (reply.type, reply.is_kits) == ("KeyError", False)


def test_an_error_of_the_check_of_torchs_state_is_the_kits_fault(monkeypatch) -> None:
    server = loaded()
    monkeypatch.setattr(GlobalState, "compare", lambda *_: {}["no such switch"])
    reply = server.answer(Read(module=1, name="training"))
    assert isinstance(reply, Raised)
    assert reply.is_kits
    assert torch.is_grad_enabled()


def test_a_submission_is_the_module_that_its_file_is_called() -> None:
    text = "import sys\nimport torch\n\nclass Plain(torch.nn.Module):\n    told = __name__, __name__ in sys.modules\n"
    server = Server()
    loaded = server.answer(Load(chunks=[Source(label="loss.py", text=text)], entry="Plain", name="a_loss"))
    server.answer(Build(module=1, entry="Plain", arguments={}))
    assert isinstance(loaded, Loaded)
    assert loaded.classes == ["Plain"]
    reply = server.answer(Read(module=1, name="told"))
    assert isinstance(reply, Returned)
    assert to_python(reply.value) == ("a_loss", True)


class _Heads(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(2, 2))] * 3)
        self.query, self.key = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        self.key.weight = self.query.weight


def test_a_part_that_a_module_has_twice_is_named_in_place_of_its_parameters() -> None:
    module = _Heads()
    names = ["heads.1.0.weight", "heads.1.0.bias", "heads.2.0.weight", "key.weight", "out.weight"]
    misfits = with_shared_parts(module, [Misfit(name=name, expected=[2, 2]) for name in names])
    assert [(each.part, each.same_as) for each in misfits] == [
        ("heads.1", "heads.0"),
        ("heads.1", "heads.0"),
        ("heads.2", "heads.0"),
        ("key.weight", "query.weight"),
        ("", ""),
    ]
    assert str(MisfitError(misfits)) == (
        "heads.1 is the same object as heads.0; heads.2 is the same object as heads.0; "
        "key.weight is the same object as query.weight; there is no parameter out.weight"
    )
