"""What may be gone of installed hooks is found without reading settings in full."""

import os
import sys

import pytest

from irclient.agents.install.changes import plan_install
from irclient.agents.install.entries import may_be_gone
from irclient.agents.install.targets import SETTINGS_FILES, Machine

WITH_HOOKS = ["claude", "codex", "gemini", "cursor", "copilot"]


def install(home, agent, start, project):
    machine = Machine(str(home), str(home / "p"), {}, f"{sys.executable} -I -S {start}", "/irc")
    for file in SETTINGS_FILES[agent](machine, project):
        if change := plan_install(file, file):
            change.make()


@pytest.mark.parametrize("agent", WITH_HOOKS)
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("directory", ["irclient", "with space/irclient"])
def test_a_hook_whose_file_is_gone_is_always_told_from_one_that_is_there(
    agent, project, directory, tmp_path
):
    start = tmp_path / directory / "hook" / "start.py"
    start.parent.mkdir(parents=True)
    start.touch()
    quoted = f"'{start}'" if " " in str(start) else str(start)
    install(tmp_path, agent, quoted, project)
    given = str(tmp_path), str(tmp_path / "p"), {}
    # What is quoted is left to those who read the whole file.
    assert may_be_gone(*given) == (" " in str(start))
    start.unlink()
    assert may_be_gone(*given)


def test_of_an_agent_with_a_directory_of_its_own_that_is_looked_at(tmp_path):
    (tmp_path / "settings.json").write_text('{"command": "/gone/irclient/hook/start.py"}')
    given = str(tmp_path / "home"), os.sep
    assert may_be_gone(*given, {"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert not may_be_gone(*given, {})
    assert not may_be_gone(*given, {"CLAUDE_CONFIG_DIR": str(tmp_path / "settings.json")})
