"""The short way of `irc`: what it loads, and how it waits for a daemon."""

import os
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import irclient
from irclient import quick
from irclient.cli import main as cli
from irclient.testing import FakeDaemon, hit, selection


def test_a_daemon_that_never_answers_is_waited_for_once_and_is_exit_code_3(monkeypatch, capsys):
    monkeypatch.setattr(quick, "_TIMEOUT_S", 0.05)
    monkeypatch.setattr(sys, "argv", ["irc", "discover", "x"])
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{short}/s")
        silent.listen()
        monkeypatch.setenv("IRDAEMON_SOCKET", f"{short}/s")
        assert quick.main() == 3
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert "did not answer within" in capsys.readouterr().err


SOURCES = {"skills": {}, "notes": {}}


@pytest.mark.parametrize("way", [quick.main, cli.main])
@pytest.mark.parametrize(
    ("words", "hinted"),
    [
        (["skills", "fill", "pdf"], True),
        (["--json", "skills", "fill", "pdf"], False),
        (["-c", "skills", "skills", "fill a pdf"], False),
        (["skills"], False),
        (["fill", "skills"], False),
    ],
)
def test_a_first_word_that_names_a_corpus_gets_a_hint(way, words, hinted, monkeypatch, capsys):
    found = replace(selection(hit("pdf")), signals={"per_source": SOURCES})
    monkeypatch.setattr("os._exit", lambda code: None)
    with FakeDaemon({"discover": found}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        monkeypatch.setattr(sys, "argv", ["irc", "discover", *words])
        way()
    hint = "irc: 'skills' is also the name of a corpus: -c skills searches it alone\n"
    assert capsys.readouterr().err == (hint if hinted else "")


def loaded_by(statement, *modules):
    code = f"import sys; {statement}; print([m for m in {modules!r} if m in sys.modules])"
    home = str(Path(irclient.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([home, *sys.path])}
    # Not the site's own imports: an editable install loads half the library at start.
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    return done.stdout.strip() or done.stderr


HEAVY = ("numpy", "irdaemon", "zmq", "argparse", "typing", "dataclasses", "socket")


def test_importing_the_client_loads_neither_numpy_nor_the_daemon_nor_zmq():
    assert loaded_by("import irclient, irclient.types, irclient.errors", *HEAVY[:3]) == "[]"
    assert loaded_by("import irclient.cli.main", *HEAVY[:3]) == "['zmq']"


def test_the_daemon_for_tests_needs_only_what_the_client_needs():
    assert loaded_by("import irclient.testing", "numpy", "irdaemon", "pytest", "asyncio") == "[]"


def test_the_way_of_a_plain_discover_loads_nothing_heavy():
    modules = (
        "quick fast.zmtp fast.packing places terminal.width terminal.hits terminal.exits".split()
    )
    statement = "import " + ", ".join(f"irclient.{module}" for module in modules)
    assert loaded_by(statement, *HEAVY, "msgpack") == "[]"


def test_the_short_way_asks_from_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.setattr("os._exit", lambda code: None)
    with FakeDaemon({"discover": selection(hit("pdf"))}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        monkeypatch.setattr(sys, "argv", ["irc", "discover", "x"])
        monkeypatch.chdir(tmp_path)
        quick.main()
        (gone := tmp_path / "gone").mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        quick.main()
    assert daemon.requests[0].args["place"] == os.path.realpath(tmp_path)
    assert "place" not in daemon.requests[1].args
