"""A function of tensors: called with inputs, and with the constructor's arguments by keyword."""

from grader.examiner.subjects.kind import SubjectKind

ADAPTER_OF_A_FUNCTION = """
class Adapter(torch.nn.Module):
    def __init__(self, **arguments):
        super().__init__()
        self.arguments = arguments

    def forward(self, *positional, **inputs):
        return getattr(submission, ENTRY)(*positional, **inputs, **self.arguments)
"""

KIND = SubjectKind("a function", ADAPTER_OF_A_FUNCTION)
