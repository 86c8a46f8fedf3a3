"""`irc install AGENT --moments`: each is switched on, kept, and undone to the byte."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from irclient.agents.hook.moments import EVENTS, MOMENTS, UNSUPPORTED, find_kind
from irclient.agents.hook.options import AGENTS
from irclient.agents.install.changes import plan_install, plan_uninstall
from irclient.agents.install.entries import HOOK_FILES
from irclient.agents.install.targets import SETTINGS_FILES, Machine, find_installed_moments
from irclient.cli.main import main

WRITTEN = """\
{
  // mine
  "hooks": {
    "SessionStart": [{ "hooks": [{ "type": "command", "command": "date" }] }],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./check" }] }
    ]
  },
  "model": "opus"
}
"""


def list_moments(agent):
    """Return the moments that an agent has events for."""
    return [moment for moment in MOMENTS if agent in EVENTS[moment]]


def list_sets(agent):
    """Return every set of an agent's moments, that of none included."""
    known = list_moments(agent)
    return [given for count in range(len(known) + 1) for given in combinations(known, count)]


EVERY_SET = [(agent, given) for agent in AGENTS for given in list_sets(agent)]


@pytest.fixture
def machine(tmp_path):
    return Machine(str(tmp_path), str(tmp_path / "p"), {}, "/py /x/irclient/hook/start.py", "/irc")


def change(machine, agent, plan, moments=None):
    files = SETTINGS_FILES[agent](replace(machine, moments=moments), False)
    for file in files if plan is plan_install else reversed(files):
        if planned := plan(file, file):
            planned.make()


def read_tree(machine):
    home = Path(machine.home)
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def read_hooks(machine, agent):
    return json.loads(Path(machine.find_file(HOOK_FILES[agent], project=False)).read_text())[
        "hooks"
    ]


@pytest.mark.parametrize(("agent", "moments"), EVERY_SET)
@pytest.mark.parametrize("text", [None, "{}", WRITTEN])
def test_whatever_is_switched_on_is_undone_to_the_byte(machine, agent, moments, text):
    path = Path(machine.find_file(HOOK_FILES[agent], project=False))
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    before = read_tree(machine)
    change(machine, agent, plan_install, moments)
    assert find_installed_moments(str(path)) == moments
    change(machine, agent, plan_uninstall)
    assert read_tree(machine) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_from_any_set_to_any_other_it_is_as_if_that_came_first(machine, agent):
    path = Path(machine.find_file(HOOK_FILES[agent], project=False))
    path.parent.mkdir(parents=True)
    path.write_text(WRITTEN)
    before, first = read_tree(machine), {}
    for moments in list_sets(agent):
        change(machine, agent, plan_install, moments)
        first[moments] = read_tree(machine)
        change(machine, agent, plan_uninstall)
        assert read_tree(machine) == before
    for one in first:
        for other in first:
            change(machine, agent, plan_install, one)
            change(machine, agent, plan_install, other)
            assert read_tree(machine) == first[other]
        change(machine, agent, plan_uninstall)
        assert read_tree(machine) == before


@pytest.mark.parametrize(("agent", "moments"), EVERY_SET)
def test_installed_again_without_a_word_of_them_they_stay_on(machine, agent, moments):
    change(machine, agent, plan_install, moments)
    before = read_tree(machine)
    change(machine, agent, plan_install)
    assert read_tree(machine) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_only_the_events_of_a_moment_name_it(machine, agent):
    for moment in list_moments(agent):
        change(machine, agent, plan_install, (moment,))
        named = {
            event
            for event, items in read_hooks(machine, agent).items()
            if f"--moments {moment} " in json.dumps(items)
        }
        assert named == {event for event, _, _ in EVENTS[moment][agent]}
        assert all(find_kind((moment,), agent, event) for event in named)


def test_a_prompt_is_asked_about_by_the_same_command_with_every_moment_on(machine):
    change(machine, "claude", plan_install, ())
    plain = read_hooks(machine, "claude")["UserPromptSubmit"]
    change(machine, "claude", plan_install, MOMENTS)
    assert read_hooks(machine, "claude")["UserPromptSubmit"] == plain


def test_an_agent_has_events_for_a_moment_or_there_is_a_reason():
    for moment in MOMENTS:
        for agent in AGENTS:
            assert (agent in EVENTS[moment]) != ((moment, agent) in UNSUPPORTED)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["claude", "--moments", "compcat"], "did you mean 'compact'?"),
        (["cursor", "--moments", "subagent"], "Cursor's subagentStart"),
        (["opencode", "--moments", "compact"], "opencode has no hooks"),
        (["claude", "--mcp", "--moments", "compact"], "--moments is about hooks"),
    ],
)
def test_what_cannot_be_switched_on_is_refused_and_nothing_is_written(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["install", *words]) != 0
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_none_switches_all_of_them_off(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / ".claude" / "settings.json")
    for moments, installed in (("compact,subagent", ("compact", "subagent")), ("none", ())):
        assert main(["install", "claude", "--hooks", "--moments", moments]) == 0
        assert find_installed_moments(path) == installed
