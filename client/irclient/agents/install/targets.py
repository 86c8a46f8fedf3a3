"""Which files of each agent hold its hooks and MCP servers, and what goes into them.

Sources: the agents' own documents, named in docs/agents.md.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from irclient.agents.install.entries import Hook, Place, Server
from irclient.errors import SettingsError

# Agents wait at most so long for a hook; it ends by itself long before.
_TIMEOUT_S = 2
# A session that resumes still has what it was told.
_STARTS = "startup|clear|compact"
# Claude Code's events, each with a matcher or none; Codex has taken them over.
_CLAUDES = (("UserPromptSubmit", ""), ("SessionStart", _STARTS), ("Stop", ""))


@dataclass(frozen=True, slots=True)
class Here:
    """A machine and an installation: where agents look for files, and how to start ours.

    `hook` is the command before `--agent`, `irc` the absolute path of the command line.
    """

    home: str
    cwd: str
    env: Mapping[str, str]
    hook: str
    irc: str

    def base(self, variable: str, *usual: str) -> str:
        """Return the directory that a variable names, or the usual one below home."""
        return self.env.get(variable) or os.path.join(self.home, *usual)

    def command(self, agent: str, event: str = "") -> str:
        """Return the shell command of a hook, which never fails: some take that for a refusal."""
        named = f" --event {event}" if event else ""
        return f"{self.hook} --agent {agent}{named} 2>/dev/null || :"


def here() -> Here:
    """Return this installation. Raises SettingsError where `irc` is not installed as a command."""
    start = os.path.join(os.path.dirname(os.path.dirname(__file__)), "hook", "start.py")
    beside = os.path.join(os.path.dirname(sys.executable), "irc")
    irc = beside if os.path.exists(beside) else shutil.which("irc")
    if irc is None:
        raise SettingsError(
            "the command irc is not installed beside this Python", "pip install irclient"
        )
    return Here(
        home=os.path.expanduser("~"),
        cwd=os.getcwd(),
        env=os.environ,
        # Without the site's imports and the environment's: the quickest that works anywhere.
        hook=shlex.join([sys.executable, "-I", "-S", os.path.abspath(start)]),
        irc=os.path.abspath(irc),
    )


def _claude(here: Here, project: bool) -> tuple[Place, ...]:
    server = _server(here, "mcpServers")
    # The command is one of this machine, so a project's shared settings are not its place.
    if project:
        base = os.path.join(here.cwd, ".claude", "settings.local.json")
        servers = os.path.join(here.cwd, ".mcp.json")
    else:
        base = os.path.join(here.base("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
        servers = os.path.join(here.base("CLAUDE_CONFIG_DIR"), ".claude.json")
    return Place(base, _grouped(here, "claude", *_CLAUDES)), Place(servers, server=server)


def _codex(here: Here, project: bool) -> tuple[Place, ...]:
    base = _directory(here, project, ".codex", "CODEX_HOME")
    hooks = _grouped(here, "codex", *_CLAUDES)
    return (
        Place(os.path.join(base, "hooks.json"), hooks),
        Place(os.path.join(base, "config.toml"), server=_server(here, "mcp_servers")),
    )


def _gemini(here: Here, project: bool) -> tuple[Place, ...]:
    path = os.path.join(here.cwd if project else here.home, ".gemini", "settings.json")
    events = ("BeforeAgent", "SessionStart", "AfterAgent")
    hooks = tuple(
        Hook(event, {"hooks": [_handler(here, "gemini", timeout=1_000 * _TIMEOUT_S)]})
        for event in events
    )
    return (Place(path, hooks, _server(here, "mcpServers")),)


def _cursor(here: Here, project: bool) -> tuple[Place, ...]:
    base = os.path.join(here.cwd if project else here.home, ".cursor")
    item = {"command": here.command("cursor"), "timeout": _TIMEOUT_S}
    hooks = tuple(Hook(event, item) for event in ("sessionStart", "beforeSubmitPrompt"))
    return (
        Place(os.path.join(base, "hooks.json"), hooks, head={"version": 1}),
        Place(os.path.join(base, "mcp.json"), server=_server(here, "mcpServers")),
    )


def _copilot(here: Here, project: bool) -> tuple[Place, ...]:
    base = here.base("COPILOT_HOME", ".copilot")
    hooks_in = os.path.join(here.cwd, ".github") if project else base
    servers = os.path.join(here.cwd, ".mcp.json") if project else f"{base}/mcp-config.json"
    # Under these names VS Code reads the same file, which has its own key for the timeout.
    times = {"timeout": _TIMEOUT_S, "timeoutSec": _TIMEOUT_S}
    hooks = tuple(
        Hook(event, {"type": "command", "command": here.command("copilot", event), **times})
        for event in ("SessionStart", "Stop")
    )
    return (
        Place(os.path.join(hooks_in, "hooks", "irdaemon.json"), hooks, head={"version": 1}),
        Place(servers, server=_server(here, "mcpServers")),
    )


def _opencode(here: Here, project: bool) -> tuple[Place, ...]:
    base = (
        here.cwd if project else os.path.join(here.base("XDG_CONFIG_HOME", ".config"), "opencode")
    )
    names = ("opencode.jsonc", "opencode.json")
    there = [name for name in names if os.path.exists(os.path.join(base, name))]
    entry = {"type": "local", "command": [here.irc, "mcp"], "enabled": True}
    path = os.path.join(base, there[0] if there else names[-1])
    return (Place(path, server=Server("mcp", entry)),)


def _vscode(here: Here, project: bool) -> tuple[Place, ...]:
    if project:
        base = os.path.join(here.cwd, ".vscode")
    elif sys.platform == "darwin":
        base = os.path.join(here.home, "Library", "Application Support", "Code", "User")
    else:
        base = os.path.join(here.base("XDG_CONFIG_HOME", ".config"), "Code", "User")
    entry = {"type": "stdio", "command": here.irc, "args": ["mcp"]}
    return (Place(os.path.join(base, "mcp.json"), server=Server("servers", entry)),)


PLACES: Mapping[str, Callable[[Here, bool], tuple[Place, ...]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "copilot": _copilot,
    "opencode": _opencode,
    "vscode": _vscode,
}
# What is to be done beside, by a person.
NOTES: Mapping[str, str] = {
    "codex": "Codex runs a new hook once you have reviewed it: /hooks in a session",
    "copilot": "Copilot takes context at the start of a session only, not at a prompt",
}
# Why an agent gets no hooks.
NO_HOOKS: Mapping[str, str] = {
    "opencode": "OpenCode runs plugins, not commands; its MCP server does what a hook would",
    "vscode": "VS Code reads the hooks of Copilot: irc install copilot --hooks",
}


def _grouped(here: Here, agent: str, *events: tuple[str, str]) -> tuple[Hook, ...]:
    """Return hooks in Claude Code's shape: handlers in groups, which may have a matcher."""
    handler = _handler(here, agent, _TIMEOUT_S)
    return tuple(
        Hook(event, {**({"matcher": matcher} if matcher else {}), "hooks": [handler]})
        for event, matcher in events
    )


def _handler(here: Here, agent: str, timeout: int) -> dict[str, Any]:
    return {"type": "command", "command": here.command(agent), "timeout": timeout}


def _server(here: Here, table: str) -> Server:
    return Server(table, {"command": here.irc, "args": ["mcp"]})


def _directory(here: Here, project: bool, name: str, variable: str) -> str:
    return os.path.join(here.cwd, name) if project else here.base(variable, name)
