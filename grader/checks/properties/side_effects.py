"""Properties of how a module behaves among others: prints, inputs, attributes, layers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec import field

from grader.checks.compare import Failure, describe
from grader.checks.properties import Context, Property
from grader.sandbox.text import as_arguments
from grader.spec.checks import Inputs, Literal, Name, Text, made_inputs, unknown_sizes
from grader.spec.problem import KeyPath, Problem, nearest

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy
    from grader.spec.exercise import Exercise

QUOTIENT = " // "


class LeavesInputsAlone(Property, frozen=True, tag="leaves_inputs_alone"):
    """The tensors handed in are the same after the call."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    def try_case(self, context: Context, case: "Case") -> None:
        module = context.ours(self, case)
        module.call(self.method, **case.inputs)
        require_inputs_kept(module, case)


def require_inputs_kept(module: "ModuleProxy", case: "Case") -> None:
    """Raise `Failure` where the last call left other values in what it was handed."""
    import torch

    left = module.inputs_after()
    for name, before in case.inputs.items():
        if isinstance(before, torch.Tensor) and (name not in left or not torch.equal(left[name], before)):
            raise Failure("input-changed", f"the input {name}: expected it unchanged by the call, saw other values")


class PrintsNothing(Property, frozen=True, tag="prints_nothing"):
    """A call writes nothing to stdout."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    draws_longest: ClassVar[bool] = True

    building: bool = False
    """Whether building the module must be silent too."""
    after: Inputs = field(default_factory=dict)
    """Given to one more call, added to the inputs or in place of them: it may print, and the call after it may not."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from made_inputs(self.after, (*path, "after"))

    def try_case(self, context: Context, case: "Case") -> None:
        module = context.ours(self, case)
        _require_silence(module.printed() if self.building else "", "building it")
        module.printed()
        module.call(self.method, **case.inputs)
        _require_silence(module.printed(), "a call")
        if self.method:
            return
        module.call_each([case.inputs], grad=False)
        _require_silence(module.printed(), "a call under no_grad")
        module.training = True
        module.call(self.method, **case.inputs)
        _require_silence(module.printed(), "a call in training mode")
        if self.after:
            module.call("", **{**case.inputs, **self.after})
            module.printed()
            module.call("", **case.inputs)
            _require_silence(module.printed(), f"a call after one with {as_arguments(self.after)}")


class Prints(Property, frozen=True, tag="prints"):
    """A call writes something to stdout."""

    needs_reference: ClassVar[bool] = False

    def try_case(self, context: Context, case: "Case") -> None:
        module = context.ours(self, case)
        module.printed()
        for again in ("", " again"):
            module.call(self.method, **case.inputs)
            if is_visible(module.printed()):
                continue
            built, call = (
                as_arguments({name: value for name, value in given.items() if isinstance(value, bool)})
                for given in (self.constructor, self.inputs)
            )
            what = f"a module built with {built}, called" if built else "a call"
            told = f"{what} with {call}" if call or not built else f"{what} without a word of it"
            raise Failure("silent", f"{told}{again}: expected it to print, saw nothing on stdout")


class AttributeEquals(Property, frozen=True, tag="attribute_equals"):
    """An attribute that the interface names has its value."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False

    name: Name
    """The attribute."""
    equals: Literal
    """Its value; the name of a size stands for that size, `a // b` for how often one goes into another."""
    any_number: bool = False
    """Whether a number of another type will do, where its value is the same."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        value = self.equals
        parts = value.split(QUOTIENT) if isinstance(value, str) else []
        if len(parts) > 1 or (value not in sizes and (value == self.name or nearest(str(value), sizes))):
            yield from unknown_sizes(parts, sizes, (*path, "equals"), is_item=False)

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.checks.session import SubjectRaisedError

        expected = self._expected(case.sizes)
        try:
            seen = context.ours(self, case).attribute(self.name)
        except SubjectRaisedError as error:
            if error.raised.type != "AttributeError":
                raise
            raise Failure(
                "attribute", f"the attribute {self.name}: expected {expected}, saw that there is none"
            ) from None
        is_right_type = type(seen) is type(expected) or (self.any_number and isinstance(seen, int | float))
        if not is_right_type or seen != expected:
            raise Failure("attribute", f"the attribute {self.name}: expected {expected}, saw {describe(seen)}")

    def _expected(self, sizes: dict[str, int]) -> Literal:
        if not isinstance(self.equals, str):
            return self.equals
        size, *divisors = self.equals.split(QUOTIENT)
        return sizes[size] // sizes[divisors[0]] if divisors else sizes.get(size, size)


class HasLayer(Property, frozen=True, tag="has_layer"):
    """What the interface names is there, and is a layer of torch's class where it says so."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    name: Text
    """The attribute, or one of an attribute, as in `attention.dropout`."""
    layer: Name = ""
    """The class in `torch.nn` that it is of; anything will do unless given."""

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.checks.session import SubjectRaisedError
        from grader.sandbox.probes import layers

        module = context.subject.build(case.arguments, at_once=False)
        wanted = f"an nn.{self.layer}" if self.layer else "one"
        try:
            seen = module.run_probe(layers.layer_type, {}, name=self.name, layer=self.layer)
        except SubjectRaisedError as error:
            if error.raised.type != "AttributeError":
                raise
            raise Failure("layer", f"the attribute {self.name}: expected {wanted}, saw that there is none") from None
        if seen != "":
            raise Failure("layer", f"the attribute {self.name}: expected {wanted}, saw {describe(seen)}")


def _require_silence(printed: str, what: str) -> None:
    if printed:
        first = printed.strip().splitlines()[0][:60] if printed.strip() else printed[:20]
        raise Failure(
            "prints", f"{what}: expected nothing on stdout, saw {len(printed.splitlines())} lines, the first {first!r}"
        )


def is_visible(text: str) -> bool:
    """Whether something can be read in a text: blanks, zero bytes and control characters say nothing."""
    return any(each.isprintable() and not each.isspace() for each in text)
