"""What starts a crashed daemon again, how often, and when it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.cli import process_supervisor
from irdaemon.cli.process_supervisor import BURST, INTERVAL_S, choose_wait

ROOT = Path(__file__).parents[3]
QUICKLY = """
import sys
from irdaemon.cli import process_supervisor
process_supervisor.RESTART_S = 0.001
sys.exit(process_supervisor.main(sys.argv[1:]))
"""


def test_it_waits_and_gives_up_as_the_unit_says():
    lines = (ROOT / "systemd" / "irdaemon.service").read_text().splitlines()
    unit = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert float(unit["RestartSec"]) == process_supervisor.RESTART_S
    assert int(unit["StartLimitBurst"]) == BURST
    assert float(unit["StartLimitIntervalSec"]) == INTERVAL_S
    assert int(unit["RestartPreventExitStatus"]) == process_supervisor.WRONG


def test_it_waits_longer_each_time_and_then_no_more():
    starts, now = [], 0.0
    waits = []
    while True:
        starts.append(now)
        wait = choose_wait(starts, now)
        if wait is None:
            break
        waits.append(wait)
        now += wait
    assert waits == [2, 4, 8, 16]


@given(st.lists(st.floats(0, 1_000), max_size=30))
def test_there_are_never_more_starts_within_a_minute_than_the_unit_allows(lives):
    starts, now = [0.0], 0.0
    for life in lives:
        now += life
        wait = choose_wait(starts, now)
        if wait is None:
            break
        now += wait
        starts.append(now)
    for first in starts:
        assert sum(first <= each < first + INTERVAL_S for each in starts) <= BURST


def supervised(tmp_path, script, stdin=subprocess.DEVNULL):
    """Supervise a shell's command; return what became of it, its runs, and the log."""
    runs, log = tmp_path / "runs", tmp_path / "log"
    command = [sys.executable, "-c", QUICKLY, str(tmp_path / "lock"), str(log)]
    command += ["/bin/sh", "-c", f"echo x >> {runs}; {script}"]
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=30)
    return done, len(runs.read_text().split()), log.read_text() if log.exists() else ""


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 2", 2), ("kill -TERM $$", 0)])
def test_who_ends_in_good_order_or_by_a_wrong_configuration_is_not_started_again(
    tmp_path, script, code
):
    done, runs, log = supervised(tmp_path, script)
    assert (done.returncode, runs, log) == (code, 1, "")


@pytest.mark.parametrize(
    ("script", "said", "code"),
    [("exit 1", "exit code 1", 1), ("kill -KILL $$", "signal 9 (Killed)", 70)],
)
def test_who_crashes_is_started_again_so_often_and_the_log_says_it(tmp_path, script, said, code):
    done, runs, log = supervised(tmp_path, script)
    assert (done.returncode, runs) == (code, BURST)
    assert log.count(f"ended with {said}; started again in") == BURST - 1
    assert "irdaemon start --detach does" in log.splitlines()[-1]
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0


def test_what_a_later_one_says_is_in_the_log(tmp_path):
    done, _, log = supervised(tmp_path, "echo why >&2; exit 1")
    assert (done.stderr.count("why"), log.count("why\n")) == (1, BURST - 1)


def test_a_process_that_crashes_while_it_is_waited_for_is_not_started_again(tmp_path):
    read, write = os.pipe()
    done, runs, log = supervised(tmp_path, "exit 7", stdin=read)
    assert (done.returncode, runs, log) == (7, 1, "")
    os.close(read)
    os.close(write)
