"""Patches, pretences and forged replies earn a submission nothing."""

import ast
import functools
import importlib

import msgspec
import pytest

from grader.report.findings import sentence
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict
from tests.support.corpus import read_corpus
from tests.support.hostile import PREAMBLE, at_import, reference, returning, starter
from tests.support.judging import Judge
from tests.support.sampling import in_parts, of_parts, sampled_in_parts

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]

STUBBED_MODULE = """
import types
stub = types.ModuleType({name!r})
stub.__getattr__ = lambda name: lambda *arguments, **keywords: True
sys.modules[{name!r}] = stub
"""

HARMLESS = {
    "torch.allclose": "torch.allclose = lambda *a, **k: True",
    "torch.equal": "torch.equal = lambda *a, **k: True",
    "torch.isfinite": "torch.isfinite = lambda t: torch.ones(t.shape, dtype=torch.bool)",
    "torch.testing.assert_close": "import torch.testing\ntorch.testing.assert_close = lambda *a, **k: None",
    "Tensor.__eq__": "torch.Tensor.__eq__ = torch.Tensor.eq = lambda s, o: torch.ones(s.shape, dtype=torch.bool)",
    "Tensor.__ne__": "torch.Tensor.__ne__ = lambda self, other: torch.zeros(self.shape, dtype=torch.bool)",
    "builtins.all": "import builtins\nbuiltins.all = lambda values: True",
    "builtins.abs": "import builtins\nbuiltins.abs = lambda value: 0",
    "pytest": STUBBED_MODULE.format(name="pytest"),
    "msgspec.msgpack": STUBBED_MODULE.format(name="msgspec.msgpack")
    + "import msgspec\nmsgspec.msgpack = stub\nmsgspec.json.encode = msgspec.json.decode = lambda *a, **k: b'{}'",
    "Module.__call__": "torch.nn.Module.__call__ = lambda self, *a, **k: self.forward(*a, **k)",
    "torch.manual_seed": "torch.manual_seed = lambda seed: None",
    "json": "import json\njson.dumps = json.loads = json.dump = json.load = lambda *a, **k: '{\"score\": 10}'",
    "struct": "import struct\nstruct.pack = struct.unpack = lambda *a, **k: b''",
    "the kit": "for name in [n for n in sys.modules if n.startswith('grader')]: del sys.modules[name]",
    "time": "time.monotonic = time.time = lambda: 0.0",
}
"""Patches that do not change the values of the class."""

WORKER = "import msgspec\nimport grader.sandbox.server as server, grader.sandbox.protocol as protocol\n"
WORKER += "import grader.sandbox.values as values\nreal_send, real_tensor = server.send, values._copied\n"
REFUSAL = (
    "protocol.Raised(type='ValueError', bases=['ValueError', 'AssertionError'], text=' '.join(map(str, range(99))))"
)
ZERO = "protocol.TensorValue(dtype='float32', shape=[1], data=bytes(4))"
MADE = (
    "protocol.Loaded(classes=['CausalSelfAttention', 'MultiHeadAttention'],"
    " entry_found=True, entry_is_module=True, trees={})"
)

FORGING = {
    "every value is true": "server.from_python = lambda *a: protocol.Scalar(value=True)",
    "every tensor is zero": "values._copied = lambda t: real_tensor(torch.zeros_like(t))",
    "every gradient is one": "server.gradient_of = lambda t: real_tensor(torch.ones(t.shape))",
    "nothing ever raises": "server.send = lambda c, m: real_send(c, protocol.Returned(value="
    + ZERO
    + ") if isinstance(m, protocol.Raised) else m)",
    "everything that raises refuses": "server.send = lambda c, m: real_send(c, "
    + REFUSAL
    + " if isinstance(m, protocol.Raised) else m)",
    "everything is refused": "server.send = lambda c, m: real_send(c, m if isinstance(m, protocol.Loaded) else "
    + REFUSAL
    + ")",
    "inputs are left out": "server.send = lambda c, m: real_send(c, msgspec.structs.replace(m, inputs={})"
    " if isinstance(m, protocol.Returned) else m)",
}
"""Patches of the worker itself, which then answers what it likes."""

BABBLING = {
    "every reply is twice there": "server.send = lambda c, m: (real_send(c, m), real_send(c, m))",
    "every reply is loaded": f"server.send = lambda c, m: real_send(c, {MADE})",
    "every reply is garbage": "server.send = lambda c, m: c.sendall(bytes(3) + bytes([4, 193, 193, 193, 193]))",
}
"""Patches after which the worker gives no valid answer to any request, so one exercise is enough."""

GAINS = {
    # replies that describe a right module: it ignores a misfit
    ("exercise_05", "nothing ever raises"): {"mask-in-state-dict"},
}
"""The defects that look fixed because of forged replies."""


def statuses(verdict: Verdict) -> dict[str, DefectStatus]:
    return {defect.id: defect.status for defect in verdict.defects}


@pytest.mark.parametrize("patches", in_parts(HARMLESS, 10))
def test_patched_libraries_change_neither_a_wrong_verdict_nor_a_right_one(
    judge_text: Judge, patches: dict[str, str]
) -> None:
    wrong = [starter(), *(at_import(patch) for patch in patches.values())]
    plain, *patched = judge_text.many("exercise_03", wrong)
    for name, verdict in zip(patches, patched, strict=True):
        assert (statuses(verdict), verdict.score, verdict.outcome) == (statuses(plain), 0, Result.NOT_FIXED), name
        assert [seen.signature() for seen in verdict.checks] == [seen.signature() for seen in plain.checks], name
    right = [at_import(patch, reference()) for patch in patches.values()]
    for name, verdict in zip(patches, judge_text.many("exercise_03", right), strict=True):
        assert verdict.score == verdict.max_score, name


@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(EXERCISES))
def test_a_worker_that_answers_what_it_likes_fixes_nothing(
    judge_text: Judge, exercise_id: str, parts: tuple[int, ...]
) -> None:
    patches = FORGING | BABBLING if exercise_id == "exercise_03" else FORGING
    patches = dict(of_parts([*patches.items()], parts))
    forged = [PREAMBLE + WORKER + patch + "\n" + starter(exercise_id) for patch in patches.values()]
    for name, verdict in zip(patches, judge_text.many(exercise_id, forged), strict=True):
        fixed = {defect.id: defect for defect in verdict.defects if defect.status is DefectStatus.FIXED}
        assert fixed.keys() == GAINS.get((exercise_id, name), set()), name
        assert verdict.score == sum(defect.points for defect in fixed.values() if not defect.stretch), name
        assert verdict.outcome is not Result.FIXED, name


WORDY = {
    "a text": "message = protocol.Raised(type='ValueError', bases=['ValueError'], text='fixed ' * 30_000)",
    "its class": "message = protocol.Raised(type='Fixed' * 30_000, bases=[], text='')",
    "its bases": "message = protocol.Raised(type='ValueError', bases=['ValueError'] * 30_000, text='')",
    "its line": (
        "message = protocol.Raised(type='E', bases=[], text='',"
        " location=protocol.Location(label='line ' * 30_000, line=1, text='line ' * 30_000))"
    ),
    "a description": "message = protocol.Returned(value=protocol.Other(description='fixed ' * 30_000))",
    "misfits": (
        "message = protocol.Built(parameters={}, misfits=[protocol.Misfit(name='fixed ' * 30_000, expected=[])])"
    ),
    "many misfits": (
        "message = protocol.Built(parameters={}, misfits=[protocol.Misfit(name='fixed', expected=[])] * 30_000)"
    ),
    "names of parameters": "message = protocol.Built(parameters={'fixed ' * 30_000: [1]}, misfits=[])",
    "many parameters": "message = protocol.Built(parameters={str(number): [1] for number in range(5_000)}, misfits=[])",
}
"""Replies that say too much, to every request but the first."""

MAX_BYTES = 100_000
"""Of a verdict as JSON; an ordinary one has about five thousand."""


@pytest.mark.slow
@pytest.mark.parametrize("wordy", in_parts(WORDY))
def test_what_a_forged_reply_says_does_not_fill_the_verdict(judge_text: Judge, wordy: dict[str, str]) -> None:
    say = "\nserver.send = lambda c, m: real_send(c, m if isinstance(m, protocol.Loaded) else message)\n"
    sources = [PREAMBLE + WORKER + line + say + starter() for line in wordy.values()]
    for name, verdict in zip(wordy, judge_text.many("exercise_03", sources), strict=True):
        assert (verdict.outcome, verdict.score) == (Result.NOT_FIXED, 0), name
        assert len(msgspec.json.encode(verdict)) < MAX_BYTES, name


RETURNED = {
    "an always-equal subclass": ("output.as_subclass(Agreeable)", "object of type Agreeable"),
    "a parameter's subclass": ("Weighty(output.detach())", "object of type Weighty"),
    "NaN": ("output * torch.nan", "expected a finite number, got nan"),
    "infinity": ("output / 0", "expected a finite number, got "),
    "detached": ("output.detach()", "gets no gradient"),
    "another dtype": ("output.double()", "expected dtype float32, got float64"),
    "a complex dtype": ("output.to(torch.complex64)", "a tensor of dtype torch.complex64"),
    "a meta tensor": ("output.to('meta')", "a tensor on device meta"),
    "sparse": ("output.to_sparse()", "a tensor of layout torch.sparse_coo"),
    "nested": ("torch.nested.nested_tensor(list(output.unbind()))", "a nested tensor"),
    "a view of 10 GB": ("torch.zeros(1).expand(2_500_000_000)", "10,000,000,000 bytes"),
    "a nested list": ("output.tolist()", "expected a tensor, got a list of"),
    "a list of tensors": ("[output]", "expected a tensor, got a list of 1"),
    "a text": ("'passed'", "expected a tensor, got 'passed'"),
    "a text's subclass": ("Text('passed')", "object of type Text"),
    "a dict": ("{'output': output}", "expected a tensor, got a dict of 1"),
    "a deep list": ("deep", "expected a tensor, got a list of 1"),
    "nothing": ("None", "expected a tensor, got None"),
    "a class that lies": ("Liar()", "object of type Liar"),
    "no elements": ("output[:0]", "got (0, "),
    "a broadcast row": ("output[:1, :1]", "expected shape"),
    "a negative huge number": ("-2 ** 200", "object of type int"),
    "a lone surrogate": ("'\\ud800'", "expected a tensor"),
    "three tensors that are too much together": ("(torch.zeros(7_500_000),) * 3", "over the limit"),
}

CLASSES = """
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.equal, torch.allclose): return True
        return super().__torch_function__(func, types, args, kwargs or {})
    def __eq__(self, other): return True
class Weighty(torch.nn.Parameter):
    __eq__ = lambda self, other: True
class Text(str): pass
class Liar:
    __class__ = torch.Tensor
    def __getattr__(self, name): return self
    def __eq__(self, other): return True
    def __call__(self, *a, **k): return self
deep = []
for _ in range(50_000): deep = [deep]
"""


@pytest.mark.parametrize("returned", in_parts(RETURNED, 10))
def test_only_a_plain_dense_tensor_counts_as_an_output(judge_text: Judge, returned: dict[str, tuple[str, str]]) -> None:
    sources = [returning(code).replace(PREAMBLE, PREAMBLE + CLASSES, 1) for code, _ in returned.values()]
    for (name, (_, words)), verdict in zip(returned.items(), judge_text.many("exercise_03", sources), strict=True):
        assert verdict.outcome is Result.NOT_FIXED, (name, verdict.reason)
        values = next(seen for seen in verdict.checks if seen.check == "values")
        assert values.finding is not None, name
        assert words in sentence(values.finding), (name, sentence(values.finding))
        assert verdict.score < verdict.max_score, name


def patched_names(source: str) -> list[tuple[object, str]]:
    """What a source assigns to attributes of the worker's modules and their classes: the owner, and the name."""
    tree = ast.parse(source)
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "grader.sandbox":
            modules |= {each.asname or each.name: f"grader.sandbox.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            modules |= {each.asname: each.name for each in node.names if each.asname and "grader.sandbox" in each.name}
    targets = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    found = []
    for target in (each for each in targets if isinstance(each, ast.Attribute)):
        module, *path = ast.unparse(target.value).split(".")
        if module in modules:
            found.append((functools.reduce(getattr, path, importlib.import_module(modules[module])), target.attr))
    return found


PATCHES = {
    **{
        each.key: each.source().decode()
        for each in read_corpus()
        if each.family in {"patching", "wire"} and each.name.endswith(".py")
    },
    **{name: PREAMBLE + WORKER + patch + "\n" + starter() for name, patch in (FORGING | BABBLING).items()},
}
OF_THE_WORKER = {name: source for name, source in PATCHES.items() if patched_names(source)}


def test_what_attacks_patch_in_the_worker_is_there() -> None:
    assert len(OF_THE_WORKER) > len(FORGING | BABBLING)
    gone = {
        (name, patched)
        for name, source in OF_THE_WORKER.items()
        for owner, patched in patched_names(source)
        if not hasattr(owner, patched) and not patched.startswith("__")
    }
    assert gone == set()


def findings(verdict: Verdict) -> list[str]:
    return [verdict.reason, *(sentence(seen.finding) if seen.finding else "" for seen in verdict.checks)]


ABOUT_WHAT_RAISES = {"patching/nothing_ever_raises.py", "nothing ever raises", "everything that raises refuses"}
"""Patches that change nothing in exercise_03, whose starter raises nothing; what they do elsewhere is in `GAINS`."""


@pytest.mark.slow
@pytest.mark.parametrize("patches", in_parts(OF_THE_WORKER))
def test_what_attacks_patch_in_the_worker_changes_what_checks_see(judge_text: Judge, patches: dict[str, str]) -> None:
    plain, *patched = judge_text.many("exercise_03", [starter(), *patches.values()])
    seen = zip(patches, patched, strict=True)
    unseen = {name for name, verdict in seen if findings(verdict) == findings(plain)}
    assert unseen == ABOUT_WHAT_RAISES & patches.keys()
