"""The command with which an agent writes expected prompts: written on request, and taken away."""

import argparse

import pytest

from irclient.agents.install import targets
from irclient.agents.install.changes import plan_install, plan_uninstall
from irclient.cli import agents
from irclient.errors import SettingsError


@pytest.fixture
def plan(tmp_path, monkeypatch):
    machine = targets.Machine(str(tmp_path), str(tmp_path / "shop"), {}, "hook", "/opt/ir/bin/irc")
    monkeypatch.setattr(agents, "find_machine", lambda: machine)

    def planned(plan, agent="claude", **given):
        flags = dict.fromkeys(("hooks", "mcp", "prompts_command", "project"), False)
        return agents.plan_changes(argparse.Namespace(agent=agent, **{**flags, **given}), plan)

    return planned


def test_it_is_written_on_request_alone_and_once(plan, tmp_path):
    path = tmp_path / ".claude" / "commands" / "irdaemon-prompts.md"
    assert all(str(path) != each.path for each in plan(plan_install))
    [change] = plan(plan_install, prompts_command=True)
    assert change.path == str(path)
    assert any("/opt/ir/bin/irc prompts batch $ARGUMENTS" in line for line in change.diff())
    change.make()
    assert path.stat().st_mode & 0o777 == 0o644
    assert "allowed-tools: Bash(/opt/ir/bin/irc prompts batch:*)" in path.read_text()
    assert plan(plan_install, prompts_command=True) == []


def test_it_goes_with_all_else_or_alone_and_not_with_a_part(plan, tmp_path):
    [change] = plan(plan_install, prompts_command=True)
    change.make()
    assert plan(plan_uninstall, hooks=True) == []
    assert [each.path for each in plan(plan_uninstall)] == [change.path]
    [gone] = plan(plan_uninstall, prompts_command=True)
    gone.make()
    assert not (tmp_path / ".claude" / "commands" / "irdaemon-prompts.md").exists()
    assert plan(plan_uninstall) == []


def test_a_file_of_that_name_that_is_not_ours_stays(plan, tmp_path):
    path = tmp_path / ".codex" / "prompts" / "irdaemon-prompts.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nmine\n---\n")
    with pytest.raises(SettingsError, match="is not ours"):
        plan(plan_install, "codex", prompts_command=True)
    assert plan(plan_uninstall, "codex") == []


def test_an_agent_without_commands_of_this_kind_says_what_to_do(plan):
    with pytest.raises(SettingsError, match="there is no command for cursor"):
        plan(plan_install, "cursor", prompts_command=True)
    assert plan(plan_uninstall, "cursor") == []


def test_a_file_that_changed_meanwhile_is_left_alone(plan, tmp_path):
    [change] = plan(plan_install, prompts_command=True)
    path = tmp_path / ".claude" / "commands" / "irdaemon-prompts.md"
    path.parent.mkdir(parents=True)
    path.write_text("another's")
    with pytest.raises(SettingsError, match="has changed in the meantime"):
        change.make()
