"""Errands: a command with its stdin, directory and environment, ended when it does not end."""

import os
import sys
import time
from pathlib import Path

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime.pool import Errand, ProcessLimits, run_errand


def run(program, given=b"", most=1_000_000, timeout_s=30.0, is_wanted=lambda: True, **env):
    command = [sys.executable, "-c", program]
    errand = Errand(command, given, "/", {**os.environ, **env})
    return run_errand(errand, ProcessLimits(timeout_s), most, is_wanted)


def test_a_command_finds_its_stdin_directory_and_environment():
    printed = run(
        "import os, sys; print(os.getcwd(), os.environ['WORD'], len(sys.stdin.read()))",
        b"x" * 500_000,
        WORD="sesame",
    )
    assert (printed.code, printed.out) == (0, b"/ sesame 500000\n")


def test_the_exit_code_and_what_was_said_of_it_are_kept():
    printed = run("import sys; print('half'); sys.exit('no credit')")
    assert (printed.code, printed.out, printed.err) == (1, b"half\n", b"no credit\n")


def test_a_command_that_reads_nothing_is_no_error():
    assert run("print('done')", b"x" * 5_000_000).out == b"done\n"


def test_a_command_that_hangs_is_killed_with_what_it_started(tmp_path):
    program = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(Unavailable, match="was killed after 2 s"):
        run(program, timeout_s=2.0)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("what it started goes on")


def test_a_flood_is_killed_and_not_kept():
    with pytest.raises(Unavailable, match="was killed after 1,000,000 bytes of output"):
        run("import sys\nfor _ in range(50): sys.stdout.write('x' * 1_000_000)")


def test_what_is_no_longer_wanted_is_ended():
    asked = []
    with pytest.raises(Unavailable, match="no longer wanted"):
        run(
            "import time; time.sleep(600)",
            is_wanted=lambda: bool(asked.append(1)) or len(asked) < 3,
        )


def test_a_command_that_is_not_there_is_an_error():
    errand = Errand(["/nowhere/claude"], b"", "/", dict(os.environ))
    with pytest.raises(Unavailable, match="claude cannot be started"):
        run_errand(errand, ProcessLimits(30.0), 1_000, lambda: True)


def test_what_a_command_leaves_behind_holds_nothing_up():
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(5)'])\n"
        "print('done')\n"
    )
    assert run(program).out == b"done\n"
