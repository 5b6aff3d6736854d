"""A class with forward: it is built, and called with inputs."""

from grader.examiner.subjects.kind import SubjectKind

KIND = SubjectKind("an `nn.Module`")
