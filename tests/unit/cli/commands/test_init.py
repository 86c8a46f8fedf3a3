"""`irdaemon init`: the answers it understands, what it checks first, how it spells commands."""

import pytest

from irclient.errors import QueryError
from irdaemon.cli.first_run import Answers, Findings, _explain, parse_agents
from irdaemon.cli.main import main
from irdaemon.daemon import service
from irdaemon.runtime import pool

FOUND = Findings((), ("claude", "codex"), (), ())


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("", ()),
        (" , ", ()),
        ("none", ()),
        ("all", ("claude", "codex")),
        ("Claude,, codex,", ("claude", "codex")),
        ("codex codex", ("codex",)),
    ],
)
def test_agents_are_named_with_commas_or_spaces(text, agents):
    assert parse_agents(text, FOUND) == agents


def test_an_unknown_agent_is_told_with_the_nearest():
    with pytest.raises(QueryError, match="no agent is called 'claud'; did you mean 'claude'"):
        parse_agents("claud", FOUND)


def test_commands_of_what_comes_next_can_be_copied_from_a_directory_with_spaces(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "my tools" / "irdaemon")])
    _explain(Answers(("claude",), True, ""))
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert rows[0].startswith("  'my tools/irc' uninstall claude  ")
    assert len({row.index(row.split("  ")[-1].lstrip()) for row in rows}) == 1


def refuse(*given, **named):
    raise AssertionError("no process is to be started")


@pytest.mark.parametrize("option", ["--config", "--fallback"])
def test_a_file_is_not_replaced_that_a_daemon_of_the_service_manager_would_not_read(
    tmp_path, monkeypatch, capsys, option
):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "IRDAEMON_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(service, "is_service", lambda pid: True)
    monkeypatch.setattr(pool, "start_detached", refuse)
    file = tmp_path / ".config" / "irdaemon" / "irdaemon.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    assert main(["init", "--yes", "--force", option, str(file)]) == 2
    assert f"does not take {option}" in capsys.readouterr().err
    assert file.read_text() == "# mine\n"
