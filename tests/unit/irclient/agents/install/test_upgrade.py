"""Settings that name the hook by its former path: replaced by install, taken out to the byte.

`former_entries.json` has what an earlier release wrote into the FILES of `test_changes`: for each
agent the text of each file.
"""

import json
from pathlib import Path

import pytest

from irclient.agents.install.changes import BACKUP, plan_install, plan_uninstall
from irclient.agents.install.targets import SETTINGS_FILES, Machine

FORMER = json.loads(Path(__file__).with_name("former_entries.json").read_text("utf-8"))
OLD = "/opt/ir/client/irclient/hook/start.py"
NEW = "/opt/ir/client/irclient/agents/hook/start.py"


@pytest.fixture
def machine(tmp_path):
    hook = f"/usr/bin/python3 -I -S {NEW}"
    return Machine(str(tmp_path), str(tmp_path / "project"), {}, hook, "/opt/ir/bin/irc")


@pytest.fixture(params=FORMER)
def upgraded(machine, request):
    """Write an agent's files as an earlier release left them; return the agent and its files."""
    files = {}
    for name, text in FORMER[request.param].items():
        path = Path(machine.home, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text["installed"].encode())
        Path(f"{path}{BACKUP}").write_bytes(text["before"].encode())
        files[path] = text
    return request.param, files


def changes(machine, agent, plan):
    planned = [plan(file, file) for file in SETTINGS_FILES[agent](machine, False)]
    return [change for change in planned if change]


def make(machine, agent, plan):
    for change in changes(machine, agent, plan):
        change.make()


def test_install_replaces_the_former_commands_and_nothing_else(machine, upgraded):
    agent, files = upgraded
    make(machine, agent, plan_install)
    for path, text in files.items():
        assert path.read_bytes().decode() == text["installed"].replace(OLD, NEW)
    assert changes(machine, agent, plan_install) == []


def test_the_diff_of_an_upgrade_has_the_lines_of_the_commands_alone(machine, upgraded):
    agent, _ = upgraded
    for change in changes(machine, agent, plan_install):
        lines = [line for line in list(change.diff())[2:] if line[0] in "-+"]
        signs = [line[0] for line in lines]
        assert signs.count("-") == signs.count("+") > 0
        assert all('"command"' in line for line in lines)
        assert all((NEW in line) == (line[0] == "+") for line in lines)


def test_uninstall_takes_the_former_entries_out_to_the_byte(machine, upgraded):
    agent, files = upgraded
    make(machine, agent, plan_uninstall)
    for path, text in files.items():
        assert path.read_bytes().decode() == text["before"]
        assert not Path(f"{path}{BACKUP}").exists()


def test_installed_over_the_former_and_uninstalled_everything_is_as_it_was(machine, upgraded):
    agent, files = upgraded
    make(machine, agent, plan_install)
    make(machine, agent, plan_uninstall)
    for path, text in files.items():
        assert path.read_bytes().decode() == text["before"]


def test_what_its_owner_added_behind_a_former_entry_stays_where_it_is(machine):
    path = Path(machine.home, ".claude/settings.json")
    path.parent.mkdir()
    former = FORMER["claude"][".claude/settings.json"]["installed"]
    settings = json.loads(former)
    settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say done"}]})
    path.write_text(json.dumps(settings, indent=2))
    make(machine, "claude", plan_install)
    assert path.read_text() == json.dumps(settings, indent=2).replace(OLD, NEW)


def test_a_file_that_holds_nothing_of_ours_is_left_alone_by_uninstall(machine):
    path = Path(machine.home, ".claude.json")
    path.write_text("{}\n")
    assert changes(machine, "claude", plan_uninstall) == []
