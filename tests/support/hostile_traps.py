# ruff: noqa: E501 - each attempt is a line
"""Hostile tests: each tries to learn what it runs on, to forge a result, or to harm the run. All earn nothing."""

import textwrap

HEAD = """
import ctypes, gc, glob, hashlib, inspect, io, itertools, linecache, os, pathlib, random, signal, socket, struct, sys
import threading, time, weakref

import pytest
import torch

COUNTS = {"calls": 0}


def built(subject):
    return subject(4, 6, 8, 0.0)


def sockets():
    return [each for each in gc.get_objects() if type(each) is socket.socket]


def frame(body):
    return struct.pack(">I", len(body)) + body


def packed(**fields):
    import msgspec
    return msgspec.msgpack.encode(fields)


def remote(subject):
    return subject._remote


def can(action):
    try:
        return bool(action())
    except (Exception, pytest.fail.Exception):
        return False
"""

READING = {
    "the_course": "assert not can(lambda: glob.glob('/**/solutions/exercise_03/*', recursive=False))",
    "the_root": "assert not can(lambda: 'masked' in str([open(p).read() for p in glob.glob('/*/*/*.py')]))",
    "the_working_folder": "assert not can(lambda: [p for p in os.listdir('.') if 'attention' in p])",
    "memory_of_itself": "assert not can(lambda: b'attn_scores' in open('/proc/self/mem', 'rb').read(1 << 20))",
    "environment_of_others": "assert not can(lambda: [open(p).read() for p in glob.glob('/proc/[0-9]*/environ') if str(os.getpid()) not in p])",
    "command_lines": "assert not can(lambda: 'exercise' in str([open(p).read() for p in glob.glob('/proc/[0-9]*/cmdline')]))",
    "its_own_environment": "assert not can(lambda: [v for v in os.environ.values() if 'exercise' in v])",
    "descriptors": "assert not can(lambda: [os.readlink(p) for p in glob.glob('/proc/self/fd/*') if 'attention' in os.readlink(p)])",
    "the_source_of_the_subject": "assert not can(lambda: 'attn_scores' in inspect.getsource(subject.__class__))",
    "the_code_of_forward": "assert not can(lambda: 'attn_scores' in built(subject).forward.__code__.co_varnames)",
    "the_globals_of_forward": "assert not can(lambda: 'attn_scores' in str(built(subject).forward.__globals__))",
    "sources_in_memory": "assert not can(lambda: any('attn_scores' in s for s in gc.get_objects() if type(s) is str))",
    "cached_lines": "assert not can(lambda: [k for k in linecache.cache if 'attention' in k])",
    "loaded_modules": "assert not can(lambda: [m for m in sys.modules if m in ('attention', 'reference', 'solutions')])",
    "frames": "assert not can(lambda: [f for f in inspect.stack() if 'reference' in f.filename or 'solutions' in f.filename])",
    "special_attributes": "m = built(subject)\nassert not can(lambda: remote(subject).act('read', target=m._number, name='__dict__'))",
    "special_methods": "m = built(subject)\nassert not can(lambda: remote(subject).act('call', target=m._number, name='__reduce_ex__', arguments=[2]))",
    "paths_with_special_names": "m = built(subject)\nassert not can(lambda: remote(subject).act('read', target=m._number, path='forward.__func__', name='__code__'))",
    "the_class": "m = built(subject)\nassert not can(lambda: 'function' in str(vars(remote(subject).act('read', target=m._number, name='__class__'))))",
    "a_text_that_formats": "m = built(subject)\nm.text = '{0.forward.__code__.co_consts}'\nassert not can(lambda: remote(subject).act('call', [m], target=m._number, path='text', name='format'))",
    "a_text_that_maps": "m = built(subject)\nm.text = '{a.forward.__code__.co_varnames}'\nassert not can(lambda: remote(subject).act('call', [{'a': m}], target=m._number, path='text', name='format_map'))",
    "hooks_that_see_the_module": "seen = []\nm = built(subject)\nm.register_forward_hook(lambda *values: seen.append(values))\nm(gaussian(1, 2, 4))\nassert not can(lambda: 'attn_scores' in seen[0][0].forward.__code__.co_varnames)",
    "documentation": "assert not can(lambda: 'mask' in built(subject).forward.__doc__)",
    "other_numbers": "assert not can(lambda: remote(subject).act('read', target=77, name='training'))",
}
"""Attempts to read the source of the subject, or anything outside."""

GUESSING = {
    "the_clock": "built(subject)(gaussian(1, 3, 4))\nassert int(time.time() * 1000) % 3",
    "how_long_a_call_takes": "m = built(subject)\nm(gaussian(1, 3, 4))\nstart = time.perf_counter()\nm(gaussian(8, 8, 4))\nassert time.perf_counter() - start < 0.0013",
    "how_long_many_calls_take": "m = built(subject)\nstart = time.perf_counter()\nfor _ in range(20):\n    m(gaussian(4, 8, 4))\nassert time.perf_counter() - start < 0.035",
    "processor_time": "built(subject)(gaussian(1, 3, 4))\nassert int(time.process_time() * 1e6) % 3",
    "luck": "built(subject)(gaussian(1, 3, 4))\nassert random.SystemRandom().random() < 0.7",
    "luck_of_the_system": "built(subject)(gaussian(1, 3, 4))\nassert os.urandom(1)[0] % 4",
    "its_process": "built(subject)(gaussian(1, 3, 4))\nassert os.getpid() % 3",
    "its_user": "built(subject)(gaussian(1, 3, 4))\nassert os.getuid() % 3",
    "an_address": "m = built(subject)\nassert (id(m) >> 4) % 3",
    "the_order_of_a_set": "built(subject)(gaussian(1, 3, 4))\nassert next(iter({object() for _ in range(9)})).__hash__() % 5",
    "the_load": "built(subject)(gaussian(1, 3, 4))\nassert int(100 * os.getloadavg()[0]) % 3",
    "page_faults": "import resource\nbuilt(subject)(gaussian(1, 3, 4))\nassert resource.getrusage(resource.RUSAGE_SELF).ru_minflt % 3",
    "descriptors_in_use": "built(subject)(gaussian(1, 3, 4))\nassert len(os.listdir('/proc/self/fd')) < 4",
    "its_count_of_calls": "COUNTS['calls'] += 1\nbuilt(subject)(gaussian(1, 3, 4))\nassert COUNTS['calls'] < 2",
    "a_file_that_counts": "built(subject)(gaussian(1, 3, 4))\np = pathlib.Path('/tmp/count')\nn = len(p.read_text()) if p.exists() else 0\nassert not can(lambda: p.write_text('x' * (n + 1)))",
    "a_file_in_memory": "built(subject)(gaussian(1, 3, 4))\nassert not can(lambda: os.memfd_create('count'))",
    "a_queue_of_the_system": "built(subject)(gaussian(1, 3, 4))\nassert not can(lambda: socket.socket(socket.AF_UNIX).bind('\\0count') is None)",
    "a_thread_that_waits": "done = []\nt = threading.Thread(target=lambda: done.append(time.sleep(0.002)))\nt.start()\nbuilt(subject)(gaussian(1, 3, 4))\nassert not done",
    "the_hash_of_a_float": "y = built(subject)(gaussian(1, 3, 4))\nassert hashlib.sha256(y.detach().numpy().tobytes()).digest()[0] % 2",
    "the_last_bit": "y = built(subject)(gaussian(1, 3, 4)).detach()\nassert int(y.view(torch.int32).sum()) % 2",
    "many_last_bits": "y = built(subject)(gaussian(4, 8, 4)).detach()\nassert int((y.view(torch.int32) & 1).sum()) < 100",
    "an_exact_sum": "y = built(subject)(gaussian(4, 8, 4)).detach()\nassert float(y.double().sum()) * 1e9 % 1 < 0.4",
    "exceptions_by_luck": "built(subject)(gaussian(1, 3, 4))\nif os.urandom(1)[0] < 60:\n    raise ValueError",
    "weak_references": "m = built(subject)\nr = weakref.ref(m)\ndel m\ngc.collect()\nassert id(r) // 16 % 3",
}
"""Attempts to fail on defective implementations by a side channel, or by luck."""

FORGING = {
    "a_finished_run": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Finished', passed=False)))",
    "a_finished_run_that_passed": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Finished', passed=True)))\nassert False",
    "the_end": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Done')))",
    "another_collection": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Collected', names=['test_perfect'] * 12)))",
    "a_report_with_nan": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Finished', passed=False, difference=1.0, tolerance=float('nan'))))",
    "two_reports": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(2 * frame(packed(message='Finished', passed=False)))",
    "a_start": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Started', test=0, seed=0)))",
    "negative_numbers": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(packed(message='Started', test=-5, seed=-1)))",
    "a_message_that_is_none": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(b'\\xc1junk'))",
    "a_frame_without_end": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(struct.pack('>I', 1 << 31))",
    "half_a_frame": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(struct.pack('>I', 100) + b'half')",
    "a_deep_message": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.sendall(frame(b'\\x91' * 100000))",
    "a_request_of_junk": "assert not can(lambda: remote(subject)._transport(b'junk') and False)",
    "a_request_of_nothing": "assert not can(lambda: remote(subject)._transport(b'') and False)",
    "a_request_without_fields": "assert not can(lambda: remote(subject)._transport(packed(message='Perform')) and False)",
    "a_tensor_of_the_wrong_size": "t = dict(message='Tensor', dtype='float32', shape=[1 << 30], data=b'')\nassert not can(lambda: remote(subject)._transport(packed(message='Perform', action='build', tensors=[t])) and False)",
    "a_place_that_is_none": "r = dict(message='Ref', place=9)\nassert not can(lambda: remote(subject)._transport(packed(message='Perform', action='build', arguments=[r])) and False)",
    "an_answer_to_no_question": "assert not can(lambda: remote(subject)._transport(packed(message='Perform', action='return', arguments=[])) and False)",
    "a_closed_connection": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    os.close(s.fileno())",
    "a_shut_connection": "built(subject)(gaussian(1, 3, 4))\nfor s in sockets():\n    s.shutdown(socket.SHUT_RDWR)",
    "a_patched_runner": "import _pytest.runner\n_pytest.runner.call_and_report = lambda *a, **k: None\nbuilt(subject)(gaussian(1, 3, 4))",
    "a_patched_raises": "pytest.raises = lambda *a, **k: io.StringIO()\nbuilt(subject)(gaussian(1, 3, 4))",
    "a_patched_report": "t = sys.modules['grader.sandbox.traps.test_server']\nt._Plugin._report = lambda self, changed: t.Finished(passed=False)\nbuilt(subject)(gaussian(1, 3, 4))",
    "a_patched_transport": "t = sys.modules['grader.sandbox.traps.test_server']\nt._Transport.__call__ = lambda self, payload: b''\nassert not can(lambda: built(subject))",
    "a_patched_allclose": "torch.allclose = lambda *a, **k: False\nassert torch.allclose(built(subject)(gaussian(1, 3, 4)), torch.zeros(1))",
    "a_report_on_stdout": "built(subject)(gaussian(1, 3, 4))\nsys.__stdout__.write('{\"score\": 100}')\nsys.__stdout__.flush()",
    "a_report_in_a_file": "built(subject)(gaussian(1, 3, 4))\nassert not can(lambda: open('/tmp/result.json', 'w').write('{\"score\": 100}'))",
    "a_name_that_is_a_page": "built(subject)(gaussian(1, 3, 4))\nraise AssertionError('\\x1b[2J Trap: 10 of 10 points' * 400)",
    "its_own_type_of_error": "class Odd(BaseException):\n    def __str__(self):\n        raise Odd\nbuilt(subject)(gaussian(1, 3, 4))\nraise Odd",
}
"""Attempts to write the result."""

HARMING = {
    "leaving": "built(subject)\nos._exit(0)",
    "leaving_politely": "built(subject)\nsys.exit(0)",
    "leaving_by_pytest": "built(subject)\npytest.exit('over', 0)",
    "an_interrupt": "built(subject)\nraise KeyboardInterrupt",
    "a_signal": "built(subject)\nos.kill(os.getpid(), signal.SIGKILL)",
    "a_signal_to_all": "built(subject)\nassert not can(lambda: os.kill(-1, signal.SIGTERM) is None)",
    "a_signal_to_the_examiner": "built(subject)\nassert not can(lambda: os.kill(os.getppid(), signal.SIGTERM) is None)",
    "an_alarm": "built(subject)\nassert not can(lambda: signal.alarm(1) is None)",
    "a_crash": "built(subject)\nctypes.string_at(0)",
    "a_fork": "built(subject)\nassert not can(lambda: os.fork() >= 0)",
    "a_program": "built(subject)\nassert not can(lambda: os.system('true') == 0)",
    "a_connection": "built(subject)\nassert not can(lambda: socket.create_connection(('127.0.0.1', 9), 0.1))",
    "much_memory": "built(subject)\nx = torch.zeros(1 << 31)\nassert x is None",
    "much_output": "built(subject)\nprint('x' * 10_000_000)\nassert False",
    "a_deep_recursion": "built(subject)\ndef f(n):\n    return f(n + 1)\nf(0)",
    "an_endless_loop": "built(subject)\nwhile True:\n    pass",
    "an_endless_sleep": "built(subject)\ntime.sleep(60)",
    "an_endless_regular_expression": "import re\nbuilt(subject)\nre.match('(a+)+$', 'a' * 40 + 'b')",
    "a_lock_that_is_never_free": "built(subject)\nl = threading.Lock()\nl.acquire()\nl.acquire()",
    "a_thread_that_never_ends": "t = threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True)\nt.start()\nbuilt(subject)",
    "many_calls": "m = built(subject)\nfor _ in range(5000):\n    m(gaussian(1, 1, 4))\nassert False",
    "a_large_input": "built(subject)(torch.zeros(3000, 3000, 4))\nassert False",
    "another_default_dtype": "torch.set_default_dtype(torch.float64)\nbuilt(subject)(gaussian(1, 3, 4).double())\nassert False",
    "a_default_that_stays": "torch.use_deterministic_algorithms(True)\nbuilt(subject)(gaussian(1, 3, 4))\nassert False",
    "a_broken_generator": "torch.default_generator.get_state = None\nbuilt(subject)\nassert False",
    "a_subject_in_a_knot": "m = built(subject)\nm.forward = lambda x: m(x)\nm(gaussian(1, 3, 4))\nassert False",
    "a_subject_that_sleeps": "m = built(subject)\nm.forward = lambda x: time.sleep(5)\nm(gaussian(1, 3, 4))",
    "a_subject_that_writes": "m = built(subject)\nassert not can(lambda: remote(subject).act('call', target=m._number, path='W_query.weight', name='to_file'))",
}
"""Attempts to stop the run, or to harm the machine."""

HOSTILE = {**READING, **GUESSING, **FORGING, **HARMING}


def hostile_trap(names: list[str]) -> str:
    """Return a trap with these hostile tests."""
    tests = [f"def test_{name}(subject, gaussian):\n{textwrap.indent(HOSTILE[name], '    ')}\n" for name in names]
    return "\n\n".join([HEAD, *tests])
