"""Which files of each agent hold its hooks and MCP servers, and what goes into them.

Sources: the agents' own documents, named in docs/agents.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from irclient.agents.install.entries import (
    MOST_BYTES,
    HookEntry,
    ServerEntry,
    SettingsFile,
    find_project_file,
    find_user_file,
)
from irclient.agents.install.json_file import list_our_commands
from irclient.errors import SettingsError
from irclient.fast.packing import PROTOCOL

# Agents wait at most so long for a hook; it ends by itself long before.
_TIMEOUT_S = 2
# A session that resumes still has its context.
_STARTS = "startup|clear|compact"
# Claude Code's events, each with a matcher or none; Codex has taken them over.
_CLAUDES = (("UserPromptSubmit", ""), ("SessionStart", _STARTS), ("Stop", ""))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where agents look for their files on a machine, and how this installation is started.

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


def find_machine() -> Machine:
    """Return this machine. Raises SettingsError if `irc` is not installed as a command."""
    start = os.path.join(os.path.dirname(os.path.dirname(__file__)), "hook", "start.py")
    beside = os.path.join(os.path.dirname(sys.executable), "irc")
    irc = beside if os.path.exists(beside) else shutil.which("irc")
    if irc is None:
        from irclient.installation import find_source, install_command

        raise SettingsError(
            "the command irc is not installed beside this Python",
            install_command(find_source("irclient")),
        )
    return Machine(
        home=os.path.expanduser("~"),
        cwd=os.getcwd(),
        env=os.environ,
        # Without the site's imports and the environment's: the quickest that works anywhere.
        hook=shlex.join([sys.executable, "-I", "-S", os.path.abspath(start)]),
        irc=os.path.abspath(irc),
    )


def _list_claude_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    server = _make_server(machine, "mcpServers")
    # The command is one of this machine, so a project's shared settings are not its place.
    if project:
        servers = os.path.join(machine.cwd, ".mcp.json")
    else:
        servers = os.path.join(machine.base("CLAUDE_CONFIG_DIR"), ".claude.json")
    return (
        SettingsFile(
            _find_hook_file("claude", machine, project), _make_groups(machine, "claude", *_CLAUDES)
        ),
        SettingsFile(servers, server=server),
    )


def _list_codex_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = _choose_directory(machine, project, ".codex", "CODEX_HOME")
    hooks = _make_groups(machine, "codex", *_CLAUDES)
    return (
        SettingsFile(_find_hook_file("codex", machine, project), hooks),
        SettingsFile(
            os.path.join(base, "config.toml"), server=_make_server(machine, "mcp_servers")
        ),
    )


def _list_gemini_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    events = ("BeforeAgent", "SessionStart", "AfterAgent")
    hooks = tuple(
        HookEntry(event, {"hooks": [_make_handler(machine, "gemini", timeout=1_000 * _TIMEOUT_S)]})
        for event in events
    )
    path = _find_hook_file("gemini", machine, project)
    return (SettingsFile(path, hooks, _make_server(machine, "mcpServers")),)


def _list_cursor_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = os.path.join(machine.cwd if project else machine.home, ".cursor")
    item = {"command": machine.command("cursor"), "timeout": _TIMEOUT_S}
    hooks = tuple(HookEntry(event, item) for event in ("sessionStart", "beforeSubmitPrompt"))
    return (
        SettingsFile(_find_hook_file("cursor", machine, project), hooks, head={"version": 1}),
        SettingsFile(os.path.join(base, "mcp.json"), server=_make_server(machine, "mcpServers")),
    )


def _list_copilot_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = machine.base("COPILOT_HOME", ".copilot")
    servers = os.path.join(machine.cwd, ".mcp.json") if project else f"{base}/mcp-config.json"
    # Under these names VS Code reads the same file, which has its own key for the timeout.
    times = {"timeout": _TIMEOUT_S, "timeoutSec": _TIMEOUT_S}
    hooks = tuple(
        HookEntry(event, {"type": "command", "command": machine.command("copilot", event), **times})
        for event in ("SessionStart", "Stop")
    )
    return (
        SettingsFile(_find_hook_file("copilot", machine, project), hooks, head={"version": 1}),
        SettingsFile(servers, server=_make_server(machine, "mcpServers")),
    )


def _list_opencode_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    base = (
        machine.cwd
        if project
        else os.path.join(machine.base("XDG_CONFIG_HOME", ".config"), "opencode")
    )
    names = ("opencode.jsonc", "opencode.json")
    there = [name for name in names if os.path.exists(os.path.join(base, name))]
    entry = {"type": "local", "command": [machine.irc, "mcp"], "enabled": True}
    path = os.path.join(base, there[0] if there else names[-1])
    return (SettingsFile(path, server=ServerEntry("mcp", entry)),)


def _list_vscode_files(machine: Machine, project: bool) -> tuple[SettingsFile, ...]:
    if project:
        base = os.path.join(machine.cwd, ".vscode")
    elif sys.platform == "darwin":
        base = os.path.join(machine.home, "Library", "Application Support", "Code", "User")
    else:
        base = os.path.join(machine.base("XDG_CONFIG_HOME", ".config"), "Code", "User")
    entry = {"type": "stdio", "command": machine.irc, "args": ["mcp"]}
    return (SettingsFile(os.path.join(base, "mcp.json"), server=ServerEntry("servers", entry)),)


SETTINGS_FILES: Mapping[str, Callable[[Machine, bool], tuple[SettingsFile, ...]]] = {
    "claude": _list_claude_files,
    "codex": _list_codex_files,
    "gemini": _list_gemini_files,
    "cursor": _list_cursor_files,
    "copilot": _list_copilot_files,
    "opencode": _list_opencode_files,
    "vscode": _list_vscode_files,
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


def _find_hook_file(agent: str, machine: Machine, project: bool) -> str:
    if project:
        return find_project_file(agent, machine.cwd)
    return find_user_file(agent, machine.home, machine.env)


def _make_groups(machine: Machine, agent: str, *events: tuple[str, str]) -> tuple[HookEntry, ...]:
    """Return hooks in Claude Code's shape: handlers in groups, which may have a matcher."""
    handler = _make_handler(machine, agent, _TIMEOUT_S)
    return tuple(
        HookEntry(event, {**({"matcher": matcher} if matcher else {}), "hooks": [handler]})
        for event, matcher in events
    )


def _make_handler(machine: Machine, agent: str, timeout: int) -> dict[str, Any]:
    return {"type": "command", "command": machine.command(agent), "timeout": timeout}


def _make_server(machine: Machine, table: str) -> ServerEntry:
    return ServerEntry(table, {"command": machine.irc, "args": ["mcp"]})


def _choose_directory(machine: Machine, project: bool, name: str, variable: str) -> str:
    return os.path.join(machine.cwd, name) if project else machine.base(variable, name)


# Find installed hooks, and those that cannot work and are silent for ever.
#
# Their command names a file that is gone, or starts a client of another protocol than the
# daemon's.

_PROTOCOL = re.compile(rb"^PROTOCOL = (\d+)\s*$", re.M)
# Where a release says it, this one's place first.
_SAYS_PROTOCOL = ("fast/packing.py", "wire.py")


@dataclass(frozen=True, slots=True)
class MissingHook:
    """An agent whose hook cannot work: `settings` is the file that names it.

    `path` is gone, or is of a client that speaks another `protocol`.
    """

    agent: str
    settings: str
    path: str
    fix: str
    protocol: int | None = None

    def __str__(self) -> str:
        if self.protocol is not None:
            return (
                f"the hook of {self.agent} speaks protocol {self.protocol}, and this installation"
                f" {PROTOCOL}: {self.path} is of another release"
            )
        return f"the hook of {self.agent} cannot start: {self.path} is gone"


def list_agents_with_hooks() -> list[str]:
    """Return the agents of this user whose settings hold irdaemon's hooks."""
    machine = Machine(os.path.expanduser("~"), os.sep, os.environ, hook="", irc="")
    return [
        agent
        for agent, files in SETTINGS_FILES.items()
        if any(_read_commands(file.path) for file in files(machine, False) if file.hooks)
    ]


def find_missing_hooks() -> list[MissingHook]:
    """Return the agents of this user, and of the project in this directory, whose hook is mute."""
    home = os.path.expanduser("~")
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = home
    machine = Machine(home, cwd, os.environ, hook="", irc="")
    found = [*_find_missing(machine, project=False)]
    return [*found, *_find_missing(machine, project=True)] if cwd != home else found


def _find_missing(machine: Machine, project: bool) -> Iterator[MissingHook]:
    for agent, files in SETTINGS_FILES.items():
        for path in (file.path for file in files(machine, project) if file.hooks):
            named = {
                name for command in _read_commands(path) for name in _list_named_files(command)
            }
            fix = f"irc install {agent} --hooks{' --project' * project}"
            for name in sorted(named):
                if not os.path.exists(name):
                    yield MissingHook(agent, path, name, fix)
                elif (theirs := _read_protocol(name)) not in (None, PROTOCOL):
                    yield MissingHook(agent, path, name, fix, theirs)


def _read_commands(path: str) -> list[str]:
    """Return the commands of our hooks in a settings file; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES)
        return list_our_commands(text) if "irc" in text else []
    except (OSError, ValueError):
        return []


def _list_named_files(command: str) -> Iterator[str]:
    """Yield the files that a command starts by their paths."""
    with contextlib.suppress(ValueError):  # no shell could read it either
        for word in takewhile(lambda word: word != "--agent", shlex.split(command)):
            if word.startswith("/"):
                yield word


def _read_protocol(start: str) -> int | None:
    """Return the protocol of the client that a hook's file belongs to, as its source says."""
    package, found, _ = start.rpartition("/irclient/")
    for name in _SAYS_PROTOCOL if found else ():
        with contextlib.suppress(OSError), open(f"{package}/irclient/{name}", "rb") as file:
            if said := _PROTOCOL.search(file.read(MOST_BYTES)):
                return int(said[1])
    return None
