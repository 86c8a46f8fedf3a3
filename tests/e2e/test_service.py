"""The user service beside a daemon that runs already; systemctl is a script that does as much."""

import os
import sys

import pytest

from irclient.errors import IRError
from tests.support.running import until

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/asked"
start() {{ {python} -m irdaemon start 2>> "$HOME/service.log" & echo $! > "$HOME/main.pid"; }}
case "$*" in
  *MainPID*) cat "$HOME/main.pid" 2>/dev/null || echo 0 ;;
  *" restart "*)
    if [ -f "$HOME/main.pid" ]; then
      pid=$(cat "$HOME/main.pid"); kill "$pid"
      while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    fi
    start > /dev/null ;;
esac
"""


@pytest.fixture
def systemctl(home):
    """Put a systemctl first on the path; end what it started."""
    script = home.path / "bin" / "systemctl"
    script.parent.mkdir()
    script.write_text(SYSTEMCTL.format(python=sys.executable))
    script.chmod(0o755)
    home.env["PATH"] = f"{script.parent}{os.pathsep}{home.env['PATH']}"
    yield home.path / "main.pid"
    home.run("irdaemon", "stop")


def serving(home) -> int:
    """Return the pid of the daemon that answers, 0 for none."""
    try:
        with home.client(timeout=2) as client:
            return client.ping().pid
    except IRError:
        return 0


def test_an_installed_service_takes_the_place_of_a_detached_daemon_and_restart_leaves_it_there(
    home, systemctl
):
    assert home.run("irdaemon", "start", "--detach").returncode == 0
    detached = serving(home)
    done = home.run("irdaemon", "service", "install")
    assert done.returncode == 0, done.stderr
    until(lambda: serving(home) == int(systemctl.read_text()) != detached)

    first = serving(home)
    done = home.run("irdaemon", "restart")
    assert (done.returncode, "restarted by systemd" in done.stderr) == (0, True), done.stderr
    until(lambda: serving(home) not in (0, first))
    assert serving(home) == int(systemctl.read_text())
    assert home.run("irdaemon", "restart", "--config", str(home.config)).returncode != 0
    assert serving(home) == int(systemctl.read_text())


def test_an_installation_that_fails_leaves_nothing_and_the_daemon_goes_on(home, systemctl):
    script = home.path / "bin" / "systemctl"
    script.write_text('#!/bin/sh\ncase "$*" in *enable*) echo "no bus" >&2; exit 1 ;; esac\n')
    assert home.run("irdaemon", "start", "--detach").returncode == 0
    running = serving(home)
    done = home.run("irdaemon", "service", "install")
    assert (done.returncode, "no bus" in done.stderr) == (3, True), done.stderr
    unit = home.path / ".config" / "systemd" / "user" / "irdaemon.service"
    assert not unit.exists()
    assert serving(home) == running
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("[Unit]\n")  # what an older version left behind
    assert home.run("irdaemon", "service", "uninstall").returncode == 0
    assert not unit.exists()
