"""Bytes that are no UTF-8, as the system's functions hand them on: an error that says so."""

import json
import os
import subprocess
import sys

import pytest

from irclient import Client, places, quick, wire
from irclient.cli import main as cli
from irclient.errors import QueryError, Unavailable
from irclient.testing import FakeDaemon, hit, selection
from tests.support.clients import Awaited
from tests.support.serving import unpack_reply

BAD = os.fsdecode(b"bad\xff")
WORDS = [
    ["hint", f"/{BAD}"],
    ["add", BAD, "files"],
    ["add", "notes", "files", f"/{BAD}"],
    ["rm", BAD],
    ["build", BAD],
    ["disclose", f"skills/{BAD}"],
    ["records", BAD],
    ["info", BAD],
    ["search", BAD],
    ["explain", BAD],
    ["discover", "--corpus", BAD, "x"],
    ["artifacts", "--under", f"/{BAD}"],
    ["impressions", BAD],
]


@pytest.mark.parametrize("words", WORDS)
def test_a_command_line_with_such_bytes_is_wrong_usage_and_says_what_is_wrong(
    words, monkeypatch, capsys
):
    with FakeDaemon() as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        assert cli.main(words) == 2
        assert [request.op for request in daemon.requests if request.op == words[0]] == []
    said = capsys.readouterr().err
    assert f"irc: {words[0]}: not UTF-8: " in said
    assert "bad\\xff" in said


def test_the_short_way_asks_with_what_it_can_read(monkeypatch, capsys):
    monkeypatch.setattr("os._exit", lambda code: None)
    with FakeDaemon({"discover": selection(hit("pdf"))}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        monkeypatch.setattr("sys.argv", ["irc", "discover", f"pdf {BAD}"])
        quick.main()
        assert daemon.requests[0].args["text"] == "pdf bad?"
    assert "pdf  skills" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [Client, Awaited])
def test_a_client_raises_a_typed_error_and_can_be_asked_again(kind):
    with FakeDaemon() as daemon:
        client = kind(daemon.endpoint, 5.0)
        for lone in ("\udcff", "\ud800"):
            with pytest.raises(QueryError, match="hint: not UTF-8: /a"):
                client.hint(f"/a{lone}")
        assert client.ping().protocol == wire.PROTOCOL
        client.close()


def test_such_a_name_in_an_answer_is_spelt_and_costs_no_client_the_answer():
    data = wire.pack_result(3, {"path": f"/{BAD}", "n": 1})
    assert unpack_reply(data) == (3, {"path": "/bad\\udcff", "n": 1})


def test_a_socket_lies_elsewhere_than_below_such_a_directory(tmp_path, monkeypatch):
    directory = os.path.join(str(tmp_path), BAD)
    os.mkdir(directory, 0o700)
    monkeypatch.delenv("IRDAEMON_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
    assert BAD not in places.socket_path()
    monkeypatch.setenv("IRDAEMON_SOCKET", os.path.join(directory, "s"))
    with pytest.raises(Unavailable, match="not UTF-8"):
        places.socket_path()


@pytest.mark.parametrize("words", [["discover", "x"], ["search", "x"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_terminal_without_unicode_gets_escapes(words, form):
    name = "caf\u00e9 \u8868"
    answers = {op: selection(hit(name)) for op in ("discover", "search")}
    with FakeDaemon(answers) as daemon:
        env = {**os.environ, **daemon.environment, "PYTHONIOENCODING": "ascii"}
        command = [sys.executable, "-m", "irclient.quick", *words, *form]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    if form:
        assert json.loads(done.stdout)["results"][0]["name"] == name
    else:
        assert "caf\\xe9 \\u8868" in done.stdout
