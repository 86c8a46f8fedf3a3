"""Children that answer several requests: what one leaves behind costs no other."""

import json
import os
import time
from pathlib import Path

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime import pool, repeat
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, end_all, run_program

AMPLE = ProcessLimits(60.0, 512 * MB)
ECHO = """
import json, os, sys
data = sys.stdin.buffer.read()
what = data.decode("utf-8", "replace")
if what == "exit": os._exit(7)
if what == "abort": os.abort()
if what == "fail": raise ValueError("no")
if what == "hang":
    import time; time.sleep(600)
if what == "flood": print("x" * 100_000)
if what == "print": os.write(1, b"by itself")
print(json.dumps([os.getpid(), len(data)]))
"""


@pytest.fixture
def ask(tmp_path):
    program = tmp_path / "echo.py"
    program.write_text(ECHO)

    def ask(data, limits=AMPLE, most=10_000):
        return json.loads(run_program(str(program), data, limits, most))

    yield ask
    end_all()


def gone(pid):
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_one_child_answers_several_requests(ask):
    (first, size), (second, large) = ask(b"one"), ask(b"x" * 3_000_000)
    assert first == second
    assert (size, large) == (3, 3_000_000)


def test_a_child_of_a_large_process_answers_several_requests(ask):
    large = bytearray(300 * MB)
    large[::4096] = b"x" * len(large[::4096])
    (first, _), (second, _) = ask(b"one"), ask(b"two")
    assert first == second
    del large


def test_what_a_library_prints_by_itself_is_no_part_of_an_answer(ask):
    assert ask(b"print")[0] == ask(b"print")[0]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (b"exit", r"echo\.py failed with exit code 7"),
        (b"abort", r"echo\.py was killed \(SIGABRT\)"),
        (b"fail", r"echo\.py failed"),
        (b"flood", r"echo\.py was killed after 10,000 bytes"),
    ],
)
def test_a_request_that_a_child_does_not_survive_costs_that_one_alone(ask, what, why):
    before, _ = ask(b"one")
    with pytest.raises(Unavailable, match=why):
        ask(what)
    after, _ = ask(b"two")
    assert after != before
    assert gone(before)


def test_a_child_that_hangs_is_killed_and_the_next_request_has_a_new_one(ask):
    before, _ = ask(b"one")
    with pytest.raises(Unavailable, match=r"echo\.py was killed after 1 s"):
        ask(b"hang", ProcessLimits(1.0, AMPLE.memory))
    assert ask(b"two")[0] != before
    assert gone(before)


def test_a_request_is_tried_again_where_the_child_that_had_served_others_has_ended(ask):
    before, _ = ask(b"one")
    os.kill(before, 9)
    assert ask(b"two")[0] != before


def test_a_child_is_replaced_after_so_many_requests_and_when_it_is_old(ask, monkeypatch):
    monkeypatch.setattr(pool, "MOST_REQUESTS", 2)
    pids = [ask(b"x")[0] for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    monkeypatch.setattr(pool, "OLDEST_S", 0.0)
    assert ask(b"x")[0] != ask(b"x")[0]


def test_a_child_has_only_the_memory_it_may_have(ask, tmp_path):
    (tmp_path / "large.py").write_text("import sys; sys.stdin.read(); bytearray(2 << 30)")
    with pytest.raises(Unavailable, match=r"large\.py failed"):
        run_program(str(tmp_path / "large.py"), b"", AMPLE, 10)


def test_a_child_that_is_asked_nothing_ends_and_the_next_request_is_answered(
    ask, tmp_path, monkeypatch
):
    copy = tmp_path / "repeat.py"
    source = Path(repeat.__file__).read_text()
    copy.write_text(source.replace("IDLE_S = 10.0", "IDLE_S = 0.2"))
    monkeypatch.setattr(pool.repeat, "__file__", str(copy))
    before, _ = ask(b"one")
    pool._idle[next(iter(pool._idle))].child.wait(30)
    assert ask(b"two")[0] != before


def test_a_child_ends_with_what_sends_it_requests(ask):
    pid, _ = ask(b"one")
    pool._idle[next(iter(pool._idle))].child.stdin.close()
    pool._idle[next(iter(pool._idle))].child.wait(30)
    end_all()
    assert gone(pid)


@pytest.fixture
def through(tmp_path):
    """Return a function that runs Python on the words `some text`."""

    def run_on_input(source, limits=AMPLE, most=1_000):
        (tmp_path / "program.py").write_text(source)
        return run_program(str(tmp_path / "program.py"), b"some text", limits, most)

    yield run_on_input
    end_all()


def test_a_program_reads_a_file_and_what_it_prints_is_returned_without_its_errors(through):
    source = "import sys; print('oh', file=sys.stderr); print(sys.stdin.read().upper())"
    assert through(source) == b"SOME TEXT\n"


@pytest.mark.parametrize(
    ("source", "limits", "why"),
    [
        ("import time; time.sleep(600)", ProcessLimits(1.0), "killed after 1 s"),
        (
            "import os, time; os.close(1); os.close(2); time.sleep(600)",
            ProcessLimits(1.0),
            "killed after 1 s",
        ),
        ("while True: print('x' * 100)", AMPLE, "killed after 1,000 bytes of output"),
        ("bytearray(1 << 30)", ProcessLimits(60.0, 512 * MB), "failed with exit code 1"),
        ("import os; os.kill(os.getpid(), 11)", AMPLE, r"killed \(SIGSEGV\)"),
    ],
    ids=["hangs", "hangs with its output closed", "prints without end", "large", "crashes"],
)
def test_a_program_that_exceeds_its_limits_or_fails_is_an_error_that_calls_it_by_name(
    through, source, limits, why
):
    with pytest.raises(Unavailable, match=rf"program\.py (was )?{why}"):
        through(source, limits)
