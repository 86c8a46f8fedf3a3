"""All that was set up is listed, asked about, and taken out."""

import io
import json
import os
import sys

import pytest

from irclient.agents.install.changes import plan_install
from irclient.web import find_key_path, keep_token
from irdaemon.cli import setup
from irdaemon.cli.main import main

MINE = '{\n  "theme": "dark"\n}\n'


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home with everything: an agent's settings, a service, data, configuration, keys."""
    for name, directory in (("CONFIG", ".config"), ("STATE", "state"), ("DATA", "data")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / directory))
    for name in ("IRDAEMON_CONFIG", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for path, text in {
        ".claude/settings.json": MINE,
        ".config/irdaemon/irdaemon.toml": '[[client]]\nname = "agent"\nuid = 7\n',
        ".config/irdaemon/agent.token": "secret",
        ".config/irdaemon/other.token": "not ours",
        ".config/systemd/user/irdaemon.service": "[Unit]",
        "state/irdaemon/ledger.sqlite": "x",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    unit = tmp_path / ".config/systemd/user/irdaemon.service"
    monkeypatch.setattr(setup.service, "find_unit", lambda: unit)
    monkeypatch.setattr(setup.service, "find_agent", lambda: unit)
    monkeypatch.setattr(setup.service, "uninstall", unit.unlink)
    for file in setup.SETTINGS_FILES["claude"](setup.find_machine(), False):
        plan_install(file, file).make()
    return tmp_path


def files(home):
    found = (path for path in home.rglob("*") if path.is_file())
    return {path.relative_to(home).as_posix() for path in found}


def test_without_an_answer_everything_is_listed_and_nothing_done(home, capsys):
    before = files(home)
    assert main(["uninstall"]) == 2
    out, err = capsys.readouterr()
    for part in ("claude: our entries", "service: ", "data: ", "configuration: ", "agent.token"):
        assert part in out
    assert "--yes removes without asking" in err
    assert files(home) == before


def test_the_key_of_the_page_lies_with_the_data_and_goes_with_it(home):
    path = find_key_path()
    keep_token(path)
    assert main(["uninstall", "--keep-data", "--yes"]) == 0
    assert os.path.exists(path)
    assert main(["uninstall", "--yes"]) == 0
    assert not os.path.exists(path)


def test_after_a_yes_only_what_was_never_ours_is_left(home):
    assert main(["uninstall", "--yes"]) == 0
    assert files(home) == {".claude/settings.json", ".config/irdaemon/other.token"}
    assert (home / ".claude/settings.json").read_text() == MINE


def test_data_and_configuration_are_kept_where_wanted(home):
    assert main(["uninstall", "--keep-data", "--yes"]) == 0
    left = files(home)
    assert {"state/irdaemon/ledger.sqlite", ".config/irdaemon/agent.token"} <= left
    assert ".config/systemd/user/irdaemon.service" not in left
    assert json.loads((home / ".claude/settings.json").read_text()) == {"theme": "dark"}


def test_a_no_leaves_everything(home, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    before = files(home)
    assert main(["uninstall"]) == 0
    assert files(home) == before


def test_where_the_daemon_does_not_stop_its_data_stays(home, monkeypatch):
    monkeypatch.setattr(setup, "find_holder", lambda path: 7)
    monkeypatch.setattr(setup, "stop_running", lambda: 5)
    assert main(["uninstall", "--yes"]) == 5
    assert "state/irdaemon/ledger.sqlite" in files(home)


def test_where_nothing_is_set_up_that_is_said(home, capsys):
    assert main(["uninstall", "--yes"]) == 0
    assert main(["uninstall", "--yes"]) == 0
    assert "nothing is set up here" in capsys.readouterr().err


def test_managed_documents_are_named_and_stay_unless_they_are_asked_for(home, capsys):
    for path in ("data/irdaemon/documents/note.md", "data/irdaemon/trash/1-a/old.md"):
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text("mine")
    assert main(["uninstall", "--yes"]) == 0
    assert (
        f"left: documents: {home}/data/irdaemon/documents (--documents)" in capsys.readouterr().err
    )
    assert {"data/irdaemon/documents/note.md", "data/irdaemon/trash/1-a/old.md"} <= files(home)
    assert main(["uninstall", "--documents", "--yes"]) == 0
    assert not any(path.startswith("data/") for path in files(home))


def test_a_linked_directory_of_documents_is_left_alone(home, capsys):
    (home / "notes").mkdir()
    (home / "notes/mine.md").write_text("mine")
    (home / "data/irdaemon").mkdir(parents=True)
    (home / "data/irdaemon/documents").symlink_to(home / "notes")
    assert main(["uninstall", "--documents", "--yes"]) == 0
    assert "is a link, and is left alone" in capsys.readouterr().err
    assert (home / "notes/mine.md").exists()


def test_copies_in_a_backend_are_left_and_it_is_said_where_they_are(home, capsys):
    file = home / ".config/irdaemon/irdaemon.toml"
    file.write_text("[index]\nbackend = 'postgresql://ann@db.example/ir?sslmode=require'\n")
    assert main(["uninstall", "--yes"]) == 0
    assert "left: the copies in postgresql://ann@db.example/ir (" in capsys.readouterr().err
