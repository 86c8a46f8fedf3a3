"""Children that answer side by side: no request is lost, and none is answered twice."""

import os
import signal
import subprocess
import sys
import time

import pytest

from irdaemon.runtime.pool import Parallel

ANSWERING = """
import os, sys, time
from irdaemon.runtime.pool import answer

def replied(data):
    if data == b"die": os._exit(7)
    if data == b"large": return b"x" * 3_000_000
    if data.startswith(b"once "):
        try:
            os.close(os.open(data[5:], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return b"the second time"
        os.kill(os.getpid(), 9)
    print("by itself", flush=True)
    return b"%d %s" % (os.getpid(), data)

answer(replied)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "answering.py"
    path.write_text(ANSWERING)
    return [sys.executable, str(path)]


@pytest.fixture
def parallel(program):
    made = Parallel(program, 2)
    yield made
    made.end()


def replies(parallel, count, *known):
    """Return so many replies by their numbers, those that are known among them."""
    found, until = dict(known), time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < until, found
        for number, reply in parallel.receive(0.5):
            assert number not in found
            found[number] = reply
    return found


def pids(answered):
    return {int(reply.split()[0]) for reply in answered.values()}


def test_each_request_is_answered_once_by_one_of_the_children(parallel):
    for number in range(40):
        parallel.ask(number, b"%d" % number)
    answered = replies(parallel, 40)
    assert [int(answered[number].split()[1]) for number in range(40)] == list(range(40))
    assert len(pids(answered)) == 2
    assert list(parallel.receive(0)) == []


def test_a_reply_that_no_pipe_holds_comes_whole(parallel):
    parallel.ask(1, b"large")
    assert replies(parallel, 1)[1] == b"x" * 3_000_000


def test_what_a_killed_child_had_is_answered_by_another(parallel):
    parallel.ask(0, b"first")
    (killed,) = pids(replies(parallel, 1))
    for number in range(1, 20):
        parallel.ask(number, b"next")
    early = list(parallel.receive(0))
    os.kill(killed, signal.SIGKILL)
    assert None not in replies(parallel, 19, *early).values()


def test_a_request_that_its_child_did_not_survive_is_asked_once_more(parallel, tmp_path):
    parallel.ask(1, b"once " + os.fsencode(tmp_path / "seen"))
    parallel.ask(2, b"other")
    answered = replies(parallel, 2)
    assert answered[1] == b"the second time"
    assert answered[2].endswith(b"other")


def test_a_request_that_two_children_did_not_survive_has_no_answer_and_others_have(parallel):
    parallel.ask(0, b"first")
    replies(parallel, 1)
    for number, data in enumerate((b"a", b"die", b"b", b"c"), start=1):
        parallel.ask(number, data)
    answered = replies(parallel, 4)
    assert answered.pop(2) is None
    assert [reply.split()[1] for _, reply in sorted(answered.items())] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("command", [["/nothing/there"], [sys.executable, "-c", "exit(1)"]])
def test_where_no_child_can_work_no_request_waits(command):
    parallel = Parallel(command, 2)
    for number in range(10):
        parallel.ask(number, b"x")
    assert set(replies(parallel, 10).values()) == {None}
    parallel.ask(10, b"x")
    assert replies(parallel, 1) == {10: None}


def test_what_no_child_has_yet_can_be_forgotten(parallel):
    for number in range(100):
        parallel.ask(number, b"x")
    list(parallel.receive(0))
    parallel.forget()
    parallel.ask(100, b"last")
    answered = {}
    while 100 not in answered:
        answered.update(parallel.receive(0.5))
    assert len(answered) < 10


def test_children_end_with_the_process_that_started_them(program):
    code = (
        "import os, signal, sys\n"
        "from irdaemon.runtime.pool import Parallel\n"
        "made = Parallel(sys.argv[1:], 1)\n"
        "made.ask(1, b'x')\n"
        "found = []\n"
        "while not found: found = list(made.receive(1))\n"
        "print(found[0][1].split()[0].decode(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *program], capture_output=True, text=True)
    pid, until = int(done.stdout), time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < until
        time.sleep(0.02)
