"""Traps: a student's tests run in one worker, the subject that they test in another, and the examiner relays frames.

The test worker (`test_server.py`) runs pytest. Its `subject` is a proxy (`proxies.py`), which sends each call to the
examiner. The examiner passes it on to the subject's worker (`subject_server.py`) and keeps the transcript. Both workers
have all walls. The examiner reads no tensor: it looks at the envelopes (`messages.py`) alone.
"""
