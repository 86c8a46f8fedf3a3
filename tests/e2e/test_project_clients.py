"""Every client in a project: hook lines as they are installed, MCP, the library, an upgrade."""

import json
import subprocess
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.support.checkouts import make_project
from tests.support.installed import write
from tests.support.ledgers import FORMATS, unpacked
from tests.support.projects import read_all, see, settle
from tests.support.running import Running, until

SAID = "take payments of customers with Stripe"
# What each agent sends at a prompt; those that take no context there are left out.
PROMPTS = {
    "claude": {
        **{"session_id": "S", "prompt_id": "p1", "permission_mode": "default"},
        **{"transcript_path": "/h/S.jsonl", "hook_event_name": "UserPromptSubmit"},
        **{"cwd": "PLACE", "prompt": SAID},
    },
    "codex": {
        **{"session_id": "S", "turn_id": "t", "model": "gpt", "permission_mode": "default"},
        **{"transcript_path": "/h/S.jsonl", "hook_event_name": "UserPromptSubmit"},
        **{"cwd": "PLACE", "prompt": SAID},
    },
    "gemini": {
        **{"session_id": "S", "transcript_path": "/h/S.json", "hook_event_name": "BeforeAgent"},
        **{"cwd": "PLACE", "timestamp": "2026-05-01T10:00:00Z", "prompt": SAID},
    },
    "cursor": {
        **{"conversation_id": "C", "generation_id": "g", "cursor_version": "3.20.17"},
        **{"hook_event_name": "beforeSubmitPrompt", "attachments": []},
        **{"workspace_roots": ["PLACE"], "prompt": SAID},
    },
}


@pytest.fixture(scope="module")
def served(module_home):
    """Give a home with two projects, both read, and a daemon."""
    code = module_home.path / "code"
    module_home.shop = make_project(code, "shop", skills={"pay": "Take payments of customers"})
    module_home.blog = make_project(code, "blog", skills={"donate": "Take payments of readers"})
    module_home.skill("changelog", "Write a changelog from commits")
    with Running(module_home) as running:
        read_all(module_home, running, (module_home.shop, module_home.blog))
        yield module_home


def list_commands(value):
    """Yield every command in an agent's settings."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "command" and isinstance(each, str):
            yield each
        elif isinstance(each, (dict, list)):
            yield from list_commands(each)


def run_line(home, agent, event):
    """Run the line that irc installs for an agent's prompts, and return what it says."""
    home.irc("install", agent, "--hooks")
    [path] = [
        each
        for each in (home.path / f".{agent}").rglob("*.json")
        if "hooks" in json.loads(each.read_text())
    ]
    hooks = json.loads(path.read_text())["hooks"]
    [line] = set(list_commands(hooks[event["hook_event_name"]]))
    env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", line], input=json.dumps(event), capture_output=True, text=True, env=env
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("agent", PROMPTS)
def test_the_lines_that_are_installed_answer_for_the_project_of_the_event(served, agent):
    for number, (place, wanted, other) in enumerate(
        ((served.shop, "pay", "donate"), (served.blog, "donate", "pay"), (served.path, "", "pay"))
    ):
        event = json.loads(json.dumps(PROMPTS[agent]).replace("PLACE", str(place)))
        for name in ("session_id", "conversation_id"):
            if name in event:
                event[name] = f"{agent}-{number}"
        said = []

        def is_answered(event=event, wanted=wanted, said=said):
            said.append(run_line(served, agent, event).replace('\\"', '"'))
            return f'"{wanted}"' in said[-1] or not wanted

        # It is silent where its budget does not suffice, and may be asked again.
        until(is_answered)
        assert f'"{other}"' not in "".join(said)


def test_over_mcp_the_place_is_an_argument_or_the_directory_it_was_started_in(served):
    def ask(cwd, **arguments):
        async def run():
            command = "-m irclient.quick mcp".split()
            target = StdioServerParameters(
                command=sys.executable, args=command, env=served.env, cwd=str(cwd)
            )
            async with Client(target) as client:
                found = await client.call_tool("discover", {"query": SAID, **arguments})
                return {each["name"] for each in found.structured_content["items"]}

        return anyio.run(run)

    assert ask(served.shop) == {"pay"}
    assert ask(served.blog) == {"donate"}
    assert ask(served.path) == set()
    assert ask(served.path, place=str(served.shop)) == {"pay"}


def test_an_upgrade_keeps_the_configured_packages_and_adds_those_of_projects(home):
    code = home.path / "code"
    shop = make_project(code, "shop", packages={"zod": "3.22.4"}, skills={"pay": "Take payments"})
    library = write(home.path / "lib" / "own" / "package.json", '{"name": "own", "version": "1"}')
    home.config.write_text(
        'embedder = "hashing"\n[corpora.skills]\nkind = "skills"\n'
        f'[corpora.packages]\nkind = "packages"\nroots = ["{library.parent.parent}"]\n'
    )
    state = home.path / ".local" / "state" / "irdaemon"
    state.mkdir(parents=True, mode=0o700)
    unpacked(FORMATS[-1], state)
    with Running(home) as running:
        read_all(home, running, [shop])
        with home.client() as client:
            assert {each.name for each in see(client, "", "own", "packages")} == {"own"}
            assert {each.name for each in see(client, shop, "zod", "packages")} == {"zod"}
            assert not see(client, "", "zod")
    with Running(home) as again:
        again.wait_idle()
        settle(home, shop)
        with home.client() as client:
            assert {each.name for each in see(client, shop, "zod", "packages")} == {"zod"}
