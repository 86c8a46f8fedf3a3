import pytest

from irdaemon.source.guidance.agents import Agents, list_known_places
from irdaemon.source.places import keep_existing
from irdaemon.types import Root, SourceError
from tests.support.guidance import all_of
from tests.support.installed import write

REVIEWER = """---
name: reviewer
description: Reviews a diff. Use it after a change.
tools: Read, Bash(git diff:*), Grep
model: haiku
---
Look at every hunk.
"""
CODEX = '''name = "explorer"
description = "Finds where things are."
developer_instructions = """
Read, never write.
"""
'''


def test_a_claude_agent_gives_its_description_tools_and_prompt(tmp_path):
    write(tmp_path / ".claude/agents/team/rev.md", REVIEWER)
    made, _ = all_of(Agents, tmp_path)
    agent = made["reviewer"]
    assert agent.raw["description"] == "Reviews a diff. Use it after a change."
    assert agent.raw["text"] == "Look at every hunk.\n"
    assert agent.metadata["tools"] == ["Read", "Bash(git diff:*)", "Grep"]
    assert agent.metadata["model"] == "haiku"
    assert agent.metadata["product"] == "claude"


def test_a_codex_agent_is_a_table_with_its_instructions(tmp_path):
    write(tmp_path / ".codex/agents/explorer.toml", CODEX)
    made, _ = all_of(Agents, tmp_path)
    assert made["explorer"].raw["text"].strip() == "Read, never write."
    assert made["explorer"].metadata["product"] == "codex"


@pytest.mark.parametrize(
    ("path", "product"),
    [
        (".github/agents/planner.agent.md", "copilot"),
        (".copilot/agents/planner.agent.md", "copilot"),
        (".opencode/agents/planner.md", "opencode"),
        (".config/opencode/agent/planner.md", "opencode"),
        (".cursor/agents/planner.md", "cursor"),
    ],
)
def test_an_agent_without_a_name_is_called_like_its_file(tmp_path, path, product):
    write(tmp_path / path, "---\ndescription: Plans a change.\nmode: subagent\n---\nPlan it.\n")
    made, _ = all_of(Agents, tmp_path)
    assert made["planner"].metadata["product"] == product
    assert made["planner"].metadata["mode"] == "subagent"


def test_a_document_beside_agents_is_none_and_is_counted(tmp_path):
    write(tmp_path / ".claude/agents/README.md", "# About these agents\n")
    assert all_of(Agents, tmp_path) == ({}, ["no_name"])


def test_markdown_elsewhere_in_a_tree_is_no_agent(tmp_path):
    write(tmp_path / "src/agents/notes.md", REVIEWER)
    assert all_of(Agents, tmp_path) == ({}, [])


def test_a_root_called_agents_holds_nothing_else(tmp_path):
    write(tmp_path / "moved/agents/rev.md", REVIEWER)
    made, _ = all_of(Agents, tmp_path / "moved/agents")
    assert set(made) == {"reviewer"}


def test_agents_behind_a_link_count_under_the_links_name(tmp_path):
    write(tmp_path / "dotfiles/sub/rev.md", REVIEWER)
    (tmp_path / "home/.claude").mkdir(parents=True)
    (tmp_path / "home/.claude/agents").symlink_to(tmp_path / "dotfiles/sub")
    made, _ = all_of(Agents, tmp_path / "home/.claude")
    assert set(made) == {"reviewer"}
    further_up, _ = all_of(Agents, tmp_path / "home")
    assert not further_up  # there the link may have come with another person's project
    through_root, _ = all_of(Agents, tmp_path / "home/.claude/agents")
    assert through_root["reviewer"].metadata["product"] == "claude"


def test_a_table_that_is_not_toml_is_an_error_that_names_the_file(tmp_path):
    path = write(tmp_path / ".codex/agents/broken.toml", "name = ")
    with pytest.raises(SourceError, match=str(path)):
        all_of(Agents, tmp_path)


def test_a_look_at_one_path_finds_what_a_look_at_everything_does(tmp_path):
    agent = write(tmp_path / "app/.claude/agents/rev.md", REVIEWER)
    note = write(tmp_path / "app/README.md", "x")
    source = Agents((Root(str(tmp_path)),), {})
    (whole,) = source.scan().entries
    for path in (agent, agent.parent, tmp_path / "app"):
        assert source.scan(str(path)).entries == (whole,)
    assert source.scan(str(note)).entries == ()
    agent.unlink()
    gone = source.scan(str(agent))
    assert (gone.entries, gone.covered) == ((), (str(agent),))


def test_what_lies_too_deep_or_in_a_pruned_directory_is_not_found_by_any_look(tmp_path):
    deep = write(tmp_path / "a/b/.claude/agents/rev.md", REVIEWER)
    pruned = write(tmp_path / "node_modules/x/.claude/agents/rev.md", REVIEWER)
    source = Agents((Root(str(tmp_path)),), {"max_depth": 3})
    assert source.scan().entries == ()
    for path in (deep, deep.parent, pruned, pruned.parent):
        assert source.scan(str(path)).entries == ()


def test_only_plugins_in_use_bring_agents(tmp_path):
    store = tmp_path / ".claude/plugins"
    for version in ("1.0.0", "2.0.0"):
        write(store / f"cache/acme/fmt/{version}/agents/rev.md", REVIEWER)
    write(
        store / "installed_plugins.json",
        '{"plugins": {"fmt@acme": [{"installPath": "%s"}]}}' % (store / "cache/acme/fmt/1.0.0"),
    )
    source = Agents((Root(str(store), "plugin"),), {})
    (entry,) = source.scan().entries
    (agent,) = source.read(entry).artifacts
    assert "/1.0.0/" in entry.path
    assert agent.metadata["plugin"] == "fmt@acme"
    assert agent.metadata["scope"] == "plugin"
    assert source.scan(entry.path).entries == (entry,)


def test_a_plugin_whose_manifest_names_a_place_keeps_its_agents_there_alone(tmp_path):
    root = tmp_path / ".claude/plugins/cache/acme/fmt/1"
    write(root / ".claude-plugin/plugin.json", '{"name": "fmt", "agents": "./custom"}')
    write(root / "custom/rev.md", REVIEWER)
    write(root / "agents/other.md", REVIEWER.replace("reviewer", "other"))
    made, _ = all_of(Agents, tmp_path / ".claude/plugins")
    assert set(made) == {"reviewer"}


def test_a_checkout_of_plugins_gives_the_agents_beside_each_manifest(tmp_path):
    write(tmp_path / "plugins/fmt/.claude-plugin/plugin.json", '{"name": "fmt"}')
    write(tmp_path / "plugins/fmt/agents/rev.md", REVIEWER)
    made, _ = all_of(Agents, tmp_path)
    assert set(made) == {"reviewer"}


def test_known_roots_are_those_that_exist(tmp_path):
    for path in (".claude/agents", ".config/opencode/agent", "moved/agents"):
        (tmp_path / path).mkdir(parents=True)
    found = {root.path for root in keep_existing(list_known_places(str(tmp_path), {}))}
    assert found == {str(tmp_path / ".claude/agents"), str(tmp_path / ".config/opencode/agent")}
    moved = keep_existing(
        list_known_places(str(tmp_path), {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")})
    )
    assert str(tmp_path / "moved/agents") in {root.path for root in moved}


def test_a_link_to_an_agent_is_followed_directly_in_a_root_and_elsewhere_only_to_its_name(tmp_path):
    written = write(tmp_path / "dotfiles/my-reviewer.md", REVIEWER)
    root = tmp_path / ".claude/agents"
    (root / "team").mkdir(parents=True)
    (root / "rev.md").symlink_to(written)
    made, _ = all_of(Agents, root)
    assert set(made) == {"reviewer"}
    (root / "rev.md").unlink()
    (root / "team" / "rev.md").symlink_to(written)
    assert not all_of(Agents, root)[0]
    (root / "team" / "my-reviewer.md").symlink_to(written)
    assert set(all_of(Agents, root)[0]) == {"reviewer"}


def test_an_agent_s_author_may_say_what_is_typed_by_who_needs_it(tmp_path):
    front = "examples:\n  - {user: is this diff any good, assistant: Let me see}\n"
    write(tmp_path / ".claude/agents/rev.md", f"---\nname: rev\n{front}---\nLook.\n")
    made, _ = all_of(Agents, tmp_path)
    assert made["rev"].prompts == ("is this diff any good",)
