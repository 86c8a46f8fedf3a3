"""`irc open`: which file is meant, at which line, and how each editor is told."""

import json
import os
from types import SimpleNamespace

import pytest

from irclient.cli import main as program
from irclient.cli.opening import find_file, make_command
from irclient.errors import Unavailable
from irclient.testing import FakeDaemon

PATH = "/notes/a.md"


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Return what was run in place of the process."""
    commands = []
    monkeypatch.setattr(os, "execvp", lambda name, words: commands.append(words))
    monkeypatch.setenv("EDITOR", "vim")
    monkeypatch.delenv("VISUAL", raising=False)
    return commands


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+7", PATH]),
        ("/usr/bin/nano", ["/usr/bin/nano", "+7", PATH]),
        ("emacsclient -t", ["emacsclient", "-t", "+7", PATH]),
        ("code --wait", ["code", "--wait", "-g", f"{PATH}:7"]),
        ("hx", ["hx", f"{PATH}:7"]),
        ("subl -w", ["subl", "-w", f"{PATH}:7"]),
        ("pycharm", ["pycharm", "--line", "7", PATH]),
        ("kate", ["kate", "-l", "7", PATH]),
        ("mine", ["mine", PATH]),
    ],
)
def test_each_editor_is_given_the_line_as_it_takes_one(editor, words):
    assert make_command(editor.split(), PATH, 7) == words
    assert make_command(editor.split(), PATH, 0) == [*editor.split(), PATH]


def test_a_path_is_opened_at_its_line_without_a_daemon(note, started):
    for typed, command in ((f"{note}:2", ["vim", "+2", str(note)]), (note, ["vim", str(note)])):
        assert program.main(["open", str(typed)]) == 0
        assert started.pop() == command


def test_a_file_whose_name_ends_like_a_line_is_meant_itself(note, started):
    other = note.with_name("a.md:2")
    other.write_text("x")
    assert program.main(["open", str(other)]) == 0
    assert started == [["vim", str(other)]]


def ask(monkeypatch, capsys, pointer, *words):
    """Run `irc open` on a daemon that holds one item; return the code and what was said."""
    found = {"corpus": "notes", "artifact_id": "a.md", "level": "metadata", "name": "a"}
    with FakeDaemon({"disclose": [{**found, "pointer": pointer}]}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        return program.main(["open", *words]), *capsys.readouterr()


def test_a_reference_is_opened_where_it_points(monkeypatch, capsys, note, started):
    assert ask(monkeypatch, capsys, str(note), "notes/a.md")[0] == 0
    assert started == [["vim", str(note)]]


def test_visual_comes_before_editor(monkeypatch, note, started):
    monkeypatch.setenv("VISUAL", "code --wait")
    assert program.main(["open", f"{note}:2"]) == 0
    assert started == [["code", "--wait", "-g", f"{note}:2"]]


def test_without_an_editor_the_path_is_printed_and_it_is_said(monkeypatch, capsys, note, started):
    monkeypatch.delenv("EDITOR")
    assert program.main(["open", f"{note}:2"]) == 2
    out, err = capsys.readouterr()
    assert out == f"{note}:2\n"
    assert "neither VISUAL nor EDITOR is set" in err
    assert not started


def test_an_editor_that_takes_no_line_that_is_known_has_it_said(monkeypatch, capsys, note, started):
    monkeypatch.setenv("EDITOR", "mine")
    assert program.main(["open", f"{note}:2"]) == 0
    assert "go to line 2" in capsys.readouterr().err
    assert started == [["mine", str(note)]]


def test_as_data_it_is_printed_and_nothing_is_opened(capsys, note, started):
    assert program.main(["open", f"{note}:2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"path": str(note), "line": 2, "command": ["vim", "+2", str(note)]}
    assert not started


def test_what_has_no_file_or_is_gone_is_said_with_what_helps(monkeypatch, capsys, note, started):
    code, _, err = ask(monkeypatch, capsys, "", "notes/a.md")
    assert (code, "irc disclose notes/a.md" in err) == (4, True)
    note.unlink()
    code, _, err = ask(monkeypatch, capsys, str(note), "notes/a.md")
    assert (code, "is gone" in err) == (4, True)
    assert not started


def test_an_editor_that_is_not_here_or_not_readable_is_an_error(monkeypatch, capsys, note):
    for editor, code in (("no-such-editor", 3), ("vim '", 2)):
        monkeypatch.setenv("EDITOR", editor)
        monkeypatch.delenv("VISUAL", raising=False)
        assert program.main(["open", str(note)]) == code
        assert "irc: " in capsys.readouterr().err


def test_on_another_machine_there_is_nothing_to_open():
    client, asked = SimpleNamespace(endpoint="tcp://far:7411"), SimpleNamespace(reference="n/a.md")
    with pytest.raises(Unavailable, match="on the daemon's machine"):
        find_file(client, asked)
