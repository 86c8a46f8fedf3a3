"""A daemon and a client of two protocols: each says who is to be updated, and hooks stay silent."""

import argparse
import asyncio
import json
import os
import subprocess
import sys

import pytest

from irclient import AsyncClient, Client, ProtocolError, Query, quick, wire
from irclient.cli import main as cli
from irclient.fast.zmtp import exchange
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.testing import FakeDaemon, hit, selection
from irdaemon import __version__
from irdaemon.cli import starting
from irdaemon.cli.doctor import service
from irdaemon.config.config import load_config

OLDER, NEWER = wire.PROTOCOL - 1, wire.PROTOCOL + 1
RESTART, UPDATE = "irdaemon restart", wire.UPDATE_CLIENT
CODE = argparse.Namespace(detach=True, wait=False, config=None, fallback=None, log=None)


@pytest.fixture(params=[(OLDER, RESTART), (NEWER, UPDATE)], ids=["older", "newer"])
def met(request, monkeypatch, tmp_path):
    """Serve another protocol at the usual place; return that daemon and the command that helps."""
    protocol, hint = request.param
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "IRDAEMON_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    with FakeDaemon({"discover": selection(hit("pdf"))}, protocol) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        yield daemon, hint


def said(protocol):
    return f"the daemon speaks protocol {protocol}; this client, irclient"


def test_both_clients_raise_what_it_is_and_the_command_that_helps(met):
    daemon, hint = met
    with Client() as client, pytest.raises(ProtocolError) as one:
        client.discover(Query("x"))

    async def ask():
        async with AsyncClient() as client:
            await client.status()

    with pytest.raises(ProtocolError) as other:
        asyncio.run(ask())
    for caught in (one, other):
        assert caught.value.message.startswith(said(daemon.protocol))
        assert caught.value.hint == hint
    assert daemon.requests == []


@pytest.mark.parametrize("words", [["status"], ["discover", "x"], ["ping", "--json"]])
def test_irc_says_it_whichever_way_it_takes(met, words, monkeypatch, capsys):
    daemon, hint = met
    monkeypatch.setattr(sys, "argv", ["irc", *words])
    assert quick.main() == cli.main(words) == 2
    out, err = capsys.readouterr()
    assert said(daemon.protocol) in err
    assert hint in err
    assert ("--json" in words) == bool(out)
    assert not out or json.loads(out.splitlines()[0])["error"]["code"] == "protocol"


def test_a_hook_is_silent_and_done(met):
    daemon, _ = met
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "fill a pdf form"}
    command = [sys.executable, "-m", "irclient.quick", "hook", "--agent", "claude"]
    done = subprocess.run(
        command,
        input=json.dumps(prompt).encode(),
        env={**os.environ, **daemon.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_doctor_says_it_with_the_command(met):
    daemon, hint = met
    found = list(service.check_daemon(load_config()))
    assert [each.level for each in found] == ["ok", "wrong"]
    assert said(daemon.protocol) in str(found[1])
    assert hint in str(found[1])


def test_a_detached_start_stops_a_daemon_of_another_protocol_first(met, monkeypatch, capsys):
    daemon, _ = met
    monkeypatch.setattr(starting, "find_holder", lambda path: 7)
    monkeypatch.setattr(starting, "stop_running", lambda: UNHEALTHY)
    assert starting.start_detached(CODE) == UNHEALTHY
    assert f"{said(daemon.protocol)}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "code", "told"),
    [("0.0.9", UNHEALTHY, "irdaemon 0.0.9 runs"), (__version__, DONE, "already running (pid 7)")],
)
def test_a_detached_start_replaces_another_version_and_leaves_this_one_alone(
    version, code, told, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(starting, "find_holder", lambda path: 7)
    monkeypatch.setattr(starting, "stop_running", lambda: UNHEALTHY)
    pong = {"version": version, "protocol": wire.PROTOCOL, "pid": 7}
    with FakeDaemon({"ping": pong}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        assert starting.start_detached(CODE) == code
    assert told in capsys.readouterr().err


def test_the_daemon_for_tests_refuses_an_older_client_as_a_daemon_does():
    with FakeDaemon() as daemon:
        request = wire.Request(4, "ping", {}, v=OLDER)
        reply = wire.read_reply(exchange(daemon.endpoint, wire.pack_request(request), 5))
    assert (reply.id, reply.error.code) == (4, "protocol")
