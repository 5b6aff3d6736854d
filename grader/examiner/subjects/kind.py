"""What is to be known of a kind of subject."""

from msgspec import Struct

ADAPTER = "Adapter"
"""The class that an adapter's source defines, below ENTRY and INPUTS: the names of what is tried and of its inputs."""


class SubjectKind(Struct, frozen=True):
    """How the things of one kind are tried.

    `adapter` is a source that defines the class `Adapter`, empty where the submission's class is called itself;
    `may_be_module` tells that a class of this kind is called itself, too. `told` says to students what it is.
    """

    told: str
    adapter: str = ""
    may_be_module: bool = False
