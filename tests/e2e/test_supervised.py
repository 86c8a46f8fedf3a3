"""A detached daemon that crashes comes back by itself, and one that is stopped does not."""

import contextlib
import os
import signal

import pytest

from irclient.errors import Unreachable
from tests.support.running import finds, until


@pytest.fixture
def detached(home):
    """Start a daemon detached; return the home, with its processes ended at last."""
    home.skill("kayaks", "How to roll a kayak")
    started = home.run("irdaemon", "start", "--detach", "--wait")
    assert started.returncode == 0, started.stderr
    pids = {number(home, "lock"), number(home, "supervisor")}
    yield home
    home.run("irdaemon", "stop")
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def state(home, name):
    return home.path / ".local" / "state" / "irdaemon" / name


def number(home, name):
    return int(state(home, name).read_text() or 0)


def serving(home):
    """Return the pid of the daemon that answers, 0 for none."""
    try:
        with home.client(timeout=1) as client:
            return client.ping().pid
    except Unreachable:
        return 0


def ended(pid):
    """Say whether a process is no more; a zombie is not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_daemon_that_is_killed_comes_back_and_answers_from_what_it_knew(detached):
    for _ in range(2):
        killed = number(detached, "lock")
        os.kill(killed, signal.SIGKILL)
        until(lambda before=killed: serving(detached) not in (0, before))
        assert finds(detached, "kayak", "kayaks")
        assert detached.answer("status")["pid"] == number(detached, "lock") != killed
    assert (
        state(detached, "irdaemon.log")
        .read_text()
        .count("the daemon ended with signal 9 (Killed); started again in")
        == 2
    )
    again = number(detached, "lock")
    supervisor = number(detached, "supervisor")
    assert detached.run("irdaemon", "stop").returncode == 0
    assert ended(again)
    assert ended(supervisor)
    assert serving(detached) == 0


def test_a_daemon_that_is_told_to_end_stays_down_with_its_supervisor(detached):
    daemon, supervisor = number(detached, "lock"), number(detached, "supervisor")
    os.kill(daemon, signal.SIGTERM)
    until(lambda: ended(daemon) and ended(supervisor))
    assert "started again" not in state(detached, "irdaemon.log").read_text()


def test_a_start_between_a_crash_and_the_next_start_makes_no_second_daemon_and_waits_for_it(
    detached,
):
    killed, supervisor = number(detached, "lock"), number(detached, "supervisor")
    os.kill(killed, signal.SIGKILL)
    until(lambda: ended(killed))
    started = detached.run("irdaemon", "start", "--detach")
    assert started.returncode == 0, started.stderr
    assert detached.answer("ping")["pid"] == number(detached, "lock") != killed
    assert f"already running (pid {number(detached, 'lock')})" in started.stderr
    assert number(detached, "supervisor") == supervisor


def test_a_stop_between_a_crash_and_the_next_start_is_for_good(detached):
    supervisor = number(detached, "supervisor")
    os.kill(number(detached, "lock"), signal.SIGKILL)
    assert detached.run("irdaemon", "stop").returncode == 0
    assert ended(supervisor)
    assert serving(detached) == 0
    assert detached.run("irdaemon", "stop").returncode == 3


def test_a_killed_supervisor_leaves_a_daemon_that_answers_and_can_be_stopped(detached):
    daemon, supervisor = number(detached, "lock"), number(detached, "supervisor")
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: ended(supervisor))
    assert serving(detached) == daemon
    assert detached.run("irdaemon", "stop").returncode == 0
    assert ended(daemon)


def test_a_supervisor_that_is_told_to_end_takes_its_daemon_with_it(detached):
    daemon, supervisor = number(detached, "lock"), number(detached, "supervisor")
    os.kill(supervisor, signal.SIGTERM)
    until(lambda: ended(daemon) and ended(supervisor))


def test_a_configuration_broken_meanwhile_is_not_tried_again_and_the_log_says_why(detached):
    supervisor = number(detached, "supervisor")
    detached.config.write_text("[[[")
    os.kill(number(detached, "lock"), signal.SIGKILL)
    until(lambda: ended(supervisor))
    log = state(detached, "irdaemon.log").read_text()
    assert log.count("started again") == 1
    assert str(detached.config) in log


def test_the_log_that_was_named_is_written_by_the_detached_daemon(home):
    home.skill("kayaks", "How to roll a kayak")
    log = home.path / "my.log"
    started = home.run("irdaemon", "start", "--detach", "--log", str(log))
    assert str(log) in started.stderr
    assert home.run("irdaemon", "stop").returncode == 0
    assert "serving at" in log.read_text()
    assert not state(home, "irdaemon.log").exists()


def test_a_log_that_cannot_be_written_is_said_at_once(home):
    log = home.path / "none" / "my.log"
    started = home.run("irdaemon", "start", "--detach", "--log", str(log))
    assert started.returncode == 2
    assert f"{log} cannot be written" in started.stderr
    assert "Traceback" not in started.stderr
    assert ended(number(home, "supervisor"))
