"""The place that a command line asks from."""

import os

import pytest

from irclient import places
from irclient.cli.asking import disclose_items
from irclient.cli.main import make_program
from irclient.cli.place import choose_place, find_directory
from irclient.cli.query import make_query, read_query
from irclient.errors import QueryError
from irclient.terminal.help import parse_options


def options(*words, command="search"):
    return parse_options(make_program([command]), [command, "x", *words])


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.delenv("IRDAEMON_SOCKET", raising=False)
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path)
    return os.path.realpath(tmp_path)


@pytest.mark.parametrize("command", ["discover", "search", "explain"])
def test_a_query_comes_from_the_working_directory(inside, command):
    assert read_query(None, options(command=command)).place == inside


def test_a_directory_that_is_named_is_made_absolute(inside):
    assert read_query(None, options("--here", "shop")).place == f"{inside}/shop"


def test_from_everywhere_there_is_no_place(inside):
    assert read_query(None, options("--everywhere")).place == ""


def test_a_working_directory_that_is_gone_is_no_place(inside, monkeypatch):
    gone = os.path.join(inside, "gone")
    os.mkdir(gone)
    monkeypatch.chdir(gone)
    os.rmdir(gone)
    assert choose_place(options()) == ""
    with pytest.raises(QueryError, match="the working directory is gone"):
        find_directory("", "irc here")


def test_a_working_directory_that_cannot_be_read_is_no_place(inside, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, how: False)
    assert choose_place(options()) == ""


def test_another_machine_is_not_told_the_working_directory(inside, monkeypatch):
    monkeypatch.setenv("IRDAEMON_SOCKET", "tcp://there:7700")
    assert choose_place(options()) == ""


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere", "does not exist"), ("file", "is not a directory")]
)
def test_a_place_that_is_no_directory_is_refused(inside, name, why):
    open("file", "w").close()
    with pytest.raises(QueryError, match=f"{name} {why}") as refused:
        choose_place(options("--here", name))
    assert refused.value.hint == "--here DIR names a directory"


def test_here_and_everywhere_exclude_each_other(inside, capsys):
    with pytest.raises(SystemExit) as ended:
        options("--here", ".", "--everywhere")
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_an_evaluation_is_asked_from_nowhere(inside):
    words = ["search", "x"]
    assert make_query(make_program(words).parse_args(words)).place == ""


def test_a_payload_is_asked_for_from_the_working_directory(inside, capsys):
    class Daemon:
        def disclose(self, references, level, expand, place):
            self.place = place
            return []

    daemon = Daemon()
    disclose_items.run(daemon, options(command="disclose"))
    assert daemon.place == inside


@pytest.mark.parametrize(
    "path",
    ["", "shop", "/" + "x" * 4_096, "/" + "ü" * 2_048, "/a\0b", "/a\udcff", "/" * 10_000_000],
)
def test_what_cannot_be_sent_as_a_place_is_none(path):
    assert places.check_place(path) == ""
    assert places.check_place("/" + "x" * 4_095)
