"""The plugin for Claude Code keeps the rules that its validator checks, and says what is true."""

import json
import re
from pathlib import Path

import pytest

from irclient.agents.hook.event import read_event
from irclient.agents.install.entries import is_our_hook, is_our_server
from irclient.cli.main import main
from irdaemon.source.frontmatter import split_front
from irdaemon.source.skills import Skills
from irdaemon.types import Root

ROOT = Path(__file__).parents[4]
PLUGIN = ROOT / "plugin"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MANIFEST_KEYS = {
    *("name", "displayName", "version", "description", "author", "homepage", "repository"),
    *("license", "keywords", "metadata", "dependencies", "defaultEnabled", "userConfig"),
    *("skills", "commands", "agents", "hooks", "mcpServers", "outputStyles", "lspServers"),
}


def data(name):
    return json.loads((PLUGIN / name).read_text())


def test_the_manifest_has_known_keys_and_an_author():
    manifest = data(".claude-plugin/plugin.json")
    assert set(manifest) <= MANIFEST_KEYS
    assert NAME.fullmatch(manifest["name"])
    assert manifest["author"]["name"]


def test_the_marketplace_lists_the_plugin_where_it_is():
    market = data(".claude-plugin/marketplace.json")
    (listed,) = market["plugins"]
    assert NAME.fullmatch(market["name"])
    assert market["owner"]["name"]
    assert listed["name"] == data(".claude-plugin/plugin.json")["name"]
    assert (PLUGIN / listed["source"] / ".claude-plugin" / "plugin.json").exists()


def test_every_hook_is_for_an_event_that_is_answered_and_cannot_fail():
    hooks = data("hooks/hooks.json")["hooks"]
    assert all(read_event("claude", {}, event) for event in hooks)
    for groups in hooks.values():
        for group in groups:
            assert set(group) <= {"matcher", "hooks"}
            for handler in group["hooks"]:
                assert (handler["type"], handler["timeout"]) == ("command", 2)
                assert handler["command"].endswith("|| :")
                assert is_our_hook(handler)


def test_the_server_is_the_one_that_install_writes():
    assert is_our_server(data(".mcp.json")["mcpServers"]["irdaemon"])


def test_our_own_reader_finds_the_skill_and_nothing_wrong_with_it():
    skills = Skills((Root(str(PLUGIN / "skills")),), {})
    (entry,) = skills.scan().entries
    (artifact,) = skills.read(entry).artifacts
    assert artifact.name == "discover"
    assert artifact.flags == ()


def test_the_skill_keeps_the_limits_of_the_specification():
    text = (PLUGIN / "skills/discover/SKILL.md").read_text()
    fields = split_front(text).fields
    assert fields["name"] == "discover"
    assert 0 < len(fields["description"]) <= 1024
    assert set(fields) <= {
        *("name", "description", "license", "compatibility", "metadata", "allowed-tools")
    }
    assert len(text.splitlines()) < 500


def test_the_sub_agent_has_a_name_and_says_when_to_use_it():
    fields = split_front((PLUGIN / "agents/search-reviewer.md").read_text()).fields
    assert NAME.fullmatch(fields["name"])
    assert "Use" in fields["description"]


@pytest.mark.parametrize("name", ["skills/discover/SKILL.md", "agents/search-reviewer.md"])
def test_every_command_that_is_taught_exists(name, capsys):
    taught = set(re.findall(r"\birc ([a-z]+)", (PLUGIN / name).read_text()))
    assert taught
    for command in taught - {"on"}:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
    capsys.readouterr()
