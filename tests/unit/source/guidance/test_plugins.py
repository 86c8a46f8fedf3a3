import json

import pytest

from irdaemon.source.guidance.plugins import Plugins
from irdaemon.types import Root, SourceError
from tests.support.guidance import all_of
from tests.support.installed import write


@pytest.fixture
def plugin(tmp_path):
    root = tmp_path / "checkout/fmt"
    manifest = {
        "name": "fmt",
        "description": "Formats code.",
        "version": "1.2.0",
        "author": {"name": "Ann"},
        "keywords": ["style", "lint"],
    }
    write(root / ".claude-plugin/plugin.json", json.dumps(manifest))
    write(root / "skills/tidy/SKILL.md", "---\nname: tidy\n---\n")
    write(root / "agents/rev.md", "x")
    write(root / "commands/git/commit.md", "x")
    write(root / ".mcp.json", '{"mcpServers": {"linter": {"command": "lint"}}}')
    write(root / "hooks/hooks.json", '{"hooks": {"Stop": []}}')
    return root


def test_a_plugin_tells_what_its_manifest_says_and_what_it_brings(plugin):
    made, _ = all_of(Plugins, plugin.parent)
    fmt = made["fmt"]
    assert fmt.raw["description"] == "Formats code."
    assert fmt.raw["lexical"] == "style lint tidy rev commit linter Stop"
    assert fmt.metadata["version"] == "1.2.0"
    assert fmt.metadata["author"] == "Ann"
    brought = ("skills", "agents", "commands", "mcp_servers", "hooks")
    assert [fmt.metadata[part] for part in brought] == [
        *(["tidy"], ["rev"], ["commit"], ["linter"], ["Stop"])
    ]
    assert "## mcp servers\n\n- linter" in fmt.body


@pytest.mark.parametrize(
    ("path", "product"),
    [
        (".codex-plugin/plugin.json", "codex"),
        (".cursor-plugin/plugin.json", "cursor"),
        ("gemini-extension.json", "gemini"),
    ],
)
def test_the_manifests_of_other_products_are_known(tmp_path, path, product):
    write(tmp_path / "x" / path, '{"name": "x", "mcpServers": {"s": {}}}')
    made, _ = all_of(Plugins, tmp_path)
    assert made["x"].metadata["product"] == product
    assert made["x"].metadata["mcp_servers"] == ["s"]
    assert made["x"].raw["description"] == "s"


def test_of_a_store_only_the_plugins_in_use_count_even_without_a_manifest(tmp_path):
    store = tmp_path / "plugins"
    write(store / "cache/acme/bare/1/skills/a/SKILL.md", "x")
    write(store / "cache/acme/off/1/.claude-plugin/plugin.json", '{"name": "off"}')
    installed = {"bare@acme": [{"installPath": str(store / "cache/acme/bare/1")}]}
    write(store / "installed_plugins.json", json.dumps({"plugins": installed}))
    made, _ = all_of(Plugins, store, scope="plugin")
    assert set(made) == {"bare"}
    assert made["bare"].metadata["plugin"] == "bare@acme"
    assert made["bare"].metadata["marketplace"] == "acme"


def test_whatever_is_added_to_a_plugin_changes_its_stamp(plugin):
    source = Plugins((Root(str(plugin.parent)),), {})
    (before,) = source.scan().entries
    added = write(plugin / "skills/new/SKILL.md", "x")
    (after,) = source.scan(str(added)).entries
    assert after.stamp != before.stamp
    assert "new" in source.read(after).artifacts[0].metadata["skills"]


def test_a_plugin_whose_manifest_is_gone_is_gone(plugin):
    source = Plugins((Root(str(plugin.parent)),), {})
    manifest = plugin / ".claude-plugin/plugin.json"
    manifest.unlink()
    scan = source.scan(str(manifest))
    assert (scan.entries, scan.covered) == ((), (str(plugin),))


def test_a_broken_manifest_is_an_error_that_names_the_file(plugin):
    manifest = write(plugin / ".claude-plugin/plugin.json", "{")
    with pytest.raises(SourceError, match=str(manifest)):
        all_of(Plugins, plugin.parent)


def test_a_file_named_by_a_manifest_is_never_read_outside_the_plugin(plugin):
    write(plugin.parent / "secret.json", '{"mcpServers": {"secret": {}}}')
    manifest = {"name": "fmt", "mcpServers": "../secret.json"}
    write(plugin / ".claude-plugin/plugin.json", json.dumps(manifest))
    made, _ = all_of(Plugins, plugin.parent)
    assert "mcp_servers" not in made["fmt"].metadata


def test_settings_that_are_not_there_are_no_root(tmp_path):
    store = tmp_path / "plugins"
    write(store / "installed_plugins.json", '{"version": 2, "plugins": {}}')
    settings = tmp_path / "settings.json"
    named = lambda: [root.path for root in Plugins((Root(str(store)),), {}).roots()]  # noqa: E731
    assert str(settings) not in named()
    settings.write_text("{}")
    assert str(settings) in named()
