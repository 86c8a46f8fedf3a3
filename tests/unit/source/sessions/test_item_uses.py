"""Uses of items, told by what an agent's tools were called with."""

import json

import pytest

from irdaemon.source.sessions.item_uses import (
    is_built_in,
    read_call,
    read_command,
    read_tagged_skill,
)
from irdaemon.types import ItemUse
from tests.support.claude_session import Session


def uses(name, given):
    return [(use.how, use.what) for use in read_call(name, given)]


@pytest.mark.parametrize(
    ("name", "given", "use"),
    [
        ("Skill", {"skill": "superpowers:tdd"}, ("skill", "superpowers:tdd")),
        ("Skill", {"command": "pdf"}, ("skill", "pdf")),
        ("activate_skill", {"name": "pdf"}, ("skill", "pdf")),
        ("SlashCommand", {"command": "/review now"}, ("command", "review")),
        ("Task", {"subagent_type": "Explore", "prompt": "x"}, ("agent", "Explore")),
        ("Read", {"file_path": "/h/skills/pdf/SKILL.md"}, ("read", "/h/skills/pdf/SKILL.md")),
        ("read_file", {"absolute_path": "/h/pdf/SKILL.md"}, ("read", "/h/pdf/SKILL.md")),
        ("view", {"path": "/h/pdf/SKILL.md"}, ("read", "/h/pdf/SKILL.md")),
        ("mcp__github__create_issue", {"title": "x"}, ("tool", "github/create_issue")),
        ("github__create_issue", {}, ("tool", "github/create_issue")),
        ("github_create_issue", {}, ("tool", "github_create_issue")),
        ("mcp__irdaemon__discover", {"query": "fill a form"}, ("asked", "fill a form")),
        ("mcp__plugin_x_irdaemon__disclose", {"reference": "skills/a"}, ("disclosed", "skills/a")),
        ("Bash", {"command": "pip install httpx"}, ("package", "pypi:httpx")),
        ("developer__shell", {"command": "npm i zod"}, ("package", "npm:zod")),
        ("exec_command", {"cmd": "cat a/SKILL.md"}, ("shell", "a/SKILL.md")),
        (
            "Edit",
            {"file_path": "/w/package.json", "old_string": "{", "new_string": '{"zod": "^3"'},
            ("package", "npm:zod"),
        ),
        (
            "apply_patch",
            '*** Begin Patch\n*** Update File: package.json\n+    "zod": "^3",\n*** End Patch',
            ("package", "npm:zod"),
        ),
    ],
)
def test_a_call_tells_what_it_uses(name, given, use):
    assert uses(name, given) == [use]
    if isinstance(given, dict):
        assert uses(name, json.dumps(given)) == [use]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Read", {"file_path": "/h/pdf/README.md"}),
        ("Write", {"file_path": "/h/pdf/SKILL.md", "content": "x"}),
        ("Write", {"file_path": "/w/package.json", "content": '{"zod": "^3"}'}),
        ("TodoWrite", {"todos": []}),
        ("Bash", {"command": "echo the deploy skill"}),
        ("Bash", {"command": 7}),
        ("Skill", {}),
        ("", {"skill": "x"}),
        (None, None),
        ("Skill", "not json"),
        ("shell", {"command": [["nested"], None]}),
    ],
)
def test_anything_else_is_no_use(name, given):
    assert uses(name, given) == []


def test_a_shell_before_a_command_line_is_not_part_of_it():
    given = {"command": ["bash", "-lc", "uv add rich && cat x/pdf/SKILL.md"]}
    assert uses("shell", given) == [("package", "pypi:rich"), ("shell", "x/pdf/SKILL.md")]


@pytest.mark.parametrize("text", ["", "/", "/usr/bin/env", "/a b"])
def test_what_is_no_single_name_is_no_command(text):
    assert read_command(text) == ()


def test_what_an_agent_brings_along_is_told_from_what_is_not_indexed():
    assert is_built_in("command", "clear")
    assert is_built_in("tool", "some_tool")
    assert is_built_in("agent", "Explore")
    assert not is_built_in("command", "plan-release")
    assert not is_built_in("tool", "github/create_issue")


def test_a_skill_whose_text_was_put_before_a_prompt_is_used():
    (with_path,) = read_tagged_skill("<skill>\n<name>pdf</name>\n<path>/h/pdf/SKILL.md</path>")
    (named,) = read_tagged_skill("<skill><name>pdf</name>text")
    assert (with_path.how, with_path.what) == ("read", "/h/pdf/SKILL.md")
    assert (named.how, named.what) == ("skill", "pdf")
    assert read_tagged_skill("<skill>nothing") == ()


def call(session, uuid, name, given, **parts):
    block = {"type": "tool_use", "id": "t", "name": name, "input": given}
    return session._assistant(uuid, block, "tool_use", "claude-x", **parts)


def test_a_turn_has_the_uses_of_all_its_calls_those_of_sub_agents_included(tmp_path):
    session = Session(timestamp="2026-09-01T10:00:00Z")
    session.user("u1", "<command-name>/x:plan</command-name><command-args>it all</command-args>")
    call(session, "a1", "Skill", {"skill": "pdf"})
    call(session, "s1", "Bash", {"command": "npm i zod"}, isSidechain=True)
    session.back_to("a1").says("a2", "done", stop="end_turn")
    session.user("u2", "<command-name>/orchestrate</command-name>")
    (first, second) = session.read(tmp_path).turns
    found = [(use.how, use.what) for use in first.uses]
    assert found == [("command", "x:plan"), ("skill", "pdf"), ("package", "npm:zod")]
    assert (first.session, first.project, first.at) == ("claude:S", "/home/u/app", 1788256800.0)
    assert first.prompts == ("/x:plan it all",)
    assert [(use.how, use.what) for use in second.uses] == [("command", "orchestrate")]
    assert second.prompts == ()


def test_a_turn_that_neither_asks_nor_uses_is_not_told(tmp_path):
    session = Session().user("u1", "<task-notification>x</task-notification>").says("a1", "seen")
    assert session.read(tmp_path).turns == ()


def test_white_space_around_a_skill_s_name_and_path_is_none_of_them_however_long():
    tagged = "<name>\n pdf \n</name>\n<path>  /s/pdf/SKILL.md \n</path>"
    assert read_tagged_skill(tagged) == (ItemUse("read", "/s/pdf/SKILL.md"),)
    assert read_tagged_skill("<name>  pdf </name>") == (ItemUse("skill", "pdf"),)
    assert read_tagged_skill("<name>" + " " * 8_000 + "x") == ()
    assert read_tagged_skill("<name> </name>") == ()
