"""Backends from the command line: each host judged, tables made, sizes printed, exit codes."""

import json

import pytest

from irclient.errors import Unavailable
from irdaemon.cli.main import main
from irdaemon.config.config import load_config
from irdaemon.contrib.backends import doctor
from irdaemon.contrib.backends import making as backends
from irdaemon.contrib.backends.state import BackendState, CheckLine, CorpusSize, HostState
from tests.support.memory_backend import MemoryBackend

URL = "postgresql://db.example/ir"
HOSTILE = "a\nb\x1b[2J"


class Admin:
    """What looks after a backend, in words of the test's own."""

    lines = (CheckLine(True, "it answers"),)
    away = False

    def check(self):
        return BackendState(URL, (HostState("db.example:5432", self.lines, True),))

    def migrate(self):
        if self.away:
            raise Unavailable("no connection to db.example", "start it")
        return 3

    def measure_corpora(self):
        if self.away:
            raise Unavailable("no connection to db.example", "start it")
        return (CorpusSize(HOSTILE, 7, 10, 20, 20, 400, 5_000_000, False, 1e9),)


@pytest.fixture
def admin(tmp_path, monkeypatch):
    """Configure a backend, and stand in for what looks after it."""
    file = tmp_path / "irdaemon.toml"
    file.write_text(f"known = false\n[index]\nbackend = '{URL}'\nbackend_password_env = 'PW'\n")
    monkeypatch.setenv("IRDAEMON_CONFIG", str(file))
    made, asked = Admin(), []
    made.asked = asked
    monkeypatch.setattr(backends, "make_admin", lambda *given: asked.append(given) or made)
    return made


def test_a_backend_that_is_well_is_told_host_by_host(admin, capsys):
    assert main(["backend", "check"]) == 0
    assert capsys.readouterr().out == "db.example:5432:\n  ok     it answers\n"
    assert admin.asked == [(URL, "PW")]


def test_what_is_wrong_comes_with_its_cure_and_ends_with_5(admin, capsys):
    admin.lines = (CheckLine(False, "there is no pgvector", "CREATE EXTENSION vector"),)
    assert main(["backend", "check"]) == 5
    out = capsys.readouterr().out
    assert "wrong  there is no pgvector" in out
    assert "-> CREATE EXTENSION vector" in out
    assert main(["backend", "check", "--json"]) == 5
    (found,) = json.loads(capsys.readouterr().out)
    assert found["hosts"][0]["lines"][0]["hint"] == "CREATE EXTENSION vector"


@pytest.mark.parametrize("action", ["migrate", "stats"])
def test_a_server_that_does_not_answer_ends_with_5(admin, action, capsys):
    admin.away = True
    assert main(["backend", action]) == 5
    out, err = capsys.readouterr()
    assert (out, "no connection to db.example" in err, "start it" in err) == ("", True, True)


def test_the_tables_are_made_by_their_owner_whose_url_is_given(admin, capsys):
    assert main(["backend", "migrate", "postgresql://owner@db.example/ir"]) == 0
    assert capsys.readouterr().out == "postgresql://owner@db.example/ir: format 3\n"
    assert admin.asked == [("postgresql://owner@db.example/ir", "PW")]


def test_sizes_are_a_table_in_which_no_name_begins_a_line(admin, capsys):
    assert main(["backend", "stats"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 3
    assert "\x1b" not in out
    assert " 5.0 " in out
    assert main(["backend", "stats", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["corpora"][0]["corpus"] == HOSTILE


def test_a_password_on_the_command_line_is_refused_and_not_repeated(admin, capsys):
    assert main(["backend", "migrate", "postgresql://owner:hunter2@db.example/ir"]) == 2
    assert "hunter2" not in capsys.readouterr().err
    assert admin.asked == []


def test_without_a_backend_it_is_said_how_one_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("IRDAEMON_CONFIG", str(tmp_path / "irdaemon.toml"))
    (tmp_path / "irdaemon.toml").write_text("")
    assert main(["backend", "check"]) == 2
    assert "names no backend" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["backend"], ["backend", "chek"], ["backend", "check", "--x"]])
def test_wrong_usage_ends_with_2(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2


def test_the_doctor_says_what_is_copied_where_and_whether_that_answers(admin, monkeypatch):
    made = MemoryBackend()
    monkeypatch.setattr(backends, "open_backend", lambda address: made)
    told = [(each.level, each.where) for each in doctor.check(load_config())]
    assert told == [("note", URL), ("ok", URL)]

    def away():
        raise Unavailable("connection refused")

    made.read_totals = away
    *_, finding = doctor.check(load_config())
    assert (finding.level, finding.fix) == ("wrong", "irdaemon backend check")
    assert "connection refused" in finding.what
