"""One daemon for one user, wherever its socket has to be, and nothing of it left behind."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.running import ROOT, Running, until

# A daemon of which some parts cannot be stopped, or not even started.
BROKEN = """
import sys
from importlib import import_module
def broken(name):
    def fail(*_):
        print(name, "is broken", file=sys.stderr)
        raise RuntimeError
    return fail
for part in sys.argv[1:]:
    module, kind, method = part.rsplit(".", 2)
    setattr(getattr(import_module("irdaemon." + module), kind), method, broken(part))
from irdaemon.cli.main import main
sys.exit(main(["start"]))
"""


def test_a_lock_that_names_a_live_process_which_does_not_hold_it_stops_no_daemon(home):
    lock = home.path / ".local" / "state" / "irdaemon" / "lock"
    lock.parent.mkdir(parents=True, mode=0o700)
    for path in (lock, home.socket.parent / "lock"):
        path.parent.mkdir(exist_ok=True, mode=0o700)
        path.write_text(f"{os.getpid()}\n")
    with Running(home) as running:
        assert lock.read_text() == f"{running.process.pid}\n"


def test_a_daemon_that_does_not_answer_is_not_replaced_behind_its_back(home):
    with Running(home) as first:
        first.process.send_signal(signal.SIGSTOP)
        second = home.run("irdaemon", "start")
        assert second.returncode == 2
        assert f"already running (pid {first.process.pid})" in second.stderr
        assert home.socket.exists()
        first.kill()


def test_who_starts_while_another_is_stopping_keeps_his_socket(home):
    with Running(home) as old:
        old.process.send_signal(signal.SIGTERM)
        attempts = []

        def a_new_one_serves():
            attempts.append(Running(home))
            try:
                attempts[-1].wait_serving()
            except AssertionError:
                attempts[-1].kill()
                return False
            return True

        until(a_new_one_serves)
        with attempts[-1]:
            assert old.process.wait(10) == 0
            with home.client() as client:
                assert client.ping().pid == attempts[-1].process.pid
    assert not home.socket.exists()


def test_parts_that_cannot_be_stopped_keep_no_other_from_it(home):
    parts = ["watch.Watcher.stop", "daemon.schedule.Schedule.stop"]
    parts += ["daemon.daemon.SupervisorThread.stop", "serve.loop.RequestLoop.close"]
    process = subprocess.Popen(
        [sys.executable, "-c", BROKEN, *parts], env=home.env, stderr=subprocess.PIPE, text=True
    )

    def serves():
        with home.client(timeout=1) as client:
            return client.ping()

    until(serves)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert [part for part in parts if f"{part} is broken" not in said] == []
    assert process.returncode == 0
    assert [each.name for each in home.socket.parent.iterdir() if each.is_socket()] == []


def test_a_part_that_cannot_be_started_ends_the_daemon_and_leaves_no_socket(home):
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, "daemon.threads.WriterThread.start"],
        env=home.env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "daemon.threads.WriterThread.start is broken" in done.stderr
    assert done.returncode == 70
    assert not home.socket.exists()


def test_no_second_daemon_writes_a_ledger_whose_lock_was_removed_and_the_first_is_found(home):
    lock = home.path / ".local" / "state" / "irdaemon" / "lock"
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    with Running(home) as first:
        running = f"already running (pid {first.process.pid})"
        refused = []
        for _ in range(3):
            lock.unlink()
            home.env["XDG_RUNTIME_DIR"] = str(elsewhere)
            refused.append(home.run("irdaemon", "start"))
            home.env["XDG_RUNTIME_DIR"] = str(home.runtime)
            until(lambda: lock.read_text() == f"{first.process.pid}\n")
        assert [each.returncode for each in refused] == [2, 2, 2]
        assert all("already running" in each.stderr for each in refused)
        assert running in home.run("irdaemon", "start").stderr
        lock.unlink()
        stopped = home.run("irdaemon", "stop")
        assert stopped.returncode == 0, stopped.stderr
        assert first.process.wait(10) == 0


def test_sockets_and_locks_that_were_removed_are_made_anew(home):
    home.skill("a", "Anything")
    with Running(home) as running:
        for _ in range(2):
            for each in home.socket.parent.iterdir():
                if each.is_socket() or each.name == "lock":
                    each.unlink()
            running.wait_serving()
            running.wait_idle()
            assert (home.socket.parent / "lock").read_text() == f"{running.process.pid}\n"
        home.socket.parent.rename(home.runtime / "away")
        running.wait_serving()
        assert home.run("irdaemon", "stop").returncode == 0
        assert not home.socket.exists()


# -- places ---------------------------------------------------------------------------------------


def test_a_runtime_directory_that_others_can_change_is_refused_by_both_sides(home):
    home.runtime.chmod(0o777)
    for command, code in ((["irdaemon", "start"], 3), (["irclient.quick", "discover", "x"], 3)):
        done = home.run(*command)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)
        assert f"{home.runtime} is not this user's alone" in done.stderr
        assert "mode 0700" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_runtime_directory_of_another_user_is_refused(home):
    os.chown(home.runtime, 65_534, 65_534)
    done = home.run("irdaemon", "start")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "is not this user's alone" in done.stderr


@pytest.mark.parametrize("name", ["run/irdaemon", ".local"])
def test_a_place_where_nothing_can_be_written_is_named_with_what_to_set(home, name):
    (home.path / name).write_text("in the way")
    done = home.run("irdaemon", "start")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert str(home.path / name) in done.stderr
    assert "IRDAEMON_SOCKET" in done.stderr


def test_where_the_runtime_directory_lies_too_deep_the_two_still_meet(home):
    deep = home.path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True, mode=0o700)
    home.env |= {"XDG_RUNTIME_DIR": str(deep), "TMPDIR": str(home.path)}
    process = subprocess.Popen([sys.executable, "-m", "irdaemon", "start"], env=home.env)
    until(lambda: list(home.path.glob("irdaemon-*/irdaemon.sock")))
    status = home.answer("status")
    assert status["pid"] == process.pid
    assert os.stat(os.path.dirname(status["socket"])).st_mode & 0o777 == 0o700
    process.terminate()
    assert process.wait(15) == 0
    assert not os.path.exists(status["socket"])


# -- the unit -------------------------------------------------------------------------------------


def test_the_unit_caps_restarts_and_does_not_repeat_a_wrong_configuration():
    lines = (ROOT / "systemd" / "irdaemon.service").read_text().splitlines()
    unit = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    wait = int(unit["RestartSec"])
    assert int(unit["StartLimitBurst"]) * wait < int(unit["StartLimitIntervalSec"])
    assert unit["RestartPreventExitStatus"] == "2"
