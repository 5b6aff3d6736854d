"""Run a function of tensors, such as a loss, with the inputs and with the constructor's arguments by keyword."""

from typing import Any

import torch

from grader.sandbox.subject import Entry


class Adapter(torch.nn.Module):
    """Calls the function. Constructor arguments that were passed by position follow the inputs by position."""

    def __init__(self, entry: Entry, *positional: Any, **arguments: Any) -> None:
        super().__init__()
        self.entry, self.positional, self.arguments = entry, positional, arguments

    def forward(self, *positional: Any, **inputs: Any) -> Any:
        if self.positional:
            return self.entry.call(*positional, *inputs.values(), *self.positional, **self.arguments)
        return self.entry.call(*positional, **inputs, **self.arguments)
