"""`irdaemon init`: the answers that it understands, and how it spells this installation."""

import pytest

from irclient.errors import QueryError
from irdaemon.cli.first_run import Answers, Findings, _explain, parse_agents

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
