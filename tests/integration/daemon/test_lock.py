import errno
import os
import socket
import subprocess
import sys

import pytest

from irclient.errors import Unavailable
from irdaemon.daemon import lock as ownership
from irdaemon.daemon import place, service
from irdaemon.daemon.lock import Lock, find_holder, make_private
from irdaemon.serve.sockets import AlreadyRunning, clear_socket


def test_a_lock_names_its_holder_and_keeps_a_second_one_out(tmp_path):
    path = str(tmp_path / "own" / "lock")
    lock = Lock.take(path)
    assert find_holder(path) == os.getpid()
    code = f"from irdaemon.daemon.lock import Lock; Lock.take({path!r})"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert f"already running (pid {os.getpid()})" in second.stderr
    lock.release()
    assert find_holder(path) is None
    assert taken_elsewhere(path).returncode == 0


def test_a_lock_file_left_behind_holds_nothing(tmp_path):
    path = tmp_path / "own" / "lock"
    path.parent.mkdir(mode=0o700)
    path.write_text("1\n")
    assert find_holder(str(path)) is None
    assert Lock.take(str(path)).path == str(path)


def taken_elsewhere(path):
    """Try to take a lock in a process of its own; return what it said."""
    code = f"from irdaemon.daemon.lock import Lock; Lock.take({path!r})"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_removing_a_lock_file_lets_no_other_daemon_in(tmp_path):
    path = str(tmp_path / "own" / "lock")
    lock = Lock.take(path)
    os.unlink(path)
    assert "already running (pid unknown)" in taken_elsewhere(path).stderr
    lock = lock.renew()
    assert find_holder(path) == os.getpid()
    assert f"already running (pid {os.getpid()})" in taken_elsewhere(path).stderr
    assert lock.renew() is lock


def test_a_lock_whose_directory_was_removed_is_made_anew_with_it(tmp_path):
    path = str(tmp_path / "own" / "lock")
    lock = Lock.take(path)
    os.rename(tmp_path / "own", tmp_path / "away")
    lock = lock.renew()
    assert find_holder(path) == os.getpid()
    assert os.stat(tmp_path / "own").st_mode & 0o777 == 0o700
    lock.release()
    assert find_holder(path) is None


def test_a_lock_whose_place_another_one_has_taken_is_not_kept(tmp_path):
    path = str(tmp_path / "own" / "lock")
    lock = Lock.take(path)
    os.rename(tmp_path / "own", tmp_path / "away")
    other = Lock.take(path)
    with pytest.raises(AlreadyRunning):
        lock.renew()
    assert find_holder(str(tmp_path / "away" / "lock")) == os.getpid()
    other.release()


def test_a_directory_is_made_private_and_a_shared_one_is_refused(tmp_path):
    make_private(str(tmp_path / "new"))
    assert os.stat(tmp_path / "new").st_mode & 0o777 == 0o700
    (tmp_path / "shared").mkdir(mode=0o755)
    with pytest.raises(Unavailable):
        make_private(str(tmp_path / "shared"))


def test_a_directory_that_cannot_be_made_is_an_error_that_says_what_to_set(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot be written") as caught:
        Lock.take(str(tmp_path / "file" / "own" / "lock"))
    assert "XDG_STATE_HOME" in caught.value.hint


def test_a_full_disk_under_the_lock_is_an_error_and_holds_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = str(tmp_path / "own" / "lock")
    with monkeypatch.context() as patched:
        patched.setattr(ownership.os, "pwrite", full)
        with pytest.raises(Unavailable, match="No space left"):
            Lock.take(path)
    assert find_holder(path) is None
    assert Lock.take(path).path == path


def test_a_dead_socket_is_removed_a_live_one_never(tmp_path):
    path = str(tmp_path / "s")
    clear_socket(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        with pytest.raises(AlreadyRunning):
            clear_socket(path)
        assert os.path.exists(path)
    clear_socket(path)
    assert not os.path.exists(path)


def test_what_is_no_socket_is_never_removed(tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("mine")
    with pytest.raises(AlreadyRunning, match="is not a socket"):
        clear_socket(str(notes))
    assert notes.read_text() == "mine"


def test_the_manager_is_told_only_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    place.notify("READY=1")
    address = str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        place.notify("READY=1", "STATUS=ok")
        assert manager.recv(100) == b"READY=1\nSTATUS=ok"


@pytest.mark.parametrize(
    ("usec", "pid", "expected"),
    [("60000000", "", 30.0), ("", "", None), ("60000000", "1", None), ("x", "", None)],
)
def test_the_watchdog_is_fed_twice_as_often_as_asked(monkeypatch, usec, pid, expected):
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    assert place.watchdog_interval() == expected


def test_the_unit_runs_this_interpreter_by_its_absolute_path(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/opt/my env/50%/python")
    line = next(line for line in service.make_unit().splitlines() if line.startswith("ExecStart"))
    assert line == 'ExecStart="/opt/my env/50%%/python" -m irdaemon start'


def test_a_machine_without_a_service_manager_is_told_what_works(monkeypatch):
    monkeypatch.setattr(service.shutil, "which", lambda name: None)
    with pytest.raises(Unavailable) as caught:
        service.read_status()
    assert "start --detach" in caught.value.hint
