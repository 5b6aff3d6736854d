"""A proxy of a trap's subject, and the subject's server in the same process."""

import types
from typing import Any

from grader.sandbox.traps.messages import CallBack, decode_outcome, encode
from grader.sandbox.traps.proxies import Remote, SubjectClass
from grader.sandbox.traps.subject_server import SubjectServer


def remote_of(subject: Any) -> Remote:
    """Return a remote of a class or function whose server runs in this process."""

    def exchange(payload: bytes) -> bytes:
        request = decode_outcome(payload)
        assert isinstance(request, CallBack)
        return encode(remote._call_back(request))

    namespace = types.ModuleType("attention")
    namespace.__dict__["subject"] = subject
    server = SubjectServer(namespace, "subject", exchange)
    remote = Remote(lambda payload: server.perform(payload, noise=False), "subject", is_class=isinstance(subject, type))
    return remote


def subject_of(subject: Any) -> SubjectClass:
    """Return what a test gets as its `subject`."""
    return SubjectClass(remote_of(subject))
