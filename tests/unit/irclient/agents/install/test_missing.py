"""Installed hooks whose command names a file that is gone are found, and no others."""

import json
import sys
from pathlib import Path

import pytest

from irclient.agents.install.changes import plan_install
from irclient.agents.install.targets import (
    SETTINGS_FILES,
    Machine,
    find_missing_hooks,
    list_agents_with_hooks,
)
from irclient.fast.packing import PROTOCOL

WITH_HOOKS = ["claude", "codex", "gemini", "cursor", "copilot"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def install(home, agent, start, project=False, python=sys.executable):
    machine = Machine(str(home), str(home / "project"), {}, f"{python} -I -S {start}", "/gone/irc")
    for file in SETTINGS_FILES[agent](machine, project):
        if change := plan_install(file, file):
            change.make()


@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_the_agents_of_this_user_that_have_hooks_are_known(home, agent):
    assert list_agents_with_hooks() == []
    install(home, agent, "/gone/irclient/hook/start.py", project=True)
    assert list_agents_with_hooks() == []
    install(home, agent, "/gone/irclient/hook/start.py")
    assert list_agents_with_hooks() == [agent]


@pytest.mark.parametrize("agent", WITH_HOOKS)
@pytest.mark.parametrize("project", [False, True])
def test_a_hook_whose_file_is_gone_is_named_with_the_command_that_helps(home, agent, project):
    install(home, agent, "/gone/irclient/hook/start.py", project)
    (missing,) = find_missing_hooks()
    assert (missing.agent, missing.path) == (agent, "/gone/irclient/hook/start.py")
    assert missing.fix == f"irc install {agent} --hooks" + (" --project" if project else "")
    assert "irclient/hook/start.py" in Path(missing.settings).read_text()


def test_so_is_one_whose_interpreter_is_gone(home):
    start = home / "irclient" / "hook" / "start.py"
    start.parent.mkdir(parents=True)
    start.touch()
    install(home, "claude", start, python="/gone/python3")
    assert [missing.path for missing in find_missing_hooks()] == ["/gone/python3"]
    install(home, "claude", start)
    assert find_missing_hooks() == []


def test_what_is_not_ours_or_cannot_be_read_is_passed_over(home):
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    theirs = {"hooks": {"Stop": [{"hooks": [{"command": "/gone/check --agent irc"}]}, 7]}}
    unread = {"hooks": {"Stop": [{"command": "'/gone/irclient/hook/start.py"}]}}
    for text in (
        "",
        "irc",
        "{irc",
        "[1]",
        '{"hooks": "irc"}',
        json.dumps(theirs),
        json.dumps(unread),
    ):
        settings.write_text(text)
        assert find_missing_hooks() == []
    settings.write_bytes(b"irc \xff")
    assert find_missing_hooks() == []
    settings.unlink()
    settings.mkdir()
    assert find_missing_hooks() == []


@pytest.mark.parametrize("says", ["fast/packing.py", "wire.py"])
def test_so_is_one_of_a_client_that_speaks_another_protocol(home, says):
    package = home / "old" / "irclient"
    for name, text in (("hook/start.py", ""), (says, "# what\nPROTOCOL = 1\n")):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    install(home, "claude", package / "hook" / "start.py")
    (mute,) = find_missing_hooks()
    assert (mute.protocol, mute.fix) == (1, "irc install claude --hooks")
    assert "speaks protocol 1" in str(mute)
    (package / says).write_text(f"PROTOCOL = {PROTOCOL}\n")
    assert find_missing_hooks() == []
