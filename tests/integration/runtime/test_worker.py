"""Child processes: what `run` guarantees, and what it reports of one that was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import Finished, ProcessLimits, run

AMPLE = ProcessLimits(60.0)


def python(source, *words):
    return [sys.executable, "-c", source, *words]


def wait_until(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it did not come to be")


def runs(pid):
    """Return whether a process runs; one that nothing waits for is a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_command_that_ends_gives_its_exit_code_and_its_output():
    source = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert run(python(source), AMPLE) == Finished(3, "out\nerr\n")


def test_a_command_finds_its_stdin_empty_and_sigpipe_as_usual():
    source = "import sys; print(repr(sys.stdin.read()))"
    assert run(python(source), AMPLE).output == "''\n"
    ignored = run(["grep", "SigIgn", "/proc/self/status"], AMPLE).output.split()[1]
    assert not int(ignored, 16) >> (signal.SIGPIPE - 1) & 1


def test_a_command_that_is_not_there_is_an_error():
    with pytest.raises(Unavailable, match="no-such-command cannot be started"):
        run(["no-such-command"], AMPLE)


def test_a_command_that_takes_too_long_is_killed_with_what_it_started(tmp_path):
    note = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {note}; wait"
    with pytest.raises(Unavailable, match="sh was killed after 1 s"):
        run(["sh", "-c", script], ProcessLimits(1.0))
    pid = int(note.read_text())
    wait_until(lambda: not runs(pid))


def test_a_command_that_a_signal_ends_is_an_error():
    with pytest.raises(Unavailable, match=r"sh was killed \(SIGKILL\)"):
        run(["sh", "-c", "kill -KILL $$"], AMPLE)


def test_a_command_gets_no_more_memory_than_its_bounds_say():
    source = "data = bytearray(1 << 30)"
    done = run(python(source), ProcessLimits(60.0, 512 * MB))
    assert done.code == 1
    assert "MemoryError" in done.output
    assert run(python(source), AMPLE).code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's death is a signal on Linux only")
def test_a_command_ends_when_the_process_that_waits_for_it_is_killed(tmp_path):
    note = tmp_path / "pid"
    script = f"echo $$ > {note}; exec sleep 600"
    source = (
        "import sys; from irdaemon.runtime.pool import ProcessLimits, run;"
        "run(['sh', '-c', sys.argv[1]], ProcessLimits(600.0))"
    )
    parent = subprocess.Popen(python(source, script))
    wait_until(lambda: note.exists() and note.read_text().strip())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    pid = int(note.read_text())
    wait_until(lambda: not runs(pid))
