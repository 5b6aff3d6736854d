"""A loss: a function or a module; what it returns is compared, and the gradients of what it is given."""

from grader.examiner.subjects.function import ADAPTER_OF_A_FUNCTION
from grader.examiner.subjects.kind import SubjectKind

KIND = SubjectKind("a loss", ADAPTER_OF_A_FUNCTION, may_be_module=True)
